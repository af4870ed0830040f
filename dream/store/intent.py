"""The intent of a commit that is being applied: .dream/apply.json, there only while files are being swapped in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from dream.store import faults, files

FILE_NAME = "apply.json"


@dataclass(frozen=True, slots=True)
class Intent:
    """HEAD goes from `old` to `new`, then `files` go to disk, then git's index learns of them and of `index`.

    While its objects are being made the new commit has no name: `new` is empty, and HEAD can't be there yet.
    """

    old: str | None
    new: str
    files: tuple[str, ...] = ()
    index: tuple[str, ...] = ()


def write(private: Path, intent: Intent) -> None:
    """Note what is about to be done; on disk on return."""
    faults.checkpoint("before intent")
    files.replace(private / FILE_NAME, orjson.dumps(asdict(intent)), durable=bool(intent.new))
    faults.checkpoint("after intent")


def read(private: Path) -> Intent | None:
    """Return the intent that a crash left, or None; one that cannot be read never got as far as HEAD."""
    data = files.read_bytes(private / FILE_NAME)
    try:
        row = orjson.loads(data or b"null")
        return Intent(row["old"], row["new"], tuple(row["files"]), tuple(row["index"])) if row else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def written_at(private: Path) -> float:
    """Return when the intent was written, in seconds of the epoch."""
    with files.explained("read", private / FILE_NAME):
        return (private / FILE_NAME).stat().st_mtime


def remove(private: Path) -> None:
    """Say that all is done."""
    faults.checkpoint("before intent is removed")
    with files.explained("removed", private / FILE_NAME):
        (private / FILE_NAME).unlink(missing_ok=True)
    faults.checkpoint("after intent is removed")
