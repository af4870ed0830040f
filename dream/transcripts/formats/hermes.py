"""Hermes: an exported session `{session, messages}`, JSON lines of sessions, or its `state.db`, opened read-only.

Rows stand in the order of their times; one that was taken back (`active` 0) is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import Options, Turns, role

_MARKS = {"observed", "finish_reason", "tool_name", "active", "reasoning_content"}
_JSON = "\0json:"  # prefix of content that is not plain text
_WARNING = "\n\n[Tool loop "  # what it adds behind the JSON of a result, where a call repeats itself
_SILENT = ("cron", "subagent", "delegate")  # sources of sessions without a user


def _recognises(head: Head) -> bool:
    """Return whether it is a database of sessions and messages, or has an object or rows that name a session."""
    if head.shape == "sqlite":
        return {"sessions", "messages"} <= set(head.names)
    if isinstance(head.header.get("session"), dict) and "messages" in head.lists:
        return True
    return any(
        "session_id" in row and "role" in row and not _MARKS.isdisjoint(row)
        for record in head.records
        for row in [record, *parts.tables(record, "messages")[:1]]
    )


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session; none of scheduled ones and sub-agents'."""
    talks: defaultdict[str, Turns] = defaultdict(lambda: Turns(options))
    rows = _database if source.shape == "sqlite" else _exported
    for session, row in rows(source, options):
        for message in _messages(row, talks[session]):
            yield session, message
        if source.shape == "sqlite" and len(talks) > 1:
            for ended in talks.keys() - {session}:  # rows come session by session
                del talks[ended]


def _exported(source: Source, options: Options) -> Iterator[tuple[str, Json]]:
    header, _ = source.header()
    about = parts.table(header, "session")
    default = parts.key(about, "id") or source.default_id
    if about.get("source") in _SILENT:
        options.tally.silent += 1
        return
    rows = (record.value for record in source.records())
    for record in rows if source.shape == "lines" else _in_order(list(rows)):
        inner = _in_order(parts.tables(record, "messages"))
        if inner and record.get("source") in _SILENT:
            options.tally.silent += 1
            continue
        own = parts.key(record, "id") if inner else None
        for row in inner or [record]:
            yield parts.key(row, "session_id") or own or default, row


def _in_order(rows: list[Json]) -> list[Json]:
    """Sort rows by their times, where all of them have one."""
    times = [row.get("timestamp") for row in rows]
    if not all(isinstance(time, int | float) for time in times):
        return rows
    return sorted(rows, key=lambda row: float(row["timestamp"]))


def _database(source: Source, options: Options) -> Iterator[tuple[str, Json]]:
    silent = {row.get("id") for row in source.rows("sessions", ("id",)) if row.get("source") in _SILENT}
    options.tally.silent += len(silent)
    default = source.default_id
    order = ("session_id", "timestamp", "id")
    for row in source.rows("messages", order, newest=("session_id", "timestamp")):
        if row.get("session_id") not in silent:
            yield parts.key(row, "session_id") or default, row


def _messages(row: Json, turns: Turns) -> Iterator[Message]:
    who, person = role(row.get("role"))
    at, number, content = row.get("timestamp"), parts.key(row, "id"), row.get("content")
    identity = number and f"hermes-message-{number}"  # of the whole database
    if row.get("active") in (0, False):
        return
    if isinstance(content, str) and content.startswith(_JSON):
        content = parts.opened(content.removeprefix(_JSON))
    asked = {"tool_calls": parts.opened(row.get("tool_calls"))}
    told = parts.opened(content.rpartition(_WARNING)[0] or content if isinstance(content, str) else content)
    yield from turns.told(
        who,
        content,
        at=at,
        identity=identity,
        name=parts.text_of(row, "tool_name") if who == "tool" else person,
        calls=[call(block) for block in parts.tables(asked, "tool_calls")],
        answers=parts.key(row, "tool_call_id"),
        failed=_failed(told) if isinstance(told, dict) else None,
    )


def _failed(told: Json) -> bool | None:
    """Return whether a result is an error: by its exit code; a call that was blocked has only an error."""
    failed = parts.failed(told)
    return True if failed is None and parts.text_of(told, "error") else failed


HERMES = Reader("hermes", _recognises, _read, (Place(".hermes", "state.db", "HERMES_HOME"),), title="Hermes")
