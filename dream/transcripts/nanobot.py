"""nanobot's session files: a metadata line, then OpenAI-style messages with naive local times.

A file that was started anew (`/new`) keeps its key; what tells it is the messages' ids. Of the rows, as many as
`last_consolidated` says are in nanobot's own history; a number that can't be is none, as it is for nanobot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Pair, Place, Source
from dream.transcripts.turns import Options, Turns, role

name = "nanobot"
grows = True
places: tuple[Place, ...] = (
    Place(".nanobot", "sessions/*.jsonl"),
    Place(".nanobot", "sessions/*/*.jsonl"),
    Place(".nanobot", "workspace/sessions/*.jsonl"),  # of older versions
)

# Channels on which nobody speaks: scheduled runs, sub-agents, and the dreaming of nanobot itself.
_SILENT = ("cron", "heartbeat", "subagent", "system", "dream")


def recognises(head: Head) -> bool:
    """A line whose `_type` is metadata."""
    return head.shape == "lines" and any(record.get("_type") == "metadata" for record in head.records)


def read(source: Source, options: Options) -> Iterator[Pair]:
    """Yield the messages of the session; none of a scheduled or sub-agent's session unless they are asked for."""
    state, default = source.carried, source.default_id
    turns = state.turns_of("", options)
    for record in source.records():
        row = record.value
        if row.get("_type") == "metadata":
            state.session = parts.key(row, "key") or state.session
            state.number = _summarised(row.get("last_consolidated"), source)
        session = state.session or default
        if "_type" in row:
            continue
        done, state.number = state.number > 0, max(state.number - 1, 0)
        if row.get("_command") or row.get("injected_event"):
            continue
        if session.partition(":")[0] in _SILENT and not options.include_subagents:
            continue
        for message in _message(row, turns):
            yield f"{name}:{session}", replace(message, summarised=done)


def _summarised(value: object, source: Source) -> int:
    """Read how many rows nanobot has summarised: 0 for what is no number, or more than there are."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return 0
    with source.open() as file:
        rows = sum(1 for line in file if line.strip())
    return value if value < rows else 0


def _message(row: Json, turns: Turns) -> Iterator[Message]:
    who, person = role(row.get("role"))
    at, identity = row.get("timestamp"), parts.key(row, "id")
    named = parts.text_of(row, "name") or person
    if who == "tool":
        return turns.result(
            row.get("content"), answers=parts.key(row, "tool_call_id"), at=at, identity=identity, name=named
        )
    calls = [call(block) for block in parts.tables(row, "tool_calls")]
    return turns.said(who, row.get("content"), at=at, identity=identity, name=named, calls=calls) if who else iter(())
