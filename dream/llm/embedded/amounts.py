"""The numbers, days and numbered things that a line names."""

from __future__ import annotations

import re
from functools import lru_cache

from dream.llm.embedded.lexicon import MONTHS, NUMBERS, STOP, WEEKDAYS
from dream.llm.embedded.words import CJK, stem

MONTH = "|".join(MONTHS)
DATE = re.compile(
    rf"\b(?:(?:{MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTH})(?: \d{{4}})?|\d{{4}}-\d\d-\d\d)\b"
    r"|(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]|(?:周|星期)[一二三四五六日天]"
)
WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})(?!s? before \d)|周[一二三四五六日天]|星期[一二三四五六日天]")
CLOCK = re.compile(r"\b\d{1,2}(?::\d\d)? ?(?:am|pm|AM|PM)\b|\b\d{1,2}:\d\d\b")
NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d[\d.,]*(?<![.,])")
KINDS = frozenset(map(stem, ("port", "version", "room", "extension", "floor", "line", "page")))
_YEAR = re.compile(r",? (\d{4})$|^(\d{4})年")
_VALUE = re.compile(
    rf"(?P<n>(?<![A-Za-z0-9_.])[$€£¥]?\d[\d,]*(?:\.\d+)*%?|\b(?:{'|'.join(k for k in NUMBERS if len(k) > 2)}|twice|once|dozen)\b)"
    rf"(?:[ -]?(?P<unit>[A-Za-z]+|[{CJK}]{{1,2}}))?(?: (?P<second>[a-z]+))?(?: (?P<third>[a-z]+))?",
    re.I,
)
_NUMBERED = re.compile(r"\b(port|version|room|extension|floor|line|page) (?:number |no\.? |is |to )?$", re.I)
_THING = re.compile(r"\b([A-Z][a-z]+|sprint|phase|chapter|version|round|part|week) #?(\d{1,2})\b(?![:.,]?\d)")
# "Boat number 2" is another boat than number 1, and so is "boat 2"; a room's or a version's number is a value of its own.
_LABEL = re.compile(
    r"\b(?!(?:port|version|room|extension|floor|line|page|phone|my|our|the|is|are|has|have|about|around|over|under|only|than|to|at|of|in|on|by|for|with|and|or|from|now|"
    rf"until|till|after|before|since|between|another|{'|'.join(MONTHS)})\b)(?P<thing>[a-z]+) (?:(?:number|no\.?|nr\.?) |#)?"
    r"(?P<n>\d{1,3})\b(?![:.,%]?\d| ?(?:%|[a-z]))",
    re.I,
)


@lru_cache(maxsize=4096)
def values(text: str) -> tuple[tuple[str, str], ...]:
    """Return each (unit, number) that a text states; the unit is the stem of one of the words that follow."""
    told = []
    text = CLOCK.sub(" ", DATE.sub(" ", text))
    for match in _VALUE.finditer(text):
        number = str(NUMBERS.get(match["n"].lower(), match["n"].lower().replace(",", "").rstrip(".")))
        if number.endswith("%"):
            told.append(("%", number))
            continue
        if kind := _numbered_kind(text[: match.start()]):
            told.append((kind, number))
            continue
        units = [match["unit"], match["second"], match["third"]]
        if not any(unit and unit.lower() not in STOP for unit in units):
            told.append(("", number))
        told += [(stem(unit.lower()), number) for unit in units if unit and unit.lower() not in STOP]
    return tuple(told)


def _numbered_kind(before: str) -> str:
    """Return what a number without a unit counts, where the word before it says so: "port 8080"."""
    match = _NUMBERED.search(before)
    return stem(match[1].lower()) if match else ""


def days(text: str) -> set[tuple[str, str]]:
    """Return each (day, year) that a text names; the year is "" where it names none, for it may be left out."""
    named = set()
    for day in DATE.findall(text):
        bare = _YEAR.sub("", day)
        month = re.search(MONTH, bare, re.I)
        number = re.search(r"\d+", bare)
        year = _YEAR.search(day)
        name = f"{month[0].lower()} {number[0]}" if month and number else bare
        named.add((name, year[1] or year[2] if year else ""))
    return named


def numbered(text: str) -> set[tuple[str, str]]:
    """Return the things that a line tells apart by number: "Sprint 2", "phase 3"."""
    dates = (*MONTHS, *WEEKDAYS)
    return {(stem(match[1].lower()), match[2]) for match in _THING.finditer(text) if match[1] not in dates}


@lru_cache(maxsize=16384)
def labels(text: str) -> frozenset[tuple[str, str]]:
    """Return the things of a kind that a line tells apart by their number: "boat 2", "boat number 2"."""
    return frozenset((stem(match["thing"].lower()), match["n"]) for match in _LABEL.finditer(DATE.sub(" ", text)))
