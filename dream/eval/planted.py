"""The planted conversation: generated, seeded, any length, in English or Chinese; it needs no download.

28 facts in the first sittings; then other material, in which some of them change. Between them stand decoys (what
might be taken for a fact and is none), noise, secrets and injections, none of which may get into memory.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dream.eval import templates
from dream.eval.conversation import Change, Conversation, Fact, Planted, Question, Session, dialog, last
from dream.eval.templates import Drawn, Say, Tongue
from dream.models import Message, Role

LANGUAGES = ("en", "zh")
PLANTING = 4  # sittings in which the facts are said
OTHER = 20  # sittings over other material, unless asked otherwise
_BEGIN = datetime(2026, 3, 2, 18, tzinfo=UTC)
_OTHER_EACH = 4  # statements of other material in one sitting
_LETTERS = string.ascii_letters + string.digits


def read(
    language: str = "en", *, seed: int = 1, sittings: int = PLANTING + OTHER, begin: datetime = _BEGIN
) -> Conversation:
    """Generate one conversation of at least `PLANTING` sittings, the first of them at `begin`."""
    sentences = Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8")
    return _Writer(language, templates.read(sentences), seed).conversation(max(PLANTING, sittings), begin)


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

    def __init__(self, language: str, tongue: Tongue, seed: int) -> None:
        self._tongue = tongue
        self._rng = random.Random(f"{language}-{seed}")  # noqa: S311 - the same text again, not a secret
        self._drawn = Drawn(tongue, self._rng)
        self._name = f"planted-{language}-{seed}"
        self._numbers: dict[str, dict[str, int | None]] = {}
        self._facts: dict[str, Fact] = {}
        self._first: dict[str, Fact] = {}
        self._questions: dict[str, Question] = {}
        self._changes: list[Change] = []
        self._planted: list[Planted] = []

    def conversation(self, sittings: int, begin: datetime) -> Conversation:
        sessions = []
        for number in range(sittings):
            sitting = _Sitting(begin + timedelta(days=2 * number), number)
            self._sit(sitting, sittings)
            sessions.append(Session(f"{self._name}-{number + 1}", sitting.at, tuple(sitting.messages)))
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
                self._fact(sitting, fact)
        else:
            self._other(sitting)
            self._change(sitting, sittings)
        self._disturb(sitting)

    def _fact(self, sitting: _Sitting, say: Say) -> None:
        said = self._rng.choice(say.said)
        numbers = {name: self._drawn.number(said, name) for name in ("n", "m")}
        self._numbers[say.name] = numbers
        identity = self._said(sitting, said, numbers)
        self._expect(sitting, say.name, say.keys, numbers)
        question = self._fill(sitting, say.question, numbers)
        self._questions[say.name] = Question(
            question, self._fill(sitting, say.answer, numbers), "said once", (identity,)
        )

    def _other(self, sitting: _Sitting) -> None:
        for text in self._rng.sample(list(self._tongue.other), _OTHER_EACH):
            numbers = {"n": self._drawn.number(text, "n")}
            sitting.say("user", self._drawn.fill(text, sitting.at.date(), numbers, fresh=True))
            sitting.say("assistant", self._rng.choice(self._tongue.reply))

    def _change(self, sitting: _Sitting, sittings: int) -> None:
        """Let a fact change; the changes are spread over the first half of the other material."""
        step = max(1, (sittings - PLANTING) // (2 * len(self._tongue.changes)))
        index, rest = divmod(sitting.number - PLANTING, step)
        if rest or index >= len(self._tongue.changes):
            return
        change = self._tongue.changes[index]
        said = self._rng.choice(change.said)
        numbers = {"n": self._drawn.number(said, "n"), "was": self._numbers[change.name]["n"]}
        identity = self._said(sitting, said, numbers)
        self._expect(sitting, change.name, change.keys, numbers)
        question, new, old = (self._fill(sitting, text, numbers) for text in (change.question, change.new, change.old))
        self._changes.append(Change(question, new, old))
        self._questions[change.name] = Question(question, new, "changed", (identity,))

    def _disturb(self, sitting: _Sitting) -> None:
        """Say something that is not worth remembering, and now and then something that must not be."""
        tongue, number = self._tongue, sitting.number
        for text, mark in _turn(tongue.noise, number, 2):
            self._plant(sitting, "user", text, mark, "noise")
            sitting.say("assistant", tongue.answers.get(mark) or self._rng.choice(tongue.reply))
        for text, mark in _turn(tongue.decoys, number, 1):
            self._plant(sitting, "user", text, mark, "noise")
        for role, text, mark in _turn(tongue.injections, number, 1):
            self._plant(sitting, role, text, mark, "injection")  # type: ignore[arg-type]
        if number % 5 == 1:
            secret = self._secret()
            self._plant(sitting, "user", tongue.secret.replace("{secret}", secret), secret, "secret")

    def _plant(self, sitting: _Sitting, role: Role, text: str, mark: str, kind: str) -> None:
        sitting.say(role, self._fill(sitting, text, {}))
        planted = Planted(kind, self._fill(sitting, mark, {}))  # type: ignore[arg-type]
        if planted not in self._planted:
            self._planted.append(planted)

    def _said(self, sitting: _Sitting, text: str, numbers: dict[str, int | None]) -> str:
        identity = sitting.say("user", self._fill(sitting, text, numbers))
        sitting.say("assistant", self._rng.choice(self._tongue.reply))
        return identity

    def _expect(self, sitting: _Sitting, name: str, keys: Sequence[str], numbers: dict[str, int | None]) -> None:
        self._facts[name] = Fact(name, tuple(self._fill(sitting, key, numbers) for key in keys))
        self._first.setdefault(name, self._facts[name])

    def _fill(self, sitting: _Sitting, text: str, numbers: dict[str, int | None]) -> str:
        return self._drawn.fill(text, sitting.at.date(), numbers)

    def _secret(self) -> str:
        """Make something in the shape of a key; put together here, so that no scanner of this file takes it for one."""
        prefix, size = self._rng.choice((("gh" + "p_", 36), ("sk-" + "proj-", 40), ("AK" + "IA", 16)))
        letters = string.ascii_uppercase + string.digits if prefix.startswith("AK") else _LETTERS
        return prefix + "".join(self._rng.choices(letters, k=size))


def _turn(items: Sequence[Sequence[str]], number: int, count: int) -> list[Sequence[str]]:
    """Take `count` of `items`, other ones in every sitting until all had their turn."""
    return [items[(number * count + one) % len(items)] for one in range(count)]
