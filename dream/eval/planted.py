"""The planted conversation: generated, seeded, any length, in English or Chinese; it needs no download.

28 facts in the first sittings; then other material, in which some of them change. Between them stand decoys (what
might be taken for a fact and is none), noise, secrets and injections, none of which may get into memory.

The sentences of a language stand in a TOML file, with slots: `{name}` is one value of the pool `name` for the whole
conversation, `{city.2}` its second one, always another. `{n.60-180}` is a number, `{n}` the same one again; `{was}` is
the number that a changed fact had before. `{date+40}` is the day forty days after the sitting, `{dates+40}` the ways to
write it, as alternatives of a key.
"""

from __future__ import annotations

import random
import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from dream.eval.conversation import ChangedFact, Conversation, Plant, Planted, PlantedFact, Question, Sitting, dialog
from dream.eval.metric import last
from dream.models import Message, Role

LANGUAGES = ("en", "zh")
PLANTING = 4  # sittings in which the facts are said
OTHER = 20  # sittings over other material, unless asked otherwise
_BEGIN = datetime(2026, 3, 2, 18, tzinfo=UTC)
_OTHER_EACH = 4  # statements of other material in one sitting
_LETTERS = string.ascii_letters + string.digits
_T = TypeVar("_T")


_SLOT = re.compile(r"\{([a-z]+)(?:\.(\d+)(?:-(\d+))?|([+-]\d+))?\}")


def read(
    language: str = "en", *, seed: int = 1, sittings: int = PLANTING + OTHER, begin: datetime = _BEGIN
) -> Conversation:
    """Generate one conversation of at least `PLANTING` sittings, the first of them at `begin`."""
    return _Writer(language, _tongue(language), seed).conversation(max(PLANTING, sittings), begin)


@dataclass(frozen=True, slots=True)
class _Say:
    """A fact, or how the fact `name` changes: the ways to say it, what one line of memory must hold of it, and the
    question that it answers. Of a change, `old` is the answer before.
    """

    name: str
    said: Sequence[str]
    keys: Sequence[str]
    question: str
    answer: str
    old: str = ""


@dataclass(frozen=True, slots=True)
class _Tongue:
    """All sentences of one language, as they stand in its file."""

    pools: Mapping[str, Sequence[str]]
    facts: Sequence[_Say]
    changes: Sequence[_Say]
    other: Sequence[str]
    decoys: Sequence[Sequence[str]]
    noise: Sequence[Sequence[str]]
    injections: Sequence[tuple[Role, str, str]]
    secret: str
    dates: str  # how a day is written
    hello: Sequence[str]
    reply: Sequence[str]
    answers: Mapping[str, str]


def _tongue(language: str) -> _Tongue:
    table: dict[str, Any] = tomllib.loads(Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8"))
    said = {name: [_Say(*one) for one in table[name]] for name in ("facts", "changes")}
    return _Tongue(**table | said)


@dataclass(slots=True)
class _Sitting:
    at: datetime
    number: int
    messages: list[Message] = field(default_factory=list)

    def say(self, role: Role, content: str) -> str:
        place = len(self.messages)
        identity = f"{self.number}:{place}"
        self.messages.append(Message(role, content, self.at + timedelta(minutes=place), None, identity))
        return identity


class _Writer:
    """Writes one conversation; what is drawn once stays the same in all of it."""

    def __init__(self, language: str, tongue: _Tongue, seed: int) -> None:
        self._tongue = tongue
        self._rng = random.Random(f"{language}-{seed}")  # noqa: S311 - the same text again, not a secret
        self._drawn = _Drawn(tongue, self._rng)
        self._name = f"planted-{language}-{seed}"
        self._numbers: dict[str, dict[str, int | None]] = {}
        self._facts: dict[str, PlantedFact] = {}
        self._first: dict[str, PlantedFact] = {}
        self._questions: dict[str, Question] = {}
        self._changes: list[ChangedFact] = []
        self._planted: list[Planted] = []

    def conversation(self, sittings: int, begin: datetime) -> Conversation:
        sessions = []
        for number in range(sittings):
            sitting = _Sitting(begin + timedelta(days=2 * number), number)
            self._sit(sitting, sittings)
            sessions.append(Sitting(f"{self._name}-{number + 1}", sitting.at, tuple(sitting.messages)))
        return Conversation(
            name=self._name,
            sessions=tuple(sessions),
            questions=tuple(self._questions.values()),
            changes=tuple(self._changes),
            facts=tuple(self._facts.values()),
            facts_first=tuple(self._first.values()),
            planted=tuple(self._planted),
            references={
                "whole dialog": dialog(tuple(sessions)),
                "last 2k tokens of dialog": last(dialog(tuple(sessions)), 2_000),
            },
        )

    def _sit(self, sitting: _Sitting, sittings: int) -> None:
        rng, tongue = self._rng, self._tongue
        sitting.say("user", rng.choice(tongue.hello))
        sitting.say("assistant", rng.choice(tongue.reply))
        if sitting.number < PLANTING:
            for fact in tongue.facts[sitting.number :: PLANTING]:
                self._state(sitting, fact)
        else:
            self._other(sitting)
            self._change(sitting, sittings)
        self._disturb(sitting)

    def _state(self, sitting: _Sitting, say: _Say) -> None:
        """Let the user say a fact, or how one has changed."""
        said = self._rng.choice(say.said)
        drawn = {name: self._drawn.number(said, name) for name in ("n", "m")}
        numbers = drawn | {"was": self._numbers.setdefault(say.name, drawn)["n"]}
        identity = sitting.say("user", self._fill(sitting, said, numbers))
        sitting.say("assistant", self._rng.choice(self._tongue.reply))
        self._facts[say.name] = PlantedFact(say.name, tuple(self._fill(sitting, key, numbers) for key in say.keys))
        self._first.setdefault(say.name, self._facts[say.name])
        question, answer, old = (self._fill(sitting, text, numbers) for text in (say.question, say.answer, say.old))
        category = "changed" if say.old else "said once"
        self._questions[say.name] = Question(question, answer, category, (identity,))
        if say.old:
            self._changes.append(ChangedFact(question, answer, old))

    def _other(self, sitting: _Sitting) -> None:
        for text in self._rng.sample(list(self._tongue.other), _OTHER_EACH):
            numbers = {"n": self._drawn.number(text, "n")}
            sitting.say("user", self._drawn.fill(text, sitting.at.date(), numbers, fresh=True))
            sitting.say("assistant", self._rng.choice(self._tongue.reply))

    def _change(self, sitting: _Sitting, sittings: int) -> None:
        """Let a fact change; the changes are spread over the first half of the other material."""
        step = max(1, (sittings - PLANTING) // (2 * len(self._tongue.changes)))
        index, rest = divmod(sitting.number - PLANTING, step)
        if not rest and index < len(self._tongue.changes):
            self._state(sitting, self._tongue.changes[index])

    def _disturb(self, sitting: _Sitting) -> None:
        """Say something that is not worth remembering, and now and then something that must not be."""
        tongue, number = self._tongue, sitting.number
        for text, mark in _turn(tongue.noise, number, 2):
            self._plant(sitting, "user", text, mark, "noise")
            sitting.say("assistant", tongue.answers.get(mark) or self._rng.choice(tongue.reply))
        for text, mark in _turn(tongue.decoys, number, 1):
            self._plant(sitting, "user", text, mark, "noise")
        for role, text, mark in _turn(tongue.injections, number, 1):
            self._plant(sitting, role, text, mark, "injection")
        if number % 5 == 1:
            secret = self._secret()
            self._plant(sitting, "user", tongue.secret.replace("{secret}", secret), secret, "secret")

    def _plant(self, sitting: _Sitting, role: Role, text: str, mark: str, kind: Plant) -> None:
        sitting.say(role, self._fill(sitting, text, {}))
        planted = Planted(kind, self._fill(sitting, mark, {}))
        if planted not in self._planted:
            self._planted.append(planted)

    def _fill(self, sitting: _Sitting, text: str, numbers: dict[str, int | None]) -> str:
        return self._drawn.fill(text, sitting.at.date(), numbers)

    def _secret(self) -> str:
        """Make something in the shape of a key; put together here, so that no scanner of this file takes it for one."""
        prefix, size = self._rng.choice((("gh" + "p_", 36), ("sk-" + "proj-", 40), ("AK" + "IA", 16)))
        letters = string.ascii_uppercase + string.digits if prefix.startswith("AK") else _LETTERS
        return prefix + "".join(self._rng.choices(letters, k=size))


def _turn(items: Sequence[_T], number: int, count: int) -> list[_T]:
    """Take `count` of `items`, other ones in every sitting until all had their turn."""
    return [items[(number * count + one) % len(items)] for one in range(count)]


class _Drawn:
    """What the slots of one conversation hold."""

    def __init__(self, tongue: _Tongue, rng: random.Random) -> None:
        self._rng = rng
        self._pools = {name: rng.sample(pool, len(pool)) for name, pool in tongue.pools.items()}
        self._dates = tongue.dates

    def number(self, slots: str, name: str) -> int | None:
        """Draw the number of a `{name.low-high}` in `slots`, if there is one."""
        bounds = next((match for match in _SLOT.finditer(slots) if match[1] == name and match[3]), None)
        return self._rng.randint(int(bounds[2]), int(bounds[3])) if bounds else None

    def fill(self, text: str, day: date, numbers: Mapping[str, int | None], *, fresh: bool = False) -> str:
        """Fill the slots of `text`, said on `day`; with `fresh` each from its whole pool, for other material."""

        def value(match: re.Match[str]) -> str:
            name, index, _, days = match.groups()
            if name in ("date", "dates"):
                return self._date(day + timedelta(days=int(days)), every=name == "dates")
            if name in ("mm", "nn"):
                return f"{numbers[name[0]]:02}"
            if name in numbers:
                return str(numbers[name])
            pool = self._pools[name]
            return self._rng.choice(pool) if fresh else pool[int(index or 1) - 1]

        return _SLOT.sub(value, text)

    def _date(self, day: date, *, every: bool) -> str:
        if not every:
            return self._dates.format(day=day)
        return f"{day:%Y-%m-%d}|{day:%B} {day.day}|{day.day} {day:%B}|{day.month}月{day.day}日"
