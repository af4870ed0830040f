"""Relative dates become absolute, seen from the message's day."""

from datetime import date

import pytest

from dream.llm.embedded.dates import anchor
from tests.embedded.asking import MONDAY, said


@pytest.mark.parametrize(
    ("text", "anchored"),
    [
        ("I went to the museum yesterday", "I went to the museum on 7 May 2023"),
        ("I called her last night", "I called her on the night of 7 May 2023"),
        ("I ran a race last Saturday", "I ran a race the Saturday before 8 May 2023"),
        ("I met them last week", "I met them the week before 8 May 2023"),
        ("we went camping two weekends ago", "we went camping two weekends before 8 May 2023"),
        ("I start next month", "I start in June 2023"),
        ("we painted it last year", "we painted it in 2022"),
        ("I moved here 3 years ago", "I moved here 3 years ago (2020)"),
        ("I bought it two days ago", "I bought it on 6 May 2023"),
        ("the demo is next Friday", "the demo is on Friday 19 May 2023"),
        ("the demo is this Friday", "the demo is on Friday 12 May 2023"),
        ("the party is tomorrow", "the party is on 9 May 2023"),
        ("since yesterday it works", "since 7 May 2023 it works"),
        ("last week's plan", "last week's plan"),
        ("昨天我去了上海", "2023年5月7日我去了上海"),
        ("上周五交了报告", "2023年5月5日交了报告"),
        ("下个月开始上班", "2023年6月开始上班"),
        ("三天前买的", "2023年5月5日买的"),
        ("去年搬的家", "2022年搬的家"),
    ],
)
def test_a_relative_date_becomes_absolute(text: str, anchored: str) -> None:
    assert anchor(text, MONDAY) == anchored


def test_a_message_without_a_date_keeps_its_words() -> None:
    assert anchor("I went there yesterday", None) == "I went there yesterday"


def test_a_date_outside_the_calendar_is_left_alone() -> None:
    assert anchor("999 years ago and yesterday", date(1, 1, 1)) == "999 years ago and yesterday"


def test_a_fact_without_a_date_gets_the_day_it_was_said_on() -> None:
    assert said("I work as a nurse at Kita Hospital.") == ["Works as a nurse at Kita Hospital (8 May 2023)"]
    assert said("我住在上海。") == ["住在上海（2023年5月8日）"]
