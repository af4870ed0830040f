"""Phase 1's job: new history entries against the present files → finding lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dream.llm.embedded.changes import fuller, same_fact, supersedes
from dream.llm.embedded.claims import Claim, claims
from dream.llm.embedded.cues import undated
from dream.llm.embedded.fitting import New, fitting
from dream.llm.embedded.remaining import remainder
from dream.llm.embedded.renewing import only_moves
from dream.llm.embedded.routing import people, route, user_names
from dream.llm.embedded.said_on import said_on_day
from dream.llm.embedded.sections import LABELS, Dreamt, facts_of
from dream.llm.embedded.words import content
from dream.models import MemoryFile


@dataclass(slots=True)
class _Index:
    """The lines known so far, found by their content words."""

    lines: list[tuple[MemoryFile, str]] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    by_word: dict[str, list[int]] = field(default_factory=dict)

    def add(self, file: MemoryFile, text: str) -> int:
        for key in content(text):
            self.by_word.setdefault(key, []).append(len(self.lines))
        self.lines.append((file, text))
        return len(self.lines) - 1

    def near(self, text: str) -> list[int]:
        """Return the numbers of the lines that share the most content with `text`, the nearest first."""
        shared: dict[int, float] = {}
        for key, weight in content(text).items():
            for index in self.by_word.get(key, ())[-200:]:
                shared[index] = shared.get(index, 0.0) + weight
        best = sorted(shared, key=lambda index: (-shared[index], index))[:40]
        return [index for index in best if index not in self.gone]


def analyse(files: Mapping[MemoryFile, str], entries: Sequence[Dreamt]) -> str:
    """Return the finding lines of a batch, or `[SKIP]`."""
    old = facts_of(files)
    found = claims(entries)
    added = _settle(old, found, user_names([text for _, text in old]))
    names = people([*(text for _, text in old), *(claim.text for claim in found)])
    lines: list[str] = []
    for new in fitting(files, old, added, names):
        marks = "{" + ",".join(map(str, new.cursors)) + "}"
        removed = [f"[{LABELS[file]}-REMOVE] {text} {marks}" for file, text in new.replaces]
        lines += [*removed, f"[{LABELS[new.file]}] {new.text} {marks}"]
    return "\n".join(lines) or "[SKIP]"


def _settle(old: list[tuple[MemoryFile, str]], found: Sequence[Claim], names: set[str]) -> list[New]:
    """Bring each claim together with what is known: present, another value for it, or new.

    First among the claims, where the later one wins; then against the files, where a line that a claim
    of this batch confirms is not replaced by an earlier one of the same batch.
    """
    names = names | user_names([claim.text for claim in found])
    index = _Index()
    for file, text in old:
        index.add(file, text)
    news, confirmed = [], set()
    for new in _latest(found, names):
        same = next((n for n in index.near(new.text) if same_fact(new.text, index.lines[n][1])), None)
        if same is None:
            news.append(new)
        else:
            confirmed.add(same)
    settled = []
    for new in news:
        gone = [n for n in index.near(new.text) if n not in confirmed and supersedes(new.text, index.lines[n][1])]
        if any(_told_later(index.lines[n][1], new.text) for n in gone):
            continue  # it was told before what stands there
        index.gone.update(gone)
        replaced = [index.lines[n] for n in gone]
        file = replaced[0][0] if replaced and new.file != "SOUL.md" else new.file
        settled.append(New(file, new.text, new.cursors, tuple(replaced)))
        rests = [(path, rest) for path, text in replaced if (rest := remainder(new.text, text))]
        if rests and only_moves(undated(new.text)):
            settled.pop()
            settled.append(New(file, rests.pop(0)[1], new.cursors, tuple(replaced)))
        settled += [New(path, rest, new.cursors) for path, rest in rests]
    return settled


def _told_later(old: str, new: str) -> bool:
    """Say whether what stands in memory was told after what is new to it, and is not only a part of it."""
    one, other = said_on_day(old), said_on_day(new)
    return one is not None and other is not None and one > other and not fuller(new, old)


def _latest(found: Sequence[Claim], names: set[str]) -> list[New]:
    """Return the claims of a batch without repetitions and without those that a later one corrects."""
    index = _Index()
    news: dict[int, New] = {}
    for claim in found:
        file, text = route(claim.text, names)
        near = index.near(text)
        same = next((n for n in near if same_fact(text, index.lines[n][1])), None)
        if same is not None:
            news[same] = _merged(news[same], claim.cursor)
            continue
        if any(same_fact(text, index.lines[n][1]) for n in index.gone):
            continue  # said again after it was corrected: people repeat what they pasted before
        gone = [n for n in near if supersedes(text, index.lines[n][1])]
        file = index.lines[gone[0]][0] if gone and file != "SOUL.md" else file
        index.gone.update(gone)
        rests = [
            (index.lines[n][0], rest, news[n].cursors) for n in gone if (rest := remainder(text, index.lines[n][1]))
        ]
        cursors = {claim.cursor, *(cursor for n in gone for cursor in news.pop(n).cursors)}
        if rests and only_moves(undated(text)):
            text = rests.pop(0)[1]
        news[index.add(file, text)] = New(file, text, tuple(sorted(cursors)))
        for path, rest, basis in rests:
            news[index.add(path, rest)] = New(path, rest, basis)
    return list(news.values())


def _merged(new: New, cursor: int) -> New:
    return New(new.file, new.text, tuple(sorted({*new.cursors, cursor})), new.replaces)
