"""Cron expressions mean what crontab(5) says, also when the clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.crontime import parse
from dream.errors import SettingsError

BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 11, 21, 12, tzinfo=UTC)

fields = st.tuples(
    st.sampled_from(["*", "0", "30", "*/20", "5,55", "10-20/5"]),
    st.sampled_from(["*", "0", "2", "3", "*/8", "22-23"]),
    st.sampled_from(["*", "1", "31", "*/10"]),
    st.sampled_from(["*", "1", "feb,mar", "10-12"]),
    st.sampled_from(["*", "0", "7", "mon-fri", "sat,sun"]),
)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)).map(lambda moment: moment.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 3 * * *", "Sun 2026-11-22 03:00"),
        ("0 3 * * 0", "Sun 2026-11-22 03:00"),
        ("0 3 * * 7", "Sun 2026-11-22 03:00"),
        ("0 3 * * 1-5", "Mon 2026-11-23 03:00"),
        ("0 3 * * MON-FRI", "Mon 2026-11-23 03:00"),
        ("0 3 * * fri-sun", "Sun 2026-11-22 03:00"),
        ("0 3 1 * 1", "Mon 2026-11-23 03:00"),  # either day is enough
        ("*/15 2-4 * * *", "Sun 2026-11-22 02:00"),
        ("5/20 23 * * *", "Sat 2026-11-21 23:05"),
        ("@weekly", "Sun 2026-11-22 00:00"),
        ("0 3 29 2 *", "Tue 2028-02-29 03:00"),
    ],
)
def test_the_next_time_is_crontab_s(expression: str, expected: str) -> None:
    assert f"{parse(expression).after(SATURDAY, BERLIN).astimezone(BERLIN):%a %Y-%m-%d %H:%M}" == expected


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "five fields"),
        ("0 3 * *", "five fields"),
        ("0 0 3 * * *", "five fields"),
        ("60 3 * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 3 0 * *", "day of month"),
        ("0 3 * 13 *", "month"),
        ("0 3 * * 8", "weekday"),
        ("0 3 L * *", "day of month"),
        ("*/0 * * * *", "minute"),
        ("5-1 * * * *", "minute"),
        ("٣ 3 * * *", "minute"),
        ("30 2 31 2 *", "no such day"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_the_reason(expression: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        parse(expression)


def times(expression: str, start: datetime, count: int) -> list[str]:
    cron, found = parse(expression), []
    for _ in range(count):
        start = cron.after(start, BERLIN)
        found.append(f"{start.astimezone(BERLIN):%m-%d %H:%M %Z}")
    return found


def test_a_time_that_the_clock_skips_in_spring_is_had_once_an_hour_later() -> None:
    found = times("30 2 * * *", datetime(2026, 3, 28, tzinfo=UTC), 3)

    assert found == ["03-28 02:30 CET", "03-29 03:30 CEST", "03-30 02:30 CEST"]


def test_a_time_that_comes_twice_in_autumn_is_had_once() -> None:
    found = times("30 2 * * *", datetime(2026, 10, 24, tzinfo=UTC), 3)

    assert found == ["10-24 02:30 CEST", "10-25 02:30 CEST", "10-26 02:30 CET"]


@given(fields, moments, st.sampled_from([BERLIN, None, ZoneInfo("America/St_Johns")]))
def test_before_and_after_surround_every_moment(
    parts: tuple[str, ...], moment: datetime, zone: ZoneInfo | None
) -> None:
    try:
        cron = parse(" ".join(parts))
    except SettingsError:
        return

    before, after = cron.before(moment, zone), cron.after(moment, zone)

    assert before <= moment < after
    assert cron.after(before, zone) == after
    assert cron.before(after, zone) == after
    assert after - moment < timedelta(days=366 * 8)
