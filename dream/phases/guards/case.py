"""What the guards look at: an edit, the draft before and after it, and what must be known of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from dream.models import Entry, Finding, MemoryFile, Rejected
from dream.phases.draft import Draft, Edit, added, gone
from dream.phases.markup import FlawName
from dream.phases.naming import Told
from dream.provenance import rule
from dream.provenance.line import QUOTE, bare
from dream.provenance.rule import Known, Source, source
from dream.provenance.secondhand import names_source
from dream.provenance.user import quotation
from dream.settings import Settings
from dream.wording import words

EMBEDDED = "embedded"  # the model that only quotes: what it takes for a wish stands as it was said
_MARKS = " -*•"  # of a list
LATE = timedelta(days=1)  # between a talk and its entry: what is read sooner comes in the order of the talks

GuardName = (
    FlawName
    | Literal[
        "review",
        "person-line",
        "person-edit",
        "loss",
        "rejected-fact",
        "kept-line",
        "rule-source",
        "instruction",
        "third-party",
        "unfounded",
        "older",
    ]
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard says of one edit. `held` waits for a person; `refused` is never written."""

    decision: Literal["held", "refused"]
    guard: GuardName
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """One edit before the guards: it turns the draft `now` into `then` to settle `findings`."""

    edit: Edit
    now: Draft
    then: Draft
    findings: tuple[Finding, ...]

    @property
    def cursors(self) -> frozenset[int]:
        """The entries that the edit rests on."""
        return frozenset(cursor for finding in self.findings for cursor in finding.entries)

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that the edit puts into its file."""
        return added(self.now.texts[self.edit.file], self.then.texts[self.edit.file])

    @property
    def gone(self) -> tuple[str, ...]:
        """The lines that the edit takes out of its file."""
        return gone(self.now.texts[self.edit.file], self.then.texts[self.edit.file])


@dataclass(frozen=True, slots=True)
class Protected:
    """What the guards must know of the workspace.

    `before`: the files as the dream found them. `person_lines`: by file, the lines that a person wrote.
    `rejected`: facts taken back, and lines to be kept. `said`: by cursor, the lines of its entry that are the user's
    own; `wishes`: the same as sources of rules, each as they said it; `known`: what a rule may name
    without them. `unvouched`: the lines that somebody else than the user said.
    `others`: the lines that only a tool's output or pasted text bears out; `told`: all of them, by who said
    them first. `late`: when it was said, of the entries that were written long after; `learnt` tells the same of what
    a line that stands in a file rests on.
    """

    before: Mapping[MemoryFile, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    rejected: Sequence[Rejected]
    said: Mapping[int, Sequence[str]] = field(default_factory=dict)
    others: Mapping[int, Sequence[str]] = field(default_factory=dict)
    told: Mapping[int, Told] = field(default_factory=dict)
    late: Mapping[int, datetime] = field(default_factory=dict)
    learnt: Callable[[MemoryFile, str], datetime | None] = lambda file, line: None
    wishes: Mapping[int, Sequence[Source]] = field(default_factory=dict)
    unvouched: Mapping[int, Sequence[str]] = field(default_factory=dict)
    known: Known = field(default_factory=Known)


Guard = Callable[[Case, Protected, Settings], Verdict | None]


def late(entries: Iterable[Entry]) -> dict[int, datetime]:
    """Return, by cursor, when it was said, of the entries that were written more than LATE after that."""
    return {entry.cursor: entry.when for entry in entries if entry.at - entry.when > LATE}


def others(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that only a tool's output or pasted text bears out."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        lines = entry.content.split("\n")
        found[entry.cursor] = tuple(lines[number - 1] for number in entry.by_others if number <= len(lines))
    return found


def unvouched(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that rest on what the agent, a tool or a quoted text said."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        rows = zip(entry.content.split("\n"), entry.rests, strict=False)
        found[entry.cursor] = tuple(line for line, rests in rows if rests[:1] in ("a", "t", "p"))
    return found


def said(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that the user said: those found at consolidation, and all of a note."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        lines = entry.content.split("\n")
        numbers = range(1, len(lines) + 1) if entry.kind == "note" else entry.by_user
        found[entry.cursor] = tuple(lines[number - 1] for number in numbers if number <= len(lines))
    return found


def wishes(entries: Iterable[Entry]) -> dict[int, tuple[Source, ...]]:
    """Return, by cursor, what the user said as sources of rules: their own sentences, or lines that say the same."""
    found: dict[int, tuple[Source, ...]] = {}
    for entry in entries:
        rows = entry.content.split("\n")
        numbers = range(1, len(rows) + 1) if entry.kind == "note" else entry.by_user
        stands = entry.kind == "note" or entry.model == EMBEDDED
        found[entry.cursor] = tuple(_sources(rows, [number for number in numbers if number <= len(rows)], stands))
    return found


def _sources(rows: Sequence[str], numbers: Sequence[int], stands: bool) -> Iterator[Source]:
    about = ""
    for number, row in enumerate(rows, start=1):
        quotes = row.startswith(QUOTE)
        about = about if quotes else row
        if number not in numbers:
            continue
        if quotes:
            yield source(row.removeprefix(QUOTE), about)
        elif not (number < len(rows) and rows[number].startswith(QUOTE)):
            plain = quotation(row).lstrip(_MARKS)
            said = bare(plain)
            yield Source(said, stands=stands or said != plain)


def named(entries: Iterable[Entry], texts: Mapping[MemoryFile, str]) -> Known:
    """Return what a rule may say without the message that it rests on: names in memory, and the user's other words."""
    lines = [line for found in said(entries).values() for line in found]
    firsthand = [line for text in texts.values() for line in text.splitlines() if not names_source(line)]
    names = {
        word for line in (*firsthand, *lines) for name in rule.names(f"x {line.lstrip('-* ')}") for word in words(name)
    }
    return Known(frozenset(names), frozenset(word for line in lines for word in words(line)))


def said_for(case: Case, protected: Protected) -> list[str]:
    """Return the user's own lines among the entries that an edit rests on."""
    return [line for cursor in sorted(case.cursors) for line in protected.said.get(cursor, ())]


def shown(line: str) -> str:
    """Return a line as a reason quotes it: at most 80 characters."""
    return repr(line.strip()[:80])
