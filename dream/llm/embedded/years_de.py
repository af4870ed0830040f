"""Give a German day of a month its year: "bis zum 4. Dezember", said on 13 November 2026, is bis zum 4. Dezember 2026."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.dates_de import MONTHS_DE
from dream.llm.embedded.nearest_year import nearest_year

_DAY = re.compile(
    rf"\b(?P<lead>am|[Aa]b dem|bis zum|bis|ab|seit dem|vom|zum|für den|auf den|den|der) (?:\w+tag,? (?:den )?|Mittwoch,? (?:den )?)?(?P<number>\d{{1,2}})\. (?P<month>{'|'.join(MONTHS_DE)})\b"
    r"(?!,? ?\d{4}\b)(?! (?:bis|und|oder) )",
    re.I,
)
_YEARLY = re.compile(r"\b(?:Geburtstag|geboren|jede[smnr]?|jährlich|immer|nie|Feiertag|Jahrestag|\d{4})\b", re.I)
_PAST = re.compile(
    r"\b(?:war(?:en)?|hatten?|ging(?:en)?|kam(?:en)?|fuhr(?:en)?|fand(?:en)?|gab)\b|\b(?:habe|hat|haben|bin|ist|sind|wurden?)\b.*\b(?:ge\w+(?:t|en)|(?:ver|be|er|ent|zer)\w+(?:t|en)|\w+(?:iert|ge\w+(?:t|en)))\b",
    re.I,
)
# What is moved to a day or planned for it lies ahead, though it is told as done.
_OPEN = re.compile(
    r"\b(?:verschoben|verlegt|geplant|angesetzt|vereinbart|beschlossen|festgelegt|gebucht|muss|soll|will)\b", re.I
)


def with_years_de(text: str, day: date) -> str:
    """Write the year after the days that a German sentence said on `day` names without one, where it is clear."""
    if _YEARLY.search(text):
        return text
    past = _PAST.search(text) is not None and _OPEN.search(text) is None

    def dated(match: re.Match[str]) -> str:
        month = [name.lower() for name in MONTHS_DE].index(match["month"].lower()) + 1
        done = past and match["lead"].lower() in {"am", "seit dem", "vom"}
        year = nearest_year(month, int(match["number"]), day, past=done)
        return match[0] if year is None else f"{match[0]} {year}"

    return _DAY.sub(dated, text)
