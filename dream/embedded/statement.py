"""The values between the stages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from dream.language import likeness
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


def replaces(new: Statement, old: Statement) -> float:
    """Return the belief, 0 to 1, that `new` takes the place of `old`, which was said before it."""
    return likeness.takes_place(new.text, old.text, new.code, (new.kind, old.kind))
