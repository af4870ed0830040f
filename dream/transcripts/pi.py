"""Session files of pi and of what is built on it, OpenClaw and omp: a header line, then rows that form a tree.

Rows are taken in the order of the file, abandoned branches included: the file only grows, so positions stay.
Keys begin with `pi:` for all three; nothing in a file tells which of them wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json
from dream.transcripts.source import Head, Pair, Place, Source
from dream.transcripts.turns import Options, Turns

KEY = "pi"
# How the first message of a session begins that a scheduler or another agent started.
_STARTED_BY_ITSELF = ("[cron:", "[Subagent Context]", "[Subagent Task]")


@dataclass(frozen=True, slots=True)
class Pi:
    """The reader of one of the three; they differ in their name and their places."""

    name: str
    places: tuple[Place, ...]
    grows: bool = True

    def recognises(self, head: Head) -> bool:
        """A session header, and rows that are messages with a role inside."""
        return head.shape == "lines" and any(
            record.get("type") == "message"
            and "role" in parts.table(record, "message")
            and ("parentId" in record or "timestamp" in record)
            for record in head.records
        )

    def read(self, source: Source, options: Options) -> Iterator[Pair]:
        """Yield the messages of the session; none of a scheduled or sub-agent's one unless they are asked for."""
        state, default = source.carried, source.default_id
        turns = state.turns_of("", options)
        if state.over:
            return
        for record in source.records():
            row = record.value
            if row.get("type") == "session":
                state.session = state.session or parts.key(row, "id")
            if row.get("type") != "message":
                continue
            for message in _messages(row, turns):
                alone = message.content.startswith(_STARTED_BY_ITSELF)
                if not state.begun and message.role == "user" and alone and not options.include_subagents:
                    state.over = True
                    return
                state.begun = True
                yield f"{KEY}:{state.session or default}", message


def _messages(row: Json, turns: Turns) -> Iterator[Message]:
    said = parts.table(row, "message")
    return messages(said, turns, parts.first(row, "timestamp") or said.get("timestamp"), parts.key(row, "id"))


def messages(said: Json, turns: Turns, at: object, identity: str | None) -> Iterator[Message]:
    """Yield what a message of pi's says; Letta Code has the same ones."""
    who = said.get("role", "user")
    if who == "toolResult":
        answers, tool = parts.key(said, "toolCallId"), parts.text_of(said, "toolName")
        return turns.result(said.get("content"), answers=answers, at=at, identity=identity, name=tool)
    if who in ("user", "assistant"):
        return turns.said(who, said.get("content"), at=at, identity=identity)
    return iter(())  # summaries of branches and compactions, what extensions inject


pi = Pi("pi", (Place(".pi/agent", "sessions/*/*.jsonl", "PI_CODING_AGENT_DIR"),))
openclaw = Pi(
    "openclaw",
    (
        Place(".openclaw", "agents/*/sessions/*.jsonl", "OPENCLAW_STATE_DIR"),
        Place(".clawdbot", "agents/*/sessions/*.jsonl"),
    ),
)
omp = Pi("omp", (Place(".omp/agent", "sessions/*/*.jsonl"),))
