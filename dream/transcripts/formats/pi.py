"""Session files of pi and of what is built on it, OpenClaw and omp: a header line, then rows that form a tree.

Rows are taken in the order of the file, abandoned branches included: the file only grows, so positions stay.
Keys begin with `pi:` for all three; nothing in a file tells which of them wrote it. Beside OpenClaw's files
`sessions.json` says which session is a group's, by its key: `agent:main:telegram:group:-100883:topic:5`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import SOMEBODY, Options, Turns

MAX_STORE = 16 << 20  # bytes of OpenClaw's list of sessions
_GROUP = re.compile(r"(?:agent:[^:]+:[^:]+:)?(?:group|channel):[^:]+")
# How the first message of a session begins that a scheduler or another agent started.
_PI_STARTED_BY_ITSELF = ("[cron:", "[Subagent Context]", "[Subagent Task]")


def is_pi(head: Head) -> bool:
    """Return whether it has a session header, and rows that are messages with a role inside."""
    return head.shape == "lines" and any(
        record.get("type") == "message"
        and "role" in parts.table(record, "message")
        and ("parentId" in record or "timestamp" in record)
        for record in head.records
    )


def read_pi(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session; none of a scheduled or sub-agent's one."""
    turns, session, begun = Turns(options, chat=_group_of(source.path)), None, False
    somebody = SOMEBODY if turns.chat else None
    for record in source.records():
        row = record.value
        if row.get("type") == "session":
            session = session or parts.key(row, "id")
            turns.cwd = parts.text_of(row, "cwd") or ""
        if row.get("type") != "message":
            continue
        said = parts.table(row, "message")
        at = parts.first(row, "timestamp") or said.get("timestamp")
        for message in pi_says(said, turns, at, parts.key(row, "id"), somebody if said.get("role") == "user" else None):
            alone = message.content.startswith(_PI_STARTED_BY_ITSELF)
            if not begun and message.role == "user" and alone:
                options.tally.silent += 1
                return
            begun = True
            yield session, message


def _group_of(path: Path) -> str:
    """Return the key of the group chat that a session file of OpenClaw's is of; "" for none."""
    store, rows = path.with_name("sessions.json"), None
    with suppress(OSError):
        if store.is_file() and store.stat().st_size <= MAX_STORE:
            rows = parts.opened(store.read_text(encoding="utf-8", errors="replace"))
    session = path.name.partition(".")[0].partition("-topic-")[0]
    for key, row in rows.items() if isinstance(rows, dict) else ():
        group = _GROUP.match(key)
        if group and isinstance(row, dict) and row.get("sessionId") == session:
            return group[0]
    return ""


def pi_says(said: Json, turns: Turns, at: object, identity: str | None, name: str | None = None) -> Iterator[Message]:
    """Yield what a message of pi's says; Letta Code and OpenClaw have the same ones."""
    who = said.get("role", "user")
    if who == "toolResult":
        answers, tool = parts.key(said, "toolCallId"), parts.text_of(said, "toolName")
        failed = parts.failed(said, parts.table(said, "details"))
        return turns.result(said.get("content"), answers=answers, at=at, identity=identity, name=tool, failed=failed)
    if who in ("user", "assistant"):
        return turns.said(who, said.get("content"), at=at, identity=identity, name=name)
    return iter(())  # summaries of branches and compactions, what extensions inject


PI = Reader("pi", is_pi, read_pi, (Place(".pi/agent", "sessions/*/*.jsonl", "PI_CODING_AGENT_DIR"),))
OMP = Reader("omp", is_pi, read_pi, (Place(".omp/agent", "sessions/*/*.jsonl"),), key=PI.name)
