"""Sentences with slots, and how they are filled: the same seed gives the same sentences. Pure.

`{name}` is one value of the pool `name` for the whole conversation, `{city.2}` its second one, always another.
`{n.60-180}` is a number, `{n}` the same one again; `{was}` is the number that a changed fact had before.
`{date+40}` is the day forty days after the sitting, `{dates+40}` the ways to write it, as alternatives of a key.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

_SLOT = re.compile(r"\{([a-z]+)(?:\.(\d+)(?:-(\d+))?|([+-]\d+))?\}")


@dataclass(frozen=True, slots=True)
class Say:
    """A fact: the ways to say it, what one line of memory must hold of it, and the question that it answers."""

    name: str
    said: tuple[str, ...]
    keys: tuple[str, ...]
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Change:
    """What the user may say when the fact `name` changes, and its new and old value."""

    name: str
    said: tuple[str, ...]
    keys: tuple[str, ...]
    question: str
    new: str
    old: str


@dataclass(frozen=True, slots=True)
class Tongue:
    """All sentences of one language."""

    pools: Mapping[str, tuple[str, ...]]
    facts: Sequence[Say]
    changes: Sequence[Change]
    other: Sequence[str]
    decoys: Sequence[Sequence[str]]
    noise: Sequence[Sequence[str]]
    injections: Sequence[Sequence[str]]
    secret: str
    dates: str  # how a day is written
    hello: Sequence[str]
    reply: Sequence[str]
    answers: Mapping[str, str]


def read(text: str) -> Tongue:
    """Read the sentences of one language from its TOML file."""
    table = tomllib.loads(text)
    return Tongue(
        pools={name: tuple(pool) for name, pool in table["pools"].items()},
        facts=[
            Say(name, tuple(said), tuple(keys), asked, answer) for name, said, keys, asked, answer in table["facts"]
        ],
        changes=[Change(name, tuple(said), tuple(keys), *rest) for name, said, keys, *rest in table["changes"]],
        other=table["other"],
        decoys=table["decoys"],
        noise=table["noise"],
        injections=table["injections"],
        secret=table["secret"],
        dates=table["dates"],
        hello=table["hello"],
        reply=table["reply"],
        answers=table["answers"],
    )


class Drawn:
    """What the slots of one conversation hold."""

    def __init__(self, tongue: Tongue, rng: random.Random) -> None:
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
