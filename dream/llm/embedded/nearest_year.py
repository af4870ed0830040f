"""Which year a day of a month is meant of, that is named without one."""

from __future__ import annotations

from datetime import date

FAR = 300  # days from when it is said to the day that is meant; farther off, the other year is as likely


def nearest_year(month: int, number: int, day: date, *, past: bool) -> int | None:
    """Return the year of the last, or else of the next, such day from `day` on; None where that is far off or there is none."""
    for year in (day.year - 1, day.year, day.year + 1):
        try:
            ahead = (date(year, month, number) - day).days
        except ValueError:  # 30 February, or a year outside the calendar
            continue
        if -FAR <= ahead <= 0 if past else 0 <= ahead <= FAR:
            return year
    return None
