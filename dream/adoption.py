"""What other programs keep in a workspace: nanobot's HISTORY.md, OpenClaw's daily notes and its MEMORY.md, taken in."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dream.memory import DREAM_CURSOR
from dream.workspace.files import explained, read_bytes, read_note, replace_file, write_note

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.models import Entry

HISTORY = "HISTORY.md"  # nanobot's older log, in memory/
INSTRUCTIONS = ("AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "TOOLS.md")  # for agents, at the root; no memory
SHOWN = 4  # files that one sentence names
SEEN_NOTES = "notes.json"  # in .dream/


def take_in_notes(workspace: Workspace, now: datetime) -> list[Entry]:
    """Append to history what HISTORY.md and daily notes hold and it doesn't; return it. The files stay.

    What HISTORY.md held at first counts as dreamt, what was written to it since does not. A file that is as it
    was the last time is not opened.
    """
    seen = _seen(workspace)
    taken: list[Entry] = []
    for name, stamp in new_notes(workspace).items():
        from dream.history import legacy  # on most nights nobody has written to them

        session, later = f"openclaw:memory/{name}", ""
        if name == HISTORY:
            session, later = legacy.SESSION, legacy.LATER
        day = legacy.day_of(name)
        new = workspace.history.import_notes(workspace.memory / name, now=now, session=session, later=later, day=day)
        if new:
            dreamt = ", as dreamt before" if new[0].session == legacy.SESSION else ""
            count = "1 entry" if len(new) == 1 else f"{len(new)} entries"
            workspace.history.tell(f"memory/{name}", f"{count} of it went into history{dreamt}")
        taken += new
        seen[name] = stamp
    if seen != _seen(workspace):
        _pass_over_dreamt(workspace)
        write_note(workspace.private / SEEN_NOTES, seen, durable=False)
    return taken


def new_notes(workspace: Workspace) -> dict[str, list[int]]:
    """Return size and time, in ns, of each file of notes that is not as it was when history took it in."""
    stats = {name: path.stat() for name, path in _noted(workspace).items()}
    seen = _seen(workspace)
    stamps = {name: [one.st_size, one.st_mtime_ns] for name, one in stats.items()}
    return {name: stamp for name, stamp in stamps.items() if seen.get(name) != stamp}


def _seen(workspace: Workspace) -> dict[str, list[int]]:
    """Return size and time, in ns, of each file of notes as it was when all of it was in history."""
    return read_note(workspace.private / SEEN_NOTES)


def take_over_memory(workspace: Workspace) -> None:
    """Begin memory/MEMORY.md with OpenClaw's, which lies at the root; where both are there, say that it is left."""
    theirs = read_bytes(workspace.root / "MEMORY.md") if (workspace.root / "MEMORY.md").is_file() else None
    ours = workspace.root / "memory/MEMORY.md"
    if theirs is None or not theirs.strip():
        return
    if ours.exists():
        workspace.history.tell(
            "MEMORY.md", "is not read, for memory/MEMORY.md is there too; move into that what should stay"
        )
    else:
        replace_file(ours, theirs)
        workspace.history.tell("MEMORY.md", "was copied to memory/MEMORY.md, which is read and written from now on")


def tell_what_is_left(workspace: Workspace) -> None:
    """Name the Markdown of other programs that is not taken: instructions of agents, and notes without a day."""
    notes = [
        path for path in sorted(workspace.memory.glob("*.md")) if path.name not in ("MEMORY.md", *_noted(workspace))
    ]
    found = [path for path in (*(workspace.root / name for name in INSTRUCTIONS), *notes) if path.is_file()]
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        names = ", ".join(str(path.relative_to(workspace.root)) for path in found[:SHOWN]) + more
        workspace.history.tell(
            names, "not taken in: only MEMORY.md and notes of a day are; copy what should stay into MEMORY.md"
        )


def _noted(workspace: Workspace) -> dict[str, Path]:
    """Return the Markdown files in which other programs keep history, by name: HISTORY.md and daily notes."""
    with explained("read", workspace.memory):
        found = sorted(path.name for path in workspace.memory.iterdir()) if workspace.memory.is_dir() else []
    if not any(name == HISTORY or name[:1].isdigit() for name in found):
        return {}
    from dream.history.legacy import NOTES

    names = [name for name in found if name == HISTORY or NOTES.fullmatch(name)]
    return {name: workspace.memory / name for name in names if (workspace.memory / name).is_file()}


def _pass_over_dreamt(workspace: Workspace) -> None:
    """Move the dreams' cursor past what HISTORY.md held at first, so that it is not dreamt again."""
    from dream.history.legacy import SESSION

    dreamt = cursor = workspace.dream_cursor()
    for entry in workspace.history.after(dreamt):
        if entry.session != SESSION:
            break
        cursor = entry.cursor
    if cursor > dreamt:
        replace_file(workspace.root / DREAM_CURSOR, b"%d\n" % cursor)
