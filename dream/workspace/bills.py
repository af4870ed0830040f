"""What model calls cost: one line a call in .dream/bills/<month>.jsonl, written as soon as the answer is there.

A run that dies has its spending counted, then, and neither a month nor a day is the longer to add up for the history
behind it. A file holds one month of UTC and is never rotated; it is small: some 150 bytes a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain
from pathlib import Path

from dream.reports import Usage
from dream.settings import EMBEDDED
from dream.workspace.files import Records

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
