"""nanobot's session files: a metadata line, then OpenAI-style messages with naive local times.

A file that was started anew (`/new`) keeps its key; what tells it is the messages' ids. Of the rows, as many as
`last_consolidated` says are in nanobot's own history; a number that can't be is none, as it is for nanobot.
No row says who sent a message. That its chat is a group's only the key tells, and only for channels that write the
ids of groups otherwise than those of people: GROUPS. Source of the shapes: the channels of nanobot 0.3.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dream.transcripts import parts
from dream.transcripts.parts import call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import SOMEBODY, Options, Turns, role

# Channels without a user: scheduled runs, sub-agents, and the dreaming of nanobot itself.
_SILENT = ("cron", "heartbeat", "subagent", "system", "dream")
# How its shell tool begins where a command was blocked, timed out or could not be started: there is no exit code then.
_UNRUN = ("Error: Command ", "Error executing command: ")
# How a channel writes the id of a group, and a key with one; behind it a key may name a thread or a member.
GROUPS = {
    "dingtalk": (r"group:[^:]+", "dingtalk:group:cidA1b2==:manager7"),
    "discord": (r"\d+(?=:thread:)", "discord:1190:thread:1191"),  # a channel without a thread may be one person's
    "feishu": (r"oc_\w+", "feishu:oc_5ad1:om_17"),
    "napcat": (r"group:\d+", "napcat:group:710"),
    "signal": (r"[\w+/]{40,}=+", "signal:q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="),
    "slack": (r"[CG][A-Z0-9]+", "slack:C024BE91L:171.02"),
    "telegram": (r"-\d+", "telegram:-100883:topic:5"),
    "weixin": (r"[^:]+@chatroom", "weixin:210@chatroom"),
    "whatsapp": (r"[^:]+@g\.us", "whatsapp:1203-17@g.us"),
}


def group_of(key: str) -> str:
    """Return the key of the group chat that a session's key tells, without its thread; "" for none."""
    channel, _, rest = key.partition(":")
    found = re.match(rf"(?:{GROUPS[channel][0]})(?=:|$)", rest) if channel in GROUPS else None
    return f"{channel}:{found[0]}" if found else ""


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
            turns.chat = group_of(session or "")
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
            name=parts.text_of(row, "name") or person or (SOMEBODY if turns.chat and who == "user" else None),
            calls=[call(block) for block in parts.tables(row, "tool_calls")],
            answers=parts.key(row, "tool_call_id"),
            failed=True if _unrun(row.get("content")) else parts.failed(row),
        ):
            yield session, replace(message, summarised=done)


def _unrun(content: object) -> bool:
    """Return whether a tool says of a command that it did not run or end: then it gives no exit code."""
    return isinstance(content, str) and content.startswith(_UNRUN)


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
