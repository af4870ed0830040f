"""Retention: how much of the gold answers stands in a text, by category, beside what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dream.eval.conversation import Conversation, Question
from dream.eval.words import find, mean, ready

ALL = "all"


@dataclass(frozen=True, slots=True)
class Share:
    """Two shares in per cent: of the answers' content words, and of the answers that stand there as a whole."""

    recall: float
    whole: float

    def __sub__(self, other: Share) -> Share:
        return Share(self.recall - other.recall, self.whole - other.whole)


@dataclass(frozen=True, slots=True)
class Retention:
    """The shares of one kind of text over all conversations. `tokens` is its mean size.

    `chance` is None where there is only one conversation.
    """

    text: str
    tokens: float
    questions: int
    own: dict[str, Share]
    chance: dict[str, Share] | None
    retained: int  # questions all of whose answer's content words are there


def measure(name: str, conversations: Sequence[Conversation], texts: Sequence[str]) -> Retention | None:
    """Ask each conversation's questions of its text, and of the next conversation's; None without a question."""
    own = [_asked(one.questions, text) for one, text in zip(conversations, texts, strict=True)]
    other = [_asked(one.questions, text) for one, text in zip(conversations, [*texts[1:], *texts[:1]], strict=True)]
    rows = [row for rows in own for row in rows]
    if not rows:
        return None
    return Retention(
        text=name,
        tokens=sum(ready(text).tokens for text in texts) / len(texts),
        questions=len(rows),
        own=_shares(rows),
        chance=_shares([row for rows in other for row in rows]) if len(texts) > 1 else None,
        retained=sum(recall == 1 for _, recall, _ in rows),
    )


_Row = tuple[str, float, bool]  # category, recall, whole


def _asked(questions: Sequence[Question], text: str) -> list[_Row]:
    known = ready(text)
    found = [(question.category, find(question.answer, known)) for question in questions]
    return [(category, one.recall, one.whole) for category, one in found]


def _shares(rows: Sequence[_Row]) -> dict[str, Share]:
    categories = dict.fromkeys([ALL, *(category for category, _, _ in rows)])
    shares = {}
    for name in categories:
        chosen = [(recall, whole) for category, recall, whole in rows if name in (ALL, category)]
        recall, whole = mean(recall for recall, _ in chosen), mean(whole for _, whole in chosen)
        shares[name] = Share(recall or 0.0, whole or 0.0)
    return shares
