"""Read the times that agents and people write: ISO 8601, epoch seconds to nanoseconds, `1:56 pm on 8 May, 2023`."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from dream.language.words import MONTH, MONTHS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# 11 digits of seconds reach the year 5138; what is larger counts in a smaller unit.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_DAYS = (  # with the year, or it is no date
    re.compile(
        rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)?[ -](?P<month>{MONTH}),?[ -](?P<year>\d{{4}})\b", re.IGNORECASE
    ),
    re.compile(rf"\b(?P<month>{MONTH})[ -](?P<day>\d\d?)(?:st|nd|rd|th)?(?:,? |-)(?P<year>\d{{4}})\b", re.I),
    re.compile(r"(?<!\d)(?P<year>\d{4})[-/](?P<number>\d\d)[-/](?P<day>\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<year>\d{4}) ?年 ?(?P<number>\d\d?) ?月 ?(?P<day>\d\d?) ?日"),
)
_CLOCK = re.compile(
    r"\b(?P<hour>\d\d?)(?::(?P<minute>\d\d)(?::\d\d)?)? ?(?P<half>[ap])\.?m\b\.?|\b(?P<h>\d\d?):(?P<m>\d\d)\b",
    re.IGNORECASE,
)
_FILLING = re.compile(
    r"\b(?:on|at|the|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b|[\s,.;()\[\]–—-]", re.IGNORECASE
)
_FORMATS = ("%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%d.%m.%Y %H:%M", "%d.%m.%Y", "%b %d, %Y %I:%M %p")


def parse(value: object, zone: tzinfo) -> datetime | None:
    """Return `value` as aware UTC, or None where it is not a time; a naive one is read in `zone`."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str) or len(value) > 64:
        return None
    value = value.strip()
    if _NUMBER.fullmatch(value) and len(value) > 8:  # shorter ones are dates: 20261121
        return _from_epoch(float(value))
    return _aware(_from_text(value), zone)


def _from_epoch(number: float) -> datetime | None:
    try:
        size = float(number)
    except OverflowError:
        return None
    if not math.isfinite(size) or size <= 0:
        return None
    unit = next((unit for limit, unit in _UNITS if size < limit), None)
    if unit is None:
        return None
    try:
        return EPOCH + timedelta(seconds=size / unit)
    except OverflowError:
        return None


def _from_text(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return datetime.strptime(value, form)  # noqa: DTZ007, the caller gives it the zone
        except ValueError:
            continue
    return _written(value)


def day(text: str) -> date | None:
    """Return the first day that `text` names with its year."""
    found = min(
        (match for form in _DAYS if (match := form.search(text))), key=lambda match: match.start(), default=None
    )
    return _day(found) if found else None


def _written(value: str) -> datetime | None:
    """Read a date in words with or without a time of day, and nothing else beside it."""
    found = next((match for form in _DAYS if (match := form.search(value))), None)
    if found is None or (on := _day(found)) is None:
        return None
    rest = f"{value[: found.start()]} {value[found.end() :]}"
    clock = _CLOCK.search(rest)
    beside = _CLOCK.sub("", rest, count=1)
    if _FILLING.sub("", beside):
        return None
    return datetime.combine(on, _time(clock) if clock else time())


def _day(found: re.Match[str]) -> date | None:
    parts = found.groupdict()
    month = int(parts["number"]) if "number" in parts else MONTHS.index(parts["month"][:3].lower()) + 1
    try:
        return date(int(parts["year"]), month, int(parts["day"]))
    except ValueError:
        return None


def _time(clock: re.Match[str]) -> time:
    if clock["h"]:
        hour, minute = int(clock["h"]), int(clock["m"])
    else:
        hour, minute = int(clock["hour"]) % 12 + (12 if clock["half"].lower() == "p" else 0), int(clock["minute"] or 0)
    return time(hour, minute) if hour < 24 and minute < 60 else time()


def _aware(moment: datetime | None, zone: tzinfo) -> datetime | None:
    if moment is None:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (OverflowError, ValueError):  # the first and last day of the calendar
        return None
