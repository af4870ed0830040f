"""OpenClaw: its database `openclaw-agent.sqlite`, opened read-only, or the session files of older versions, as pi's.

A row of `transcript_events` holds what a line of a session file does; one over 1 KiB is compressed (zstd). A row of
`session_windows` says whether its session is a group's: there a user's message names its sender.
Source of the shape: the schema and the code of OpenClaw 2026.9.6.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

from dream.transcripts import parts
from dream.transcripts.formats.pi import PI, is_pi, pi_says, read_pi
from dream.transcripts.parts import Json
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import SOMEBODY, Options, Turns

MAX_EVENT = 4 << 20  # bytes; OpenClaw compresses no larger one
_EVENTS, _WINDOWS, _NODES = "transcript_events", "session_windows", "session_nodes"
_SILENT = ("cron", "spawn", "internal")  # how sessions without a user were created
_SEVERAL = ("group", "channel")


def _recognises(head: Head) -> bool:
    """Return whether it is a database with transcripts' events, or a session file as pi's."""
    return _EVENTS in head.names if head.shape == "sqlite" else is_pi(head)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session; a sub-agent's and a scheduled one's are left out."""
    if source.shape != "sqlite":
        yield from read_pi(source, options)
        return
    nodes = {parts.key(row, "session_key"): row for row in source.rows(_NODES, ())}
    windows = {parts.key(row, "session_id"): row for row in source.rows(_WINDOWS, ())}
    turns, before, damaged = Turns(options), None, 0
    for row in source.rows(_EVENTS, ("session_id", "seq"), newest=("session_id", "created_at")):
        session = parts.key(row, "session_id")
        window = windows.get(session, {})
        made = nodes.get(parts.key(window, "session_key"), {}).get("created_via")
        if made in _SILENT or window.get("spawned_by"):
            options.tally.silent += 1
            continue
        if session != before:
            key = parts.key(window, "session_key") or session or ""
            turns, before = Turns(options, chat=key if window.get("chat_type") in _SEVERAL else ""), session
        event = _event(row)
        damaged += event is None
        if event is None or event.get("type") != "message":
            continue
        said = parts.table(event, "message")
        at = parts.first(event, "timestamp") or said.get("timestamp") or row.get("created_at")
        program, name = (_program(said), _sender(said, window)) if said.get("role") == "user" else (None, None)
        for message in pi_says(said, turns, at, parts.key(event, "id"), program or name):
            yield session, replace(message, automated=bool(program))
    if damaged:
        source.say(0, f"{damaged:,} of its events could not be read and were left out.")


def _event(row: Json) -> Json | None:
    """Return the event of a row, None for one that can't be read."""
    text, packed = row.get("event_json"), row.get("event_zstd")
    if text is None and isinstance(packed, bytes):
        text = _unpacked(packed)
    found = parts.opened(text)
    return found if isinstance(found, dict) else None


def _unpacked(packed: bytes) -> str | None:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        return zstd.ZstdDecompressor().decompress(packed, MAX_EVENT).decode("utf-8", "replace")
    except zstd.ZstdError:
        return None


def _program(said: Json) -> str | None:
    """Return what kind of program sent a user's message, another session for example; None where a person did."""
    kind = parts.text_of(parts.table(said, "provenance"), "kind")
    return None if kind == "external_user" else kind


def _sender(said: Json, window: Json) -> str | None:
    """Name who of a group sent a user's message; None for the owner, and where one person talks alone."""
    about = parts.table(said, "__openclaw")
    if window.get("chat_type") not in _SEVERAL or about.get("senderIsOwner") is True:
        return None
    return parts.text_of(about, "senderName", "senderId") or parts.text_of(said, "senderLabel") or SOMEBODY


OPENCLAW = Reader(
    "openclaw",
    _recognises,
    _read,
    (
        Place(".openclaw", "agents/*/agent/openclaw-agent.sqlite", "OPENCLAW_STATE_DIR"),
        Place(".openclaw", "agents/*/sessions/*.jsonl", "OPENCLAW_STATE_DIR"),
        Place(".clawdbot", "agents/*/sessions/*.jsonl"),
    ),
    title="OpenClaw",
    key=PI.name,  # sessions that OpenClaw moved into its database keep their ids
)
