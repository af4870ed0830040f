"""OpenCode: its database `opencode.db`, opened read-only, or a session as `opencode export` writes it.

A message is told part by part; `data` of its row has the role, `data` of each part what was said or called.
`opencode run` puts quotes round each argument with a space in it, and forbids the model to ask: there they are
taken off, or the user's own words would count as a quotation.
Source of the shape: letta-ai/trajectory, and a database of OpenCode 1.18.33.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import IMAGE, Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import Options, Turns

_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# The session whose last message is the oldest comes first.
_PARTS = """
SELECT message.session_id, message.data AS about, message.time_created AS at, part.id, part.data AS said
FROM message JOIN part ON part.message_id = message.id
ORDER BY max(message.time_created) OVER (PARTITION BY message.session_id), message.session_id,
    message.time_created, message.id, part.time_created, part.id
"""


def _recognises(head: Head) -> bool:
    """Return whether it is a database of sessions, messages and their parts, or an object with the like."""
    if head.shape == "sqlite":
        return {"session", "message", "part"} <= set(head.names)
    return isinstance(head.header.get("info"), dict) and any("parts" in row for row in head.records)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session; a sub-agent's are left out."""
    if source.shape != "sqlite":
        yield from _exported(source, options)
        return
    silent: set[object] = set()
    unasked: set[object] = set()
    directories: dict[object, str] = {}
    for row in source.rows("session", ("id",)):
        silent.update([row.get("id")] if row.get("parent_id") else [])
        unasked.update([row.get("id")] if _is_unasked(row) else [])
        directories[row.get("id")] = parts.text_of(row, "directory") or ""
    options.tally.silent += len(silent)
    turns, before = Turns(options), None
    for row in source.selected(_PARTS):
        session = row["session_id"]
        if session in silent:
            continue
        if session != before:
            turns, before = Turns(options, cwd=directories.get(session, "")), session
        about, said = parts.opened(row["about"]), parts.opened(row["said"])
        if isinstance(about, dict) and isinstance(said, dict):
            said = _unquoted(said) if session in unasked and about.get("role") == "user" else said
            for message in _messages(about, said, turns, parts.key(row, "id"), row["at"]):
                yield session, message


def _is_unasked(session: Json) -> bool:
    """Return whether `opencode run` made a session."""
    rules = parts.tables({"rules": parts.opened(session.get("permission"))}, "rules")
    return any(rule.get("permission") == "question" and rule.get("action") == "deny" for rule in rules)


def _unquoted(said: Json) -> Json:
    """Take the quotes off a text that is one argument in quotes."""
    found = _ARGUMENT.fullmatch(text) if isinstance(text := said.get("text"), str) else None
    return {**said, "text": found[1].replace('\\"', '"')} if found else said


def _exported(source: Source, options: Options) -> Iterator[Said]:
    info = parts.table(source.header()[0], "info")
    turns = Turns(options, cwd=parts.text_of(info, "directory") or "")
    if parts.key(info, "parentID"):
        options.tally.silent += 1
        return
    session = parts.key(info, "id")
    for record in source.records():
        about = parts.table(record.value, "info")
        for said in parts.tables(record.value, "parts"):
            for message in _messages(about, said, turns, parts.key(said, "id"), None):
                yield session, message


def _messages(about: Json, said: Json, turns: Turns, identity: str | None, at: object) -> Iterator[Message]:
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
        yield from _tool(said, turns, identity, at)


def _tool(said: Json, turns: Turns, identity: str | None, at: object) -> Iterator[Message]:
    state = parts.table(said, "state")
    when = parts.table(state, "time")
    asked = call({"id": parts.key(said, "callID"), "name": said.get("tool"), "input": state.get("input")})
    begun, ended = parts.first(when, "start") or at, parts.first(when, "end") or at
    failed = parts.failed(parts.table(state, "metadata"), state)
    told = parts.first(state, "output", "error")
    return turns.called(asked, told, at=begun, ended=ended, identity=identity, failed=failed)


OPENCODE = Reader(
    "opencode",
    _recognises,
    _read,
    (Place(".local/share", "opencode/opencode.db", "XDG_DATA_HOME"),),
    asks="question",
    title="OpenCode",
)
