"""Agents that keep their sessions in an SQLite database, opened read-only, and what they write of them besides.

The agents stand in the order of their names; at the end of each section is its `Reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dream.errors import TranscriptError
from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import IMAGE, Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source, tables
from dream.transcripts.turns import Options, Turns, role

# Cursor: an agent's transcript (JSON lines), or the editor's database `state.vscdb`, opened read-only.
#
# A transcript has neither times nor results of tools; where the user's words stand in `<user_query>`, everything
# beside it is the editor's, and `<timestamp>` tells the day. In the database a conversation is a row
# `composerData:ID` and a row `bubbleId:ID:BUBBLE` for each message. Both have the same conversations, so only
# transcripts are looked for.
# Source of the shapes: letta-ai/trajectory, and what several readers of Cursor 0.50 to 2.x document; not seen in
# Cursor.

_CURSOR_ASKED = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)
_CURSOR_TIMESTAMP = re.compile(r"<timestamp>(.{1,80}?)</timestamp>", re.DOTALL)
# `;` is the character behind `:`, so these are the rows whose keys begin so.
_CURSOR_CONVERSATIONS = "SELECT value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;'"
_CURSOR_BUBBLES = "SELECT value FROM cursorDiskKV WHERE key >= 'bubbleId:{0}:' AND key < 'bubbleId:{0};'"
_CURSOR_IDENTITY = re.compile(r"[\w-]{1,100}")


def _is_cursor(head: Head) -> bool:
    """Return whether it has rows of a role and a message with content, or is a database with Cursor's tables."""
    if head.shape == "sqlite":
        return "cursorDiskKV" in head.names or set(head.names) == {"blobs", "meta"}
    rows = (row for row in head.records if "type" not in row and row.get("role") in ("user", "assistant"))
    return head.shape == "lines" and any("content" in parts.table(row, "message") for row in rows)


def _read_cursor(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session. Raises TranscriptError for the database of Cursor's command line."""
    if source.shape == "sqlite":
        yield from _cursor_database(source, options)
        return
    turns = source.carried.turns_of("", options)
    for record in source.records():
        row = record.value
        who = row.get("role")
        if who not in ("user", "assistant"):
            continue
        content = parts.first(parts.table(row, "message"), "content")
        if who == "user":
            content = _cursor_typed(content, turns)
        for message in turns.said(who, content, at=row.get("timestamp"), identity=parts.key(row, "id")):
            yield parts.key(row, "session_id", "sessionId"), message


def _cursor_typed(content: object, turns: Turns) -> object:
    """Return what the user typed, without what the editor put beside it; the day that it tells is noted."""
    text = parts.split(content).text
    turns.instructed("".join(f"date: {found}" for found in _CURSOR_TIMESTAMP.findall(text)[:1]))
    asked = "\n\n".join(found.strip() for found in _CURSOR_ASKED.findall(text))
    return asked or content


def _cursor_database(source: Source, options: Options) -> Iterator[Said]:
    if "cursorDiskKV" not in tables(source.path):
        raise TranscriptError(
            f"{source.path} is of Cursor's command line, which dream can't read yet; its transcripts lie in"
            " ~/.cursor/projects/*/agent-transcripts."
        )
    every = [found for row in source.selected(_CURSOR_CONVERSATIONS) if (found := _cursor_value(row))]
    silent = {one for found in every for one in found.get("subComposerIds") or [] if isinstance(one, str)}
    for about in sorted(every, key=_cursor_newest):
        session = parts.key(about, "composerId") or ""
        if _CURSOR_IDENTITY.fullmatch(session) and (options.include_subagents or session not in silent):
            turns = Turns(options, about.get("createdAt"))
            for bubble in _cursor_bubbles(source, session, about):
                for message in _cursor_messages(bubble, turns):
                    yield session, message


def _cursor_newest(about: Json) -> float:
    at = parts.first(about, "lastUpdatedAt", "createdAt")
    return float(at) if isinstance(at, int | float) else 0.0


def _cursor_bubbles(source: Source, session: str, about: Json) -> Iterator[Json]:
    """Yield a conversation's messages in its order; those of older versions stand in it."""
    kept = {parts.key(found, "bubbleId"): found for found in parts.tables(about, "conversation")}
    if order := [parts.key(head, "bubbleId") for head in parts.tables(about, "fullConversationHeadersOnly")]:
        rows = source.selected(_CURSOR_BUBBLES.format(session))
        kept |= {parts.key(found, "bubbleId"): found for row in rows if (found := _cursor_value(row))}
    yield from (kept[one] for one in order or kept if one in kept)


def _cursor_value(row: Json) -> Json:
    value: Any = row["value"]
    found = parts.opened(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)
    return found if isinstance(found, dict) else {}


def _cursor_messages(bubble: Json, turns: Turns) -> Iterator[Message]:
    identity = parts.key(bubble, "bubbleId")
    at = parts.first(bubble, "createdAt") or parts.table(bubble, "timingInfo").get("clientRpcSendTime")
    text = parts.text_of(bubble, "text") or ""
    if bubble.get("type") == 1:
        shown = [IMAGE] if bubble.get("images") else []
        yield from turns.said("user", [text, *shown], at=at, identity=identity)
        return
    tool = parts.table(bubble, "toolFormerData")
    if not tool.get("name"):
        yield from turns.said("assistant", text, at=at, identity=identity)
        return
    given = parts.first(tool, "rawArgs", "params")
    asked = call({"id": parts.key(tool, "toolCallId"), "name": tool["name"], "input": given})
    yield from turns.called(asked, tool.get("result"), text=text, at=at, identity=identity)


CURSOR = Reader(
    "cursor",
    _is_cursor,
    _read_cursor,
    (
        Place(".cursor", "projects/*/agent-transcripts/*.jsonl"),
        Place(".cursor", "projects/*/agent-transcripts/*/*.jsonl"),
    ),
    title="Cursor",
)


# Hermes: an exported session `{session, messages}`, JSON lines of sessions, or its `state.db`, opened read-only.
#
# Rows stand in the order of their times; one that was taken back (`active` 0) is left out.

_HERMES_MARKS = {"observed", "finish_reason", "tool_name", "active", "reasoning_content"}
_HERMES_JSON = "\0json:"  # what content begins with that is not plain text
_HERMES_SILENT = ("cron", "subagent", "delegate")  # sources of sessions in which nobody speaks


def _is_hermes(head: Head) -> bool:
    """Return whether it is a database of sessions and messages, or has an object or rows that name a session."""
    if head.shape == "sqlite":
        return {"sessions", "messages"} <= set(head.names)
    if isinstance(head.header.get("session"), dict) and "messages" in head.lists:
        return True
    return any(
        "session_id" in row and "role" in row and not _HERMES_MARKS.isdisjoint(row)
        for record in head.records
        for row in [record, *parts.tables(record, "messages")[:1]]
    )


def _read_hermes(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session; none of scheduled ones and sub-agents' unless they are asked for."""
    state = source.carried
    rows = _hermes_database if source.shape == "sqlite" else _hermes_exported
    for session, row in rows(source, options):
        for message in _hermes_messages(row, state.turns_of(session, options)):
            yield session, message
        if source.shape == "sqlite" and len(state.turns) > 1:
            state.turns = {session: state.turns[session]}  # rows come session by session


def _hermes_exported(source: Source, options: Options) -> Iterator[tuple[str, Json]]:
    header, _ = source.header()
    about = parts.table(header, "session")
    default = parts.key(about, "id") or source.default_id
    if about.get("source") in _HERMES_SILENT and not options.include_subagents:
        return
    rows = (record.value for record in source.records())
    for record in rows if source.shape == "lines" else _hermes_in_order(list(rows)):
        inner = _hermes_in_order(parts.tables(record, "messages"))
        if inner and record.get("source") in _HERMES_SILENT and not options.include_subagents:
            continue
        own = parts.key(record, "id") if inner else None
        for row in inner or [record]:
            yield parts.key(row, "session_id") or own or default, row


def _hermes_in_order(rows: list[Json]) -> list[Json]:
    """Sort rows by their times, where all of them have one."""
    times = [row.get("timestamp") for row in rows]
    if not all(isinstance(time, int | float) for time in times):
        return rows
    return sorted(rows, key=lambda row: float(row["timestamp"]))


def _hermes_database(source: Source, options: Options) -> Iterator[tuple[str, Json]]:
    silent: set[Any] = set()
    if not options.include_subagents:
        about = source.rows("sessions", ("id",))
        silent = {row.get("id") for row in about if row.get("source") in _HERMES_SILENT}
    default = source.default_id
    order = ("session_id", "timestamp", "id")
    for row in source.rows("messages", order, newest=("session_id", "timestamp")):
        if row.get("session_id") not in silent:
            yield parts.key(row, "session_id") or default, row


def _hermes_messages(row: Json, turns: Turns) -> Iterator[Message]:
    who, person = role(row.get("role"))
    at, number, content = row.get("timestamp"), parts.key(row, "id"), row.get("content")
    identity = number and f"hermes-message-{number}"  # of the whole database
    if row.get("active") in (0, False):
        return
    if isinstance(content, str) and content.startswith(_HERMES_JSON):
        content = parts.opened(content.removeprefix(_HERMES_JSON))
    asked = {"tool_calls": parts.opened(row.get("tool_calls"))}
    yield from turns.told(
        who,
        content,
        at=at,
        identity=identity,
        name=parts.text_of(row, "tool_name") if who == "tool" else person,
        calls=[call(block) for block in parts.tables(asked, "tool_calls")],
        answers=parts.key(row, "tool_call_id"),
    )


HERMES = Reader("hermes", _is_hermes, _read_hermes, (Place(".hermes", "state.db", "HERMES_HOME"),), title="Hermes")


# OpenCode: its database `opencode.db`, opened read-only, or a session as `opencode export` writes it.
#
# A message is told part by part; `data` of its row has the role, `data` of each part what was said or called.
# `opencode run` puts quotes round each argument with a space in it, and forbids the model to ask: there they are
# taken off, or the user's own words would count as a quotation.
# Source of the shape: letta-ai/trajectory, and a database of OpenCode 1.18.33.

_OPENCODE_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# The session whose last message is the oldest comes first.
_OPENCODE_PARTS = """
SELECT message.session_id, message.data AS about, message.time_created AS at, part.id, part.data AS said
FROM message JOIN part ON part.message_id = message.id
ORDER BY max(message.time_created) OVER (PARTITION BY message.session_id), message.session_id,
    message.time_created, message.id, part.time_created, part.id
"""


def _is_opencode(head: Head) -> bool:
    """Return whether it is a database of sessions, messages and their parts, or an object with the like."""
    if head.shape == "sqlite":
        return {"session", "message", "part"} <= set(head.names)
    return isinstance(head.header.get("info"), dict) and any("parts" in row for row in head.records)


def _read_opencode(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session; a sub-agent's are left out unless they are asked for."""
    if source.shape != "sqlite":
        yield from _opencode_exported(source, options)
        return
    silent: set[object] = set()
    unasked: set[object] = set()
    for row in source.rows("session", ("id",)):
        silent.update([row.get("id")] if row.get("parent_id") and not options.include_subagents else [])
        unasked.update([row.get("id")] if _is_opencode_unasked(row) else [])
    turns, before = Turns(options), None
    for row in source.selected(_OPENCODE_PARTS):
        session = row["session_id"]
        if session in silent:
            continue
        if session != before:
            turns, before = Turns(options), session
        about, said = parts.opened(row["about"]), parts.opened(row["said"])
        if isinstance(about, dict) and isinstance(said, dict):
            said = _opencode_unquoted(said) if session in unasked and about.get("role") == "user" else said
            for message in _opencode_messages(about, said, turns, parts.key(row, "id"), row["at"]):
                yield session, message


def _is_opencode_unasked(session: Json) -> bool:
    """Return whether `opencode run` made a session."""
    rules = parts.tables({"rules": parts.opened(session.get("permission"))}, "rules")
    return any(rule.get("permission") == "question" and rule.get("action") == "deny" for rule in rules)


def _opencode_unquoted(said: Json) -> Json:
    """Take the quotes off a text that is one argument in quotes."""
    found = _OPENCODE_ARGUMENT.fullmatch(text) if isinstance(text := said.get("text"), str) else None
    return {**said, "text": found[1].replace('\\"', '"')} if found else said


def _opencode_exported(source: Source, options: Options) -> Iterator[Said]:
    info, turns = parts.table(source.header()[0], "info"), Turns(options)
    if parts.key(info, "parentID") and not options.include_subagents:
        return
    session = parts.key(info, "id")
    for record in source.records():
        about = parts.table(record.value, "info")
        for said in parts.tables(record.value, "parts"):
            for message in _opencode_messages(about, said, turns, parts.key(said, "id"), None):
                yield session, message


def _opencode_messages(about: Json, said: Json, turns: Turns, identity: str | None, at: object) -> Iterator[Message]:
    who, kind = about.get("role"), said.get("type")
    at = parts.first(parts.table(said, "time"), "start") or parts.first(parts.table(about, "time"), "created") or at
    made_up = said.get("synthetic") is True or said.get("ignored") is True or about.get("summary") is True
    if who not in ("user", "assistant") or made_up:
        return
    if kind == "text":
        yield from turns.said(who, said.get("text"), at=at, identity=identity)
    elif kind == "file" and who == "user" and str(said.get("mime")).startswith("image/"):
        yield from turns.said(who, IMAGE, at=at, identity=identity)
    elif kind == "tool":
        yield from _opencode_tool(said, turns, identity, at)


def _opencode_tool(said: Json, turns: Turns, identity: str | None, at: object) -> Iterator[Message]:
    state = parts.table(said, "state")
    when = parts.table(state, "time")
    asked = call({"id": parts.key(said, "callID"), "name": said.get("tool"), "input": state.get("input")})
    begun, ended = parts.first(when, "start") or at, parts.first(when, "end") or at
    return turns.called(asked, parts.first(state, "output", "error"), at=begun, ended=ended, identity=identity)


OPENCODE = Reader(
    "opencode",
    _is_opencode,
    _read_opencode,
    (Place(".local/share", "opencode/opencode.db", "XDG_DATA_HOME"),),
    grows=False,
    asks="question",
    title="OpenCode",
)
