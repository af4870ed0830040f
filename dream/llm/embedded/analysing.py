"""Phase 1's job: new history entries against the present files → finding lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from dream.llm.embedded.changes import same_fact, supersedes, undated
from dream.llm.embedded.claims import Claim, claims
from dream.llm.embedded.coverage import density, forget, note, ranked
from dream.llm.embedded.remaining import remainder
from dream.llm.embedded.renewing import only_moves
from dream.llm.embedded.routing import route, user_names
from dream.llm.embedded.salience import salience
from dream.llm.embedded.sections import LABELS, Dreamt, facts_of
from dream.llm.embedded.words import content
from dream.models import MEMORY_FILES, MemoryFile

ROOM: dict[MemoryFile, tuple[int, int]] = {  # lines and bytes of the whole file, a little below the guards' budgets
    "SOUL.md": (58, 5_700),
    "USER.md": (70, 3_000),  # short enough to stand whole before MEMORY.md in any prompt; what is over goes there
    "memory/MEMORY.md": (196, 24_500),
}
LINE = 40  # characters that a line costs beyond its own: a file is bound in lines as well as in bytes
LEAST = 0.006  # gain per character below which a line is not worth its place in a full file
PROFILE = (
    0.012  # gain per character below which a line about the user stands in MEMORY.md: USER.md comes first everywhere
)
PASSES = 4
REPEATS = 2  # lines that stand in memory word for word, above which a batch is one seen before
SWAP = 0.15  # part of a file's lines that may make room in one dream; the guards allow 0.25
BETTER = 1.5  # how much more telling a new line must be than the old one it pushes out


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


@dataclass(frozen=True, slots=True)
class _New:
    """A line to add, with the cursors it rests on and the old lines that it replaces."""

    file: MemoryFile
    text: str
    cursors: tuple[int, ...]
    replaces: tuple[tuple[MemoryFile, str], ...] = ()


def analyse(files: Mapping[MemoryFile, str], entries: Sequence[Dreamt], today: date | None, limit: int) -> str:
    """Return the finding lines of a batch, at most `limit` characters, or `[SKIP]`."""
    old = facts_of(files)
    found = claims(entries)
    added = _settle(old, found, user_names([text for _, text in old]))
    known = {text for _, text in old}
    again = len({claim.text for claim in found} & known) > REPEATS  # these entries were dreamt before
    lines: list[str] = []
    for new, pushed in _fitting(files, old, added, 0.0 if again else SWAP):
        marks = "{" + ",".join(map(str, new.cursors)) + "}"
        removed = [f"[{LABELS[file]}-REMOVE] {text} {marks}" for file, text in (*new.replaces, *pushed)]
        block = [*removed, f"[{LABELS[new.file]}] {new.text} {marks}"]
        limit -= sum(len(line) + 1 for line in block)
        if limit < 0:
            break
        lines += block
    return "\n".join(lines) or "[SKIP]"


def _settle(old: list[tuple[MemoryFile, str]], found: Sequence[Claim], names: set[str]) -> list[_New]:
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
        index.gone.update(gone)
        replaced = [index.lines[n] for n in gone]
        file = replaced[0][0] if replaced and new.file != "SOUL.md" else new.file
        settled.append(_New(file, new.text, new.cursors, tuple(replaced)))
        rests = [(path, rest) for path, text in replaced if (rest := remainder(new.text, text))]
        if rests and only_moves(undated(new.text)):
            settled.pop()
            settled.append(_New(file, rests.pop(0)[1], new.cursors, tuple(replaced)))
        settled += [_New(path, rest, new.cursors) for path, rest in rests]
    return settled


def _latest(found: Sequence[Claim], names: set[str]) -> list[_New]:
    """Return the claims of a batch without repetitions and without those that a later one corrects."""
    index = _Index()
    news: dict[int, _New] = {}
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
        news[index.add(file, text)] = _New(file, text, tuple(sorted(cursors)))
        for path, rest, basis in rests:
            news[index.add(path, rest)] = _New(path, rest, basis)
    return list(news.values())


def _merged(new: _New, cursor: int) -> _New:
    return _New(new.file, new.text, tuple(sorted({*new.cursors, cursor})), new.replaces)


def _fitting(
    files: Mapping[MemoryFile, str], old: list[tuple[MemoryFile, str]], added: list[_New], swap: float
) -> list[tuple[_New, list[tuple[MemoryFile, str]]]]:
    """Choose what fits each file, the most telling first; in a full file it pushes out what tells least."""
    replaced = {line for new in added for line in new.replaces}
    kept = [line for line in old if line not in replaced]
    seen: dict[str, float] = {}
    for _, text in kept:
        note(content(text), seen)
    weighed = [(new.text, content(new.text), _factor(new)) for new in added]
    chosen: dict[int, list[tuple[MemoryFile, str]]] = {}
    rooms = {
        file: _Room(
            file,
            files.get(file, ""),
            [text for path, text in kept if path == file and f"- {text}" in files.get(path, "")],
            swap,
        )
        for file in MEMORY_FILES
    }
    for _ in range(PASSES):  # what was pushed out may make another line tell more: until nothing changes
        before = len(chosen)
        for number in ranked(weighed, seen, LINE):
            if number in chosen:
                continue
            new, found = added[number], weighed[number][1]
            worth = weighed[number][2] * density(found, seen, len(new.text), LINE)
            if new.file == "USER.md" and (worth < PROFILE or not rooms[new.file].holds(new.text)):
                new = added[number] = _New("memory/MEMORY.md", new.text, new.cursors, new.replaces)
            pushed = rooms[new.file].take(new.text, worth, _sure(new))
            if pushed is not None:
                chosen[number] = [(new.file, text) for text in pushed]
                note(found, seen)
                for text in pushed:
                    forget(content(text), seen)
        if len(chosen) == before:
            break
    return [(added[number], chosen[number]) for number in sorted(chosen)]


def _sure(new: _New) -> bool:
    return bool(new.replaces) or new.file == "SOUL.md"


def _factor(new: _New) -> float:
    return 3.0 if new.replaces or new.file == "SOUL.md" else salience(new.text)


class _Room:
    """The room that a file has left, and its lines that tell least."""

    def __init__(self, file: MemoryFile, whole: str, lines: list[str], swap: float) -> None:
        most_lines, most_bytes = ROOM[file]
        frame = [line for line in whole.split("\n") if not line.startswith("- ")]
        self.lines = most_lines - len(lines) - len(frame)
        self.bytes = most_bytes - sum(_size(text) for text in (*lines, *frame))
        seen: dict[str, float] = {}
        worths = []
        for text in lines:
            found = content(text)
            worths.append((salience(text) * density(found, seen, len(text), LINE), text))
            note(found, seen)
        self.weakest = sorted(worths, reverse=True)
        self.swaps = int(swap * len(lines))
        self.full = 1 - min(self.lines / most_lines, self.bytes / most_bytes)

    def holds(self, text: str) -> bool:
        """Say whether a line fits without pushing out another."""
        return self.lines >= 1 and self.bytes >= _size(text)

    def take(self, text: str, worth: float, sure: bool) -> list[str] | None:
        """Give room to a line: the lines that it pushes out, or None where it is not worth any of them."""
        pushed: list[str] = []
        if worth < LEAST * self.full**2 and not sure:
            return None
        lines, left = self.lines - 1, self.bytes - _size(text)
        while lines < 0 or left < 0:
            at = len(self.weakest) - 1 - len(pushed)
            if at < 0 or len(pushed) >= self.swaps or (worth < BETTER * self.weakest[at][0] and not sure):
                return None
            pushed.append(self.weakest[at][1])
            lines, left = lines + 1, left + _size(pushed[-1])
        if pushed:
            del self.weakest[-len(pushed) :]
            self.swaps -= len(pushed)
        self.lines, self.bytes = lines, left
        return pushed


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 3
