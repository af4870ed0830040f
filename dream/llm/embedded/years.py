"""Give a day of a month its year: "by December 4", said on 13 November 2026, is by December 4, 2026."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.lexicon import MONTHS, WEEKDAYS
from dream.llm.embedded.weekdays import is_past

FAR = 300  # days from when it is said to the day that is meant; farther off, the other year is as likely
_MONTH = "|".join(MONTHS)
_DAY = re.compile(
    rf"(?P<lead>(?<!\d )\b(?:on|by|until|till|before|to|for|is|are|due)) (?:(?P<week>{'|'.join(WEEKDAYS)}),? )?(?P<day>"
    rf"(?P<first>{_MONTH}) (?P<after>\d{{1,2}})(?:st|nd|rd|th)?|(?:the )?(?P<before>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<last>{_MONTH}))\b"
    r"(?!,? ?\d{4}\b)(?! ?(?:[-–/]|to|and|until|or) ?\d)",
    re.I,
)
# What comes back every year has no one year.
_YEARLY = re.compile(
    r"\b(?:birthday|anniversary|born|every|each|annual(?:ly)?|yearly|years?|always|never|usually|holidays?|name day|season|\d{4})\b",
    re.I,
)
_CLAUSE = re.compile(r"[,;:]|\b(?:because|since|that|which|who|when|where|and|but|so|after)\b", re.I)


def with_years(text: str, day: date) -> str:
    """Write the year after the days that a sentence said on `day` names without one, where it is clear which is meant."""
    if _YEARLY.search(text):
        return text
    return _DAY.sub(lambda match: _with_year(match, day), text)


def _with_year(match: re.Match[str], day: date) -> str:
    name, number = match["first"] or match["last"], int(match["after"] or match["before"])
    month = [month.lower() for month in MONTHS].index(name.lower()) + 1
    clause = _CLAUSE.split(match.string[: match.start()])[-1]
    past = is_past(clause if clause.strip() else match.string[match.end() :]) and match["lead"].lower() in {"on", "for"}
    year = _year(month, number, day, past=past)
    if year is None or (match["week"] and match["week"].title() != WEEKDAYS[date(year, month, number).weekday()]):
        return match[0]
    return f"{match[0]}, {year}" if match["first"] else f"{match[0]} {year}"


def _year(month: int, number: int, day: date, *, past: bool) -> int | None:
    """Return the year of the last, or else of the next, such day; None where that is far off or there is none."""
    for year in (day.year - 1, day.year, day.year + 1):
        try:
            ahead = (date(year, month, number) - day).days
        except ValueError:  # 30 February, or a year outside the calendar
            continue
        if -FAR <= ahead <= 0 if past else 0 <= ahead <= FAR:
            return year
    return None
