"""When the last night was, and which process serves the workspace: two small files in .dream/nightly/."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dream.door import contents
from dream.store import files

FOLDER = "nightly"
STAMP = "last.json"
SERVING = "serving.json"


def stamp(private: Path, now: datetime) -> None:
    """Note that a night was had at `now`."""
    files.replace(private / FOLDER / STAMP, orjson.dumps({"at": now.astimezone(UTC).isoformat()}))


def last(private: Path) -> datetime | None:
    """Tell when the last night was; None when there was none, or its stamp is damaged."""
    try:
        at = datetime.fromisoformat(orjson.loads(contents(private / FOLDER / STAMP))["at"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def serving(private: Path, process: int, next_run: datetime) -> None:
    """Note which process serves the workspace and when its next night is, for `status`."""
    files.replace(private / FOLDER / SERVING, orjson.dumps({"pid": process, "next_run": next_run.isoformat()}))


def not_serving(private: Path) -> None:
    """Take the note of `serving` back."""
    with suppress(OSError):  # on a disk that can't be written to any more; `served` sees that the process has ended
        (private / FOLDER / SERVING).unlink(missing_ok=True)


def served(private: Path) -> datetime | None:
    """Tell when the process that serves the workspace has its next night; None where none does."""
    try:
        note = orjson.loads(contents(private / FOLDER / SERVING))
        os.kill(int(note["pid"]), 0)
        return datetime.fromisoformat(note["next_run"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
