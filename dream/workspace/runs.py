"""The run record: one line per run in .dream/runs.jsonl, also of a run that did nothing, with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dream.reports import ConsolidateReport, RunReport, Usage, shape
from dream.workspace.files import Records, explained, sync_directory
from dream.workspace.lock import FileLock

if TYPE_CHECKING:
    from dream.models import State

FILE_NAME = "runs.jsonl"
OLDER = "runs.1.jsonl"
FORGETTINGS = "forgettings.jsonl"
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


def record(private: Path, report: RunReport | ConsolidateReport, started: datetime, ended: datetime) -> None:
    """Add the record of what `report` tells; it is on disk when this returns. Raises WorkspaceError."""
    done = RunRecord(
        started=started,
        ended=ended,
        command=report.command,
        outcome=report.outcome,
        reason=report.reason,
        entries=report.entries,
        findings=report.findings,
        usage=report.usage,
        commits=report.commits,
        model=report.models,
    )
    append(private, done)


def append(private: Path, record: RunRecord) -> None:
    """Add a record, on disk when this returns; raises WorkspaceError."""
    path = private / FILE_NAME
    with explained("written", path), FileLock(private / "runs.lock"):
        if path.exists() and path.stat().st_size > LARGEST:
            path.replace(private / OLDER)
            sync_directory(private)
        Records(path).add(shape(record))


def last(private: Path, count: int = 1) -> list[RunRecord]:
    """Return the newest `count` records, newest first; raises WorkspaceError."""
    rows = chain.from_iterable(Records(private / name).backwards() for name in (FILE_NAME, OLDER))
    return list(islice(filter(None, map(_parse, rows)), count))


def note_forgetting(private: Path, now: datetime) -> None:
    """Record that something was forgotten, and nothing of what it was; raises WorkspaceError."""
    path = private / FORGETTINGS
    with explained("written", path):
        Records(path).add({"at": now.isoformat()})


def forgettings(private: Path) -> list[datetime]:
    """Return when something was forgotten, newest first; raises WorkspaceError."""
    found = list[datetime]()
    for row in Records(private / FORGETTINGS).backwards():
        with suppress(KeyError, TypeError, ValueError):
            found.append(datetime.fromisoformat(row["at"]).astimezone(UTC))
    return found


def _parse(row: dict[str, Any]) -> RunRecord | None:
    """Read a record; None where it is of a version that knew other fields."""
    try:
        entries = row["entries"]
        row["started"] = datetime.fromisoformat(row["started"]).astimezone(UTC)
        row["ended"] = datetime.fromisoformat(row["ended"]).astimezone(UTC)
        row["entries"] = (int(entries[0]), int(entries[1])) if entries else None
        row["usage"] = Usage(**row["usage"])
        row["commits"] = tuple(row["commits"])
        return RunRecord(**row)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
