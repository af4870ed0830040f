"""Letta Code's transcripts: JSON lines of `{kind, text, captured_at}`, a tool's call and result in one row.

Its local backend keeps messages in the shape of pi's, with `metadata` beside them; it counts conversations and
messages from 1 for each agent, and gives what the user says the number of the message as its time: there the time
of the answer stands.
Source of the shapes: letta-ai/trajectory, and files of Letta Code 0.25.9.
"""

from __future__ import annotations

from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.formats.pi import pi_says
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import Options, Turns

COUNTED_FROM = 1_767_225_600_000  # ms: 2026-01-01, from which it counts its messages in seconds
_KINDS = ("user", "assistant", "reasoning", "tool_call", "error")


def _recognises(head: Head) -> bool:
    """Return whether it has rows of a known kind, or messages that name their agent and conversation."""
    return head.shape == "lines" and any(_is_local(record) or _is_known(record) for record in head.records)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session."""
    turns = Turns(options)
    asked: list[Json] = []  # what waits for the time of its answer
    for record in source.records():
        row = record.value
        if not _is_local(row):
            for message in _messages(row, turns):
                yield parts.key(row, "conversation_id"), message
            continue
        asked.append(row)
        if row["role"] != "user":
            yield from _local(asked, turns)
            asked.clear()
    yield from _local(asked, turns)


def _local(rows: list[Json], turns: Turns) -> Iterator[Said]:
    """Yield the messages of rows of the local backend; those without a time get that of the last."""
    for row in rows:
        session = "/".join(_owner(row))
        for message in pi_says(row, turns, _time(row) or _time(rows[-1]), f"{session}/{parts.key(row, 'id')}"):
            yield session, message


def _is_known(row: Json) -> bool:
    known = isinstance(row.get("kind"), str) and row["kind"] in _KINDS
    return known and not {"captured_at", "source_line_id", "text"}.isdisjoint(row)


def _is_local(row: Json) -> bool:
    return "role" in row and all(_owner(row))


def _owner(row: Json) -> tuple[str, str]:
    about = parts.table(row, "metadata")
    return parts.key(about, "agent_id") or "", parts.key(about, "conversation_id") or ""


def _time(row: Json) -> object:
    """Return when a message was said; None where the timestamp is only a count of messages."""
    at, number = row.get("timestamp"), (parts.key(row, "id") or "").rpartition("-")[2]
    made_up = number.isdecimal() and at == COUNTED_FROM + 1_000 * int(number)
    return None if made_up else at


def _messages(row: Json, turns: Turns) -> Iterator[Message]:
    kind, at, identity = row.get("kind", "user"), row.get("captured_at"), parts.key(row, "source_line_id")
    if kind in ("user", "assistant"):
        yield from turns.said(kind, row.get("text"), at=at, identity=identity)
    elif kind == "tool_call":
        asked = call({"id": identity, "name": row.get("name"), "argsText": row.get("argsText")})
        failed = parts.failed(row)
        yield from turns.called(asked, row.get("resultText"), at=at, identity=identity, failed=failed)


LETTA_CODE = Reader(
    "letta-code",
    _recognises,
    _read,
    (
        Place(".letta", "transcripts/*/*/transcript.jsonl"),
        Place(".letta", "lc-local-backend/conversations/*/messages.jsonl"),
    ),
    asks="AskUserQuestion",
    title="Letta Code",
)
