"""Claude Code's session files: JSON lines, one row a content block of an answer.

Rows are taken in the order of the file, and each row is a message of its own, so a growing file never changes
what was read before; rows that a resumed session repeats are dropped by their id.
Source of the shape: letta-ai/trajectory, Claude Code 2.1.139 to 2.1.206.
"""

from __future__ import annotations

from collections.abc import Iterator

from dream.models import Role
from dream.transcripts import parts
from dream.transcripts.parts import Json
from dream.transcripts.source import Head, Pair, Place, Source
from dream.transcripts.turns import Options

name = "claude-code"
grows = True
places: tuple[Place, ...] = (
    Place(".claude", "projects/*/*.jsonl", "CLAUDE_CONFIG_DIR"),
    Place(".claude", "projects/*/*/subagents/*.jsonl", "CLAUDE_CONFIG_DIR", subagents=True),
)

_MARKS = {"uuid", "parentUuid", "sessionId", "isSidechain", "leafUuid", "requestId", "gitBranch", "userType"}
_ROWS = {"user", "assistant", "summary", "system", "progress", "file-history-snapshot", "queue-operation", "attachment"}


def recognises(head: Head) -> bool:
    """Rows of type user or assistant with a message in them and Claude Code's own fields beside it."""
    return head.shape == "lines" and any(
        record.get("type") in ("user", "assistant")
        and isinstance(record.get("message"), dict)
        and not _MARKS.isdisjoint(record)
        for record in head.records
        if isinstance(record.get("type"), str)
    )


def read(source: Source, options: Options) -> Iterator[Pair]:
    """Yield the messages of each session in the file; a sub-agent's belong to a session of their own."""
    state, default = source.carried, source.default_id
    for record in source.records():
        row = record.value
        session = state.session = parts.key(row, "sessionId") or state.session or default
        if row.get("type") not in ("user", "assistant") or _left_out(row):
            continue
        sidechain = row.get("isSidechain") is True
        if sidechain and not options.include_subagents:
            continue
        own = f"{session}/{parts.key(row, 'agentId') or 'sidechain'}" if sidechain else session
        said = parts.table(row, "message")
        who: Role = "assistant" if row["type"] == "assistant" else "user"
        for message in state.turns_of(own, options).said(
            who,
            parts.first(said, "content", "text"),
            at=parts.first(row, "timestamp"),
            identity=parts.key(row, "uuid") or parts.key(said, "id"),
        ):
            yield f"{name}:{own}", message


def _left_out(row: Json) -> bool:
    """Return whether a row is not a person's or the model's: meta rows, compaction summaries, the harness's answers."""
    if any(row.get(mark) is True for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return True
    return parts.table(row, "message").get("model") == "<synthetic>"
