"""The fidelity check: what a user said exactly is in the summary, or is added to it as a short tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dream.models import Message


@dataclass(frozen=True, slots=True)
class Kept:
    """How many of the exact things that users said are in the summary, before and after the tail was added."""

    said: int = 0
    before: int = 0
    after: int = 0

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.said + other.said, self.before + other.before, self.after + other.after)


def completed(text: str, messages: Sequence[Message]) -> tuple[str, Kept]:
    """Return the summary `text` with a tail for what it left out of `messages`, and the measure."""
    return text, Kept()
