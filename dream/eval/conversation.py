"""What a dataset gives: conversations, and what memory should hold of them afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from dream.models import Message

if TYPE_CHECKING:
    from dream.eval.dialogues import Gold

Plant = Literal["noise", "secret", "injection"]


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

    `old` is None where the dataset does not let one say which value was replaced; then it is no clean case.
    A line with the old value counts when it is about what `about` asks; any line where that is empty.
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


def dialog(sessions: tuple[Sitting, ...], *, role: str | None = None) -> str:
    """Write a conversation out: a date, then a line a message; with `role`, only its messages."""
    lines: list[str] = []
    for session in sessions:
        lines.append(f"{session.at:%-d %B %Y, %H:%M}")
        said = (message for message in session.messages if role is None or message.role == role)
        lines += [f"{message.name or message.role}: {message.content}" for message in said]
    return "\n".join(lines)


def ids(sessions: Iterable[Sitting]) -> set[str | None]:
    """Return the identities of what was said in sessions."""
    return {message.id for session in sessions for message in session.messages}


def shortened(whole: Conversation, sittings: int) -> Conversation:
    """Return the first sittings of a conversation, with what was asked and is to be found of them alone."""
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
