"""The run record: one line per run in .dream/runs.jsonl, also of a run that did nothing, with its reason."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from dream.models import State, Usage
from dream.store import lines
from dream.store.files import explained, sync_directory
from dream.store.history_archive import opened
from dream.store.history_bytes import lines_backwards
from dream.store.lock import FileLock

FILE_NAME = "runs.jsonl"
OLDER = "runs.1.jsonl"
LARGEST = 1 << 20  # bytes; then the file becomes the older one, and the one before that goes


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run did. Times are aware UTC; `entries` is the first and last cursor; `outcome` and `reason` are words.

    `findings` counts them by state. `usage` is the whole bill of the run.
    """

    started: datetime
    ended: datetime
    command: str
    outcome: str
    reason: str = ""
    entries: tuple[int, int] | None = None
    findings: Mapping[State, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    commits: tuple[str, ...] = ()
    model: str = ""


def append(private: Path, record: RunRecord) -> None:
    """Add a record, on disk when this returns; raises WorkspaceError."""
    path = private / FILE_NAME
    data = orjson.dumps(asdict(record), option=orjson.OPT_APPEND_NEWLINE)
    with explained("written", path), FileLock(private / "runs.lock"):
        if path.exists() and path.stat().st_size + len(data) > LARGEST:
            path.replace(private / OLDER)
            sync_directory(private)
        lines.append(path, data)


def last(private: Path, count: int = 1) -> list[RunRecord]:
    """Return the newest `count` records, newest first; raises WorkspaceError."""
    newest: list[RunRecord] = []
    for record in _backwards(private):
        if len(newest) >= count:
            break
        newest.append(record)
    return newest


def _backwards(private: Path) -> Iterator[RunRecord]:
    """Yield the records, newest first; lines that are none are passed over."""
    for name in (FILE_NAME, OLDER):
        path = private / name
        with explained("read", path):
            if not path.exists():
                continue
            with opened(path) as descriptor:
                for _, line in lines_backwards(descriptor, 0, os.fstat(descriptor).st_size):
                    record = _parse(line)
                    if record is not None:
                        yield record


def _parse(line: bytes) -> RunRecord | None:
    """Read one line, or None where it is torn, or of a version that knew other fields."""
    try:
        row: dict[str, Any] = orjson.loads(line)
        entries = row["entries"]
        row["started"] = datetime.fromisoformat(row["started"]).astimezone(UTC)
        row["ended"] = datetime.fromisoformat(row["ended"]).astimezone(UTC)
        row["entries"] = (int(entries[0]), int(entries[1])) if entries else None
        row["usage"] = Usage(**row["usage"])
        row["commits"] = tuple(row["commits"])
        return RunRecord(**row)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
