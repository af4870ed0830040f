"""Make relative German dates absolute: "gestern", said on 2026-03-02, is "am 1. März 2026"."""

from __future__ import annotations

import re
from datetime import date, timedelta

MONTHS_DE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
_WEEKDAYS = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()
_NUMBERS = {
    "einem": 1,
    "einer": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "zehn": 10,
}
_DAYS = {"vorgestern": -2, "gestern": -1, "heute": 0, "morgen": 1, "übermorgen": 2}
_PATTERN = re.compile(
    r"(?P<lead>\b(?:am|im|in der|in|seit|bis|ab|vom|von|für)\s+)?\b(?:"
    r"(?P<day>[Vv]orgestern|[Gg]estern|[Hh]eute|[Üü]bermorgen|morgen|(?<![\w ])Morgen(?= [a-zäöü]))(?P<part> (?:früh|Morgen|Vormittag|Mittag|Nachmittag|Abend|Nacht))?"
    r"|(?P<rel>[Ll]etzte[nsrm]?|[Vv]ergangene[nsrm]?|[Vv]orige[nsrm]?|[Nn]ächste[nsrm]?|[Kk]ommende[nsrm]?|[Dd]iese[nsrm]?) "
    rf"(?P<unit>{'|'.join(_WEEKDAYS)}|Sonnabend|Wochenende|Woche|Monat|Jahr)"
    rf"|(?P<way>[Vv]or|[Ii]n) (?P<n>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<of>Tag|Woche|Monat|Jahr)e?n?"
    r")\b"
)


def spelled_de(day: date) -> str:
    """Write a date as 1. März 2026."""
    return f"{day.day}. {MONTHS_DE[day.month - 1]} {day.year}"


def anchor_de(text: str, day: date) -> str:
    """Rewrite the relative dates of a German text as absolute ones, seen from `day`."""
    try:
        return _PATTERN.sub(lambda match: _cased(match, _absolute(match, day)), text)
    except (OverflowError, ValueError):  # a year outside the calendar
        return text


def _cased(match: re.Match[str], written: str) -> str:
    return written[:1].upper() + written[1:] if match[0][:1].isupper() else written


def _absolute(match: re.Match[str], day: date) -> str:
    lead = (match["lead"] or "").strip()
    if match["way"]:
        phrase = _counted(match, day)
    elif word := match["day"]:
        part = match["part"] or ""
        phrase = f"am {spelled_de(day + timedelta(days=_DAYS[word.lower()]))}{part}"
    else:
        phrase = _relative(match["rel"].lower(), match["unit"], day)
    if lead and lead.lower() not in {"am", "im", "in", "in der"}:
        return f"{lead} {re.sub('^(?:am|im|in der) ', '', phrase)}"
    return phrase


def _relative(rel: str, unit: str, day: date) -> str:
    step = -1 if rel.startswith(("letzt", "vergang", "vorig")) else 0 if rel.startswith("dies") else 1
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=step)
    if unit == "Woche":
        return f"in der Woche vom {spelled_de(monday)}"
    if unit == "Wochenende":
        return f"am Wochenende ab {spelled_de(monday + timedelta(days=5))}"
    if unit == "Monat":
        return f"im {_month(day, step)}"
    if unit == "Jahr":
        return str(day.year + step)
    index = _WEEKDAYS.index(unit.replace("Sonnabend", "Samstag"))
    ahead = (index - day.weekday()) % 7 or 7
    if step < 0:
        ahead = -((day.weekday() - index) % 7 or 7)
    elif rel.startswith("nächst") and ahead + day.weekday() < 7:
        ahead += 7  # "nächsten Freitag", said on a Tuesday, is the one of the next week
    return f"am {spelled_de(day + timedelta(days=ahead))} ({unit})"


def _counted(match: re.Match[str], day: date) -> str:
    number = int(match["n"]) if match["n"].isdigit() else _NUMBERS[match["n"]]
    number *= -1 if match["way"].lower() == "vor" else 1
    if match["of"] == "Monat":
        return f"im {_month(day, number)}"
    if match["of"] == "Jahr":
        return str(day.year + number)
    return f"am {spelled_de(day + timedelta(days=number * (7 if match['of'] == 'Woche' else 1)))}"


def _month(day: date, shift: int) -> str:
    index = day.year * 12 + day.month - 1 + shift
    return f"{MONTHS_DE[index % 12]} {index // 12}"
