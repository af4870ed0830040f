"""What users said exactly, and whether a summary bears it out: commands, paths, addresses, dates, numbers, names.

Only a user's own words count: nothing asked, pasted, reported or supposed, and no secret. Where a summary bears out too
little of it, the sentences themselves go in. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import cache

from dream.models import Message
from dream.provenance.voice import CUT, own_text, sentences
from dream.redact import names_secret
from dream.reports import Fidelity
from dream.text import days
from dream.text.days import spelled
from dream.text.tongues import guess
from dream.text.words import forget, table

FEW = 1 / 4  # share of the exact details; a summary that keeps less is rejected,
LEAST = 2  # if at least this many are missing, or
HARD = 3  # one of at least this weight is: a single number or name may be small talk
ADDED_CHARS = 1_200  # characters of the user's sentences that are added to such a summary
FORGET_CHARS = 120  # characters at the start of the next message that are searched for a request to forget

_SUFFIXES = "py|js|ts|tsx|md|json|ya?ml|toml|sh|sql|csv|txt|go|rs|java|cpp|html|css|ini|cfg|conf|lock|pdf|ipynb|db|env"
_HOUR = re.compile(r"(\d+)(?::(\d\d))? ?([ap])?.*")
# Tried in this order; each sees only what the ones before did not match. The weight says how bad a loss is.
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
        "time",
        2,
        re.compile(r"(?<![A-Za-z\d.])(\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\d{1,2} ?[ap]\.?m\b)(?!\d)", re.IGNORECASE),
    ),
    (
        "number",
        2,
        re.compile(
            r"(?<![A-Za-z0-9_./])([$€£¥]\d+(?:[.,]\d+)*|v?\d+(?:[.,]\d+)+(?: ?[%€°円元])?|\d+ ?[%€°円元]|\d{2,})"
            r"(?![A-Za-z0-9/]*\d)"
        ),
    ),
    ("name", 1, re.compile(r"(?<=[a-zà-öø-ÿ,;] )([A-ZÀ-Þ][a-zà-öø-ÿ]{2,}(?: [A-ZÀ-Þ][a-zà-öø-ÿ]+){0,3})\b")),
)
_ANY_DAY = date(2026, 1, 1)  # a day and a month are found without their year too
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz_")


@dataclass(frozen=True, slots=True)
class Exact:
    """One exact detail: its kind, its text, its weight if it is lost, and the day if it is a date."""

    kind: str
    text: str
    weight: int
    day: tuple[int, int] = (0, 0)

    @property
    def key(self) -> tuple[str, str]:
        """What it is the same thing by."""
        return self.kind, self.text.casefold()


@dataclass(frozen=True, slots=True)
class Stated:
    """A user's own sentence that contains an exact detail (a number, a name), and the message it is from."""

    place: int
    text: str
    code: str
    things: tuple[Exact, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """The exact details that the users stated, and those that a summary lacks."""

    said: Sequence[Stated]
    missing: Mapping[tuple[str, str], int]  # the weight of each missing detail

    @property
    def poor(self) -> bool:
        """Return whether the summary keeps too few of the details."""
        all_of_it = {thing.key for one in self.said for thing in one.things}
        if len(self.missing) < LEAST and max(self.missing.values(), default=0) < HARD:
            return False
        return len(all_of_it) - len(self.missing) < FEW * len(all_of_it)

    @property
    def left_out(self) -> list[Stated]:
        """Return the sentences with a missing detail."""
        return [one for one in self.said if any(thing.key in self.missing for thing in one.things)]


def stated(messages: Mapping[int, Message]) -> list[Stated]:
    """Return the users' own sentences that contain an exact detail, in order."""
    found: list[Stated] = []
    users = [(place, one) for place, one in messages.items() if one.role == "user" and one.content]
    for at, (place, message) in enumerate(users):
        after = users[at + 1][1].content[:FORGET_CHARS] if at + 1 < len(users) else ""
        if re.search(forget(), message.content) or re.search(forget(), after):
            continue
        mine = own_text(message.content)
        code = guess(message.content)
        for start, end in sentences(mine):
            said = " ".join(mine[start:end].replace(CUT, " ").split())
            things = () if names_secret(said) else tuple(exact(said, code))
            if things:
                found.append(Stated(place, said, code, things))
    return found


def check(text: str, said: Sequence[Stated]) -> Check:
    """Compare a summary with the exact details of the messages."""
    summary = SummaryText.of(text)
    return Check(said, {one.key: one.weight for each in said for one in each.things if not summary.holds(one)})


def added(found: Check, messages: Mapping[int, Message], zone: tzinfo) -> list[str]:
    """Return the lines to append to a poor summary: the sentences with the missing details, cited, in order."""
    room, missing, chosen = ADDED_CHARS, dict(found.missing), dict[int, str]()
    for number, one in sorted(enumerate(found.said), key=lambda pair: -_worth(pair[1], found.missing)):
        lacks = {thing.key for thing in one.things} & missing.keys()
        line = _quoted(one, messages[one.place], zone)
        if lacks and len(line) < room:
            missing = {key: weight for key, weight in missing.items() if key not in lacks}
            room -= len(line) + 1
            chosen[number] = line
    return [chosen[number] for number in sorted(chosen)]


def kept(before: Check, after: Check) -> Fidelity:
    """Count the exact details of the messages, and those in the summary before and after sentences were added."""
    said = len({thing.key for one in before.said for thing in one.things})
    return Fidelity(said, said - len(before.missing), said - len(after.missing))


def exact(text: str, code: str = "") -> list[Exact]:
    """Find the exact details of a sentence in the language `code`, in their order; each place counts once."""
    found: list[tuple[int, Exact]] = []
    for kind, weight, pattern in _KINDS:
        if kind == "time":  # whose hours, and whose numbers, may be a date's
            text = _without_dates(text, code or "en", found)
        matches = [one for one in pattern.finditer(text) if kind != "name" or _is_name(one[1], code)]
        for match in matches:
            start, end = match.span(match.lastindex or 0)
            found.append((start, Exact(kind, text[start:end].strip(), weight)))
            text = text[:start] + CUT * (end - start) + text[end:]
    return [thing for _, thing in sorted(found, key=lambda pair: pair[0])]


def _is_name(name: str, code: str) -> bool:
    """Return whether a capital names somebody: no day, and in German, where every noun has one, two of them."""
    return " " in name if code == "de" else name.casefold()[:3] not in _weekdays()


@cache
def _weekdays() -> frozenset[str]:
    return frozenset(day.casefold()[:3] for day in days.names("en").weekdays)


def _without_dates(text: str, code: str, found: list[tuple[int, Exact]]) -> str:
    """Add the dates in `text` to `found`; return it without them. What counts from the day of the talk is none."""
    for day in days.found(text, _ANY_DAY, code) if not _DIGITS.isdisjoint(text) else ():
        said = text[day.start : day.end]
        named = re.search(rf"(?<!\d)0?{day.first.day}(?!\d)", said) and not re.search(table()["counts"], said)
        if day.first == day.last and (day.whole or named):
            found.append((day.start, Exact("date", said, HARD, (day.first.month, day.first.day))))
            text = text[: day.start] + CUT * len(said) + text[day.end :]
    return text


def _worth(one: Stated, missing: Mapping[tuple[str, str], int]) -> float:
    """Return the weight of a sentence's missing details per character."""
    return sum(missing.get(thing.key, 0) for thing in one.things) / (20 + len(one.text))


def _quoted(one: Stated, message: Message, zone: tzinfo) -> str:
    """Return the line that quotes a sentence: `- Mei: “…” (18 November 2026) {4}`."""
    day = f" ({spelled(message.at.astimezone(zone).date(), one.code)})" if message.at else ""
    return f"- {message.name or message.role}: “{one.text}”{day} {{{one.place}}}"


@dataclass(frozen=True, slots=True)
class SummaryText:
    """What a summary says, ready to be looked up: casefolded with single blanks, and the days that it names."""

    text: str
    days: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> SummaryText:
        codes = {guess(text[:2_000]) or "en", "en"}
        named = (day for code in codes for day in days.found(text, _ANY_DAY, code))
        return cls(" ".join(text.casefold().split()), frozenset((day.first.month, day.first.day) for day in named))

    def holds(self, thing: Exact) -> bool:
        """Return whether the summary says the same, also in another usual form."""
        own = " ".join(thing.text.casefold().split())
        if thing.kind in ("command", "address", "path"):
            return own in self.text
        if thing.kind == "date":
            return thing.day in self.days
        if thing.kind == "name":
            return self._says(own.split()[0], _LETTERS)
        if thing.kind == "time":
            return any(re.search(rf"(?<![a-z0-9_]){form}(?![a-z0-9_])", self.text) for form in _time_forms(own))
        digits = re.sub(r"[^\d.,]", "", own).strip(".,")
        return any(self._says(form, _DIGITS) for form in {own, digits, re.sub(r"[.,](?=\d{3}\b)", "", digits)})

    def _says(self, part: str, joined: frozenset[str]) -> bool:
        """Return whether `part` occurs without a character of `joined` on either side."""
        places = (found.start() for found in re.finditer(re.escape(part), self.text))
        ends = ((self.text[at - 1 : at], self.text[at + len(part) : at + len(part) + 1]) for at in places)
        return any(before not in joined and after not in joined for before, after in ends)


def _time_forms(time: str) -> Iterator[str]:
    """Yield patterns of the usual ways to write a time: `7pm`, `7:00 p.m.`, `19:00`."""
    hour, minute, half = _HOUR.fullmatch(time).groups(default="")  # type: ignore[union-attr]
    clock = (int(hour) % 12 + (12 if half == "p" else 0)) if half else int(hour)
    yield re.escape(time)
    yield rf"0?{clock}:{minute or '00'}"
    if half:
        yield rf"{hour}{':' + minute if minute else '(?::00)?'} ?{half}\.?m\.?"
