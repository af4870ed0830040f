"""Each client's way of saying which command ran and whether it failed is read as one value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dream.models import CommandRun
from tests.transcripts.reading import document, lines, read
from tests.transcripts.test_clients import key_value

BASH = {"id": "c", "name": "bash"}


def opencode(state: dict[str, Any]) -> Any:
    tool = {"type": "tool", "callID": "c", "tool": "bash", "id": "p", "state": state | {"input": {"command": "make"}}}
    return {"info": {"id": "s"}, "messages": [{"info": {"role": "assistant"}, "parts": [tool]}]}


def codex(output: object) -> list[object]:
    call = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command": ["bash","-lc","make"]}'}
    told = {"type": "function_call_output", "call_id": "c", "output": output}
    rows = [{"type": "session_meta", "payload": {"id": "s"}}]
    return [*rows, *({"type": "response_item", "payload": one} for one in (call, told))]


def claude(error: bool, **kept: object) -> list[object]:
    call = BASH | {"type": "tool_use", "input": {"command": "make"}}
    told = {"type": "tool_result", "tool_use_id": "c", "content": "x", "is_error": error}
    said = (("assistant", [call]), ("user", [told]))
    rows = [{"type": who, "uuid": who, "message": {"role": who, "content": content}} for who, content in said]
    return [rows[0], rows[1] | {"toolUseResult": kept}] if kept else rows


def openai(content: str, **more: object) -> list[object]:
    call = {"id": "c", "function": {"name": "exec", "arguments": '{"command": "make"}'}}
    told = {"role": "tool", "tool_call_id": "c", "content": content}
    return [{"role": "assistant", "content": "", "tool_calls": [call]}, told | more]


def pi(error: bool) -> list[object]:
    call = BASH | {"type": "toolCall", "arguments": {"command": "make"}}
    told = {"role": "toolResult", "toolCallId": "c", "isError": error, "content": [{"type": "text", "text": "x"}]}
    said = ({"role": "assistant", "content": [call]}, told)
    return [
        {"type": "session", "id": "s"},
        *({"type": "message", "id": str(n), "parentId": "0", "message": one} for n, one in enumerate(said)),
    ]


def gemini(status: str, output: str) -> Any:
    result = [{"functionResponse": {"response": {"output": output}}}]
    call = {"id": "c", "name": "run_shell_command", "args": {"command": "make"}, "status": status, "result": result}
    return {"projectHash": "h", "sessionId": "s", "messages": [{"type": "gemini", "content": "", "toolCalls": [call]}]}


def copilot(success: bool, content: str) -> list[object]:
    request = {"toolCallId": "c", "name": "bash", "arguments": {"command": "make"}}
    done = {"toolCallId": "c", "success": success, "result": {"content": content}}
    return [
        {"type": "assistant.message", "id": "1", "data": {"content": "", "toolRequests": [request]}},
        {"type": "tool.execution_complete", "id": "2", "data": done},
    ]


def letta(ok: bool) -> list[object]:
    call = {"kind": "tool_call", "name": "Bash", "argsText": '{"command": "make"}', "source_line_id": "c"}
    said = {"kind": "user", "text": "go", "captured_at": "2026-11-22T01:12:00Z", "source_line_id": "u"}
    return [said, call | {"resultText": "x", "resultOk": ok, "captured_at": "2026-11-22T01:12:00Z"}]


def hermes(content: str) -> Any:
    call = {"id": "c", "function": {"name": "terminal", "arguments": '{"command": "make"}'}}
    rows = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": content}]
    return {"session": {"id": "s"}, "messages": [row | {"id": n, "session_id": "s"} for n, row in enumerate(rows)]}


def nanobot(content: str) -> list[object]:
    return [{"_type": "metadata", "key": "cli:direct"}, *openai(content)]


def cursor(result: dict[str, Any], **more: object) -> Any:
    tool = {"toolCallId": "c", "name": "run_terminal_command_v2", "status": "completed", "params": {"command": "make"}}
    bubble = {"type": 2, "bubbleId": "b", "toolFormerData": tool | {"result": json.dumps(result)} | more}
    return {"composerData:s": {"composerId": "s", "conversation": [bubble]}}


@pytest.mark.parametrize(
    ("value", "failed"),
    [
        (claude(True), True),
        (claude(False), False),
        (codex(json.dumps({"output": "x", "metadata": {"exit_code": 2}})), True),
        (codex(json.dumps({"output": "x", "metadata": {"exit_code": 0}})), False),
        (codex("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nx"), True),
        (codex("Chunk ID: 1\nProcess exited with code 0\nOutput:\nExit code: 1"), False),
        (codex("x"), None),
        (opencode({"status": "completed", "output": "x", "metadata": {"exit": 2}}), True),
        (opencode({"status": "completed", "output": "x", "metadata": {"exit": 0}}), False),
        (opencode({"status": "error", "error": "x"}), True),
        (openai("Exit code 1\nx"), True),
        (openai("x\nExit code: 0"), False),
        (openai("Exit code 1 is what it printed"), None),
        (openai("x", is_error=True), True),
        (pi(True), True),
        (pi(False), False),
        (gemini("error", "x"), True),
        (gemini("success", "Command: make\nOutput: x\nExit Code: 2\nSignal: (none)"), True),
        (gemini("success", "x"), None),
        (copilot(True, "x\n<exited with exit code 1>"), True),
        (copilot(True, "x"), False),
        (letta(True), False),
        (letta(False), True),
        (hermes('{"output": "x", "exit_code": 0, "error": null}'), False),
        (hermes('{"output": "x", "exit_code": 2}\n\n[Tool loop warning: repeated; count=3; stop]'), True),
        (hermes('{"error": "blocked", "guardrail": {}}'), True),
        (nanobot("x\n\nExit code: 0"), False),
        (nanobot("STDERR:\nx\n\nExit code: 2"), True),
        (nanobot("Error: Command timed out after 60 seconds"), True),
        (nanobot("x"), None),
        (claude(False, interrupted=True), True),
        (cursor({"output": "x", "exitCode": 0, "rejected": False}), False),
        (cursor({"output": "x", "exitCode": 1}), True),
        (cursor({"output": "x"}, additionalData={"status": "error"}), True),
        (cursor({"rejected": True}, additionalData={"status": "rejected"}), True),
    ],
)
def test_whether_a_command_failed_is_read_of_every_client(tmp_path: Path, value: Any, failed: bool | None) -> None:
    path = tmp_path / "session.jsonl"
    if "composerData:s" in value:
        path = key_value(tmp_path / "state.vscdb", **value)
    elif isinstance(value, list):
        lines(path, *value)
    else:
        document(path, value)
    pairs, _ = read(path)
    assert [message.ran for _, message in pairs if message.role == "tool"] == [CommandRun("make", failed)]


def test_a_call_given_as_a_list_keeps_each_word_apart(tmp_path: Path) -> None:
    rows: list[Any] = codex("x")
    rows[1]["payload"]["arguments"] = json.dumps({"command": ["git", "commit", "-m", "Fix CI; make nuke"]})
    pairs, _ = read(lines(tmp_path / "s.jsonl", *rows))
    assert [one.ran.command for _, one in pairs if one.ran] == ["git commit -m 'Fix CI; make nuke'"]
