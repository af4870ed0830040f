"""Give a day of a month its year: "by December 4", said on 13 November 2026, is by December 4, 2026."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.german import is_german
from dream.llm.embedded.lexicon import MONTHS, WEEKDAYS
from dream.llm.embedded.nearest_year import nearest_year
from dream.llm.embedded.weekdays import is_past
from dream.llm.embedded.words import has_cjk
from dream.llm.embedded.years_cjk import with_years_cjk
from dream.llm.embedded.years_de import with_years_de

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
    if has_cjk(text):
        return with_years_cjk(text, day)
    if is_german(text):
        return with_years_de(text, day)
    if _YEARLY.search(text):
        return text
    return _DAY.sub(lambda match: _with_year(match, day), text)


def _with_year(match: re.Match[str], day: date) -> str:
    name, number = match["first"] or match["last"], int(match["after"] or match["before"])
    month = [month.lower() for month in MONTHS].index(name.lower()) + 1
    clause = _CLAUSE.split(match.string[: match.start()])[-1]
    past = is_past(clause if clause.strip() else match.string[match.end() :]) and match["lead"].lower() in {"on", "for"}
    year = nearest_year(month, number, day, past=past)
    if year is None or (match["week"] and match["week"].title() != WEEKDAYS[date(year, month, number).weekday()]):
        return match[0]
    return f"{match[0]}, {year}" if match["first"] else f"{match[0]} {year}"
