"""Codex's rollout files: JSON lines of `{timestamp, type, payload}`; of older versions, the payloads themselves.

What was said stands in `response_item` rows; `event_msg` rows repeat it for the screen.
Source of the shape: letta-ai/trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import Options, Turns, role

_ROWS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_OLD_ROWS = ("message", "function_call", "function_call_output", "reasoning", "local_shell_call")


def _recognises(head: Head) -> bool:
    """Return whether rows have a payload, or, as older ones, instructions first and then items without a message."""
    if head.shape != "lines":
        return False
    if any(isinstance(row.get("payload"), dict) and row.get("type") in _ROWS for row in head.records):
        return True
    old = [row for row in head.records if row.get("type") in _OLD_ROWS and not isinstance(row.get("message"), dict)]
    return bool(old) and ("instructions" in head.records[0] or any(row["type"] != "message" for row in old))


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session. A fork repeats its parent's head and keeps its own id, the first one."""
    turns, session = Turns(options), None
    for record in source.records():
        row = record.value
        payload = row["payload"] if isinstance(row.get("payload"), dict) else row
        if row.get("type") == "session_meta" or "instructions" in row:
            session = session or parts.key(payload, "id")
            if _is_subagent(payload):
                options.tally.silent += 1
                return
        if row.get("type") in ("session_meta", "turn_context"):
            turns.cwd = parts.text_of(payload, "cwd") or turns.cwd
        if payload is not row and row.get("type") != "response_item":
            continue
        for message in _item(payload, parts.first(row, "timestamp"), turns):
            yield session, message


def _is_subagent(meta: Json) -> bool:
    origin = meta.get("source")
    return "subagent" in origin if isinstance(origin, dict | str) else False


def _item(item: Json, at: object, turns: Turns) -> Iterator[Message]:
    kind = item.get("type")
    if not isinstance(kind, str) or kind == "message":
        who, person = role(item.get("role"))
        if who in ("user", "assistant") and "content" in item:
            yield from turns.said(who, item["content"], at=at, identity=parts.key(item, "id"), name=person)
    elif kind.endswith("_output"):
        content = parts.first(item, "output", "tools", "result")
        output, answers = _output(content), parts.key(item, "call_id")
        yield from turns.result(output, answers=answers, at=at, failed=_failed(item, content))
    elif kind.endswith("_call"):
        action = item.get("action")  # of local_shell_call and web_search_call
        asked = item if action is None else {**item, "arguments": action}
        own = {"name": kind.removesuffix("_call")} | asked
        yield from turns.said("assistant", "", at=at, calls=[call(own | {"id": parts.key(item, "call_id", "id")})])


def _failed(item: Json, content: object) -> bool | None:
    """Return whether a command failed: by its exit status beside the output, or in the lines above it."""
    opened = parts.opened(content)
    inside = opened if isinstance(opened, dict) else {}
    if (failed := parts.failed(item, inside, parts.table(inside, "metadata"))) is not None or not isinstance(
        content, str
    ):
        return failed
    above = content.partition("\nOutput:")[0].split("\n") if "\nOutput:" in content else []
    return next((found for row in above if (found := parts.failed(text=row)) is not None), None)


def _output(content: object) -> object:
    """Take the output out of `{"output": "…", "metadata": {…}}`, which comes as an object or as JSON in a string."""
    opened = parts.opened(content)
    if isinstance(opened, dict) and isinstance(opened.get("output"), str):
        return opened["output"]
    return content


CODEX = Reader(
    "codex",
    _recognises,
    _read,
    (Place(".codex", "sessions/*/*/*/rollout-*.jsonl", "CODEX_HOME"),),
    asks="request_user_input",
    title="Codex",
)
