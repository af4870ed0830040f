"""Give a day of the week its date: "we met on Saturday", said on Wednesday 15 April 2026, was on 11 April."""

from __future__ import annotations

import re
from datetime import date, timedelta

from dream.llm.embedded.lexicon import MONTHS, PAST, WEEKDAYS

_DAY = rf"(?P<day>{'|'.join(WEEKDAYS)})"
_OF_WEEK = re.compile(
    rf"\b(?:on )?{_DAY} (?:of )?(?P<rel>next|this|last) week\b|\b(?:on )?{_DAY.replace('<day>', '<after>')} (?P<in>in (?:two|2) weeks)\b",
    re.I,
)
_ON = re.compile(rf"\bon {_DAY}\b(?!s|'s| (?:morning|afternoon|evening|night)s\b| (?:the |\d|{'|'.join(MONTHS)}))")
_PAST = re.compile(rf"\b(?!need)[a-z]{{2,}}ed\b|\b(?:{'|'.join(sorted(PAST))})\b", re.I)
# A plan, a rule or a state before the day: it need not lie in the past.
_OPEN = re.compile(
    r"\b(?:to [a-z]+|is|are|be|being|gets?|will|every|each|decided|agreed|planned|scheduled|wants?|always|usually|never|moved|moves|postponed|until|by|before|after|since)\b|'s\b",
    re.I,
)


def with_dates(text: str, day: date) -> str:
    """Write the date beside the days of the week in a sentence that was said on `day`, where it is clear which is meant."""
    text = _OF_WEEK.sub(lambda match: _in_week(match, day), text)
    match = _ON.search(text)
    if match is None or not is_past(text[: match.start()]):
        return text
    back = (day.weekday() - _index(match["day"])) % 7 or 7
    return f"{text[: match.start()]}on {_spelled(day - timedelta(days=back))}{text[match.end() :]}"


def is_past(clause: str) -> bool:
    """Say whether the words before a day tell what was done on it, and no plan, rule or state."""
    return _PAST.search(clause) is not None and _OPEN.search(clause) is None


def _in_week(match: re.Match[str], day: date) -> str:
    shift = 2 if match["in"] else {"next": 1, "this": 0, "last": -1}[match["rel"].lower()]
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=shift)
    return f"on {_spelled(monday + timedelta(days=_index(match['day'] or match['after'])))}"


def _index(name: str) -> int:
    return [weekday.lower() for weekday in WEEKDAYS].index(name.lower())


def _spelled(day: date) -> str:
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"
