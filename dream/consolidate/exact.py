"""Exact things that people say: titles, commands, addresses, paths, dates, times, spans of time, numbers, names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache

from dream.language import days
from dream.language.tongue import guess, tongue

# ruff: noqa: E501 - a row of words in a pattern stands on one line

_SUFFIXES = "py|js|ts|tsx|md|json|ya?ml|toml|sh|sql|csv|txt|go|rs|java|cpp|html|css|ini|cfg|conf|lock|pdf|ipynb|db|env"
_NAME = r"[A-ZÀ-Þ][a-zà-öø-ÿ]{2,}"
_BETWEEN_DASHES = re.compile(
    rf"[-–—] ?({_NAME}(?: {_NAME}){{0,2}})(?= ?[-–—]|[,.!]|$)|[—―]{{2}}([^\s—―，。、]{{1,8}})[—―]{{2}}"
)
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
        "title",
        2,
        re.compile(
            r"[“\"„]([A-ZÀ-Þ0-9][^“”\"„\n.!?]{1,60})[”\"“]|«\s?([A-ZÀ-Þ0-9][^«»\n.!?]{1,60}?)\s?»"
            r"|《([^《》\n]{1,30})》|『([^『』\n]{1,30})』|「([^「」\n]{1,20})」"
        ),
    ),
    (
        "time",
        2,
        re.compile(r"(?<![A-Za-z\d.])(\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\d{1,2} ?[ap]\.?m\b)(?!\d)", re.IGNORECASE),
    ),
    (
        "number",
        2,
        re.compile(
            r"(?<![A-Za-z0-9_.])([$€£¥]\d+(?:[.,]\d+)*|v?\d+(?:[.,]\d+)+(?: ?[%€°円元])?|\d+ ?[%€°円元]|\d{2,})(?![A-Za-z0-9]*\d)"
        ),
    ),
    ("name", 1, _BETWEEN_DASHES),
    ("name", 1, re.compile(rf"(?<=[a-zà-öø-ÿ,;] )({_NAME}(?: [A-ZÀ-Þ][a-zà-öø-ÿ]+){{0,3}})\b")),
)
# "100% agree", "24/7", "1000 Dank": numbers that say how much one means it.
_IDIOM = re.compile(
    r"(?<![\d.,])1[01]0 ?%(?= ?(?:agree|sure|with (?:you|u|him|her)|on board|behind|yes|true|right|correct|einverstanden|sicher|deiner|d['’]accord|sûre?s?|seguro|de acuerdo|同意|支持|赞成|确定|賛成|同感|本気)|[,.!]?\s*$)"
    r"|\b24h?/(?:24|7)\b|\b7[dj]?/7\b|\b50[/-]50\b|\b20/20\b|\b0?8/15\b|\b10/10\b|(?:24/7|24時間365日)"
    r"|\b1[.,]?000 ?(?:times|thanks|thx|mal|dank|fois|mercis?|veces|gracias|recuerdos)\b",
    re.IGNORECASE,
)
# The units that a span of time is told in, with what makes it a time ago.
_UNITS = {
    "en": ("", "years?|months?|weeks?|days?|hours?|yrs?", "(?: ago)?"),
    "de": ("(?:vor )?", "Jahre?n?|Monate?n?|Wochen?|Tagen?|Stunden?", ""),
    "fr": ("(?:il y a )?", "ans?|années?|mois|semaines?|jours?|heures?", ""),
    "es": ("(?:hace )?", "años?|mese?s?|semanas?|días?|horas?", ""),
    "zh": ("", "年|个月|個月|个?星期|周|週|天|个?小时", "(?:以?前)?"),
    "ja": ("", "年(?:間)?|[ヶかカケ]月(?:間)?|週間|日間|時間", "(?:前)?"),
}
_HAN_DIGITS = "一二三四五六七八九十"
_TWO = str.maketrans("两兩", "二二")
# Capitals that name nobody: days, which only count from the message's date, and what people begin with.
_DAYS = ("monday", "tuesday", "tues", "wednesday", "thursday", "thurs", "friday", "saturday", "sunday")
_OPENERS = ("god", "okay", "thanks", "thank", "congrats", "good", "yes")
_NO_NAMES = frozenset({*_DAYS, *(day[:3] for day in _DAYS), *_OPENERS})
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz_")
NAMES_SHARE = 0.15  # of words with a capital; above it the language writes other words so too,
NAMES_LEAST = 3  # unless there are only these few
_ANY_DAY = date(2026, 1, 1)  # a day and a month are found without their year too


@dataclass(frozen=True, slots=True)
class Exact:
    """One exact thing: its kind, its text, where it stands, how much its loss hurts, and the day that a date names."""

    kind: str
    text: str
    start: int
    end: int
    weight: int
    day: tuple[int, int] = (0, 0)

    @property
    def key(self) -> tuple[str, str]:
        """What it is the same thing by."""
        return self.kind, self.text.casefold()


@dataclass(frozen=True, slots=True)
class SummaryText:
    """What a summary says, ready to be looked up: casefolded with single blanks, and the days that it names."""

    text: str
    days: frozenset[tuple[int, int]]

    def holds(self, thing: Exact) -> bool:
        """Return whether the summary says the same, also in another usual form."""
        own = " ".join(thing.text.casefold().split())
        if thing.kind in ("command", "address", "path", "title"):
            return own in self.text
        if thing.kind == "date":
            return thing.day in self.days
        if thing.kind == "name":
            return _stands(own.split()[0], self.text, _LETTERS) or (not own.isascii() and own in self.text)
        if thing.kind == "span":
            return any(_stands(form, self.text, _LETTERS) for form in _amounts(own))
        if thing.kind == "time":
            return any(re.search(rf"(?<![a-z0-9_]){form}(?![a-z0-9_])", self.text) for form in _time_forms(own))
        digits = re.sub(r"[^\d.,]", "", own).strip(".,")
        return any(_stands(form, self.text, _DIGITS) for form in {own, digits, re.sub(r"[.,](?=\d{3}\b)", "", digits)})


def shown(text: str) -> SummaryText:
    """Return what the summary `text` says, ready to be looked up."""
    codes = {guess(text[:2_000]) or "en", "en"}
    named = frozenset((day.first.month, day.first.day) for code in codes for day in days.found(text, _ANY_DAY, code))
    return SummaryText(" ".join(text.casefold().split()), named)


def exact(text: str, code: str = "") -> list[Exact]:
    """Find the exact things in `text`, which is in the language `code`, in their order; each place counts once."""
    code = code or guess(text) or "en"
    text = _IDIOM.sub(lambda found: "\0" * len(found[0]), text)
    found: list[Exact] = []
    for form, weight, pattern in _KINDS:
        if form == "time":  # whose hours, and whose numbers, may be a date's or a span's
            text = _without_dates(text, code, found)
            text = _take("span", 2, _spans(code), text, found, code)
        text = _take(form, weight, pattern, text, found, code)
    return sorted(found, key=lambda thing: thing.start)


def _take(form: str, weight: int, pattern: re.Pattern[str], text: str, found: list[Exact], code: str) -> str:
    """Add the things of one kind to `found`; return `text` without them."""
    for match in list(pattern.finditer(text)):
        group = match.lastindex or 0
        if form == "name" and not _is_name(match, group, text, code):
            continue
        start, end = match.span(group)
        found.append(Exact(form, match[group].strip(), start, end, weight))
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def _is_name(match: re.Match[str], group: int, text: str, code: str) -> bool:
    """Return whether a capital names somebody: between dashes it does, elsewhere where the text has few others."""
    name = match[group]
    if name.split()[0].casefold() in _NO_NAMES:
        return False
    if match.re is _BETWEEN_DASHES:
        return True
    if code == "de":  # every noun has a capital there
        return " " in name
    words: list[str] = re.findall(r"(?<=[a-zà-ÿ,;] )[^\W\d_]+", text)  # of a name that is two words, the first
    capitals = sum(1 for word in words if word[0].isupper() and word not in ("I", "I’m"))
    return capitals <= max(NAMES_LEAST, NAMES_SHARE * len(words))


def _without_dates(text: str, code: str, found: list[Exact]) -> str:
    """Add the dates in `text` to `found`; return it without them."""
    if not any(character.isdigit() for character in text):
        return text
    for day in days.found(text, _ANY_DAY, code):
        said = text[day.start : day.end]
        if day.first == day.last and (day.whole or _is_dated(said, day)):
            found.append(Exact("date", said, day.start, day.end, 3, (day.first.month, day.first.day)))
            text = text[: day.start] + "\0" * len(said) + text[day.end :]
    return text


def _is_dated(said: str, day: days.Day) -> bool:
    """Return whether a day is told by its number: not "3 days ago", which counts from the day of the talk."""
    return re.search(rf"(?<!\d)0?{day.first.day}(?!\d)", said) is not None and not re.search(
        r"\b(?:ago|vor|in|hace|il y a|dans|en)\b|[前后後]", said
    )


@cache
def _spans(code: str) -> re.Pattern[str]:
    known = tongue(code)
    before, units, after = _UNITS[known.code]
    if known.wide:
        return re.compile(rf"(?<![第\d/年月])((?:\d{{1,3}}|[{_HAN_DIGITS[1:]}两兩百]+) ?(?:{units}){after})(?!\d)")
    numbers = "|".join(known.numbers[1:])  # "one day" tells no span
    return re.compile(rf"(?<![\w/.,$€£])({before}(?:\d{{1,3}}|{numbers})[ -](?:{units}){after})(?!\w)", re.IGNORECASE)


def _amounts(span: str) -> Iterator[str]:
    """Yield the number of a span of time as it stands there, in digits, and as an English word."""
    for code in ("en", "de", "fr", "es"):
        for number, word in enumerate(tongue(code).numbers, 1):
            if re.search(rf"(?<!\w)(?:{word}|{number})(?!\w)", span):
                yield from (word, str(number), tongue("en").numbers[number - 1])
    for number in re.findall(rf"\d+|[{_HAN_DIGITS}两兩]+", span):
        yield number
        if (at := _HAN_DIGITS.find(number.translate(_TWO))) >= 0:
            yield str(at + 1)


def _stands(part: str, text: str, joined: frozenset[str]) -> bool:
    """Return whether `part` stands in `text` without a character of `joined` on either side."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if text[at - 1 : at] not in joined and text[end : end + 1] not in joined:
            return True
        at = text.find(part, at + 1)
    return False


def _time_forms(time: str) -> Iterator[str]:
    """Yield patterns of the usual ways to write a time: `7pm`, `7:00 p.m.`, `19:00`."""
    hour, minute, half = re.fullmatch(r"(\d+)(?::(\d\d))? ?([ap])?.*", time).groups(default="")  # type: ignore[union-attr]
    clock = (int(hour) % 12 + (12 if half == "p" else 0)) if half else int(hour)
    yield re.escape(time)
    yield rf"0?{clock}:{minute or '00'}"
    if half:
        yield rf"{hour}{':' + minute if minute else '(?::00)?'} ?{half}\.?m\.?"
