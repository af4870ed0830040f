"""What was done here and what is under way: runs, model calls, nights and batches, a line each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dream.reports import ConsolidateReport, RunReport, Usage, shape
from dream.settings import EMBEDDED
from dream.workspace.files import Records, explained, read_note, sync_directory, write_note
from dream.workspace.lock import FileLock

if TYPE_CHECKING:
    from dream.models import State

# The run record: one line per run in .dream/runs.jsonl, also of a run that did nothing, with its reason.


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


# What model calls cost: one line a call in .dream/bills/<month>.jsonl, written as soon as the answer is there.
#
# A run that dies has its spending counted, then, and neither a month nor a day is the longer to add up for the
# history behind it. A file holds one month of UTC and is never rotated; it is small: some 150 bytes a call.


FOLDER = "bills"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a local day and its month have cost so far.

    `paid_today` leaves out the free `embedded` model, and counts money as far as prices are known.
    """

    today: Usage = field(default_factory=Usage)
    month: Usage = field(default_factory=Usage)
    paid_today: Usage = field(default_factory=Usage)


class Bills:
    """The bills of one workspace; safe to add to from several threads and processes."""

    def __init__(self, private: Path) -> None:
        self._folder = private / FOLDER

    def add(self, model: str, usage: Usage, at: datetime, job: str = "") -> None:
        """Add one bill, in one write; on disk when this returns if it was not free. Raises WorkspaceError."""
        about = {"at": at.astimezone(UTC).isoformat(timespec="seconds"), "model": model, "job": job}
        row = about | asdict(usage)
        Records(self._folder / f"{at.astimezone(UTC):%Y-%m}.jsonl").add(row, durable=usage.cost_usd != 0)

    def spent(self, now: datetime, zone: tzinfo) -> Spent:
        """Add up the day and the month of `now` in `zone`; raises WorkspaceError."""
        day = now.astimezone(zone).date()
        today, month, paid = Usage(), Usage(), Usage()
        for on, model, _, usage in self._of_months(zone, day):
            if (on.year, on.month) != (day.year, day.month):
                continue
            month += usage
            if on == day:
                today += usage
                paid += replace(usage, cost_usd=usage.cost_usd or 0.0) if model != EMBEDDED else Usage()
        return Spent(today, month, paid)

    def paid_today(self, now: datetime, zone: tzinfo) -> Usage:
        """Add up what the day of `now` has cost, without the free model; raises WorkspaceError."""
        return self.spent(now, zone).paid_today

    def daily(self, now: datetime, zone: tzinfo) -> dict[tuple[date, str, str], Usage]:
        """Add up the bills of each day in `zone`, model and job, this month's and the last's; raises WorkspaceError."""
        today = now.astimezone(zone).date()
        sums: dict[tuple[date, str, str], Usage] = {}
        for on, model, job, usage in self._of_months(zone, today.replace(day=1) - timedelta(days=1), today):
            sums[on, model, job] = sums.get((on, model, job), Usage()) + usage
        return sums

    def _of_months(self, zone: tzinfo, *days: date) -> Iterator[tuple[date, str, str, Usage]]:
        """Yield day, model, job and usage of each bill around the months of `days`.

        A file's month is UTC's, so the ends of a zone's month may lie in the next ones.
        """
        around = (day.replace(day=1) + timedelta(days=shift) for day in days for shift in (-1, 0, 31))
        names = dict.fromkeys(f"{one:%Y-%m}.jsonl" for one in around)
        on = lru_cache(lambda minute: datetime.fromisoformat(f"{minute}+00:00").astimezone(zone).date())
        for row in chain.from_iterable(Records(self._folder / name) for name in names):
            try:
                day, model, job = on(row["at"][:16]), str(row["model"]), str(row.get("job", ""))
                asked, answered, cached = (int(row[f"{kind}_tokens"]) for kind in ("input", "output", "cached"))
                cost = None if row["cost_usd"] is None else float(row["cost_usd"])
                usage = Usage(int(row["calls"]), asked, answered, cost, cached)
            except (ValueError, TypeError, KeyError):  # torn, or none of ours
                continue
            yield day, model, job, usage


# When the last night was, and which process serves the workspace: two small files in .dream/nightly/.


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
