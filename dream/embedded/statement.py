"""Statements: the values between the stages, which takes the place of which, and each as a line of memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, lru_cache

from dream.language import cues, days, likeness
from dream.language.kinds import LABELS
from dream.language.sentences import sentences
from dream.language.tongue import earlier_part, guess, names, plain, tongue
from dream.models import MemoryFile

Label = str  # one of dream.language.kinds.LABELS


@dataclass(frozen=True, slots=True)
class Statement:
    """What one speaker said in one or two sentences, verbatim, and how it is taken.

    `kind` is a label of kinds.py; `meant` is false for what is no claim of the speaker's (a joke, a question, …).
    `asked` is what a reader needs beside it: the question that it answers, the heading of its list. `code` is its
    language, `source` the number of its message and `place` that of its last sentence there.
    """

    text: str
    day: date | None = None
    speaker: str = ""
    kind: Label = "fact"
    meant: bool = True
    weight: float = 1.0
    asked: str = ""
    code: str = "en"
    earlier: str = ""
    quoted: bool = True
    source: int = 0
    place: int = 0
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class New:
    """A line to add to a file, with the cursors that it rests on and the old lines whose place it takes."""

    file: MemoryFile
    statement: Statement
    cursors: tuple[int, ...]
    replaces: tuple[tuple[MemoryFile, str], ...] = ()


# Stage three: what is known, found by its words, and whether a new statement takes the place of one of it.


SURE = 0.3  # of belief that a statement takes the place of another, above which one word in common is enough
LIKELY = 0.15  # and above which both stand in one line
FEW, LEFT = 3, 0.4  # words, and the share of its words, that may go with a statement whose place is taken
CERTAIN = 0.85  # and above which the other goes, and more than one
NEAR = 16  # statements most alike, which are looked at closely
RECENT = 200  # statements in which a word is looked for, the last ones


@dataclass(slots=True)
class Pool:
    """Statements that are known, found by their words; a word that many of them hold tells little."""

    held: dict[int, Statement] = field(default_factory=dict)
    by_word: dict[str, list[int]] = field(default_factory=dict)
    count: int = 0

    def add(self, said: Statement) -> int:
        """Take a statement in; return its number."""
        number = self.count
        self.count += 1
        self.held[number] = said
        for word in self._keys(said):
            self.by_word.setdefault(word, []).append(number)
        return number

    def drop(self, number: int) -> None:
        """Leave a statement out."""
        self.held.pop(number, None)

    def near(self, said: Statement) -> list[int]:
        """Return the numbers of the statements that share most with `said`, the nearest first."""
        shared: dict[int, float] = {}
        for word in self._keys(said):
            weight = self._weight(word)
            for number in self.by_word.get(word, ())[-RECENT:]:
                if number in self.held:
                    shared[number] = shared.get(number, 0.0) + weight
        return sorted(shared, key=lambda number: (-shared[number], -number))[:NEAR]

    def held_by(self, words: Iterable[str]) -> list[int]:
        """Return how many statements hold each of `words`, the fewest first; numbers and common words are left out."""
        telling = (one for one in words if one not in likeness.common() and not one.isdigit())
        return sorted(sum(number in self.held for number in self.by_word.get(one, ())) for one in telling)

    def _weight(self, word: str) -> float:
        return math.log(1 + (self.count + 8) / (1 + len(self.by_word.get(word, ()))))

    def _keys(self, said: Statement) -> Iterable[str]:
        told = likeness.fact(said.text, said.code)
        yield from told.subject
        if told.attribute:
            yield f"@{told.attribute}"


def covers(new: Statement, old: Statement) -> bool:
    """Return whether little of `old` is lost with it: it is short, or `new` tells of most that it tells of."""
    held = likeness.telling(old.text, old.code)
    rest = held - likeness.telling(new.text, new.code)
    return len(rest) <= max(FEW, LEFT * len(held))


_NUMBER = re.compile(r"(?<!\w)\d")
APART = 2  # telling words of a part of a statement that can stand by itself


def apart(old: Statement, new: Statement) -> tuple[Statement, list[Statement]]:
    """Return the part of `old` whose place `new` takes, and the parts before and behind it, which still hold.

    Of "I write the backend, and I live in Porto" a move takes the place of the second. A part is a sentence, or begins
    with somebody of its own; one with a number is not told apart from a new number.
    """
    shared = likeness.telling(new.text, new.code) & likeness.telling(old.text, old.code)
    about, counts = likeness.fact(new.text, new.code).attribute, _NUMBER.search(new.text)

    def touched(text: str) -> bool:
        told = likeness.fact(text, old.code)
        return bool(shared & told.subject or (about and told.attribute == about) or (counts and _NUMBER.search(text)))

    parts = _parts(old.text)
    hit = [number for number, (start, end) in enumerate(parts) if touched(old.text[start:end])] or [0, len(parts) - 1]
    first, last = _part(old, parts[: hit[0]]), _part(old, parts[hit[-1] + 1 :])
    text = old.text[parts[hit[0]][0] if first else 0 : parts[hit[-1]][1] if last else len(old.text)]
    return replace(old, text=text, asked="" if first else old.asked), [one for one in (first, last) if one]


def _parts(text: str) -> list[tuple[int, int]]:
    """Return from where to where each part of a text goes."""
    found = []
    for one in sentences(text):
        start = one.start
        for joint in _anew().finditer(text, one.start, one.end):
            found.append((start, joint.start()))
            start = joint.end()
        found.append((start, one.end))
    return found or [(0, len(text))]


@cache
def _anew() -> re.Pattern[str]:
    """Return what finds where another part of a sentence begins, with somebody of its own: "…, and I live in Porto"."""
    joins, speaks = "|".join(cues.rows("goes_on")), "|".join(cues.rows("of_its_speaker"))
    return re.compile(rf"[,;]?\s+(?i:{joins})\s+(?=[A-ZÀ-Þ][a-zà-ÿ]+\s|(?i:{speaks})(?!\w))")


def _part(old: Statement, parts: Sequence[tuple[int, int]]) -> Statement | None:
    """Return some parts of a statement on end as one; None where they tell nothing by themselves."""
    if not parts:
        return None
    start, end = parts[0][0], parts[-1][1]
    text, known = old.text[start:end], tongue(old.code)
    leans = start > 0 and plain(text).removeprefix(" " if known.wide else "").startswith(tuple(known.cues["lean"]))
    if leans or likeness.tells(text, old.code) < APART:
        return None
    return replace(old, text=text, earlier="", asked="" if start else old.asked)


def replaces(new: Statement, old: Statement) -> float:
    """Return the belief, 0 to 1, that `new` takes the place of `old`, which was said before it."""
    return likeness.takes_place(new.text, old.text, new.code, (new.kind, old.kind))


# Stage five: a statement as a line, and a line as the statement that it was. Nothing inside a quotation is altered.

_OPENS = '“„«「"'
_CLOSES = '”“»」"'
_KIND = re.compile(rf"\[({'|'.join(LABELS)})\] ")
_ASKED = re.compile(r"\[([^\[\]]{1,200})\] (?=\S)")
_SPEAKER = re.compile(rf"([^:：“„«「\"\[\]()]{{1,40}})[:：] ?(?=[{_OPENS}])")
_SAID_ON = re.compile(r" ?[(（]([^()（）]{4,40})[)）]$")
_ISO_FIRST = re.compile(r"(\d{4}-\d\d-\d\d):? ")
_NOTE = re.compile(
    r" \[(?:\d{1,2}\.?(?:–\d{1,2}\.?)? )?(?:de )?(?:[^\W\d]{3,10} (?:de )?)?(?:19|20)\d\d(?: – [^\[\]]{6,28})?\]"
    r"| \[(?:19|20)\d\d年[^\[\]]{0,28}\]"
)
# What summaries of other programs write before a line: no name, but what it is.
_LABELLED = re.compile(
    r"\**(Decision|Plan|Preference|Correction|Fact|Event|Solution|Rule|Person|Note)s?\**[:：]\** +", re.IGNORECASE
)
_KINDS = {"correction": "fact", "note": "fact"}


def line(said: Statement) -> str:
    """Return the line of a statement: `“I moved to Lisbon last weekend [7–8 November 2026]” (13 November 2026)`."""
    text = _resolved(said)
    if said.kind == "rule":
        return f"[{said.asked}] {text}" if said.asked else text
    known = tongue(said.code)
    if said.quoted:
        opening, closing = known.quotes
        text = f"{opening}{text}{closing}"
    if said.speaker:
        text = f"{said.speaker}: {text}"
    if said.asked:
        text = f"[{said.asked}] {text}"
    if said.day:
        day = days.spelled(said.day, said.code)
        text += f"（{day}）" if known.wide else f" ({day})"
    return text + (f" ({known.earlier}, {said.earlier})" if said.earlier else "")


def history_line(said: Statement) -> str:
    """Return the line of a statement in history: with its kind in brackets, and a rule quoted and dated as any other."""
    known = tongue(said.code)
    if said.kind != "rule":
        return f"[{said.kind}] {line(said)}"
    opening, closing = known.quotes
    speaker = f"{said.speaker}: " if said.speaker else ""
    asked = f"[{said.asked}] " if said.asked else ""
    day = days.spelled(said.day, said.code) if said.day else ""
    dated = (f"（{day}）" if known.wide else f" ({day})") if day else ""
    return f"[rule] {asked}{speaker}{opening}{_resolved(said)}{closing}{dated}"


def earlier(said: Statement) -> str:
    """Return how a statement is told beside the one that takes its place: its day and its words."""
    opening, closing = tongue(said.code).quotes
    day = f"{days.spelled(said.day, said.code)}: " if said.day else ""
    return f"{day}{opening}{said.text}{closing}"


def _resolved(said: Statement) -> str:
    """Return the words of a statement, behind each day that counts from the talk the day that it was."""
    text = said.text
    if said.day is None or not said.quoted:
        return text
    for day in reversed(days.found(text, said.day, said.code)):
        first, last = day.first, day.last
        if said.kind == "rule" and first != last:
            continue  # "on Sundays give me next week's plan" holds every week
        if day.unsure:
            if said.kind not in ("plan", "event") or _every(text[day.end :]):
                continue
            first = last = first - timedelta(weeks=1) if said.kind == "event" else first
        if not day.whole and text[day.end : day.end + 2] != " [" and not _spelled_out(text, day, said.day):
            text = f"{text[: day.end]} [{days.spelled_span(first, last, said.code)}]{text[day.end :]}"
    return text


def _every(after: str) -> bool:
    """Return whether a weekday that this follows means each one: "on Tuesday evenings"."""
    return re.match(r"s\b| (?:evening|morning|afternoon|night)s\b", after) is not None


def _spelled_out(text: str, day: days.Day, said: date) -> bool:
    """Return whether a day needs no other name: it is the day of the talk, or one of the year of the talk."""
    if day.first == day.last == said:
        return True
    return (
        any(character.isdigit() for character in text[day.start : day.end])
        and day.first.year == said.year
        and (day.first == day.last)
        and _names_month(text[day.start : day.end])
    )


def _names_month(text: str) -> bool:
    return re.search(r"\d{1,2}\.? ?(?:de )?[^\W\d]{3,}|[^\W\d]{3,} \d{1,2}|月", text) is not None and not re.search(
        r"\b(?:ago|vor|in|hace|il y a|dans|en)\b|前|后|後", text
    )


def parsed(text: str, day: date | None = None, talk: str = "") -> Statement:
    """Return the statement that a line of memory or history holds; `day` where it names none itself.

    A line that nobody quoted is its own text; its kind is "" where it names none. It is in the language that its day
    is spelled in, else in that of its words; in that of the `talk` where they are too few to tell.
    """
    return _parsed(text.strip(), day, talk)


@lru_cache(maxsize=16384)
def _parsed(text: str, day: date | None, talk: str) -> Statement:
    code = ""
    kind = asked = speaker = before = ""
    if match := _KIND.match(text):
        kind, text = match[1], text[match.end() :]
    elif match := _LABELLED.match(text):
        kind, text = _KINDS.get(match[1].lower(), match[1].lower()), text[match.end() :]
    if match := _ISO_FIRST.match(text):  # the tail of a summary: 2026-03-02 user: “…”
        day, text = date.fromisoformat(match[1]), text[match.end() :]
    if match := earlier_part(",，、").search(text):
        before, text = match[1], text[: match.start()]
    if (match := _SAID_ON.search(text)) and (said := _day(match[1])):
        code = _spelled_in(match[1], said)
        day, text = said, text[: match.start()]
    if match := _ASKED.match(text):
        asked, text = match[1], text[match.end() :]
    if match := _SPEAKER.match(text):
        speaker, text = match[1].strip(), text[match.end() :]
        speaker = "" if speaker.lower() in ("user", "the user") else speaker
    quoted = len(text) > 2 and text[0] in _OPENS and text[-1] in _CLOSES
    if quoted:
        text = text[1:-1].strip(" \u00a0")
    text = _NOTE.sub("", text) if quoted else text
    return Statement(
        text,
        day,
        speaker,
        kind or "",
        asked=asked,
        code=code or guess(text, talk) or guess(asked) or talk or "en",
        earlier=before,
        quoted=quoted,
    )


def _spelled_in(text: str, day: date) -> str:
    """Return the language in which a day is spelled so; "" where more than one does."""
    found = [code for code in names() if days.spelled(day, code) == text.strip()]
    return found[0] if len(found) == 1 else ""


def _day(text: str) -> date | None:
    for code in names():
        named = days.found(text, None, code)
        if named and named[0].whole and named[0].end - named[0].start >= len(text.strip()) - 2:
            return named[0].first
    return None
