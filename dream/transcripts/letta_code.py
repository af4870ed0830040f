"""Letta Code's transcripts: JSON lines of `{kind, text, captured_at}`, a tool's call and result in one row."""

from __future__ import annotations

from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import fields
from dream.transcripts.fields import Json
from dream.transcripts.parts import call
from dream.transcripts.places import Place
from dream.transcripts.reader import Pair
from dream.transcripts.source import Head, Source
from dream.transcripts.turns import Options, Turns

name = "letta-code"
grows = True
places: tuple[Place, ...] = (Place(".letta", "transcripts/*/*/transcript.jsonl"),)

_KINDS = ("user", "assistant", "reasoning", "tool_call", "error")


def recognises(head: Head) -> bool:
    """Rows of a known kind."""
    return head.shape == "lines" and any(
        record.get("kind") in _KINDS and not {"captured_at", "source_line_id", "text"}.isdisjoint(record)
        for record in head.records
        if isinstance(record.get("kind"), str)
    )


def read(source: Source, options: Options) -> Iterator[Pair]:
    """Yield the messages of the session."""
    turns, default = source.carried.turns_of("", options), source.default_id
    for record in source.records():
        session = fields.key(record.value, "conversation_id") or default
        for message in _messages(record.value, turns):
            yield f"{name}:{session}", message


def _messages(row: Json, turns: Turns) -> Iterator[Message]:
    kind, at, identity = row.get("kind", "user"), row.get("captured_at"), fields.key(row, "source_line_id")
    if kind in ("user", "assistant"):
        yield from turns.said(kind, row.get("text"), at=at, identity=identity)
    elif kind == "tool_call":
        asked = call({"id": identity, "name": row.get("name"), "argsText": row.get("argsText")})
        made = list(turns.said("assistant", "", at=at, identity=identity, calls=[asked]))
        yield from made
        if row.get("resultText") is not None:
            answered = identity and f"{identity}#1"
            yield from turns.result(row["resultText"], answers=made[0].calls[0], at=at, identity=answered)
