"""Times of a cron expression, as crontab means them, in local time. Pure.

Five fields: minute, hour, day of month, month, weekday (0 and 7 are Sunday; names are understood); `*`, lists,
ranges and steps; or `@daily` and its like. Where both days are restricted, either is enough, as in crontab(5).
A time that the clock skips in spring is taken an hour later; one that it passes twice in autumn is taken once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from dream.errors import SettingsError

Timetable = tuple["Cron", "tzinfo | None"]  # when the nights are, in which zone; None: the machine's

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
HORIZON = 366 * 8 + 2  # days: 29 February comes at least once in 8 years

_PART = re.compile(r"(?P<range>\*|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule. Weekdays count from 0, Sunday; `days` or `weekdays` is None where the field is a star."""

    expression: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...] | None
    months: tuple[int, ...]
    weekdays: tuple[int, ...] | None

    def on(self, day: date) -> bool:
        """Return whether the schedule has times on `day`."""
        if day.month not in self.months:
            return False
        by_day = self.days is None or day.day in self.days
        by_weekday = self.weekdays is None or day.isoweekday() % 7 in self.weekdays
        if self.days is not None and self.weekdays is not None:
            return by_day or by_weekday
        return by_day and by_weekday

    def after(self, moment: datetime, zone: tzinfo | None = None) -> datetime:
        """Return the first time after `moment`, in UTC; `zone` None is the machine's."""
        return next(found for found in self._times(moment, zone, 1) if found > moment)

    def before(self, moment: datetime, zone: tzinfo | None = None) -> datetime:
        """Return the last time that is not after `moment`, in UTC."""
        return next(found for found in self._times(moment, zone, -1) if found <= moment)

    def _times(self, moment: datetime, zone: tzinfo | None, step: int) -> Iterator[datetime]:
        """Yield the times from a day before (or after) `moment` on, in order of direction."""
        start = moment.astimezone(zone).date() - timedelta(days=step)
        for distance in range(HORIZON):
            day = start + timedelta(days=step * distance)
            if self.on(day):
                clock = [time(hour, minute) for hour in self.hours for minute in self.minutes]
                yield from sorted((_instant(day, at, zone) for at in clock), reverse=step < 0)
        raise AssertionError(f"{self.expression} was checked to have a time within {HORIZON} days")


def parse(expression: str) -> Cron:
    """Read a cron expression, or raise SettingsError that says what is wrong with it."""
    text = MACROS.get(expression.strip().lower(), expression)
    parts = text.lower().split()
    if len(parts) != len(FIELDS):
        raise _wrong(expression, "it has to have five fields, minute hour day month weekday, as in 0 3 * * *")
    values = [_field(expression, part, *field) for part, field in zip(parts, FIELDS, strict=True)]
    weekdays = tuple(sorted({day % 7 for day in values[4]}))
    cron = Cron(
        expression=" ".join(parts),
        minutes=values[0],
        hours=values[1],
        days=None if parts[2].startswith("*") and len(values[2]) == 31 else values[2],
        months=values[3],
        weekdays=None if len(weekdays) == 7 else weekdays,
    )
    start = date(2000, 1, 1)
    if not any(cron.on(start + timedelta(days=distance)) for distance in range(HORIZON)):
        raise _wrong(expression, "there is no such day")
    return cron


def _field(expression: str, text: str, name: str, low: int, high: int) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _wrong(expression, f"{part!r} is no {name}")
        step = int(match["step"] or 1)
        if match["range"] == "*":
            first, last = low, 6 if name == "weekday" else high
        else:
            first = _number(expression, match["first"], name)
            # `5/10` is 5, 15, 25 …, as in crontab(5).
            last = _number(expression, match["last"], name) if match["last"] else (high if match["step"] else first)
            last = 7 if match["last"] == "sun" else last  # fri-sun: a week may end with Sunday
        if step == 0 or not low <= first <= last <= high:
            raise _wrong(expression, f"{part!r} is no {name} between {low} and {high}")
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def _number(expression: str, text: str, name: str) -> int:
    names = {"month": MONTHS, "weekday": WEEKDAYS}.get(name, ())
    if text in names:
        return names.index(text) + (name == "month")
    if not text.isdecimal():
        raise _wrong(expression, f"{text!r} is no {name}")
    return int(text)


def _wrong(expression: str, why: str) -> SettingsError:
    return SettingsError(f"The schedule {expression!r} cannot be used: {why}.")


def _instant(day: date, at: time, zone: tzinfo | None) -> datetime:
    """Turn a time on the wall into an instant; the earlier one of a time that comes twice."""
    local = datetime.combine(day, at)
    return (local.replace(tzinfo=zone) if zone else local.astimezone()).astimezone(UTC)
