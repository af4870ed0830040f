"""Make `Message`s of what a record says, and remember what those before it said: `Turns` are those of one session."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from hashlib import blake2b

from dream.models import CommandRun, Message, Report, Role
from dream.provenance import cues
from dream.text.safe import mend_surrogates
from dream.text.words import MONTH, MONTHS
from dream.transcripts import clean, parts

WAITING = 1_000  # tool calls without an answer that are remembered; more in one session are none that matter
MARK_BYTES = 8  # of each message that has an id

PROMPT = 20_000  # characters of a system prompt that are read for the day
WITHIN = 60  # characters after its words that are searched for the day
_ROLES: dict[str, Role | None] = {
    **dict.fromkeys(("user", "human", "customer", "prompter", "input", "you", "me"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt", "chatgpt", "gemini", "claude", "agent"), "assistant"),
    **dict.fromkeys(("tool", "function", "toolresult", "tool_result", "ipython", "observation"), "tool"),
    **dict.fromkeys(("system", "developer"), None),
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# 11 digits of seconds reach the year 5138; what is larger counts in a smaller unit.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_DAYS = (  # with the year, or it is no date
    re.compile(
        rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)?[ -](?P<month>{MONTH}),?[ -](?P<year>\d{{4}})\b", re.IGNORECASE
    ),
    re.compile(rf"\b(?P<month>{MONTH})[ -](?P<day>\d\d?)(?:st|nd|rd|th)?(?:,? |-)(?P<year>\d{{4}})\b", re.I),
    re.compile(r"(?<!\d)(?P<year>\d{4})[-/](?P<number>\d\d)[-/](?P<day>\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<year>\d{4}) ?年 ?(?P<number>\d\d?) ?月 ?(?P<day>\d\d?) ?日"),
)
_CLOCK = re.compile(
    r"\b(?P<hour>\d\d?)(?::(?P<minute>\d\d)(?::\d\d)?)? ?(?P<half>[ap])\.?m\b\.?|\b(?P<h>\d\d?):(?P<m>\d\d)\b",
    re.IGNORECASE,
)
_FILLING = re.compile(
    r"\b(?:on|at|the|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b|[\s,.;()\[\]–—-]", re.IGNORECASE
)
_FORMATS = ("%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%d.%m.%Y %H:%M", "%d.%m.%Y", "%b %d, %Y %I:%M %p")


SOMEBODY = "somebody"  # who wrote in a group, where the transcript does not say


@dataclass(slots=True)
class Tally:
    """What one reading of a file left out: tools' results that no call waits for, and messages that say nothing.

    `silent` counts what belongs to sessions in which no person speaks: a sub-agent's, a scheduled one.
    """

    unpaired: int = 0
    emptied: int = 0
    silent: int = 0


@dataclass(frozen=True, slots=True)
class Options:
    """How to read: the zone of naive times, where to report, how much of a tool's result to keep.

    `unpaired` keeps a result that answers no call: of a format that does not record every call. `asks` is the client's
    own tool that puts questions to the user, whose answers are the user's words.
    """

    zone: tzinfo
    report: Report
    tool_result_chars: int = 2_000
    unpaired: bool = False
    asks: str = ""
    tally: Tally = field(default_factory=Tally)


@cache
def _today() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(cues.rows('today'))})", re.IGNORECASE)


@dataclass(slots=True)
class Turns:
    """The messages of one session, in order.

    A call without an id is given one, and a result that names no call answers the oldest that waits. `cwd` and `chat`
    are where the messages from now on are said, as in `Message`.
    """

    options: Options
    day: object = None  # the last time seen, of a message or of the conversation; messages without a time get it
    cwd: str = ""
    chat: str = ""
    _waiting: dict[str, parts.Call] = field(default_factory=dict)
    _recalling: set[str] = field(default_factory=set)  # of these, the calls that ask memory
    _named: int = 0
    _asked: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # of them, what the user is asked

    def instructed(self, prompt: object) -> None:
        """Read a system prompt, of which nothing is kept, for the day that it says it is."""
        text = parts.text(prompt)[:PROMPT]
        found = day_in(text[said.start() :][:WITHIN]) if (said := _today().search(text)) else None
        if found:
            self.day = found.isoformat()

    def said(
        self,
        who: Role,
        content: object,
        *,
        at: object = None,
        identity: str | None = None,
        name: str | None = None,
        calls: Sequence[parts.Call] = (),
    ) -> Iterator[Message]:
        """Yield the results in `content`, then its text and calls as one message; nothing if all was left out."""
        found = parts.split(content, parts.IMAGE if who == "user" else "")
        told = clean.said(found.text)
        asked = (*found.calls, *calls)
        identities = self._identities(asked)
        shown = _joined(told, (call.line for call in asked))
        whole = _joined(told, (mend_surrogates(call.whole).replace("\0", "") for call in asked))
        taken = 0
        for result in found.results:
            yield from self.result(
                result.content,
                answers=result.answers,
                at=at,
                identity=_nth(identity, taken),
                name=result.name,
                failed=result.failed,
            )
            taken += 1
        self.options.tally.emptied += not shown
        if shown:
            seed = (found.text, *(call.line for call in asked))
            yield self._message(who, (shown, whole), seed, at, _nth(identity, taken), name, identities, None)

    def result(
        self,
        content: object,
        *,
        answers: str | None,
        at: object = None,
        identity: str | None = None,
        name: str | None = None,
        failed: bool | None = None,
    ) -> Iterator[Message]:
        """Yield a tool's result, cut in its middle; an empty one stays, for its call's sake.

        `failed` is whether its record says that it is an error; None where only its text may.
        One that answers no call, or a call that has its answer, is left out. What a command printed of memory is kept
        as an empty one too; so is what the user answered to questions, which follows as a talk: each question, and what
        they said to it.
        """
        if answers is None:
            fitting = (key for key, call in self._waiting.items() if name in (None, call.name))
            answers = next(fitting, None)
        if not self.options.unpaired and answers not in self._waiting:
            self.options.tally.unpaired += 1
            return
        asked = self._waiting.pop(answers, None) if answers is not None else None
        given = parts.text(content)
        said = parts.answered(self._asked.pop(answers or "", ()), given)
        recalled = bool(said) or answers in self._recalling
        whole = "" if recalled else clean.said(given)
        self._recalling.discard(answers or "")
        told = parts.cut(whole, self.options.tool_result_chars)
        ran = None
        if asked is not None and asked.command and not recalled:
            ran = CommandRun(asked.command, parts.failed(text=given) if failed is None else failed)
        tool = name or (asked.name if asked else None)
        message = self._message("tool", (told, whole), (given,), at, identity, tool, (), answers)
        yield replace(message, ran=ran) if ran else message
        for number, (question, answer) in enumerate(said, start=1):
            yield from self.said("assistant", question, at=at, identity=identity and f"{identity}?{number}")
            yield from self.said("user", answer, at=at, identity=identity and f"{identity}={number}")

    def told(
        self,
        who: Role | None,
        content: object,
        *,
        at: object,
        identity: str | None = None,
        name: str | None = None,
        calls: Sequence[parts.Call] = (),
        answers: str | None = None,
        failed: bool | None = None,
    ) -> Iterator[Message]:
        """Yield what a message is of whoever says it: a tool its result, None, a system prompt, nothing."""
        if who == "tool":
            return self.result(content, answers=answers, at=at, identity=identity, name=name, failed=failed)
        return self.said(who, content, at=at, identity=identity, name=name, calls=calls) if who else iter(())

    def called(
        self,
        asked: parts.Call,
        result: object,
        *,
        at: object,
        identity: str | None,
        text: str = "",
        ended: object = None,
        failed: bool | None = None,
    ) -> Iterator[Message]:
        """Yield an assistant's call and, where there is one, its `result`, which came when the call had `ended`."""
        made = list(self.said("assistant", text, at=at, identity=identity, calls=[asked]))
        yield from made
        if made and result is not None:
            answers, own = made[-1].calls[-1], _nth(identity, 1)
            yield from self.result(result, answers=answers, at=ended or at, identity=own, failed=failed)

    def _identities(self, calls: Sequence[parts.Call]) -> tuple[str, ...]:
        found = []
        for call in calls:
            self._named += call.id is None
            identity = call.id or f"call-{self._named}"
            found.append(identity)
            self._waiting[identity] = call
            if clean.shows_memory(call.line):
                self._recalling.add(identity)
            if call.questions and call.name == self.options.asks:
                self._asked[identity] = list(call.questions)
            if len(self._waiting) > WAITING:
                oldest = next(iter(self._waiting))
                del self._waiting[oldest]
                self._recalling.discard(oldest)
                self._asked.pop(oldest, None)
        return tuple(found)

    def _message(
        self,
        who: Role,
        told: tuple[str, str],
        seed: tuple[str, ...],
        at: object,
        identity: str | None,
        name: str | None,
        calls: tuple[str, ...],
        answers: str | None,
    ) -> Message:
        """Make a message of what it `told`, in short and in full.

        `seed` is what it said as the file has it: no setting of ours changes its identity.
        """
        when = parse_time(at, self.options.zone)
        if when is None:
            when = parse_time(self.day, self.options.zone)
        else:
            self.day = at
        content, whole = told
        own = identity or _digest(who, at, seed, answers)
        full = "" if whole == content else whole
        return Message(who, content, when, name, own, calls, answers, whole=full, cwd=self.cwd, chat=self.chat)


class Repeated:
    """The messages of a file that have an id, 8 bytes each: a resumed or rewritten session repeats some."""

    def __init__(self) -> None:
        self._marks: set[int] = set()

    def repeats(self, key: str, message: Message) -> bool:
        """Return whether a message with an id was read before, saying the same; it is known from then on."""
        if message.id is None or message.id.startswith("~"):
            return False
        told = "\0".join((key, message.id, message.role, message.content))
        mark = int.from_bytes(blake2b(told.encode("utf-8", "replace"), digest_size=MARK_BYTES).digest(), "little")
        known = mark in self._marks
        self._marks.add(mark)
        return known


def role(value: object) -> tuple[Role | None, str | None]:
    """Read a role of any agent: (role, name). None for a role is a system prompt, which is left out.

    What is no role is the name of a person; without any, a user speaks.
    """
    if not isinstance(value, str) or not value.strip():
        return "user", None
    word = value.strip().lower()
    if word in _ROLES:
        return _ROLES[word], None
    return "user", value.strip()


def _joined(text: str, calls: Iterable[str]) -> str:
    return "\n".join(part for part in (text, *calls) if part)


def _nth(identity: str | None, number: int) -> str | None:
    return identity if identity is None or number == 0 else f"{identity}#{number}"


def _digest(*values: object) -> str:
    """Name a message that has no id by what it is. Two alike, said at the same time, share the name."""
    seed = "\0".join(map(repr, values)).encode("utf-8", "replace")
    return "~" + blake2b(seed, digest_size=8).hexdigest()


# Read the times that agents and people write: ISO 8601, epoch seconds to nanoseconds, `1:56 pm on 8 May, 2023`.


def parse_time(value: object, zone: tzinfo) -> datetime | None:
    """Return `value` as aware UTC, or None where it is not a time; a naive one is read in `zone`."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str) or len(value) > 64:
        return None
    value = value.strip()
    if _NUMBER.fullmatch(value) and len(value) > 8:  # shorter ones are dates: 20261121
        return _from_epoch(float(value))
    return _aware(_from_text(value), zone)


def _from_epoch(number: float) -> datetime | None:
    try:
        size = float(number)
    except OverflowError:
        return None
    if not math.isfinite(size) or size <= 0:
        return None
    unit = next((unit for limit, unit in _UNITS if size < limit), None)
    if unit is None:
        return None
    try:
        return EPOCH + timedelta(seconds=size / unit)
    except OverflowError:
        return None


def _from_text(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return datetime.strptime(value, form)  # noqa: DTZ007, the caller gives it the zone
        except ValueError:
            continue
    return _written(value)


def day_in(text: str) -> date | None:
    """Return the first day that `text` names with its year."""
    found = min(
        (match for form in _DAYS if (match := form.search(text))), key=lambda match: match.start(), default=None
    )
    return _day(found) if found else None


def _written(value: str) -> datetime | None:
    """Read a date in words, with or without a time of day; the text must hold nothing else."""
    found = next((match for form in _DAYS if (match := form.search(value))), None)
    if found is None or (on := _day(found)) is None:
        return None
    rest = f"{value[: found.start()]} {value[found.end() :]}"
    clock = _CLOCK.search(rest)
    beside = _CLOCK.sub("", rest, count=1)
    if _FILLING.sub("", beside):
        return None
    return datetime.combine(on, _time(clock) if clock else time())


def _day(found: re.Match[str]) -> date | None:
    parts = found.groupdict()
    month = int(parts["number"]) if "number" in parts else MONTHS.index(parts["month"][:3].lower()) + 1
    try:
        return date(int(parts["year"]), month, int(parts["day"]))
    except ValueError:
        return None


def _time(clock: re.Match[str]) -> time:
    if clock["h"]:
        hour, minute = int(clock["h"]), int(clock["m"])
    else:
        hour, minute = int(clock["hour"]) % 12 + (12 if clock["half"].lower() == "p" else 0), int(clock["minute"] or 0)
    return time(hour, minute) if hour < 24 and minute < 60 else time()


def _aware(moment: datetime | None, zone: tzinfo) -> datetime | None:
    if moment is None:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (OverflowError, ValueError):  # the first and last day of the calendar
        return None
