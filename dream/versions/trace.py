"""Where a line of memory comes from: line → the commits that wrote it → findings → cursors → spans of messages.

A line's origin is the finding of the commit that added it. Where that commit took out a line that says nearly the
same, or the same line elsewhere, the search goes on for it: what was kept of a line keeps its origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING

from dream.memory import memory_file
from dream.models import MemoryFile
from dream.reports import HIDDEN
from dream.text.words import coverage, without_bullet
from dream.versions.diff import by_file
from dream.versions.log import Change, Shown

KEPT = 0.5  # share of a removed line's content words in the new line, from which the new one continues it
SAID = 0.5  # share of a finding's content words in a line, from which the line may come from it
_FINDING = re.compile(
    r"    (?P<state>applied|present)(?: \(.*?\))?: "
    r"\[(?P<tag>[\w/-]+?)(?P<remove>-REMOVE)?\] (?P<text>.*) \{(?P<at>[\d,]+)\}"
)

if TYPE_CHECKING:
    from dream.directory import Workspace


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one line comes from. `spans` are (session, first message position, the position after the last).

    `earlier` are the forms that the line had before, newest first.
    """

    file: MemoryFile
    line: str
    commits: tuple[str, ...]
    findings: tuple[str, ...]
    entries: tuple[int, ...]
    spans: tuple[tuple[str, int, int], ...]
    earlier: tuple[str, ...] = field(default=(), metadata=HIDDEN)


@dataclass(slots=True)
class _Traced:
    commits: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    entries: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Deed:
    """What one commit did: lines added and removed, by file, and its findings by file with their cursors.

    `removals` are the findings that take a line out.
    """

    change: Change
    body: str
    added: Sequence[tuple[str, str]]
    removed: Sequence[tuple[str, str]]
    findings: Sequence[tuple[str, str, tuple[int, ...]]]
    removals: Sequence[tuple[str, str, tuple[int, ...]]] = ()


def origins(workspace: Workspace) -> list[Origin]:
    """Trace every fact line that is in memory now, in the order of the files.

    Reads commits from the newest back, and no further than there are lines to explain.
    """
    return trace(workspace, fact_lines(workspace))


def fact_lines(workspace: Workspace) -> list[tuple[MemoryFile, str]]:
    """Return every fact line that is in memory now, with its file, in the order of the files."""
    return [(file, line) for file in workspace.files() for line in facts(workspace.read_file(file))]


def trace(
    workspace: Workspace, wanted: Sequence[tuple[MemoryFile, str]], known: Iterable[Deed] | None = None
) -> list[Origin]:
    """Trace lines of memory, each given as (file, line), and return the origins in the same order.

    `known` are the commits, newest first, where somebody has read them already.
    """
    traced = _trace(wanted, steps(workspace) if known is None else known)
    cursors = {cursor for found in traced.values() for cursor in found.entries}
    spans = _spans(workspace, cursors)
    return [_origin(file, line, traced[file, line], spans) for file, line in wanted]


def said(workspace: Workspace, file: MemoryFile, line: str) -> datetime | None:
    """Return the time of the last message that a line of memory is based on; None for a line that no dream wrote."""
    cursors = _trace([(file, line)], steps(workspace))[file, line].entries
    entries = workspace.history.between(min(cursors), max(cursors)) if cursors else []
    return max((entry.when for entry in entries if entry.cursor in cursors), default=None)


def written_since(workspace: Workspace, when: datetime, file: MemoryFile) -> frozenset[str]:
    """Return the lines that dreams have written into a file since `when`."""
    recent = takewhile(lambda step: step.change.time >= when, steps(workspace))
    dreamt = (step for step in recent if step.change.kind == "dream")
    return frozenset(line for step in dreamt for path, line in step.added if path == file)


def facts(text: str) -> Iterator[str]:
    """Yield the lines of a memory file that state something: no headings, no blank ones."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def _origin(file: MemoryFile, line: str, found: _Traced, spans: Mapping[int, tuple[str, int, int]]) -> Origin:
    entries = sorted(found.entries)
    return Origin(
        file,
        line,
        tuple(found.commits),
        tuple(dict.fromkeys(found.findings)),
        tuple(entries),
        tuple(dict.fromkeys(spans[cursor] for cursor in entries if cursor in spans)),
        tuple(dict.fromkeys(one for one in found.earlier if one != line)),
    )


def _trace(wanted: Sequence[tuple[MemoryFile, str]], known: Iterable[Deed]) -> dict[tuple[str, str], _Traced]:
    traced: dict[tuple[str, str], _Traced] = {one: _Traced() for one in wanted}
    sought: dict[tuple[str, str], set[tuple[str, str]]] = {one: {one} for one in wanted}
    for step in known:
        for place in dict.fromkeys(place for place in step.added if place in sought):  # a line may be added twice
            if step.change.kind == "restore":  # it stood there before
                for target in sought[place]:
                    traced[target].commits.append(step.change.sha)
                continue
            targets = sought.pop(place)
            earlier = _earlier(place, step.removed)
            for one in earlier:
                sought.setdefault(one, set()).update(targets)
                for target in targets:
                    traced[target].earlier.append(one[1])
            if any(line == place[1] for _, line in earlier):
                continue  # moved as it was
            for target in targets:
                _explain(traced[target], place, step)
        if not sought:
            break
    return traced


def _earlier(place: tuple[str, str], removed: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    same = [one for one in removed if one[1] == place[1]]
    return same or [one for one in removed if coverage(one[1], place[1]) >= KEPT]


def _explain(found: _Traced, place: tuple[str, str], step: Deed) -> None:
    """Note the commit and the findings that the line was written from: those it is a copy of, else the nearest."""
    file, line = place
    found.commits.append(step.change.sha)
    copied = [one for one in step.findings if one[1] == without_bullet(line).strip()]
    findings = copied or step.findings
    scored = [(coverage(text, line) + 0.01 * (tag == file), text, cursors) for tag, text, cursors in findings]
    best = max((score for score, _, _ in scored), default=0.0)
    for score, text, cursors in scored:
        if score >= SAID and score >= best - 0.2:
            found.findings.append(text)
            found.entries.update(cursors)


def steps(workspace: Workspace, revision: str = "HEAD") -> Iterator[Deed]:
    """Yield what each commit did, from `revision` back; read by the page, as far as somebody goes on asking."""
    return map(_step, workspace.git.each(revision))


def _step(shown: Shown) -> Deed:
    rows = [(file, row) for file, rows in by_file(shown.diff) if memory_file(file) == file for row in rows]
    added, removed = ([(file, row[1:]) for file, row in rows if row.startswith(sign)] for sign in "+-")
    removals = tuple(_findings(shown.body, remove=True))
    return Deed(shown.change, shown.body, added, removed, tuple(_findings(shown.body)), removals)


def _findings(body: str, *, remove: bool = False) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    for row in body.split("\n"):
        match = _FINDING.fullmatch(row)
        file = memory_file(match["tag"]) if match and bool(match["remove"]) == remove else None
        if match and file:
            yield file, match["text"], tuple(int(cursor) for cursor in match["at"].split(","))


def _spans(workspace: Workspace, cursors: set[int]) -> dict[int, tuple[str, int, int]]:
    if not cursors:
        return {}
    found = workspace.history.between(min(cursors), max(cursors))
    return {
        entry.cursor: (entry.session, *entry.span)
        for entry in found
        if entry.cursor in cursors and entry.session is not None and entry.span is not None
    }
