"""Days are told from the day of the talk, and spelled in its language."""

from datetime import date

import pytest

from dream.text import days
from dream.text.words import words

FRIDAY = date(2026, 11, 13)


@pytest.mark.parametrize(
    ("code", "text", "spelled"),
    [
        ("en", "we moved last weekend", "7–8 November 2026"),
        ("en", "three weeks ago", "19–25 October 2026"),
        ("en", "the demo is next Friday", "20 November 2026"),
        ("en", "by May 5th 2027", "5 May 2027"),
        ("de", "am 3. Mai fliege ich", "3. Mai 2027"),
        ("de", "am 3. Jänner 2027", "3. Januar 2027"),
        ("de", "letzten Dienstag", "10. November 2026"),
        ("fr", "il y a trois semaines", "19–25 octobre 2026"),
        ("fr", "avant le 15 avril", "15 avril 2027"),
        ("es", "el lunes que viene", "16 de noviembre de 2026"),
        ("it", "da lunedì prossimo", "16 novembre 2026"),
        ("it", "tre settimane fa", "19–25 ottobre 2026"),
        ("it", "il 3 maggio", "3 maggio 2027"),
        ("zh", "下周三演示", "2026年11月18日"),
        ("ja", "先週の火曜日に", "2026年11月3日"),
    ],
)
def test_a_day_is_found_and_spelled(code: str, text: str, spelled: str) -> None:
    assert [days.spelled_span(day.first, day.last, code) for day in days.found(text, FRIDAY, code)] == [spelled]


@pytest.mark.parametrize(
    ("code", "text"),
    [("es", "por la mañana"), ("de", "guten Morgen"), ("en", "every Friday"), ("en", "version 2.5.2026")],
)
def test_what_is_no_day_is_none(code: str, text: str) -> None:
    assert days.found(text, FRIDAY, code) == []


def test_a_line_that_begins_with_a_day_keeps_it_and_a_list_s_number_says_nothing() -> None:
    assert words("12. März 2027: Lena zieht um")[:2] == ("@03-12", "@2027")
    assert words("12. Jänner 2027: Lena zieht um")[:2] == ("@01-12", "@2027")
    assert words("12. Lena moves") == words("- Lena moves")
