"""Lines that depend on a changed line: they may no longer be true once a dream has edited it.

A dream that changed or removed a line calls the model once more, with the changes, the batch and the whole files, if
another line holds a word that the changed one lost. Its answer passes the same guards into the same commit; what the
model can't decide becomes a question for review. The embedded model is not called: instead, every line that contains a
name missing from the new line becomes a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dream import prompts
from dream.dreaming import phase1, scope
from dream.dreaming.draft import Brief, gone, lines, shown_to_fit
from dream.dreaming.editing import Editing
from dream.dreaming.evidence import BatchEvidence, Heard
from dream.dreaming.findings import References, letters, references
from dream.dreaming.phase2 import settle
from dream.errors import ModelError
from dream.llm import ChatMessage, Completion, Model
from dream.memory import like
from dream.models import HANGS, Finding, MemoryFile
from dream.settings import EMBEDDED
from dream.text.alike import states
from dream.text.safe import clean, quoted
from dream.text.topics import names
from dream.text.words import content_words, without_bullet, without_said_on
from dream.workspace.places import KnownPlace

LONGEST_QUESTION = 240  # characters of the changes that a question quotes
_ASK = re.compile(r"\s*(?:[-*•]\s+|\d+[.)]\s+)?\*{0,2}\[ASK\s+(P?[SUM]\d{1,6})\]\*{0,2}[:\s]*(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line that a dream removed, its replacement ("" for none), and the entries that support the change."""

    old: str
    new: str
    entries: tuple[int, ...]

    @property
    def told(self) -> str:
        """Describe the change in a question for review."""
        return self.new or f"{quoted(self.old)} is gone"


@dataclass(frozen=True, slots=True)
class Dependent:
    """A line that depends on a change: it is removed, replaced by `new`, or queued for review with a `question`."""

    file: MemoryFile
    line: str
    new: str = ""
    question: str = ""


def changes(editing: Editing, before: Mapping[MemoryFile, str]) -> list[ChangedLine]:
    """Return the facts in `before` that an editing changed; one that another line still states is unchanged."""
    applied = [one.finding for one in editing.outcomes() if one.state == "applied"]
    every = tuple(sorted({cursor for one in applied for cursor in one.entries}))
    here = [row for text in editing.draft.texts.values() for row in lines(text)]
    found, lost = [], False
    for file, text in before.items():
        for line in gone(text, editing.draft.texts[file]) if like(file) != "SOUL.md" else ():
            fact = _fact(line)
            about = [one for one in applied if one.line == line]
            still = any(states(row, fact) for row in here)
            if line.startswith("#") or (still and not about):
                continue
            lost = lost or not still
            new = next((one.text for one in about if not one.remove), "")
            cursors = tuple(sorted({cursor for one in about for cursor in one.entries}))
            found.append(ChangedLine(fact, _fact(new), cursors or every))
    return found if lost else []


def follow(
    editing: Editing,
    before: Mapping[MemoryFile, str],
    evidence: BatchEvidence,
    model: Model,
    brief: Brief,
    place: KnownPlace | None = None,
) -> None:
    """Settle in the draft the lines that depend on its changes to `before`; the model sees what `place` may see.

    The model is called at most once; if its answer cannot be used, a note says so and the dream goes on.
    Raises SpendingLimit.
    """
    before = scope.given(before, place)
    found = changes(editing, before)
    texts = scope.given(editing.draft.texts, place)
    stood = {file: set(lines(text)) for file, text in before.items()}
    known = References({number: at for number, at in references(texts).lines.items() if at[1] in stood[at[0]]})
    if not any(_shares(one, line) for one in found for _, line in known.lines.values()):
        return
    try:
        hanging = (
            _named(found, known)
            if model.name == EMBEDDED
            else _asked(found, texts, known, evidence, model, brief, place)
        )
    except ModelError as error:
        editing.notes.append(f"the lines that depend on the changed ones were not checked: {error}")
        return
    cursors = tuple(sorted({cursor for one in found for cursor in one.entries}))
    _settle(editing, list(hanging), found, cursors)


def _shares(changed: ChangedLine, line: str) -> bool:
    """Return whether a line holds a word that a changed line no longer holds."""
    lost = content_words(changed.old) - content_words(changed.new)
    return _fact(line) != changed.new and not lost.isdisjoint(content_words(_fact(line)))


def _settle(
    editing: Editing, hanging: Sequence[Dependent], found: Sequence[ChangedLine], cursors: tuple[int, ...]
) -> None:
    told = "; ".join(one.told for one in found)[:LONGEST_QUESTION]
    asking = f"{told}: does this still hold?"
    first, held = len(editing.findings), len(editing.held)
    questions: dict[int, str] = {}
    for one in hanging:
        removal = Finding(one.file, _fact(one.line), cursors, remove=True, line=one.line, because=told)
        if one.new:
            editing.add(Finding(one.file, one.new, cursors, line=one.line))
        editing.add(replace(removal, because="") if one.new else removal)
        questions[len(editing.findings)] = one.question
    for number, question in questions.items():
        if question or like(editing.findings[number - 1].file) == "SOUL.md":
            editing.ask(number, question or asking)
    settle(editing)
    for place, item in enumerate(editing.held[held:], held):
        if item.verdict.guard != HANGS and max(item.edit.findings) > first:
            verdict = replace(item.verdict, reason=f"{asking} {item.verdict.reason}")
            editing.held[place] = replace(item, verdict=verdict)


def _named(found: Sequence[ChangedLine], known: References) -> Iterator[Dependent]:
    """Yield a question for each line that contains a name which a changed line no longer contains."""
    for file, line in known.lines.values():
        mine = set(names(line))
        why = next((one for one in found if mine & (set(names(f"- {one.old}")) - set(names(f"- {one.new}")))), None)
        if why is not None:
            yield Dependent(file, line, question=f"{why.told}: does this still hold?")


def _asked(
    found: Sequence[ChangedLine],
    texts: Mapping[MemoryFile, str],
    known: References,
    evidence: BatchEvidence,
    model: Model,
    brief: Brief,
    place: KnownPlace | None,
) -> Iterator[Dependent]:
    cursors = sorted({cursor for one in found for cursor in one.entries})
    heard = [evidence.heard[cursor] for cursor in cursors if cursor in evidence.heard]
    completion = model.complete(_prompt(found, texts, heard, model, brief, place))
    return _read(completion, cursors, known, brief, place.name if place else "")


def _read(
    completion: Completion, cursors: Sequence[int], known: References, brief: Brief, place: str
) -> Iterator[Dependent]:
    rows = completion.text.splitlines()
    questions = [match for row in rows if (match := _ASK.fullmatch(row.rstrip()))]
    left = [row for row in rows if row.strip() and not _ASK.fullmatch(row.rstrip())]
    asked: dict[tuple[MemoryFile, str], str] = {}
    for match in questions:
        if (at := known.lines.get(match[1].upper())) is not None:
            asked[at] = " ".join(clean(re.sub(r"\{[\d,\s]*\}\s*$", "", match[2])).split())[:LONGEST_QUESTION]
    answered: dict[tuple[MemoryFile, str], Dependent] = {}
    if left or not questions:
        text = "\n".join(left)
        for one in phase1.answered(replace(completion, text=text), cursors, known, brief, place).findings:
            if (one.file, one.line) in known.lines.values():
                new = "" if one.remove else one.text
                answered.setdefault((one.file, one.line), Dependent(one.file, one.line, new))
    for (file, line), question in asked.items():
        answered[file, line] = Dependent(file, line, question=question or "does this still hold?")
    return iter(answered.values())


def _prompt(
    found: Sequence[ChangedLine],
    texts: Mapping[MemoryFile, str],
    heard: Sequence[Heard],
    model: Model,
    brief: Brief,
    place: KnownPlace | None,
) -> list[ChatMessage]:
    system = prompts.load("dependents", brief.prompts_folder, language=prompts.language(brief.settings.language))
    where = prompts.place(place.name if place else "", group=bool(place and place.is_group))
    said = prompts.history(phase1.rendered(one, brief) for one in heard)
    news = f"{prompts.today(brief.day)}\n{where}{said}\n{prompts.changed([(one.old, one.new) for one in found])}"
    room = min(brief.room(model, system, news), phase1.FILES_TOKENS)
    shown = shown_to_fit(texts, [f"{one.old} {one.new}" for one in found], room, model.count)
    system, user = prompts.filled(system, f"{prompts.numbered(texts, shown, letters(texts))}\n{news}")
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _fact(line: str) -> str:
    return " ".join(without_said_on(without_bullet(line)).split())
