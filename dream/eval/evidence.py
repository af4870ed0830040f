"""Evidence: do the lines that are still in memory lead back to the messages that answer a question?

Two readings of "cited". By span: every message of a span that a line's finding rests on; a summary's span is often a
whole sitting, so this says only that the sitting is not forgotten. By message: of those, only the one that each
statement of the line is nearest to in its words; this compares with references that name single messages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dream.eval.conversation import Question
from dream.eval.remembered import Remembered
from dream.eval.words import content, mean
from dream.trace import Origin

# Of a statement's content words that must stand in a message. Of GPT-3.5's observations, which name their turn and are
# in its own words, 99 % have such a nearest message in their session, and in 86 % it is the turn that they name.
NEAR = 0.3
_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)$")  # of a whole line: it stands in no message
_STATEMENT = re.compile(r";\s+|(?<=[.!?。！？])\s*")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Shares in per cent of the questions whose evidence is cited: all of it, any of it."""

    text: str
    tokens: int | None
    questions: int
    all: float
    any: float


def measure(remembered: Sequence[Remembered], sizes: Sequence[int]) -> list[Evidence]:
    """Measure the memory at each size both ways, and the references that cite messages."""
    found = []
    for size in sizes:
        for name, cited in (("by message", _by_message), ("by span", _by_span)):
            pairs = [(one.conversation.questions, set(cited(one, _shown(one, size)))) for one in remembered]
            found.append(_shares(name, size, pairs))
    names = dict.fromkeys(name for one in remembered for name in one.conversation.cited)
    for name in names:
        pairs = [(one.conversation.questions, set(one.conversation.cited.get(name, ()))) for one in remembered]
        found.append(_shares(name, None, pairs))
    return [one for one in found if one is not None]


def _shares(
    name: str, size: int | None, pairs: Sequence[tuple[Sequence[Question], Collection[str]]]
) -> Evidence | None:
    rows = [
        [message in cited for message in question.evidence]
        for questions, cited in pairs
        for question in questions
        if question.evidence
    ]
    every, some = mean(all(row) for row in rows), mean(any(row) for row in rows)
    return None if every is None or some is None else Evidence(name, size, len(rows), every, some)


def _shown(one: Remembered, size: int) -> list[Origin]:
    """Return the lines that an agent gets at this size."""
    lines = set(one.contexts[size].splitlines())
    return [origin for origin in one.origins if origin.line in lines]


def _by_span(one: Remembered, origins: Sequence[Origin]) -> Iterator[str]:
    for origin in origins:
        yield from _messages(one.messages, origin)


def _by_message(one: Remembered, origins: Sequence[Origin]) -> Iterator[str]:
    said = {
        message.id: content(f"{message.name or ''} {message.content}")
        for session in one.conversation.sessions
        for message in session.messages
        if message.id
    }
    for origin in origins:
        candidates = list(dict.fromkeys(_messages(one.messages, origin)))
        for statement in _STATEMENT.split(_DATE.sub("", origin.line)):
            wanted = content(statement)
            scored = [(*_nearness(wanted, said.get(name, frozenset())), name) for name in candidates if wanted]
            best = max((score[:2] for score in scored), default=(0.0, 0.0))
            yield from (name for *score, name in scored if tuple(score) == best and best[0] >= NEAR)


def _nearness(statement: frozenset[str], message: frozenset[str]) -> tuple[float, float]:
    """Return the share of a statement's words that stand in a message; then, of as much, the shorter one is nearer."""
    shared = len(statement & message)
    return shared / len(statement), shared / max(1, len(message))


def _messages(messages: Mapping[tuple[str, int], str], origin: Origin) -> Iterator[str]:
    for session, first, end in origin.spans:
        yield from (messages[session, place] for place in range(first, end) if (session, place) in messages)
