"""Statements: the values between the stages, which takes the place of which, and each as a line of memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache

from dream.embedded import likeness
from dream.embedded.kinds import LABELS
from dream.embedded.tongue import earlier_part, tongue
from dream.models import MemoryFile
from dream.text import days
from dream.text.tongues import guess

Label = str  # one of dream.embedded.kinds.LABELS
NEAR = 16  # statements most alike, which are looked at closely
RECENT = 200  # statements in which a word is looked for, the last ones
_OPENS = '“„«「"'
_CLOSES = '”“»」"'
_KIND = re.compile(rf"\[({'|'.join(LABELS)})(\??)\] ")
_ASKED = re.compile(r"\[([^\[\]]{1,200})\] (?=\S)")
_SPEAKER = re.compile(rf"([^:：“„«「\"\[\]()]{{1,40}})[:：] ?(?=[{_OPENS}])")
_SAID_ON = re.compile(r" ?[(（]([^()（）]{4,40})[)）]$")
_ISO_FIRST = re.compile(r"(\d{4}-\d\d-\d\d):? ")
_NOTE = re.compile(
    r" \[(?:\d{1,2}\.?(?:–\d{1,2}\.?)? )?(?:de )?(?:[^\W\d]{3,10} (?:de )?)?(?:19|20)\d\d(?: – [^\[\]]{6,28})?\]"
    r"| \[(?:19|20)\d\d年[^\[\]]{0,28}\]"
)
# Labels that other programs' summaries write before a line: not a name, but the kind.
_LABELLED = re.compile(
    r"\**(Decision|Plan|Preference|Correction|Fact|Event|Solution|Rule|Person|Note)s?\**[:：]\** +", re.IGNORECASE
)
_KINDS = {"correction": "fact", "note": "fact"}


@dataclass(frozen=True, slots=True)
class Statement:
    """What one speaker said in one or two sentences, verbatim, and how it is taken.

    `kind` is a label of kinds.py; what is not `sure` stays in history. `asked` is the heading of its list. `code` is
    its language, `source` the number of its message and `place` that of its last sentence there.
    """

    text: str
    day: date | None = None
    speaker: str = ""
    kind: Label = "fact"
    sure: bool = True
    weight: float = 1.0
    asked: str = ""
    code: str = "en"
    quoted: bool = True
    source: int = 0
    place: int = 0
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class New:
    """A line to add to a file, with the cursors it is based on and the old lines that it replaces."""

    file: MemoryFile
    statement: Statement
    cursors: tuple[int, ...]
    replaces: tuple[tuple[MemoryFile, str], ...] = ()


# Stage three: known statements, found by their words.


@dataclass(slots=True)
class Pool:
    """Known statements, found by their words; a word that many of them share counts little."""

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
        """Return the numbers of the statements that share most words with `said`, the nearest first."""
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
        yield from likeness.telling(said.text, said.code)
        if about := likeness.attribute(said.text, said.code):
            yield f"@{about}"


# Stage five: a statement as a line, and a line as the statement that it was. Nothing inside a quotation is altered.


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
    return text


def history_line(said: Statement) -> str:
    """Return the line of a statement in history: its kind in brackets, with `?` where that is not sure, and its day."""
    known = tongue(said.code)
    if said.kind != "rule":
        return f"[{said.kind}{'' if said.sure else '?'}] {line(said)}"
    opening, closing = known.quotes
    speaker = f"{said.speaker}: " if said.speaker else ""
    asked = f"[{said.asked}] " if said.asked else ""
    day = days.spelled(said.day, said.code) if said.day else ""
    dated = (f"（{day}）" if known.wide else f" ({day})") if day else ""
    return f"[rule] {asked}{speaker}{opening}{_resolved(said)}{closing}{dated}"


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
    kind = asked = speaker = ""
    sure = True
    if match := _KIND.match(text):
        kind, sure, text = match[1], not match[2], text[match.end() :]
    elif match := _LABELLED.match(text):
        kind, text = _KINDS.get(match[1].lower(), match[1].lower()), text[match.end() :]
    if match := _ISO_FIRST.match(text):  # the tail of a summary: 2026-03-02 user: “…”
        day, text = date.fromisoformat(match[1]), text[match.end() :]
    if match := earlier_part().search(text):
        text = text[: match.start()]  # which versions before November 2026 wrote
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
        kind,
        sure,
        asked=asked,
        code=code or guess(text, talk) or guess(asked) or talk or "en",
        quoted=quoted,
    )


def _spelled_in(text: str, day: date) -> str:
    """Return the language in which a day is spelled so; "" where more than one does."""
    found = [code for code in days.codes() if days.spelled(day, code) == text.strip()]
    return found[0] if len(found) == 1 else ""


def _day(text: str) -> date | None:
    for code in days.codes():
        named = days.found(text, None, code)
        if named and named[0].whole and named[0].end - named[0].start >= len(text.strip()) - 2:
            return named[0].first
    return None
