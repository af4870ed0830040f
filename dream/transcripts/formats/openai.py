"""Chat messages as OpenAI's API has them, and their kin.

A JSON array of messages, `{"messages": […]}`, a list of such conversations, or JSON lines of either.
A time may stand under `timestamp`, `created_at`, `time` or `date`; a message without one has its conversation's, or
the day that the system prompt says it is. ShareGPT's `from`/`value` is understood.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dream.transcripts import parts
from dream.transcripts.parts import Call, Json, call
from dream.transcripts.source import Head, Reader, Said, Source
from dream.transcripts.turns import Options, Turns, role

_TIMES = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "datetime", "ts")
_SESSIONS = ("session_id", "sessionId", "conversation_id", "thread_id", "session", "conversation", "id")
_MESSAGES = ("messages", "conversation", "conversations", "chat", "turns", "items")


def _recognises(head: Head) -> bool:
    """Return whether a record has content and says who speaks, or holds records that do."""
    if "messages" in head.lists or "conversations" in head.lists:
        return True
    return any(_is_message(record) or _conversation(record) is not None for record in head.records)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each conversation in the file."""
    header, _ = source.header()
    default = parts.key(header, *_SESSIONS) or source.default_id
    begun = parts.first(header, *_TIMES)
    talks: defaultdict[str, Turns] = defaultdict(lambda: Turns(options))
    number = 0
    for record in source.records():
        inner = _conversation(record.value)
        if inner is None:
            session = parts.key(record.value, *_SESSIONS[:-1]) or default
            turns = talks[session]
            turns.day = turns.day or begun
            yield from _message(record.value, session, turns)
            continue
        session = parts.key(record.value, *_SESSIONS) or (f"{default}/{number}" if number else default)
        number += 1
        own = Turns(options, parts.first(record.value, *_TIMES))
        for value in inner:
            yield from _message(value, session, own)


def _conversation(record: Json) -> list[Json] | None:
    """Return the messages of a record that is a whole conversation, or None."""
    for one in _MESSAGES:
        found = parts.tables(record, one)
        if any(_is_message(item) for item in found):
            return found
    return None


def _is_message(record: Json) -> bool:
    said = any(field in record for field in ("content", "text", "value", "tool_calls"))
    return said and any(isinstance(record.get(field), str) for field in ("role", "from", "speaker", "author", "sender"))


def _message(record: Json, session: str, turns: Turns) -> Iterator[Said]:
    who, person = role(parts.first(record, "role", "from", "speaker", "sender", "author"))
    if who is None:
        turns.instructed(parts.first(record, "content", "text", "value"))
        return
    for message in turns.told(
        who,
        parts.first(record, "content", "text", "value"),
        at=parts.first(record, *_TIMES),
        identity=parts.key(record, "id", "uuid", "message_id"),
        name=parts.text_of(record, "name", "speaker", "author_name") or person,
        calls=_calls(record),
        answers=parts.key(record, "tool_call_id", "call_id"),
        failed=parts.failed(record),
    ):
        yield session, message


def _calls(record: Json) -> list[Call]:
    calls = [call(block) for block in parts.tables(record, "tool_calls")]
    old = parts.table(record, "function_call")
    return [*calls, call(old)] if old else calls


OPENAI = Reader("openai", _recognises, _read, paired=False)
