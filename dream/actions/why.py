"""Why a line stands in memory: the changes that wrote it, and what was said that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dream.language.words import coverage, without_said_on
from dream.models import FLAT, MEMORY_FILES, Entry, Kind, MemoryFile, named
from dream.versions.log import Change
from dream.workspace.trace import Origin, facts, trace
from dream.workspace.workspace import Workspace

SHOWN = 3  # lines of an entry that are nearest to what rests on it


@dataclass(frozen=True, slots=True)
class Evidence:
    """An entry of history that a line rests on, by its cursor, and of what it says the lines nearest to that line."""

    cursor: int
    time: datetime
    kind: Kind
    session: str | None
    span: tuple[int, int] | None
    said: tuple[str, ...]
    by_agent: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """One line of memory. `changes` are those that wrote it, its earlier forms and restores too, newest first."""

    origin: Origin = field(metadata=FLAT)
    changes: tuple[Change, ...]
    evidence: tuple[Evidence, ...] = field(metadata=named("entries"))


def why(workspace: Workspace, text: str) -> list[Reason]:
    """Explain the lines of memory that say `text`: that hold it, or else all of its words. None is an empty list."""
    found = trace(workspace, _saying(workspace, text))
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
    """Return the entries that `line` rests on, with what they say of it; under it what the user said, word for word."""
    entries = (entry for cursor in cursors for entry in workspace.history.between(cursor, cursor))
    return tuple(
        Evidence(entry.cursor, entry.when, entry.kind, entry.session, entry.span, _nearest(entry, line), entry.by_agent)
        for entry in entries
    )


def waiting(workspace: Workspace, text: str) -> list[Entry]:
    """Return the entries that say `text` and were not dreamt yet, oldest first."""
    new = workspace.history.after(workspace.dream_cursor())
    return [entry for entry in new if text.casefold() in entry.content.casefold()]


def _saying(workspace: Workspace, text: str) -> list[tuple[MemoryFile, str]]:
    lines = [(file, line) for file in MEMORY_FILES for line in facts(workspace.read_file(file))]
    holding = [(file, line) for file, line in lines if text.casefold() in line.casefold()]
    return holding or [(file, line) for file, line in lines if coverage(text, line) == 1]


def _nearest(entry: Entry, line: str) -> tuple[str, ...]:
    """Return the rows of an entry that say nearly what the line does, at least half as much of it as the nearest."""
    rows = [row.strip() for row in entry.content.splitlines() if row.strip()]
    told = without_said_on(line)
    shares = [coverage(told, without_said_on(row)) for row in rows]
    least = max(shares, default=0.0) / 2
    best = sorted(range(len(rows)), key=lambda number: -shares[number])[:SHOWN]
    return tuple(rows[number] for number in sorted(best) if shares[number] > least or not least)
