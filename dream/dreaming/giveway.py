"""Remove lines of memory that cite only entries which a reread has replaced."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from dream.dreaming.commit import Snapshot
from dream.models import Entry, MemoryFile, Rejected
from dream.versions import trace

if TYPE_CHECKING:
    from dream.directory import Workspace

_DECIDED = re.compile(r"\(\w+ in review: [\d, ]+\)$")  # the end of a commit subject for a review decision


def given_way(
    workspace: Workspace, found: Snapshot, batch: Sequence[Entry], rereads: Mapping[int, Sequence[int]]
) -> dict[MemoryFile, str]:
    """Return the files without lines that cite only replaced entries, at least one of them replaced by `batch` itself.

    `rereads` are the cursors that each entry made by rereading replaced. Lines that cite only entries which earlier
    batches replaced were removed there, or found again. Lines that a person wrote, or accepted in review, stay.
    """
    own = _chain(batch, rereads)
    cursors = {old for new, replaced in rereads.items() if new <= batch[-1].cursor for old in replaced}
    lines = [(file, line) for file, text in found.texts.items() for line in trace.facts(text)]
    accepted = {step.change.sha for step in trace.steps(workspace) if _DECIDED.search(step.change.subject)}
    gone = {
        (origin.file, origin.line)
        for origin in trace.trace(workspace, lines)
        if not own.isdisjoint(origin.entries)
        and cursors.issuperset(origin.entries)
        and accepted.isdisjoint(origin.commits)
        and origin.line.rstrip() not in found.person_lines.get(origin.file, ())
    }
    return {file: _without(text, {line for path, line in gone if path == file}) for file, text in found.texts.items()}


def _chain(batch: Sequence[Entry], rereads: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the cursors that `batch` replaces, those that these replaced before, and so on."""
    found: set[int] = set()
    left = [cursor for entry in batch for cursor in entry.rereads]
    while left:
        if (cursor := left.pop()) not in found:
            found.add(cursor)
            left.extend(rereads.get(cursor, ()))
    return found


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
