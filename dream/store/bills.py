"""What model calls cost: one line a call in .dream/bills/<month>.jsonl, written as soon as the answer is there.

A run that dies has its spending counted, then, and neither a month nor a day is the longer to add up for the history
behind it. A file holds one month of UTC and is never rotated; it is small: some 150 bytes a call.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from operator import add
from pathlib import Path

import orjson

from dream.models import Usage
from dream.store import files, lines
from dream.store.files import explained

FOLDER = "bills"
FREE = "embedded"  # the model whose tokens nobody pays for


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

    def add(self, model: str, usage: Usage, at: datetime) -> None:
        """Add one bill, in one write; on disk when this returns if it was not free. Raises WorkspaceError."""
        path = self._folder / f"{at.astimezone(UTC):%Y-%m}.jsonl"
        row = {"at": at.astimezone(UTC).isoformat(timespec="seconds"), "model": model} | asdict(usage)
        with explained("written", path):
            lines.append(path, orjson.dumps(row), durable=usage.cost_usd != 0)

    def spent(self, now: datetime, zone: tzinfo) -> Spent:
        """Add up the day and the month of `now` in `zone`; raises WorkspaceError."""
        day = now.astimezone(zone).date()
        today, month, paid = Usage(), Usage(), Usage()
        for (minute, model), usage in self._by_minute(day).items():
            on = datetime.fromisoformat(f"{minute}+00:00").astimezone(zone).date()
            if (on.year, on.month) != (day.year, day.month):
                continue
            month += usage
            if on == day:
                today += usage
                paid += replace(usage, cost_usd=usage.cost_usd or 0.0) if model != FREE else Usage()
        return Spent(today, month, paid)

    def _by_minute(self, day: date) -> dict[tuple[str, str], Usage]:
        """Add up the bills of each minute and model around `day`'s month.

        A file's month is UTC's, so the ends of a zone's month may lie in the next ones.
        """
        first = day.replace(day=1)
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        around = (first - timedelta(days=1), first, last + timedelta(days=1))
        sums: dict[tuple[str, str], list[float]] = {}
        for name in dict.fromkeys(f"{one:%Y-%m}.jsonl" for one in around):
            for line in (files.read_bytes(self._folder / name) or b"").splitlines():
                _add(sums, line)
        return {key: _usage(sum_) for key, sum_ in sums.items()}


def _add(sums: dict[tuple[str, str], list[float]], line: bytes) -> None:
    """Add one line, unless it is torn or none of ours. The last figure counts the calls whose price is not known."""
    try:
        row = orjson.loads(line)
        key, cost = (row["at"][:16], str(row["model"])), row["cost_usd"]
        total = sums.get(key)
        if total is None:
            datetime.fromisoformat(f"{key[0]}+00:00")
            total = sums[key] = [0, 0, 0, 0, 0.0, 0]
        asked, answered, cached = row["input_tokens"], row["output_tokens"], row["cached_tokens"]
        figures = (int(row["calls"]), int(asked), int(answered), int(cached), cost or 0.0, cost is None)
        total[:] = map(add, total, figures)
    except (ValueError, TypeError, KeyError):
        return


def _usage(total: list[float]) -> Usage:
    calls, asked, answered, cached, cost, unpriced = total
    return Usage(int(calls), int(asked), int(answered), None if unpriced else cost, int(cached))
