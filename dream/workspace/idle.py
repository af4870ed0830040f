"""Whether there is anything to dream, told from a few bytes: cron asks every night, and most nights are short.

What is said here is said only where nothing else could be: the log ends in an entry of ours that has been dreamt, no
commit is half done, no batch is under way, nobody holds the workspace. In any doubt the answer is None, and the
pipeline looks properly. So this module imports nothing of ours that takes time.
"""

from __future__ import annotations

import fcntl
import json
import os
from datetime import datetime
from pathlib import Path

from dream.door import check_folder, contents, open_file
from dream.errors import DreamError
from dream.settings import Settings
from dream.workspace.workspace import Workspace

TAIL = 1 << 16  # bytes of the log that are looked at; a longer last entry is left to the pipeline
LARGEST = 1 << 19  # bytes of the run record; a larger one is left to the pipeline, which turns it over
DREAMT = "no entry after {}: all of history has been dreamt"
EMPTY = "history is empty: `dream consolidate PATH` fills it from transcripts"
USAGE = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "cached_tokens": 0}
UNDER_WAY = ("apply.json", "batches.jsonl", "attempts.json")


def reason(root: Path, *, locked: bool = False) -> str | None:
    """Say why there is nothing to dream; None where there may be something to do. `locked`: the caller has the lock."""
    memory, private = root / "memory", root / ".dream"
    try:
        for folder in (memory, private):
            check_folder(folder)  # one that is a link is refused by whoever opens the workspace
        if any((private / name).exists() for name in UNDER_WAY):
            return None
        if not locked and not is_free(private / "run.lock"):
            return None
        if not _notes_are_known(memory, private):
            return None
        newest, given = _newest(memory / "history.jsonl"), _cursor(memory / ".cursor")
        if newest == given == 0:
            return None if (memory / "archive").is_dir() and any((memory / "archive").iterdir()) else EMPTY
        dreamt = _cursor(memory / ".dream_cursor")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return DREAMT.format(dreamt) if 0 < newest == given == dreamt else None


def record(root: Path, why: str, now: datetime) -> bool:
    """Add a run that did nothing to the run record; False where the record needs more care than this."""
    row: dict[str, object] = {
        "started": now.isoformat(),
        "ended": now.isoformat(),
        "command": "run",
        "outcome": "nothing",
        "reason": why,
        "entries": None,
        "findings": {},
        "usage": USAGE,
        "commits": [],
        "model": "",
    }
    try:
        descriptor = open_file(root / ".dream" / "runs.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT)
    except OSError:
        return False
    try:
        size = os.fstat(descriptor).st_size
        if size > LARGEST or (size and os.pread(descriptor, 1, size - 1) != b"\n"):
            return False
        data = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        return os.write(descriptor, data) == len(data)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _notes_are_known(memory: Path, private: Path) -> bool:
    """Tell whether HISTORY.md and the daily notes are as they were when they were taken into history."""
    found = [entry for entry in os.scandir(memory) if entry.name.endswith(".md") and entry.name != "MEMORY.md"]
    if not found:
        return True
    try:
        seen = json.loads(contents(private / "notes.json"))
    except FileNotFoundError:
        seen = {}
    stats = {entry.name: entry.stat() for entry in found if entry.name == "HISTORY.md" or entry.name[0].isdigit()}
    return all(seen.get(name) == [one.st_size, one.st_mtime_ns] for name, one in stats.items())


def _newest(path: Path) -> int:
    """Return the cursor of the last entry, 0 of an empty log; raises ValueError where the last line is none."""
    try:
        descriptor = open_file(path)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, TAIL, max(0, size - TAIL))
    finally:
        os.close(descriptor)
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
    """Tell whether nobody holds the run lock at this moment."""
    try:
        descriptor = open_file(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


# A run with nothing to dream, as most nights are: told from a few bytes, so that the pipeline is not loaded for it.


def why_nothing(workspace: Workspace, settings: Settings, now: datetime) -> str | None:
    """Say why there is nothing to dream, after what every run does: a person's edits have a commit, the run a record.

    None where there may be something to do. The caller holds the lock of the workspace.
    """
    why = reason(workspace.root, locked=True)
    if why is None or settings.batch or not workspace.git.exists:
        return None
    from dream.versions import transaction

    try:
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
    except DreamError:
        return None  # the pipeline meets it too, tells of it and records it
    return why if record(workspace.root, why, now) else None
