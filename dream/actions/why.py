"""Explain why a line is in memory: the changes that wrote it, and the messages that support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dream.directory import Workspace
from dream.models import Entry, EntryLine, Kind
from dream.recall import talk
from dream.reports import FLAT, HIDDEN, named
from dream.text.words import coverage, without_said_on
from dream.versions.log import Change
from dream.versions.trace import Origin, fact_lines, steps, trace

SHOWN = 3  # lines of an entry shown, the most similar ones
AROUND = 1  # messages before and after the one that says it
LONGEST = 200  # messages of an entry that are searched if it cites none


@dataclass(frozen=True, slots=True)
class Quoted:
    """A message, even if its transcript is gone. `rests`: it supports the line; else it is next to one that does.

    `cite` opens it with `dream get`.
    """

    cite: str
    time: datetime | None
    speaker: str | None
    text: str
    rests: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """An entry of history that a line rests on, by its cursor, and of what it says the lines nearest to that line.

    `messages` are what those lines rest on, with their neighbours, in order; none where messages are not kept.
    """

    cursor: int
    time: datetime
    kind: Kind
    session: str | None
    span: tuple[int, int] | None
    said: tuple[str, ...]
    messages: tuple[Quoted, ...] = ()
    by_agent: bool = False
    place: str = field(default="", metadata=HIDDEN)


@dataclass(frozen=True, slots=True)
class Reason:
    """One line of memory. `changes` are those that wrote it, its earlier forms and restores too, newest first."""

    origin: Origin = field(metadata=FLAT)
    changes: tuple[Change, ...]
    evidence: tuple[Evidence, ...] = field(metadata=named("entries"))


def why(workspace: Workspace, text: str, as_of: str | None = None) -> list[Reason]:
    """Explain the lines of memory that say `text`: that hold it, or else all of its words. None is an empty list.

    With `as_of` they are the lines that stood there then.
    """
    then = workspace.then(as_of) if as_of else None
    if then is not None and then.sha is None:
        return []
    lines = then.facts() if then else fact_lines(workspace)
    known = steps(workspace, then.sha) if then and then.sha else None
    holding = [(file, line) for file, line in lines if text.casefold() in line.casefold()]
    found = trace(workspace, holding or [(file, line) for file, line in lines if coverage(text, line) == 1], known)
    shas = {sha for origin in found for sha in origin.commits}
    changes = {sha: workspace.git.show(sha).change for sha in shas}
    return [
        Reason(
            origin,
            tuple(changes[sha] for sha in origin.commits),
            evidence(workspace, origin.entries, origin.line),
        )
        for origin in found
    ]


def evidence(workspace: Workspace, cursors: Sequence[int], line: str) -> tuple[Evidence, ...]:
    """Return the entries that support `line`, with their nearest lines and, below each, the messages verbatim."""
    entries = (entry for cursor in cursors for entry in workspace.history.between(cursor, cursor))
    return tuple(_evidence(workspace, entry, line) for entry in entries)


def _evidence(workspace: Workspace, entry: Entry, line: str) -> Evidence:
    rows = _nearest(entry, line)
    said = tuple(row.strip() for row, _ in rows)
    positions = {place for _, one in rows for place in one.cites}
    told = _told(workspace, entry, positions, line)
    return Evidence(
        entry.cursor, entry.when, entry.kind, entry.session, entry.span, said, told, entry.by_agent, entry.place
    )


def _told(workspace: Workspace, entry: Entry, positions: set[int], line: str) -> tuple[Quoted, ...]:
    """Return the messages at `positions` of an entry's session with their neighbours; else the one most like `line`."""
    if entry.session is None or entry.span is None:
        return ()
    first, last = entry.span[0], min(entry.span[1] - 1, entry.span[0] + LONGEST)
    if positions:
        first, last = max(first, min(positions)), min(last, max(positions))
    talked = talk(workspace, entry.session, first - AROUND, last + AROUND)
    found = {int(hit.cite.rpartition("#")[2]): hit for hit in talked}
    if not positions & found.keys():
        best = max(found, key=lambda at: coverage(without_said_on(line), found[at].text), default=None)
        positions = set() if best is None else {best}
    near = {at + step for at in positions for step in range(-AROUND, AROUND + 1)}
    return tuple(
        Quoted(hit.cite, hit.when, hit.speaker, hit.text, at in positions) for at, hit in found.items() if at in near
    )


def waiting(workspace: Workspace, text: str) -> list[Entry]:
    """Return the entries not dreamt yet that say `text`, oldest first."""
    new = workspace.history.after(workspace.dream_cursor())
    return [entry for entry in new if text.casefold() in entry.content.casefold()]


def _nearest(entry: Entry, line: str) -> list[tuple[str, EntryLine]]:
    """Return the rows of an entry that say nearly what the line does, each with what it rests on.

    They say at least half as much of it as the nearest.
    """
    rows = [pair for pair in entry.rows() if pair[0].strip()]
    told = without_said_on(line)
    shares = [coverage(told, without_said_on(row)) for row, _ in rows]
    least = max(shares, default=0.0) / 2
    best = sorted(range(len(rows)), key=lambda number: -shares[number])[:SHOWN]
    return [rows[number] for number in sorted(best) if shares[number] > least or not least]
