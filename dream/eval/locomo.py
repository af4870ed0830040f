"""Read LoCoMo (Maharana et al. 2024, snap-research/LoCoMo): two people, 19 to 32 dated sessions, questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from dream.eval.conversation import Conversation, Question, Session, dialog, last
from dream.models import Message

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}  # 5 is adversarial: it has no answer
_DATE = "%I:%M %p on %d %B, %Y"
_TURN = re.compile(r"D:?(\d+):(\d+)")


def recognises(data: Any) -> bool:
    """Tell whether `data` is a LoCoMo file: a list of samples with a conversation and questions."""
    return isinstance(data, list) and bool(data) and all("conversation" in one and "qa" in one for one in data)


def read(data: Any) -> list[Conversation]:
    """Read the samples, one conversation each."""
    return [_sample(one) for one in data]


def _sample(sample: Any) -> Conversation:
    sessions = tuple(_sessions(str(sample["sample_id"]), sample["conversation"]))
    known = {message.id for session in sessions for message in session.messages}
    return Conversation(
        name=str(sample["sample_id"]),
        sessions=sessions,
        questions=tuple(_question(one, known) for one in sample["qa"] if one["category"] in CATEGORIES),
        references=_references(sample, sessions),
        cited={"GPT-3.5 observations": frozenset(_cited(sample))},
    )


def _sessions(name: str, conversation: Any) -> Iterator[Session]:
    """Yield the sessions; some samples give dates of sessions that are not there."""
    number = 1
    while f"session_{number}" in conversation:
        at = datetime.strptime(conversation[f"session_{number}_date_time"], _DATE).replace(tzinfo=UTC)
        turns = conversation[f"session_{number}"]
        said = tuple(_message(turn, conversation["speaker_a"], at, place) for place, turn in enumerate(turns))
        yield Session(f"{name}-{number}", at, said)
        number += 1


def _message(turn: Any, first: str, at: datetime, place: int) -> Message:
    """Read a turn. The photo's caption is a vision model's, not said by anyone: it is left out, as images are."""
    role = "user" if turn["speaker"] == first else "assistant"
    return Message(role, turn["text"], at + timedelta(seconds=20 * place), turn["speaker"], turn["dia_id"])  # type: ignore[arg-type]


def _question(question: Any, known: set[str | None]) -> Question:
    """Read a question. Answers may be integers, and evidence ids malformed: `D8:6; D9:17`, `D`, `D:11:26`."""
    named = [f"D{day}:{turn}" for one in question["evidence"] for day, turn in _TURN.findall(one)]
    evidence = tuple(dict.fromkeys(one for one in named if one in known))
    return Question(question["question"], str(question["answer"]), CATEGORIES[question["category"]], evidence)


def _references(sample: Any, sessions: tuple[Session, ...]) -> dict[str, str]:
    events = (told for one in sample["event_summary"].values() for told in one.values())
    return {
        "whole dialog": dialog(sessions),
        "GPT-3.5 observations": "\n".join(str(fact[0]) for fact in _observed(sample)),
        "GPT-3.5 session summaries": "\n".join(sample["session_summary"].values()),
        "human event summaries": "\n".join(
            told if isinstance(told, str) else "\n".join(map(str, told)) for told in events if told
        ),
        "last 4k tokens of dialog": last(dialog(sessions), 4_000),
    }


def _observed(sample: Any) -> Iterator[Any]:
    """Yield the observations: each a sentence and the id, or ids, of the turns that it was made from."""
    for session in sample["observation"].values():
        for facts in session.values():
            yield from facts


def _cited(sample: Any) -> Iterator[str]:
    for fact in _observed(sample):
        yield from (f"D{day}:{turn}" for day, turn in _TURN.findall(str(fact[1])))
