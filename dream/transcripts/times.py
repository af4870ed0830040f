"""Read the times that agents write: ISO 8601 and epoch seconds, milliseconds, micro- or nanoseconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# 11 digits of seconds reach the year 5138; what is larger counts in a smaller unit.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
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
    return None


def _aware(moment: datetime | None, zone: tzinfo) -> datetime | None:
    if moment is None:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (OverflowError, ValueError):  # the first and last day of the calendar
        return None
