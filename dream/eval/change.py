"""Change: where a fact changed, the new value is in memory, and the old one is gone or told as past."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dream.eval import values
from dream.eval.conversation import Change
from dream.eval.words import mean

# What a line says of a value that no longer holds; also that one value became another.
_PAST = re.compile(
    r"\b(?:was|were|had|used to|formerly|previous(?:ly)?|earlier|before|until|no longer|not anymore|instead of|rather"
    r" than|originally|initial(?:ly)?|old|outdated|superseded|replaced|changed from|moved from|switched from|up from"
    r"|from .{1,40} to)\b|以前|曾|原来|原先|之前|不再|改成|改为|从.{1,20}(?:改|搬|换|变|到)|~~",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Changed:
    """Shares in per cent. `there`: of all changes, the new value stands in memory. The others are of the clean ones.

    `current`: the new value is there and the old one is not told as true; `stale`: the old one still is.
    """

    text: str
    changes: int
    clean: int
    there: float
    current: float | None
    stale: float | None
    chance_there: float | None


@dataclass(frozen=True, slots=True)
class State:
    """What a text says of one change."""

    there: bool
    stale: bool


def measure(name: str, changes: Sequence[Sequence[Change]], texts: Sequence[str]) -> Changed | None:
    """Judge the changes of each conversation on its text; the next conversation's text gives chance."""
    judged = [(change, judge(change, text)) for own, text in zip(changes, texts, strict=True) for change in own]
    if not judged:
        return None
    others = [*texts[1:], *texts[:1]]
    lucky = [judge(change, text).there for own, text in zip(changes, others, strict=True) for change in own]
    clean = [state for change, state in judged if change.old is not None]
    return Changed(
        text=name,
        changes=len(judged),
        clean=len(clean),
        there=mean(state.there for _, state in judged) or 0.0,
        current=mean(state.there and not state.stale for state in clean),
        stale=mean(state.stale for state in clean),
        chance_there=mean(lucky) if len(texts) > 1 else None,
    )


def judge(change: Change, text: str) -> State:
    """Look for the new and the old value, line by line."""
    lines = text.splitlines()
    there = any(values.says(change.new, line) for line in lines)
    old = change.old
    stale = old is not None and any(_told_as_true(change, old, line) for line in lines)
    return State(there, stale)


def _told_as_true(change: Change, old: str, line: str) -> bool:
    if not values.near(old, line, change.about) or values.says(change.new, line):
        return False
    return _PAST.search(line) is None
