"""What was done here and what is under way: runs, model calls, nights and batches, a line each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from dream.reports import ConsolidateReport, RunReport, Usage, shape
from dream.settings import EMBEDDED
from dream.workspace.files import Records, explained, read_bytes, read_note, replace_file, sync_directory, write_note
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


# What is with a provider for half the price: .dream/batches.jsonl, and the answers in .dream/batches/.
#
# The file says what happened to each batch, a line each time: planned (on disk before the provider is asked, so that
# none is ever forgotten), submitted, collected, or given up. It decides nothing about progress: how far a session or a
# dream is, history and the cursor alone say. An answer that nobody asks for any more is simply left.


BATCHES, ANSWERS = "batches.jsonl", "batches"
KEPT = timedelta(days=7)  # after which answers that nobody asked for are deleted

BatchState = Literal["planned", "submitted", "collected", "given up"]
RequestState = Literal["waiting", "answered", "given up"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What belongs together: a session's requests, or those of the entries `first` to `last`."""

    what: str
    requests: tuple[str, ...]
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class ProviderBatch:
    """One batch; `tag` is our name for it, `id` the provider's."""

    tag: str
    job: str
    model: str
    units: tuple[Unit, ...]
    at: datetime
    state: BatchState = "planned"
    id: str = ""
    used: frozenset[str] = field(default_factory=frozenset)


class Batches:
    """The batches of one workspace. To be used by one process at a time: hold `lock`."""

    def __init__(self, private: Path) -> None:
        self._records = Records(private / BATCHES)
        self._folder = private / ANSWERS
        self.lock = FileLock(private / "batches.lock")
        self._batches: dict[str, ProviderBatch] = {}
        self._tags: dict[str, list[str]] = {}  # of the batches that a request was part of
        self._answers: dict[str, dict[str, Any]] = {}  # by tag, read when first asked for

    def read(self) -> None:
        """Read how the batches stand; lines that are torn or none of ours are passed over. Raises WorkspaceError."""
        self._batches, self._tags, self._answers = {}, {}, {}
        for row in self._records:
            with suppress(ValueError, TypeError, KeyError):
                self._apply(row)

    def open(self) -> list[ProviderBatch]:
        """List the batches that are not over."""
        return [batch for batch in self._batches.values() if batch.state in ("planned", "submitted")]

    def known(self, request: str) -> RequestState | None:
        """Return how a request stands; None where it was never sent, or its batch came back without an answer."""
        if self.answer(request) is not None:
            return "answered"
        states = [batch.state for batch in self._with(request)]
        waiting = "planned" in states or "submitted" in states
        return "waiting" if waiting else "given up" if states else None

    def unit_from(self, job: str, first: int) -> Unit | None:
        """Return the newest unit of `job` that begins with entry `first`."""
        units = [unit for batch in self._batches.values() if batch.job == job for unit in batch.units]
        return next((unit for unit in reversed(units) if unit.first == first), None)

    def answer(self, request: str) -> dict[str, Any] | None:
        """Return what was answered to a request."""
        found = (self._of(batch).get(request) for batch in self._with(request) if batch.state == "collected")
        return next((answer for answer in found if isinstance(answer, dict)), None)

    def plan(self, job: str, model: str, units: Sequence[Unit], at: datetime) -> ProviderBatch:
        """Note what is about to be submitted."""
        import hashlib  # of no use to all who only add a record

        keys = "".join(key for unit in units for key in unit.requests)
        tag = hashlib.sha256(f"{at.isoformat()} {keys}".encode()).hexdigest()[:16]
        rows = [[unit.what, list(unit.requests), unit.first, unit.last] for unit in units]
        self._note({"tag": tag, "job": job, "model": model, "at": at.astimezone(UTC).isoformat(), "units": rows})
        return self._batches[tag]

    def submitted(self, batch: ProviderBatch, identity: str) -> None:
        """Note what the provider calls it."""
        self._note({"tag": batch.tag, "state": "submitted", "id": identity})

    def collected(self, batch: ProviderBatch, answers: Mapping[str, object]) -> None:
        """Keep the answers, by request."""
        replace_file(self._folder / f"{batch.tag}.json", orjson.dumps(answers))
        self._note({"tag": batch.tag, "state": "collected"})

    def given_up(self, batch: ProviderBatch, reason: str) -> None:
        """Note that no answers will come; what it held is asked for in ordinary calls."""
        self._note({"tag": batch.tag, "state": "given up", "reason": reason})

    def forgotten(self, batch: ProviderBatch) -> None:
        """Note that it never got to the provider; what it held may be submitted anew."""
        self._keep(other for other in self._batches.values() if other.tag != batch.tag)

    def use(self, request: str) -> bool:
        """Note that an answer was used; tell whether for the first time."""
        for batch in self._with(request):
            if batch.state == "collected" and request in self._of(batch):
                if request in batch.used:
                    return False
                self._note({"tag": batch.tag, "used": request})
                return True
        return False

    def unused(self, now: datetime) -> list[tuple[str, dict[str, Any]]]:
        """Drop batches that were over long ago; return the model and the answer of each request nobody came for."""
        old = [batch for batch in self._batches.values() if batch not in self.open() and now - batch.at > KEPT]
        left = [
            (batch.model, answer)
            for batch in old
            if batch.state == "collected"
            for key, answer in self._of(batch).items()
            if key not in batch.used
        ]
        if old:
            tags = {batch.tag for batch in old}
            self._keep(batch for batch in self._batches.values() if batch.tag not in tags)
            for tag in tags:
                (self._folder / f"{tag}.json").unlink(missing_ok=True)
        return left

    def _with(self, request: str) -> list[ProviderBatch]:
        return [self._batches[tag] for tag in self._tags.get(request, ())]

    def _of(self, batch: ProviderBatch) -> dict[str, Any]:
        if batch.tag not in self._answers:
            data = read_bytes(self._folder / f"{batch.tag}.json") or b"{}"
            self._answers[batch.tag] = orjson.loads(data)
        return self._answers[batch.tag]

    def _note(self, row: dict[str, Any]) -> None:
        """Add a record, on disk when this returns."""
        self._records.add(row)
        self._apply(row)

    def _apply(self, row: dict[str, Any]) -> None:
        tag = row["tag"]
        if "units" in row:
            units = tuple(Unit(what, tuple(keys), first, last) for what, keys, first, last in row["units"])
            at = datetime.fromisoformat(row["at"])
            self._batches[tag] = ProviderBatch(tag, row["job"], row["model"], units, at)
            for unit in units:
                for request in unit.requests:
                    self._tags.setdefault(request, []).append(tag)
        elif "used" in row:
            batch = self._batches[tag]
            self._batches[tag] = replace(batch, used=batch.used | {row["used"]})
        else:
            self._batches[tag] = replace(self._batches[tag], state=row["state"], id=row.get("id", ""))

    def _keep(self, kept: Iterable[ProviderBatch]) -> None:
        """Leave the records of these only."""
        tags = {batch.tag for batch in kept}
        self._records.keep(lambda row: row.get("tag") in tags)
        self.read()
