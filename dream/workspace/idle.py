"""Whether there is anything to do, told from a few bytes: cron asks every night, and most nights are short.

What is said here is said only where nothing else could be: the log ends in an entry of ours that has been dreamt, no
commit is half done; history holds all transcripts as they stand. In any doubt the answer is
None, and the stages look properly. So this module imports nothing that takes time.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dream.door import check_folder, contents
from dream.settings import Settings
from dream.workspace.files import opened, read_note, size_of

if TYPE_CHECKING:
    from dream.workspace.listing import File
    from dream.workspace.workspace import Workspace

TAIL = 1 << 16  # bytes of the log that are looked at; a longer last entry is left to the stages
EMPTY = "history is empty: `dream consolidate PATH` fills it from transcripts"
UNDER_WAY = ("apply.json", "attempts.json")


def why_nothing(last: int, dreamt: int) -> str:
    """Return why no entry is to be dreamt, by the cursors of the newest entry and of the last one dreamt."""
    return f"no entry after {dreamt}: all of history has been dreamt" if last else EMPTY


def nothing_to_dream(root: Path) -> str | None:
    """Return why there is nothing to dream; None where there may be something to do. The caller holds the run lock."""
    memory, private = root / "memory", root / ".dream"
    try:
        for folder in (memory, private):
            check_folder(folder)  # one that is a link is refused by whoever opens the workspace
        if any((private / name).exists() for name in UNDER_WAY):
            return None
        if not _notes_are_known(memory, private):
            return None
        newest, given = _newest(memory / "history.jsonl"), _cursor(memory / ".cursor")
        if newest == given == 0:
            return None if (memory / "archive").is_dir() and any((memory / "archive").iterdir()) else why_nothing(0, 0)
        dreamt = _cursor(memory / ".dream_cursor")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return why_nothing(newest, dreamt) if 0 < newest == given == dreamt else None


def nothing_to_read(
    workspace: Workspace, paths: Sequence[Path | File], settings: Settings, now: datetime
) -> str | None:
    """Return why none of the files at `paths` is to be read: history holds those that are quiet, as they stand.

    None where there may be something to read, where a path is not yet listed, and where a cache is to be written.
    """
    from dream.reports import LeftOut
    from dream.workspace import listing
    from dream.workspace.listing import Seen

    files = [path for path in paths if isinstance(path, listing.File)]
    if len(files) < len(paths):
        return None
    if not files:
        return "the configured sources hold no transcripts yet"
    seen = Seen(workspace.history)
    unread = seen.unread(files)
    if listing.quiet(unread, now, settings.idle_hours) or not seen.is_settled({one.name for one in files}):
        return None
    return LeftOut(busy=len(unread), hours=settings.idle_hours).sentence(appended=False)


def _notes_are_known(memory: Path, private: Path) -> bool:
    """Return whether HISTORY.md and the daily notes are as they were when they were taken into history."""
    found = [entry for entry in os.scandir(memory) if entry.name.endswith(".md") and entry.name != "MEMORY.md"]
    if not found:
        return True
    seen = read_note(private / "notes.json")
    stats = {entry.name: entry.stat() for entry in found if entry.name == "HISTORY.md" or entry.name[0].isdigit()}
    return all(seen.get(name) == [one.st_size, one.st_mtime_ns] for name, one in stats.items())


def _newest(path: Path) -> int:
    """Return the cursor of the last entry, 0 of an empty log; raises ValueError where the last line is none."""
    try:
        with opened(path) as descriptor:
            size = size_of(descriptor)
            tail = os.pread(descriptor, TAIL, max(0, size - TAIL))
    except FileNotFoundError:
        return 0
    if not tail:
        return 0
    _, newline, line = tail.rstrip(b"\n").rpartition(b"\n")
    if not tail.endswith(b"\n") or (not newline and size > TAIL):
        raise ValueError("the last line is not whole")
    return int(json.loads(line)["cursor"])


def _cursor(path: Path) -> int:
    try:
        return int(contents(path))
    except FileNotFoundError:
        return 0


def is_free(path: Path) -> bool:
    """Return whether nobody holds the run lock at this moment."""
    try:
        with opened(path, os.O_RDWR) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True
