"""Cursor: an agent's transcript (JSON lines), or the editor's database `state.vscdb`, opened read-only.

A transcript has neither times nor results of tools; where the user's words stand in `<user_query>`, everything
beside it is the editor's, and `<timestamp>` tells the day. In the database a conversation is a row
`composerData:ID` and a row `bubbleId:ID:BUBBLE` for each message. Both have the same conversations, so only
transcripts are looked for.
Source of the shapes: letta-ai/trajectory, and what several readers of Cursor 0.50 to 2.x document; not seen in
Cursor.
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
from dream.transcripts.turns import Options, Turns

_ASKED = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)
_TIMESTAMP = re.compile(r"<timestamp>(.{1,80}?)</timestamp>", re.DOTALL)
# `;` is the character behind `:`, so these are the rows whose keys begin so.
_CONVERSATIONS = "SELECT value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;'"
_BUBBLES = "SELECT value FROM cursorDiskKV WHERE key >= 'bubbleId:{0}:' AND key < 'bubbleId:{0};'"
_IDENTITY = re.compile(r"[\w-]{1,100}")


def _recognises(head: Head) -> bool:
    """Return whether it has rows of a role and a message with content, or is a database with Cursor's tables."""
    if head.shape == "sqlite":
        return "cursorDiskKV" in head.names or set(head.names) == {"blobs", "meta"}
    rows = (row for row in head.records if "type" not in row and row.get("role") in ("user", "assistant"))
    return head.shape == "lines" and any("content" in parts.table(row, "message") for row in rows)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session. Raises TranscriptError for the database of Cursor's command line."""
    if source.shape == "sqlite":
        yield from _database(source, options)
        return
    turns = Turns(options)
    for record in source.records():
        row = record.value
        who = row.get("role")
        if who not in ("user", "assistant"):
            continue
        content = parts.first(parts.table(row, "message"), "content")
        if who == "user":
            content = _typed(content, turns)
        for message in turns.said(who, content, at=row.get("timestamp"), identity=parts.key(row, "id")):
            yield parts.key(row, "session_id", "sessionId"), message


def _typed(content: object, turns: Turns) -> object:
    """Return what the user typed, without what the editor added; the day that this names is noted."""
    text = parts.split(content).text
    turns.instructed("".join(f"date: {found}" for found in _TIMESTAMP.findall(text)[:1]))
    asked = "\n\n".join(found.strip() for found in _ASKED.findall(text))
    return asked or content


def _database(source: Source, options: Options) -> Iterator[Said]:
    if "cursorDiskKV" not in tables(source.path):
        raise TranscriptError(
            f"{source.path} is of Cursor's command line, which dream can't read yet; its transcripts lie in"
            " ~/.cursor/projects/*/agent-transcripts."
        )
    every = [found for row in source.selected(_CONVERSATIONS) if (found := _value(row))]
    silent = {one for found in every for one in found.get("subComposerIds") or [] if isinstance(one, str)}
    options.tally.silent += len(silent)
    for about in sorted(every, key=_newest):
        session = parts.key(about, "composerId") or ""
        if _IDENTITY.fullmatch(session) and session not in silent:
            turns = Turns(options, about.get("createdAt"))
            for bubble in _bubbles(source, session, about):
                for message in _messages(bubble, turns):
                    yield session, message


def _newest(about: Json) -> float:
    at = parts.first(about, "lastUpdatedAt", "createdAt")
    return float(at) if isinstance(at, int | float) else 0.0


def _bubbles(source: Source, session: str, about: Json) -> Iterator[Json]:
    """Yield a conversation's messages in its order; older versions keep them in the conversation itself."""
    kept = {parts.key(found, "bubbleId"): found for found in parts.tables(about, "conversation")}
    if order := [parts.key(head, "bubbleId") for head in parts.tables(about, "fullConversationHeadersOnly")]:
        rows = source.selected(_BUBBLES.format(session))
        kept |= {parts.key(found, "bubbleId"): found for row in rows if (found := _value(row))}
    yield from (kept[one] for one in order or kept if one in kept)


def _value(row: Json) -> Json:
    value: Any = row["value"]
    found = parts.opened(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)
    return found if isinstance(found, dict) else {}


def _messages(bubble: Json, turns: Turns) -> Iterator[Message]:
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
    told = parts.opened(tool.get("result"))
    # Of a command that failed or that the user rejected, the call itself is "completed".
    failed = parts.failed(*([told] if isinstance(told, dict) else []), parts.table(tool, "additionalData"), tool)
    yield from turns.called(asked, tool.get("result"), text=text, at=at, identity=identity, failed=failed)


CURSOR = Reader(
    "cursor",
    _recognises,
    _read,
    (
        Place(".cursor", "projects/*/agent-transcripts/*.jsonl"),
        Place(".cursor", "projects/*/agent-transcripts/*/*.jsonl"),
    ),
    title="Cursor",
)
