"""When the last night was, and which process serves the workspace: two small files in .dream/nightly/."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dream.workspace.files import read_note, write_note

NIGHTLY = "nightly"
STAMP = "last.json"
SERVING = "serving.json"


def stamp(private: Path, now: datetime) -> None:
    """Note that a night was had at `now`."""
    write_note(private / NIGHTLY / STAMP, {"at": now.astimezone(UTC).isoformat()})


def last_night(private: Path) -> datetime | None:
    """Return when the last night was; None when there was none, or its stamp is damaged."""
    try:
        at = datetime.fromisoformat(read_note(private / NIGHTLY / STAMP)["at"])
    except (ValueError, TypeError, KeyError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def serving(private: Path, process: int, next_run: datetime) -> None:
    """Note which process serves the workspace and when its next night is, for `status`."""
    write_note(private / NIGHTLY / SERVING, {"pid": process, "next_run": next_run.isoformat()})


def not_serving(private: Path) -> None:
    """Take the note of `serving` back."""
    with suppress(OSError):  # on a disk that can't be written to any more; `served` sees that the process has ended
        (private / NIGHTLY / SERVING).unlink(missing_ok=True)


def served(private: Path) -> datetime | None:
    """Return when the process that serves the workspace has its next night; None where none does."""
    try:
        note = read_note(private / NIGHTLY / SERVING)
        os.kill(int(note["pid"]), 0)
        return datetime.fromisoformat(note["next_run"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
