"""Remove lines of memory that cite only entries which a reread has replaced."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from dream.dreaming.commit import Snapshot
from dream.history.history import History
from dream.models import Entry, MemoryFile, Rejected
from dream.versions import trace

if TYPE_CHECKING:
    from dream.directory import Workspace

_DECIDED = re.compile(r"\(\w+ in review: [\d, ]+\)$")  # the end of a commit subject for a review decision


def replaced(history: History, batch: Sequence[Entry]) -> frozenset[int]:
    """Return the cursors of entries that `batch`, and earlier entries of the same reread, replace."""
    cursors = {cursor for entry in batch for cursor in entry.rereads}
    before = batch[0].cursor - 1
    while cursors and (found := history.between(before, before)) and found[0].rereads:
        cursors.update(found[0].rereads)
        before -= 1
    return frozenset(cursors)


def given_way(
    workspace: Workspace, found: Snapshot, cursors: Collection[int], batch: Sequence[Entry]
) -> dict[MemoryFile, str]:
    """Return the files without lines that cite only `cursors`, at least one of them reread by `batch` itself.

    Lines that cite only entries of earlier batches were removed there, or found again. Lines that a person wrote, or
    accepted in review, stay.
    """
    own = {cursor for entry in batch for cursor in entry.rereads}
    lines = [(file, line) for file, text in found.texts.items() for line in trace.facts(text)]
    accepted = {step.change.sha for step in trace.steps(workspace) if _DECIDED.search(step.change.subject)}
    gone = {
        (origin.file, origin.line)
        for origin in trace.trace(workspace, lines)
        if not own.isdisjoint(origin.entries)
        and set(origin.entries) <= set(cursors)
        and accepted.isdisjoint(origin.commits)
        and origin.line.rstrip() not in found.person_lines.get(origin.file, ())
    }
    return {file: _without(text, {line for path, line in gone if path == file}) for file, text in found.texts.items()}


def _without(text: str, gone: Collection[str]) -> str:
    return "".join(row for row in text.splitlines(keepends=True) if row.rstrip("\n") not in gone)


def restored_over(workspace: Workspace, texts: Mapping[MemoryFile, str]) -> tuple[Rejected, ...]:
    """Return the lines that a restore or a person removed and that no file contains now; they are held for review."""
    there = {line for text in texts.values() for line in trace.facts(text)}
    return tuple(
        Rejected(step.change.time, file, line, f"{step.change.kind} {step.change.sha[:10]}")
        for step in trace.steps(workspace)
        if step.change.kind in ("restore", "hand")
        for file, line in step.removed
        if line not in there and any(line == fact for fact in trace.facts(line))
    )
