"""Make relative dates absolute: "yesterday", said on 8 May 2023, is "on 7 May 2023"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from dream.llm.embedded.dates_de import anchor_de
from dream.llm.embedded.dates_zh import anchor_zh
from dream.llm.embedded.german import is_german
from dream.llm.embedded.japanese import anchor_ja
from dream.llm.embedded.lexicon import MONTHS, NUMBERS, WEEKDAYS
from dream.llm.embedded.words import has_cjk, has_kana

_NUMBER = r"\d{1,3}|" + "|".join(NUMBERS)
_UNIT = r"day|week|weekend|month|year"
_PATTERN = re.compile(
    r"(?P<lead>\b(?:on|in|for|since|from|until|till|by|before|after|of|to|back|at|over|during|around|about|as of)\s+)?"
    r"\b(?:"
    r"(?P<day>the day before yesterday|the day after tomorrow|(?:earlier |later )?today|yesterday|tomorrow"
    r"|last night|tonight|this (?:very )?(?:morning|afternoon|evening)|the other day)"
    r"(?P<part> (?:morning|afternoon|evening|night))?"
    rf"|(?P<ago>(?:about |around |over |almost |nearly |like )?(?P<n>{_NUMBER}|a few|a couple(?: of)?|few|several)"
    rf"(?: of)? (?P<agounit>{_UNIT})s? (?P<way>ago|from now|back|from today))"
    rf"|(?P<rel>last|this past|the past|past|this coming|this|next|the coming|coming|the previous|the following)"
    rf" (?P<unit>{_UNIT}|spring|summer|autumn|fall|winter|{'|'.join(WEEKDAYS)}|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun"
    rf"|{'|'.join(MONTHS)})"
    r")\b(?!['’]s)(?! (?:one|two|three|few|couple)\b)",
    re.I,
)
_ABSOLUTE = re.compile(
    rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b|\b(?:19|20)\d\d\b|\b(?:{'|'.join(MONTHS)}) \d{{1,2}}\b"
    r"|\d{4}年|\d{1,2}月\d{1,2}"
)


def spelled(day: date) -> str:
    """Write a date as people do: `7 May 2023`."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def dated(text: str) -> bool:
    """Say whether a text names an absolute date or year."""
    return _ABSOLUTE.search(text) is not None


def relative(text: str) -> bool:
    """Say whether a text names a day, month or year as seen from when it is said."""
    return _PATTERN.search(text) is not None


def anchor(text: str, day: date | None) -> str:
    """Rewrite the relative dates of a text as absolute ones, seen from `day`."""
    if day is None:
        return text
    if has_cjk(text):
        text = anchor_zh(anchor_ja(text, day) if has_kana(text) else text, day)
    elif is_german(text):
        return anchor_de(text, day)
    try:
        return _PATTERN.sub(lambda match: _absolute(match, day), text)
    except (OverflowError, ValueError):  # a year outside the calendar
        return text


def _absolute(match: re.Match[str], day: date) -> str:
    if match["day"]:
        phrase, preposition = _near(match["day"].lower(), (match["part"] or "").strip().lower(), day)
    elif match["ago"]:
        return (match["lead"] or "") + _ago(match, day)
    else:
        phrase, preposition = _relative(match["rel"].lower(), match["unit"].lower(), day)
    lead = match["lead"] or ""
    if not phrase:
        return match[0]
    if lead.strip().lower() in {"on", "in", "at"}:
        lead = ""
    return lead + phrase if lead else f"{preposition} {phrase}".strip()


def _near(word: str, part: str, day: date) -> tuple[str, str]:
    shift = {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1}.get(word)
    if word == "the day after tomorrow":
        shift = 2
    if word == "the other day":
        return f"a few days before {spelled(day)}", ""
    if word == "last night":
        part = "night"
    elif word == "tonight":
        part = "evening"
    elif word.startswith("this "):
        part = word.rsplit(" ", 1)[1]
    then = spelled(day + timedelta(days=shift or 0))
    return (f"the {part} of {then}" if part else then), "on"


def _count(text: str) -> int | None:
    text = text.lower()
    return int(text) if text.isdigit() else NUMBERS.get(text.removesuffix(" of").removeprefix("a ") or text)


def _ago(match: re.Match[str], day: date) -> str:
    whole, unit, number = match["ago"], match["agounit"].lower(), _count(match["n"])
    past = match["way"].lower() in {"ago", "back"}
    if number is None or (unit == "week" and number == 1) or unit in {"week", "weekend"}:
        amount = re.sub(r"(?i)\s+(?:ago|back|from now|from today)$", "", whole)
        amount = "the week" if amount.lower() in {"a week", "one week"} else amount
        return f"{amount} {'before' if past else 'after'} {spelled(day)}"
    sign = -1 if past else 1
    if unit == "day":
        return f"on {spelled(day + timedelta(days=sign * number))}"
    if unit == "month":
        return f"in {_month(day, sign * number)}"
    return f"{whole} ({day.year + sign * number})"


def _month(day: date, shift: int) -> str:
    index = day.year * 12 + day.month - 1 + shift
    return f"{MONTHS[index % 12]} {index // 12}"


def _relative(rel: str, unit: str, day: date) -> tuple[str, str]:
    past = rel in {"last", "this past", "the past", "past", "the previous"}
    this = rel == "this"
    if unit in {"week", "weekend"}:
        if rel in {"past", "the past"}:
            past = True
        return f"the {unit} {'of' if this else 'before' if past else 'after'} {spelled(day)}", ""
    if unit == "day":
        return "", ""
    if unit == "month":
        return _month(day, 0 if this else -1 if past else 1), "in"
    if unit == "year":
        return str(day.year + (0 if this else -1 if past else 1)), "in"
    if unit in {"spring", "summer", "autumn", "fall", "winter"}:
        return _season(past, this, unit, day), "in"
    months = [name.lower() for name in MONTHS]
    if unit in months:
        return _named_month(past, this, months.index(unit), day), "in"
    return _weekday(rel, past, unit, day)


def _season(past: bool, this: bool, unit: str, day: date) -> str:
    begins = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[unit]
    year = day.year
    if past and day.month < begins + 2:
        year -= 1
    elif not past and not this and day.month >= begins:
        year += 1
    return f"{unit} {year}"


def _named_month(past: bool, this: bool, index: int, day: date) -> str:
    year = day.year
    if past and index + 1 >= day.month:
        year -= 1
    elif not past and not this and index + 1 <= day.month:
        year += 1
    return f"{MONTHS[index]} {year}"


def _weekday(rel: str, past: bool, unit: str, day: date) -> tuple[str, str]:
    index = next((i for i, name in enumerate(WEEKDAYS) if name.lower().startswith(unit[:3])), None)
    if index is None:
        return "", ""
    if past:
        return f"the {WEEKDAYS[index]} before {spelled(day)}", ""
    ahead = (index - day.weekday()) % 7 or 7
    if rel == "next" and ahead + day.weekday() < 7:
        ahead += 7  # "next Friday", said on a Tuesday, is the one of the next week
    return f"{WEEKDAYS[index]} {spelled(day + timedelta(days=ahead))}", "on"
