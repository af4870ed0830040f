"""Days in what people say: found, counted from the day of the talk, and spelled out in the language of the talk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from dream.text.words import listed, months

_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_DOTTED = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)?(?![\d])")
_HAN_NUMBER = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_HAN = re.compile(
    rf"(?:((?:19|20)\d\d) ?年 ?)?(?<![\d一二三四五六七八九十])({_HAN_NUMBER}) ?月 ?({_HAN_NUMBER}) ?[日号號]?(?![\d月])"
)
_HAN_MONTH = rf"(?:(?P<y>(?:19|20)\d\d) ?年 ?)?(?<![\d一二三四五六七八九十个個])(?P<m>{_HAN_NUMBER}) ?月份?(?! ?(?:{_HAN_NUMBER}) ?[日号號])"
_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.]|-\d)")
_YEARS = 10  # back, in which a month or a day without a year may be
_AROUND = timedelta(days=3)
_VERBS = ("may", "march")  # months only after a word that stands before one
_WIDE_DAYS = {"一": 0, "月": 0, "二": 1, "火": 1, "三": 2, "水": 2, "四": 3, "木": 3, "五": 4, "金": 4, "六": 5, "土": 5, "日": 6, "天": 6}  # fmt: skip
Range = tuple[date, date]  # the first and the last day
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2149, 6, 5)  # of a range without a beginning, or without an end


@dataclass(frozen=True, slots=True)
class DayNames:
    """What a language calls days, and how it spells them; days.toml says what each row is."""

    code: str
    day: str
    span: str
    month: str
    months: tuple[str, ...]
    short: tuple[str, ...]
    weekdays: tuple[str, ...]
    told: str
    numbers: tuple[str, ...]
    ordinals: str
    of: str
    units: tuple[str, str, str]
    relative: Mapping[str, str]
    parts: tuple[str, ...]
    bounds: tuple[str, ...]
    order: tuple[str, ...]
    wide: bool


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("days.toml").read_text(encoding="utf-8"))


def codes() -> tuple[str, ...]:
    """Return the codes of the languages that have a table, in their order."""
    return tuple(months())


@cache
def spaced() -> tuple[str, ...]:
    """Return the codes of those that are written with blanks between words."""
    return tuple(code for code in codes() if code not in listed("wide"))


@cache
def names(code: str) -> DayNames:
    """Return the names of a language's days; English ones where it has none."""
    code = code if code in codes() else "en"
    row = _table()[code]
    return DayNames(
        code=code,
        day=row["day"],
        span=row["span"],
        month=row["month"],
        months=tuple(names[0] for names in months()[code]),
        short=tuple(row["short"]),
        weekdays=tuple(row["weekdays"]),
        told=row["told"],
        numbers=tuple(row["numbers"]),
        ordinals=row["ordinals"],
        of=row["of"],
        units=(row["units"][0], row["units"][1], row["units"][2]),
        relative=row["relative"],
        parts=tuple(row["parts"]),
        bounds=tuple(row["bounds"]),
        order=tuple(row["order"]),
        wide=code in listed("wide"),
    )


@dataclass(frozen=True, slots=True)
class Day:
    """A time that a text names: where it stands there, its first and last day, and whether the text gives it whole.

    `whole` is false where it only counts from the day of the talk: "last weekend", "am 3. Mai" without a year. `unsure`:
    it is the next of a weekday that is only named, "on Tuesday", and may be the last one, or every one.
    """

    start: int
    end: int
    first: date
    last: date
    whole: bool
    unsure: bool = False


def spelled(day: date, code: str) -> str:
    """Return a day as the language `code` writes it: 13 November 2026, 13. November 2026, 2026年11月13日."""
    known = names(code)
    return known.day.format(d=day.day, m=day.month, y=day.year, month=known.months[day.month - 1])


def spelled_span(first: date, last: date, code: str) -> str:
    """Return a time of several days as the language `code` writes it."""
    known = names(code)
    if first == last:
        return spelled(first, code)
    if (first.day, first.month, last.day, last.month) == (1, 1, 31, 12):
        return f"{first.year}年" if known.wide else str(first.year)
    if (first.year, first.month) == (last.year, last.month):
        values = {"m": first.month, "y": first.year, "month": known.months[first.month - 1]}
        whole = first.day == 1 and (last + timedelta(days=1)).day == 1
        return known.month.format(**values) if whole else known.span.format(d=first.day, d2=last.day, **values)
    return f"{spelled(first, code)} – {spelled(last, code)}"


def found(text: str, said: date | None, code: str) -> list[Day]:
    """Return the days that `text` names, in their order, as it was said on the day `said`."""
    days: list[Day] = []
    for day in (*_exact(text, said, code), *_relative(text, said, code)):
        if not any(day.start < other.end and other.start < day.end for other in days):
            days.append(day)
    return sorted(days, key=lambda day: day.start)


def han(number: str) -> str:
    """Return a number up to 99 that may be written 十二 in digits."""
    if number.isdigit():
        return number
    tens, ten, ones = number.rpartition("十")
    digits = "一二三四五六七八九"
    return str((digits.find(tens) + 1 if tens else 1) * 10 * bool(ten) + (digits.find(ones) + 1 if ones else 0))


def ranges(text: str, today: date, code: str, *, tells: bool = False) -> list[list[Range]]:
    """Return the ranges that a question on the past names, each with what it may mean, the likeliest first.

    A day or month without a year is the last one, then an older one, then the next; "before", "since", "until" and
    "around" make bounds of them, "early", "mid" and "late" thirds of a month. Two bounds make one range. In a text that
    `tells` of the past a weekday that is only named, "came Thursday", is the last one.
    """
    known = names(code)
    named: list[tuple[int, int, list[Range]]] = []
    for match in _month_form(code).finditer(text):
        number = int(han(match["m"])) if known.wide else _months(code)[0][match["m"].lower()]
        if not 1 <= number <= 12 or ((match["m"].lower() in _VERBS) and not (match["before"] or match["y"])):
            continue
        part = next((n for n in range(3) if match[f"p{n}"]), None)
        spans = [_part(date(year, number, 1), part) for year in _likely(match["y"], today)]
        start = match.end("before") + 1 if match["before"] else match.start()
        named.append((start, match.end(), _past_first(spans, today)))
    for day in _exact(text, today, code):
        spans = [(day.first, day.last)] if day.whole else [(one, one) for one in _each_year(day.first, today)]
        named.append((day.start, day.end, _past_first(spans, today)))
    for day in _relative(text, today, code):
        week = timedelta(weeks=1 if day.unsure and day.first > today - timedelta(weeks=1) else 0)
        named.append((day.start, day.end, [(day.first - week, day.last - week)]))
    for match in _told_form(code).finditer(text) if tells and known.told else ():
        on = _weekday("-0", _weekday_number(known, match["w"]), today) or today
        named.append((match.start(), match.end(), [(on, on)]))
    years = [(match.start(), match.end(), int(match[0])) for match in _YEAR.finditer(text)]
    named += [(start, end, [(date(year, 1, 1), date(year, 12, 31))]) for start, end, year in years]
    chosen: list[tuple[int, int, list[Range]]] = []
    for one in sorted(named, key=lambda one: one[0] - one[1]):  # the longest first
        if not any(one[0] < other[1] and other[0] < one[1] for other in chosen):
            chosen.append(one)
    bound = [_bounded(text, one, known) for one in sorted(chosen)]
    return _joined(bound)


def orders(text: str, code: str) -> int:
    """Return -1 where a text asks for the first time, 1 for the last one, else 0."""
    known = names(code)
    rows = [rf"\b(?:{row})\b" if not known.wide else row for row in known.order]
    first, last = (re.search(row, text, re.IGNORECASE) is not None for row in rows)
    return int(last) - int(first)


def _bounded(text: str, named: tuple[int, int, list[Range]], known: DayNames) -> list[Range]:
    start, end, spans = named
    for number, row in enumerate(known.bounds):
        beside = re.match(rf"\s*(?:{row})", text[end:]) if known.wide else None
        before = re.search(rf"(?<!\w)(?:{row}) (?:the |el |le |dem |den )?$", text[:start], re.IGNORECASE)
        if before and number == 0 and re.search(rf"\b(?:{known.units[1]}) $", text[: before.start()], re.IGNORECASE):
            return [(first - timedelta(days=7), first - timedelta(days=1)) for first, _ in spans]  # the week before
        if beside or before:
            return [_bound(number, *one) for one in spans]
    return spans


def _bound(number: int, first: date, last: date) -> Range:
    """Return the range before, since, until or around days, as the rows of `bounds` are numbered."""
    return (
        (FIRST_DAY, first - timedelta(days=1)),
        (first, LAST_DAY),
        (FIRST_DAY, last),
        (first - _AROUND, last + _AROUND),
    )[number]


def _joined(named: list[list[Range]]) -> list[list[Range]]:
    """Make one range of a beginning and the end that follows it: between one day and another."""
    joined: list[list[Range]] = []
    for spans in named:
        end = spans[0][1] if spans[0][0] == FIRST_DAY else None
        begun = [one for one in joined[-1] if end and one[1] == LAST_DAY and one[0] <= end] if joined else []
        if end and begun:
            joined[-1] = [(begun[0][0], end)]
        else:
            joined.append(spans)
    return joined


def _likely(year: str | None, today: date) -> range:
    return range(int(year), int(year) + 1) if year else range(today.year - _YEARS, today.year + 2)


def _each_year(day: date, today: date) -> list[date]:
    return [date(year, day.month, day.day) for year in _likely(None, today) if day.month != 2 or day.day < 29]


def _past_first(spans: list[Range], today: date) -> list[Range]:
    """Return what has begun, the newest first, then what is ahead."""
    return [*sorted((one for one in spans if one[0] <= today), reverse=True), *(one for one in spans if one[0] > today)]


def _part(first: date, part: int | None) -> Range:
    last = date(first.year + first.month // 12, first.month % 12 + 1, 1) - timedelta(days=1)
    if part is None:
        return first, last
    return first + timedelta(days=(0, 8, 19)[part]), (first + timedelta(days=(10, 21)[part]) if part < 2 else last)


@cache
def _month_form(code: str) -> re.Pattern[str]:
    """Return the pattern of a month without a day."""
    known = names(code)
    parts = "|".join(f"(?P<p{number}>{row})" for number, row in enumerate(known.parts))
    if known.wide:
        return re.compile(rf"(?P<before>)(?:{_HAN_MONTH})(?: ?(?:{parts}))?")
    named = "|".join(sorted(map(re.escape, _months(code)[0]), key=len, reverse=True))
    before = rf"(?:(?P<before>\b(?:{'|'.join(known.bounds)}|in|last|of|during|by|this|next|im|en|de|au|di|nel))[ -])?"
    year = r"(?:,? (?:de |del |of )?(?P<y>(?:19|20)\d\d))?(?!\d|:\d)"
    return re.compile(rf"{before}(?:\b(?:{parts})[ -]?)?(?<![\w.])(?P<m>{named})\b\.?{year}", re.IGNORECASE)


@cache
def _told_form(code: str) -> re.Pattern[str]:
    """Return the pattern of a weekday that is only named, as the group w."""
    row = names(code).told.replace("{w}", f"(?P<w>{'|'.join(names(code).weekdays)})")
    return re.compile(rf"(?<![\w-]){row}(?![\w-])", re.IGNORECASE)


def _exact(text: str, said: date | None, code: str) -> Iterator[Day]:
    if not any(character.isdigit() for character in text) and "月" not in text:
        return
    for match in _ISO.finditer(text):
        yield from _day(match, match[1], match[2], match[3], said)
    for match in _HAN.finditer(text):
        if match[1] or match[0][-1] in "日号號":
            yield from _day(match, match[1], han(match[2]), han(match[3]), said)
    if code == "de":
        for match in _DOTTED.finditer(text):
            yield from _day(match, match[3], match[2], match[1], said)
    known = names(code)
    if not known.wide:
        numbers, forms = _months(known.code)
        for pattern in forms:
            for match in pattern.finditer(text):
                yield from _day(match, match["y"], str(numbers[match["m"].lower()]), match["d"], said)


def _day(match: re.Match[str], year: str | None, month: str, day: str, said: date | None) -> Iterator[Day]:
    try:
        if year:
            one = date(int(year), int(month), int(day))
        elif said:
            one = _nearest(int(month), int(day), said)
        else:
            return
    except ValueError:
        return
    yield Day(match.start(), match.end(), one, one, bool(year))


def _nearest(month: int, day: int, said: date) -> date:
    """Return the day of that month nearest to the talk: what is ahead counts up to nine months."""
    near = [date(year, month, day) for year in (said.year - 1, said.year, said.year + 1)]
    return min(near, key=lambda one: abs((one - said).days - 90))


@cache
def _months(code: str) -> tuple[dict[str, int], tuple[re.Pattern[str], ...]]:
    known = names(code)
    table = {name.lower(): number for number, forms in enumerate(months()[known.code], 1) for name in forms}
    for short in known.short:
        table[short] = next(n for n, name in enumerate(known.months, 1) if _starts(name.lower(), short))
    table |= {_bare(name): number for name, number in list(table.items())}
    named = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    month = rf"(?P<m>{named})\b\.?"
    year = r"(?:,? (?:de |del )?(?P<y>(?:19|20)\d\d))?(?!\d|:\d)"
    forms = [rf"(?<![\w.])(?P<d>\d{{1,2}}){known.ordinals}{known.of}{month}{year}"]
    if code == "en":
        forms.append(rf"(?<!\w){month} (?P<d>\d{{1,2}}){known.ordinals}(?!\w|:\d){year}")
    return table, tuple(re.compile(form, re.IGNORECASE) for form in forms)


def _starts(name: str, short: str) -> bool:
    return name.startswith(short) or (short == "mrz" and name == "märz")


def _bare(name: str) -> str:
    return name.translate(str.maketrans("äéûô", "aeuo"))


def _relative(text: str, said: date | None, code: str) -> Iterator[Day]:
    if said is None:
        return
    known = names(code)
    for match in _pattern(known.code).finditer(text):
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        rule = next(name for name in groups if name.startswith("r"))
        first, last = _resolved(known, list(known.relative.values())[int(rule[1:])], rule, groups, said)
        if first is not None and last is not None:
            unsure = list(known.relative.values())[int(rule[1:])].startswith("?")
            yield Day(match.start(), match.end(), first, last, False, unsure)


@cache
def _pattern(code: str) -> re.Pattern[str]:
    known = names(code)
    n = rf"\d{{1,2}}|{'|'.join(known.numbers)}" + ("|a|an" if code == "en" else "")
    w = "|".join(known.weekdays)
    rows = []
    for number, row in enumerate(known.relative):
        filled = row.replace("{n}", n).replace("{w}", w)
        named = re.sub(r"\(\?P<(n|w2|w)>", rf"(?P<\1_r{number}>", filled)  # a name may stand only once
        rows.append(f"(?P<r{number}>{named})")
    whole = "|".join(rows)
    return re.compile(whole if known.wide else rf"(?<![\w-])(?:{whole})(?![\w-])", re.IGNORECASE)


def _resolved(
    known: DayNames, how: str, rule: str, groups: dict[str, str], said: date
) -> tuple[date | None, date | None]:
    amount, unit = how[:-1], how[-1]
    if unit == "k":
        named = groups.get(f"w_{rule}") or groups.get(f"w2_{rule}") or ""
        one = _weekday(amount, _weekday_number(known, named), said)
        return one, one
    count = amount
    if amount.endswith("n"):
        number = groups.get(f"n_{rule}", "").lower()
        count = amount[0] + (number if number.isdigit() else str(_number(known, number)))
    return _moved(int(count), unit, said)


def _number(known: DayNames, word: str) -> int:
    words = [one.lower() for one in known.numbers]
    return words.index(word) + 1 if word in words else 1


def _weekday_number(known: DayNames, named: str) -> int:
    if known.wide:
        return _WIDE_DAYS.get(named[-1:], 0)
    return next((n for n, name in enumerate(known.weekdays) if name.lower() == named.lower()), 0)


def _weekday(how: str, number: int, said: date) -> date | None:
    """Return a weekday: `-0` the last before the talk, `+0` the next, `±1` or `=` that of a week, `?` unsure."""
    ahead = (number - said.weekday()) % 7
    monday = said - timedelta(days=said.weekday())
    if how == "-0":
        return said - timedelta(days=(said.weekday() - number) % 7 or 7)
    if how in ("+0", "?"):
        return said + timedelta(days=ahead or 7)
    return monday + timedelta(days=number + 7 * {"-1": -1, "+1": 1, "=": 0}[how])


def _moved(count: int, unit: str, said: date) -> tuple[date | None, date | None]:
    try:
        if unit == "d":
            one = said + timedelta(days=count)
            return one, one
        monday = said - timedelta(days=said.weekday()) + timedelta(weeks=count)
        if unit == "w":
            return monday, monday + timedelta(days=6)
        if unit == "e":
            saturday = monday + timedelta(days=5)
            return saturday, saturday + timedelta(days=1)
        if unit == "m":
            months = said.year * 12 + said.month - 1 + count
            first = date(months // 12, months % 12 + 1, 1)
            return first, date((months + 1) // 12, (months + 1) % 12 + 1, 1) - timedelta(days=1)
        return date(said.year + count, 1, 1), date(said.year + count, 12, 31)
    except (ValueError, OverflowError):
        return None, None
