"""What model calls cost: one line a call in .dream/bills/<month>.jsonl, written as soon as the answer is there.

A run that dies has its spending counted, then, and neither a month nor a day is the longer to add up for the history
behind it. A file holds one month of UTC and is never rotated; it is small: some 150 bytes a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path

import orjson

from dream.models import Usage
from dream.store import lines
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
            self._folder.mkdir(parents=True, exist_ok=True)
            lines.append(path, orjson.dumps(row), durable=usage.cost_usd != 0)

    def spent(self, now: datetime, zone: tzinfo) -> Spent:
        """Add up the day and the month of `now` in `zone`; raises WorkspaceError."""
        day = now.astimezone(zone).date()
        today, month, paid = Usage(), Usage(), Usage()
        for model, usage, on in self._of_month(day, zone):
            month += usage
            if on == day:
                today += usage
                paid += replace(usage, cost_usd=usage.cost_usd or 0.0) if model != FREE else Usage()
        return Spent(today, month, paid)

    def _of_month(self, day: date, zone: tzinfo) -> Iterator[tuple[str, Usage, date]]:
        """Yield the bills of `day`'s month in `zone`; a file's month is UTC's, so its ends may lie in the next."""
        first = day.replace(day=1)
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        around = (first - timedelta(days=1), first, last + timedelta(days=1))
        for name in dict.fromkeys(f"{one:%Y-%m}.jsonl" for one in around):
            for line in self._lines(self._folder / name):
                bill = _parse(line, zone)
                if bill is not None and (bill[2].year, bill[2].month) == (day.year, day.month):
                    yield bill

    def _lines(self, path: Path) -> Iterator[bytes]:
        with explained("read", path):
            if path.exists():
                with path.open("rb") as file:
                    yield from file


def _parse(line: bytes, zone: tzinfo) -> tuple[str, Usage, date] | None:
    """Read one line, or None where it is torn or none of ours."""
    try:
        row = orjson.loads(line)
        at = datetime.fromisoformat(row.pop("at"))
        return row.pop("model"), Usage(**row), at.astimezone(zone).date()
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
