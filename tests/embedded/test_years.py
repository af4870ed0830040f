"""A day of a month has its year where it is clear which one is meant."""

from datetime import date

import pytest

from dream.llm.embedded.years import with_years
from tests.embedded.asking import said, summary

NOVEMBER = date(2026, 11, 13)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("We moved the regatta to Wednesday, November 18", "We moved the regatta to Wednesday, November 18, 2026"),
        ("The charts are due by the 4th of December", "The charts are due by the 4th of December 2026"),
        ("We met the pilot on 2 October", "We met the pilot on 2 October 2026"),
        ("The lock opens on 5 January", "The lock opens on 5 January 2027"),
        ("I want to sail to Bergen on 4 August", "I want to sail to Bergen on 4 August 2027"),
        ("The lock is shut because a boat sank on 4 August", "The lock is shut because a boat sank on 4 August 2026"),
        ("On November 2 we launched the boat", "On November 2, 2026 we launched the boat"),
        ("We decided to launch on November 20", "We decided to launch on November 20, 2026"),
    ],
)
def test_what_was_done_has_the_year_of_the_last_such_day_and_all_else_of_the_next(text: str, dated: str) -> None:
    assert with_years(text, NOVEMBER) == dated


@pytest.mark.parametrize(
    "text",
    [
        "My birthday is on December 4",
        "The lock closes every December 24",
        "The regatta runs from December 4 to 7",
        "Booked a berth for 7 to 11 December",
        "The regatta is on December 4, 2027",
        "The regatta is on 4 December 2027",
        "The lock opens on November 2",
        "The letter is from 4 August",
        "We moved the regatta to Friday, November 18",
        "The lock opens on February 31",
    ],
)
def test_a_day_of_every_year_of_a_known_or_of_no_clear_year_stays(text: str) -> None:
    assert with_years(text, NOVEMBER) == text


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("Die Abgabe ist am 4. Dezember", "Die Abgabe ist am 4. Dezember 2026"),
        ("Die Abgabe wurde auf den 26. Januar verschoben", "Die Abgabe wurde auf den 26. Januar 2027 verschoben"),
        ("Am 2. Oktober haben wir den Lotsen getroffen", "Am 2. Oktober 2026 haben wir den Lotsen getroffen"),
        ("Wir haben bis zum 5. Januar Zeit", "Wir haben bis zum 5. Januar 2027 Zeit"),
        ("截止日期是12月4日", "截止日期是2026年12月4日"),
        ("我们10月2日见了引航员", "我们2026年10月2日见了引航员"),
        ("会议改到1月5日了", "会议改到2027年1月5日了"),
        ("締め切りは12月4日です", "締め切りは2026年12月4日です"),
        ("10月2日に船を買いました", "2026年10月2日に船を買いました"),
        ("締め切りは1月26日に延期されました", "締め切りは2027年1月26日に延期されました"),
    ],
)
def test_so_it_is_in_german_chinese_and_japanese(text: str, dated: str) -> None:
    assert with_years(text, NOVEMBER) == dated


@pytest.mark.parametrize(
    "text",
    [
        "Mein Geburtstag ist am 4. Dezember",
        "Die Schleuse schließt jedes Jahr am 24. Dezember",
        "Die Regatta ist am 4. Dezember 2027",
        "Ich war vom 4. bis 7. Oktober in Bergen",
        "我的生日是12月4日",
        "比赛在2027年12月4日",
        "誕生日は12月4日です",
        "レースは2027年12月4日です",
    ],
)
def test_so_it_is_with_what_has_no_one_year(text: str) -> None:
    assert with_years(text, NOVEMBER) == text


def test_what_a_named_user_says_has_its_year_too() -> None:
    talk = [("user Vera", "The regatta is on November 18."), ("user Vera", "We met the pilot on 2 October.")]
    assert [line for line in summary(talk, NOVEMBER) if "2026" in line] == [
        "Vera: The regatta is on November 18, 2026",
        "Vera: We met the pilot on 2 October 2026",
    ]


def test_what_a_user_says_is_written_with_the_year() -> None:
    assert said("We moved the regatta to November 18.", day=NOVEMBER) == ["We moved the regatta to November 18, 2026"]
