"""The exact things that a text says: commands, addresses, paths, dates, times, numbers, names. Pure."""

# ruff: noqa: E501 - a row of words in a pattern stands on one line
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_SUFFIXES = "py|js|ts|tsx|md|json|ya?ml|toml|sh|sql|csv|txt|go|rs|java|cpp|html|css|ini|cfg|conf|lock|pdf|ipynb|db|env"
# Tried in this order; what one has taken, the next does not see. The weight says how much a loss hurts.
_KINDS: tuple[tuple[str, int, re.Pattern[str]], ...] = (
    ("command", 4, re.compile(r"(?<!`)`([^`\n]{3,120})`(?!`)|^\s*\$ (\S[^\n]{2,120})$", re.MULTILINE)),
    (
        "address",
        4,
        re.compile(r"(https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}])|([\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{2,20})+)"),
    ),
    (
        "path",
        4,
        re.compile(
            r"(?<![\w/.~])((?:~|\.{1,2})?/[\w@+-][\w.@+-]*(?:/[\w.@+-]*[\w@+-])+)|\b([A-Z]:\\[^\s\"<>|]{2,200})"
            rf"|(?<![\w/.])([\w-]+(?:/[\w.-]+)*\.(?:{_SUFFIXES}))\b(?![/.]\w)"
        ),
    ),
    (
        "date",
        3,
        re.compile(
            rf"\b(\d{{4}}-\d\d-\d\d)\b|\b({_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)\b"
            rf"|\b(\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH})"
            r"|(\d{1,2}月\d{1,2}[日号號])",
            re.IGNORECASE,
        ),
    ),
    ("time", 2, re.compile(r"\b(\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\d{1,2} ?[ap]\.?m\b)", re.IGNORECASE)),
    ("number", 2, re.compile(r"(?<![A-Za-z0-9_.])(v?\d+(?:[.,]\d+)+|[$€£¥]\d+|\d+ ?[%€°]|\d{2,})(?![A-Za-z0-9]*\d)")),
    ("name", 1, re.compile(r"(?<=[a-z,;] )([A-Z][a-zà-öø-ÿ]{2,}(?: [A-Z][a-zà-öø-ÿ]+){0,3})\b")),
)
# Capitals that name nobody: days, which only count from the message's date, and what people begin with.
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz_")
_DAYS = ("monday", "tuesday", "tues", "wednesday", "thursday", "thurs", "friday", "saturday", "sunday")
_OPENERS = ("god", "okay", "thanks", "thank", "congrats", "good", "yes")
_NO_NAMES = frozenset({*_DAYS, *(day[:3] for day in _DAYS), *_OPENERS})
# What a text must hold for its kind to be looked for at all: most sentences have none of it.
_SIGNS = {
    "command": re.compile(r"[`$]"),
    "address": re.compile(r"[@:]"),
    "path": re.compile(r"[/\\]|\.\w"),
    "date": re.compile(r"\d"),
    "time": re.compile(r"\d"),
    "number": re.compile(r"\d"),
    "name": re.compile(r" [A-Z]"),
}
# "100% agree", "24/7", "110 %": said of how much one means it.
_IDIOM = re.compile(
    r"\b1[01]0 ?%(?: (?:agree|sure|with|on board|behind|yes|true|right|correct|einverstanden|sicher|d'accord|seguro|de acuerdo)|[,.!]?\s*$)|\b24/7\b|\b50[/-]50\b",
    re.IGNORECASE,
)
NAMES_SHARE = 0.15  # of words with a capital; above it the language writes other words so too,
NAMES_LEAST = 3  # unless there are only these few


@dataclass(frozen=True, slots=True)
class Exact:
    """One exact thing: its kind, its text, where it stands, and how much its loss hurts."""

    kind: str
    text: str
    start: int
    end: int
    weight: int

    def stands_in(self, text: str) -> bool:
        """Tell whether `text`, casefolded and with single blanks, says the same, also in another usual form."""
        if self.kind in ("command", "address", "path"):
            return " ".join(self.text.casefold().split()) in text
        own = self.text.casefold()
        if _stands(own, text, _LETTERS):
            return True
        if self.kind == "name":
            return _stands(own.split()[0], text, _LETTERS)
        if self.kind == "number":
            digits = re.sub(r"[^\d.,]", "", own).strip(".,")
            return any(_stands(form, text, _DIGITS) for form in {digits, digits.replace(",", "")})
        forms = _date_forms(own) if self.kind == "date" else _time_forms(own)
        return any(re.search(rf"(?<![a-z0-9_]){form}(?![a-z0-9_])", text) is not None for form in forms)


def _stands(part: str, text: str, joined: frozenset[str]) -> bool:
    """Tell whether `part` stands in `text` without a character of `joined` on either side."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if text[at - 1 : at] not in joined and text[end : end + 1] not in joined:
            return True
        at = text.find(part, at + 1)
    return False


def exact(text: str) -> list[Exact]:
    """Find the exact things in `text`, in their order; each place counts once."""
    found: list[Exact] = []
    for kind, weight, pattern in _KINDS:
        if _SIGNS[kind].search(text) is None or (kind == "name" and _capitals(text) > NAMES_SHARE):
            continue
        taken = []
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            if kind != "name" or match[group].split()[0].casefold() not in _NO_NAMES:
                if kind == "number" and _IDIOM.search(text[max(0, match.start() - 12) : match.end() + 12]):
                    continue
                taken.append(Exact(kind, match[group].strip(), *match.span(group), weight))
        found += taken
        for thing in taken:
            text = text[: thing.start] + "\0" * (thing.end - thing.start) + text[thing.end :]
    return sorted(found, key=lambda thing: thing.start)


def _capitals(text: str) -> float:
    """Return the share of words with a capital, not counting those that make one name with the word before."""
    words = re.findall(r"(?<=[a-zà-ÿ,;] )[^\W\d_]+", text)
    capital = sum(word[0].isupper() and word not in ("I", "I’m") for word in words)
    return capital / len(words) if capital > NAMES_LEAST else 0.0


def _date_forms(date: str) -> Iterator[str]:
    """Give the other ways to write a month and a day: `05-07`, `may 7`, `7 may`, `5月7日`."""
    numbers = [int(number) for number in re.findall(r"\d+", date)]
    name = re.search(r"[a-z]{3}", re.sub(r"\d+(?:st|nd|rd|th)|\bof\b", "", date))
    if name and name[0] in _MONTHS and numbers:
        month, day = _MONTHS.index(name[0]) + 1, numbers[-1]
    elif len(numbers) >= 2:
        month, day = numbers[-2], numbers[-1]
    else:
        return
    yield rf"(?:\d{{4}}-)?0?{month}[-/]0?{day}"
    if 1 <= month <= 12:
        yield rf"{_MONTHS[month - 1]}[a-z]*\.? {day}(?:st|nd|rd|th)?"
        yield rf"{day}(?:st|nd|rd|th)? (?:of )?{_MONTHS[month - 1]}[a-z]*"
    yield rf"(?:\d{{4}}年)?0?{month}月0?{day}[日号號]?"


def _time_forms(time: str) -> Iterator[str]:
    hour, minute, half = re.fullmatch(r"(\d+)(?::(\d\d))? ?([ap])?.*", time).groups(default="")  # type: ignore[union-attr]
    clock = (int(hour) % 12 + (12 if half == "p" else 0)) if half else int(hour)
    yield rf"0?{clock}:{minute or '00'}"
    if half:
        yield rf"{hour}{':' + minute if minute else '(?::00)?'} ?{half}\.?m\.?"
