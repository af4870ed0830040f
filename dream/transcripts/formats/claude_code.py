"""Claude Code's session files: JSON lines, one row a content block of an answer.

Rows are taken in the order of the file, and each row is a message of its own, so a growing file never changes
what was read before; rows that a resumed session repeats are dropped by their id.
Source of the shape: letta-ai/trajectory, Claude Code 2.1.139 to 2.1.206.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from dream.models import Role
from dream.transcripts import parts
from dream.transcripts.parts import Json
from dream.transcripts.source import Deletion, Head, Place, Reader, Said, Source, setting
from dream.transcripts.turns import Options, Turns

_MARKS = {"uuid", "parentUuid", "sessionId", "isSidechain", "leafUuid", "requestId", "gitBranch", "userType"}


def _recognises(head: Head) -> bool:
    """Return whether rows of type user or assistant hold a message and Claude Code's own fields."""
    return head.shape == "lines" and any(
        record.get("type") in ("user", "assistant")
        and isinstance(record.get("message"), dict)
        and not _MARKS.isdisjoint(record)
        for record in head.records
        if isinstance(record.get("type"), str)
    )


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session in the file, without those of sub-agents."""
    talks: defaultdict[str, Turns] = defaultdict(lambda: Turns(options))
    session = source.default_id
    for record in source.records():
        row = _queued(record.value)
        session = parts.key(row, "sessionId") or session
        if row.get("type") not in ("user", "assistant") or _is_left_out(row):
            continue
        if row.get("isSidechain") is True:
            options.tally.silent += 1
            continue
        said = parts.table(row, "message")
        who: Role = "assistant" if row["type"] == "assistant" else "user"
        turns, at = talks[session], parts.first(row, "timestamp")
        turns.cwd = parts.text_of(row, "cwd") or turns.cwd
        identity = parts.key(row, "uuid") or parts.key(said, "id")
        name = _sender(row) if who == "user" else None
        for message in turns.said(who, _content(row, said), at=at, identity=identity, name=name):
            yield session, replace(message, automated=name is not None)
        if refused := _refusal(row, said):
            yield from (
                (session, one) for one in turns.said("user", refused, at=at, identity=identity and f"{identity}=1")
            )


def _queued(row: Json) -> Json:
    """Return as a message what the user typed while the agent worked, which only an attachment holds."""
    held = parts.table(row, "attachment")
    typed = held.get("commandMode", "prompt") == "prompt" and held.get("isMeta") is not True
    if row.get("type") != "attachment" or held.get("type") != "queued_command" or not typed:
        return row
    said = {"role": "user", "content": held.get("prompt")}
    return {**row, "type": "user", "origin": held.get("origin"), "message": said}


def _sender(row: Json) -> str | None:
    """Name whoever sent a message that the user did not type: another session, a channel, a task."""
    kind = parts.text_of(parts.table(row, "origin"), "kind")
    return None if kind == "human" else kind


def _content(row: Json, said: Json) -> object:
    """Return what a row says; of answers to questions what the client keeps of them, which a sentence can't.

    A command that was interrupted counts as failed, whatever the result says.
    """
    content, kept = parts.first(said, "content", "text"), parts.table(row, "toolUseResult")
    results = [block for block in parts.tables(said, "content") if block.get("type") == "tool_result"]
    if kept.get("interrupted") is True:
        return [block | {"is_error": True} if block in results else block for block in parts.tables(said, "content")]
    if "questions" not in kept or "answers" not in kept:
        return content
    answers, notes = parts.table(kept, "answers"), parts.table(kept, "annotations")
    if len(results) != 1:
        return content
    given = {
        question: [*(answer if isinstance(answer, list) else [answer]), parts.table(notes, question).get("notes")]
        for question, answer in answers.items()
    }
    return [{**results[0], "content": json.dumps({"answers": given})}]


def _refusal(row: Json, said: Json) -> str:
    """Return what the user said when they refused a tool; only the client's own mark makes it theirs."""
    if row.get("toolDenialKind") != "user-rejected":
        return ""
    told = "".join(parts.text(block.get("content")) for block in parts.tables(said, "content"))
    return told.partition("the user said:\n")[2].partition("\nNote: The user's next message")[0]


def _is_left_out(row: Json) -> bool:
    """Return whether a row is not a person's or the model's: meta rows, compaction summaries, the harness's answers."""
    if any(row.get(mark) is True for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return True
    return parts.table(row, "message").get("model") == "<synthetic>"


def _deletes(home: Path, environ: Mapping[str, str]) -> Deletion | None:
    own = environ.get("CLAUDE_CONFIG_DIR")
    days = setting((Path(own).expanduser() if own else home / ".claude") / "settings.json", "cleanupPeriodDays")
    return Deletion(float(days) if isinstance(days, int) and days > 0 else 30.0, "cleanupPeriodDays")


CLAUDE_CODE = Reader(
    "claude-code",
    _recognises,
    _read,
    (Place(".claude", "projects/*/*.jsonl", "CLAUDE_CONFIG_DIR"),),
    asks="AskUserQuestion",
    title="Claude Code",
    deletes=_deletes,
)
