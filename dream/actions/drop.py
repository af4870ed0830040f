"""Remove one line of memory permanently: a commit of its own, which a restore can undo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dream.actions import review
from dream.actions.statements import is_citation
from dream.directory import Workspace
from dream.errors import UsageError
from dream.models import MemoryFile
from dream.text.words import without_bullet
from dream.workspace.lock import run_lock


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a memory file, by its number from 1."""

    file: MemoryFile
    number: int
    text: str

    @property
    def cite(self) -> str:
        """Return its citation."""
        return f"{self.file.removeprefix('memory/')}:{self.number}"


def named(workspace: Workspace, what: str) -> Line:
    """Return the line with this citation, this text, or these words if no other line contains them.

    Raises UsageError if no line matches, or several do.
    """
    lines = [
        Line(file, number, text)
        for file in workspace.files()
        for number, text in enumerate(workspace.read_file(file).splitlines(), 1)
        if text.strip() and not text.startswith("#")
    ]
    wanted = _plain(what)
    if is_citation(what):
        found = [one for one in lines if one.cite.casefold() == what.strip().removeprefix("memory/").casefold()]
    else:
        found = [one for one in lines if _plain(one.text) == wanted]
        found = found or [one for one in lines if wanted and wanted in _plain(one.text)]
    if not found:
        raise UsageError(f"No line of memory is {what!r}; `dream search` finds lines with their citations.")
    if len(found) > 1:
        several = "; ".join(f"{one.cite} {without_bullet(one.text).strip()}" for one in found[:5])
        raise UsageError(f"{len(found)} lines hold {what!r}: {several}. Name one by its citation.")
    return found[0]


def drop(workspace: Workspace, line: Line, *, now: datetime) -> str | None:
    """Remove `line` from its file, and keep dreams from writing it again; return the commit's sha.

    Raises UsageError if the line is no longer there, and Busy.
    """
    with run_lock(workspace.private, "dream drop", now=now):
        return review.amend(workspace, line.file, line.number, line.text, "", never=True, now=now)


def _plain(text: str) -> str:
    return " ".join(without_bullet(text).casefold().split())
