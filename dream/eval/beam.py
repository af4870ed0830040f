"""Read BEAM (Tavakoli et al. 2025, mohammadtavakoli78/BEAM): long chats with an assistant, probing questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dream.eval import values
from dream.eval.conversation import Change, Conversation, Question, Session, dialog, last
from dream.models import Message

# Those whose answer is a fact that was said, and what they say about it; the others want counting or a refusal.
_STATED = ("information_extraction", "knowledge_update")
_WISHED = {"instruction_following": "instruction_being_tested", "preference_following": "preference_being_tested"}
_MARK = re.compile(r"\s*->->\s*[\d,N/A]*\s*$")  # the generator's own numbering at the end of a turn
_STATE = "LLM response should state: "


def recognises(chat: Any) -> bool:
    """Tell whether `chat` is a chat.json of BEAM: batches of turns of messages."""
    return isinstance(chat, list) and bool(chat) and all(isinstance(one, dict) and "turns" in one for one in chat)


def read(name: str, chat: Any, probes: Any) -> Conversation:
    """Read one chat; each of its batches is a session, dated by the time anchor of its first message."""
    sessions = tuple(_sessions(name, chat))
    said = {str(message.id): message.content for session in sessions for message in session.messages}
    return Conversation(
        name=name,
        sessions=sessions,
        questions=tuple(_questions(probes, said)),
        changes=tuple(_change(one, said) for one in probes.get("knowledge_update", ())),
        references={
            "whole dialog": dialog(sessions),
            "user messages": dialog(sessions, role="user"),
            "last 4k tokens of user messages": last(dialog(sessions, role="user"), 4_000),
        },
    )


def _sessions(name: str, chat: Any) -> Iterator[Session]:
    at = datetime(2024, 1, 1, 9, tzinfo=UTC)
    for batch in chat:
        turns = [message for turn in batch["turns"] for message in turn]
        anchor = next((one["time_anchor"] for one in turns if one.get("time_anchor")), batch.get("time_anchor"))
        at = _date(anchor) or at + timedelta(days=30)
        said = tuple(
            Message(one["role"], _MARK.sub("", one["content"]), at + timedelta(minutes=place), None, str(one["id"]))
            for place, one in enumerate(turns)
        )
        yield Session(f"beam-{name}-{batch['batch_number']}", at, said)


def _date(anchor: str | None) -> datetime | None:
    return datetime.strptime(anchor, "%B-%d-%Y").replace(hour=9, tzinfo=UTC) if anchor else None


def _questions(probes: Any, said: Mapping[str, str]) -> Iterator[Question]:
    """Yield what the rubrics want stated, a question each, and the wishes that were to be followed."""
    for category in _STATED:
        for one in probes.get(category, ()):
            for point in one["rubric"]:
                if str(point).startswith(_STATE):
                    yield _question(one, str(point).removeprefix(_STATE), category, said)
    for category, wish in _WISHED.items():
        for one in probes.get(category, ()):
            yield _question(one, str(one[wish]), category, said)


def _question(probe: Any, answer: str, category: str, said: Mapping[str, str]) -> Question:
    evidence = tuple(dict.fromkeys(found for found in _ids(probe.get("source_chat_ids")) if found in said))
    return Question(probe["question"], answer, category.replace("_", " "), evidence)


def _ids(found: Any) -> Iterator[str]:
    """Yield message ids: a list, a list of lists, or an object of lists."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from _ids(one)
    elif found is not None:
        yield str(found)


def _change(probe: Any, said: Mapping[str, str]) -> Change:
    """Read a knowledge update; it is a clean case when both values can be seen in the turns that gave them."""
    new = str(probe["rubric"][0]).removeprefix(_STATE)
    sources = probe["source_chat_ids"]
    before = "\n".join(said.get(str(one), "") for one in sources["original_info"])
    after = "\n".join(said.get(str(one), "") for one in sources["updated_info"])
    hint = str(next(iter(probe.get("conversation_references", ())), ""))
    shown = values.named(new, str(probe["answer"]))
    return Change(probe["question"], shown, values.replaced(new, shown, before, after, hint), probe["question"])
