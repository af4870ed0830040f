"""Copilot CLI's event files: JSON lines of `{type, data, id, timestamp}`.

What the user said stands in `user.message`; older versions have it only where the hook `userPromptSubmitted`
begins, and some in both, one after the other.
Source of the shape: letta-ai/trajectory, and files of Copilot CLI 1.0.102.
"""

from __future__ import annotations

from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source
from dream.transcripts.turns import Options, Turns

_EVENTS = {"session.start", "user.message", "assistant.message", "hook.start"}
_NOT_TYPED = ("skill", "system", "autopilot")  # how the source of a user message begins that the user did not type


def _recognises(head: Head) -> bool:
    """Return whether it has events of a known type with their data."""
    return head.shape == "lines" and any(
        record.get("type") in _EVENTS and isinstance(record.get("data"), dict)
        for record in head.records
        if isinstance(record.get("type"), str)
    )


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session; a sub-agent's are left out."""
    turns, session = Turns(options), None
    prompts: set[str] = set()
    for record in source.records():
        row, data = record.value, parts.table(record.value, "data")
        if row.get("type") == "session.start":
            session = session or parts.key(data, "sessionId")
            turns.cwd = parts.text_of(parts.table(data, "context"), "cwd") or ""
        if parts.key(data, "parentToolCallId"):
            options.tally.silent += 1
            continue
        for message in _messages(row, data, turns, prompts):
            yield session, message


def _messages(row: Json, data: Json, turns: Turns, prompts: set[str]) -> Iterator[Message]:
    kind, at, identity = row.get("type"), row.get("timestamp"), parts.key(row, "id")
    if kind == "user.message":
        if not str(data.get("source")).startswith(_NOT_TYPED) and _is_new(data.get("content"), "said", prompts):
            yield from turns.said("user", data.get("content"), at=at, identity=identity)
    elif kind == "hook.start" and data.get("hookType") == "userPromptSubmitted":
        asked = parts.table(data, "input")
        if _is_new(asked.get("prompt"), "hooked", prompts):
            yield from turns.said("user", asked.get("prompt"), at=asked.get("timestamp") or at, identity=identity)
    elif kind == "assistant.message":
        prompts.clear()
        calls = [call(block) for block in parts.tables(data, "toolRequests")]
        yield from turns.said("assistant", data.get("content"), at=at, identity=identity, calls=calls)
    elif kind == "tool.execution_complete":
        output, answers = _output(data), parts.key(data, "toolCallId")
        failed = parts.failed(text=parts.text(output))  # of a command; the call itself succeeds where that fails
        failed = parts.failed(data) if failed is None else failed
        yield from turns.result(output, answers=answers, at=at, identity=identity, failed=failed)


def _is_new(prompt: object, where: str, prompts: set[str]) -> bool:
    """Note where a prompt of this turn was found; return whether the other place does not have it."""
    other = f"{'hooked' if where == 'said' else 'said'} {prompt}"
    if other in prompts:
        prompts.remove(other)
        return False
    prompts.add(f"{where} {prompt}")
    return True


def _output(data: Json) -> object:
    found = parts.first(parts.table(data, "result"), "content", "detailedContent")
    return found if found is not None else parts.first(parts.table(data, "error"), "message") or data.get("error")


COPILOT_CLI = Reader(
    "copilot-cli",
    _recognises,
    _read,
    (
        Place(".copilot", "session-state/*.jsonl", "COPILOT_HOME"),
        Place(".copilot", "session-state/*/events.jsonl", "COPILOT_HOME"),
    ),
    title="Copilot CLI",
)
