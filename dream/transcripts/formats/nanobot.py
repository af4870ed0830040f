"""nanobot's session files: a metadata line, then OpenAI-style messages with naive local times.

A file that was started anew (`/new`) keeps its key; what tells it is the messages' ids. Of the rows, as many as
`last_consolidated` says are in nanobot's own history; a number that can't be is none, as it is for nanobot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dream.transcripts import parts
from dream.transcripts.parts import call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import Options, Turns, role

# Channels without a user: scheduled runs, sub-agents, and the dreaming of nanobot itself.
_SILENT = ("cron", "heartbeat", "subagent", "system", "dream")


def _recognises(head: Head) -> bool:
    """Return whether it has a line whose `_type` is metadata."""
    return head.shape == "lines" and any(record.get("_type") == "metadata" for record in head.records)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session; none of a scheduled or sub-agent's session."""
    turns, session, summarised = Turns(options), None, 0
    for record in source.records():
        row = record.value
        if row.get("_type") == "metadata":
            session = parts.key(row, "key") or session
            summarised = _summarised(row.get("last_consolidated"), source)
        if "_type" in row:
            continue
        done, summarised = summarised > 0, max(summarised - 1, 0)
        if row.get("_command") or row.get("injected_event"):
            continue
        if (session or "").partition(":")[0] in _SILENT:
            options.tally.silent += 1
            continue
        who, person = role(row.get("role"))
        for message in turns.told(
            who,
            row.get("content"),
            at=row.get("timestamp"),
            identity=parts.key(row, "id"),
            name=parts.text_of(row, "name") or person,
            calls=[call(block) for block in parts.tables(row, "tool_calls")],
            answers=parts.key(row, "tool_call_id"),
        ):
            yield session, replace(message, summarised=done)


def _summarised(value: object, source: Source) -> int:
    """Read how many rows nanobot has summarised: 0 for what is no number, or more than there are."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return 0
    with source.open() as file:
        rows = sum(1 for line in file if line.strip())
    return value if value < rows else 0


NANOBOT = Reader(
    "nanobot",
    _recognises,
    _read,
    (
        Place(".nanobot", "sessions/*.jsonl"),
        Place(".nanobot", "sessions/*/*.jsonl"),
        Place(".nanobot", "workspace/sessions/*.jsonl"),  # of older versions
    ),
    paired=False,
    title="nanobot",
)
