"""The laboratory: show whether memory is good, without a model that judges.

    dataset ─▶ conversations ─▶ the real pipeline, night by night, in a scratch workspace ─▶ measures ─▶ report

A measure compares text with text, so that two people get the same figure. Beside every share stands its chance
level: the same questions asked of the memory of another conversation.

This module holds what a dataset provides: conversations, and what memory should hold of them afterwards.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from dream.models import Message

Plant = Literal["noise", "secret", "injection"]
Half = Literal["seen", "unseen"]  # of the dialogues that are shipped


@dataclass(frozen=True, slots=True)
class Sitting:
    """One sitting. Every message has an `id` that is unique in the conversation; `at` is its day and time."""

    key: str
    at: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold answer; `evidence` are the ids of the messages that answer it."""

    text: str
    answer: str
    category: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A fact that changed: `new` must stand in memory, `old` must be gone or be told as past.

    `old` is None where the dataset does not say which value was replaced; such a case is not clean.
    A line with the old value counts if it is about what `about` asks; every line counts where that is empty.
    """

    question: str
    new: str
    old: str | None
    about: str = ""


@dataclass(frozen=True, slots=True)
class PlantedFact:
    """A planted fact: memory holds it when one line has all of `keys`. Alternatives in a key are split by `|`."""

    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """Something that must not get into memory, known by `mark`, a text that stands nowhere else."""

    kind: Plant
    mark: str


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to look for: all of `patterns` in one line, unless one of `unless` matches that line too.

    `says` tells a person what it is; of a thing that changed, `old` are the patterns of what must not stand as true.
    """

    says: str
    patterns: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...] = ()
    old: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """What a memory must hold of one dialogue (`kept`, the new of `changed`, `rules` in SOUL.md), and must not.

    `asked` are questions, each with the pattern of its answer, of somebody who saw the dialogue alone.
    """

    language: str
    half: Half
    kept: tuple[Row, ...]
    changed: tuple[Row, ...]
    never: tuple[Row, ...]
    rules: tuple[Row, ...]
    asked: tuple[Row, ...] = ()

    def of(self, text: str) -> Gold:
        """Return the rows all of whose patterns match in `text`, the first part of the dialogue."""
        said = unicodedata.normalize("NFKC", text)
        kept, changed, never, rules, asked = (
            tuple(row for row in rows if matches((*row.patterns, *row.old), said))
            for rows in (self.kept, self.changed, self.never, self.rules, self.asked)
        )
        return replace(self, kept=kept, changed=changed, never=never, rules=rules, asked=asked)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, its sessions in the order of their dates, and what is asked about it.

    `references` are other texts that stand for the same conversation, by name: what others remember of it.
    """

    name: str
    sessions: tuple[Sitting, ...]
    questions: tuple[Question, ...] = ()
    changes: tuple[ChangedFact, ...] = ()
    facts: tuple[PlantedFact, ...] = ()  # as they are at the end
    facts_first: tuple[PlantedFact, ...] = ()  # as they were said first
    planted: tuple[Planted, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)
    cited: Mapping[str, frozenset[str]] = field(default_factory=dict)  # what a reference cites: ids of messages
    gold: Gold | None = None  # of a dialogue


def matches(patterns: Iterable[re.Pattern[str]], text: str) -> bool:
    """Return whether all of `patterns` match in `text`."""
    return all(pattern.search(text) for pattern in patterns)


def dialog(sessions: tuple[Sitting, ...], *, role: str | None = None) -> str:
    """Write a conversation out as text: a date, then one line per message; with `role`, only messages of that role."""
    lines: list[str] = []
    for session in sessions:
        lines.append(f"{session.at:%-d %B %Y, %H:%M}")
        said = (message for message in session.messages if role is None or message.role == role)
        lines += [f"{message.name or message.role}: {message.content}" for message in said]
    return "\n".join(lines)


def ids(sessions: Iterable[Sitting]) -> set[str | None]:
    """Return the ids of the messages in sessions."""
    return {message.id for session in sessions for message in session.messages}


def shortened(whole: Conversation, sittings: int) -> Conversation:
    """Return the first sittings of a conversation, with only the questions and facts that rest on them."""
    if sittings >= len(whole.sessions):
        return whole
    sessions = whole.sessions[:sittings]
    said = ids(sessions)
    text = dialog(sessions)
    return replace(
        whole,
        sessions=sessions,
        questions=tuple(one for one in whole.questions if one.evidence and said.issuperset(one.evidence)),
        changes=tuple(one for one in whole.changes if one.new.casefold() in text.casefold()),
        references={"whole dialog": text},
        cited={name: ids & said for name, ids in whole.cited.items()},
        gold=whole.gold and whole.gold.of(text),
    )
