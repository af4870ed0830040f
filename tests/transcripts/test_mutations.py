"""Whatever the bytes are, a reader gives messages or one TranscriptError."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dream import transcripts
from dream.errors import TranscriptError
from dream.models import Diagnostic, Message
from tests.transcripts import test_claude_code, test_formats, test_openai
from tests.transcripts.reading import sample

CODEX = [
    test_formats.codex("session_meta", id="s", source="cli"),
    test_formats.codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "hi"}]),
    test_formats.codex("response_item", type="function_call", name="f", call_id="c", arguments='{"command": "ls"}'),
    test_formats.codex("response_item", type="function_call_output", call_id="c", output='{"output": "x"}'),
]
PI = [
    {"type": "session", "id": "s"},
    {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": [{"type": "text"}]}},
    {
        "type": "message",
        "id": "2",
        "timestamp": 1784874063547,
        "message": {"role": "toolResult", "toolCallId": "c", "toolName": "x", "content": [{"type": "text"}]},
    },
]
CLAUDE = [
    test_claude_code.row("user", "1", "hello"),
    test_claude_code.row("assistant", "2", [{"type": "tool_use", "id": "t", "name": "B", "input": {"command": "x"}}]),
    test_claude_code.row("user", "3", [{"type": "tool_result", "tool_use_id": "t", "content": [{"text": "x"}]}]),
]
NANOBOT = [{"_type": "metadata", "key": "cli:direct"}, *test_openai.CHAT]
TOOL = {"id": "c", "name": "f", "args": {"x": 1}, "result": [{"functionResponse": {"response": {"output": "x"}}}]}
GEMINI = {
    "sessionId": "g",
    "projectHash": "h",
    "messages": [{"id": "1", "type": "user", "content": "x"}, {"type": "gemini", "content": "", "toolCalls": [TOOL]}],
}
HERMES = {
    "session": {"id": "s", "source": "tui"},
    "messages": [{"id": 1, "role": "assistant", "content": "\0json:[]", "tool_calls": "[{}]", "observed": 0}],
}
LETTA = [
    {"kind": "user", "text": "x", "captured_at": "2026-07-22T12:00:00Z"},
    {"kind": "tool_call", "name": "Read", "argsText": "{}", "resultText": "x", "source_line_id": "a"},
]
LETTA_LOCAL = [
    {"id": "ui-msg-1", "role": "user", "metadata": {"agent_id": "a", "conversation_id": "c"}, "content": "x"},
    {"id": "ui-msg-2", "role": "toolResult", "metadata": {"agent_id": "a", "conversation_id": "c"}, "toolCallId": "c"},
]
COPILOT = [
    {"type": "session.start", "data": {"sessionId": "s"}},
    {"type": "user.message", "data": {"content": "x"}},
    {"type": "hook.start", "data": {"hookType": "userPromptSubmitted", "input": {"prompt": "x"}}},
    {"type": "assistant.message", "data": {"content": "", "toolRequests": [{"toolCallId": "c", "name": "f"}]}},
    {"type": "tool.execution_complete", "data": {"toolCallId": "c", "result": {"content": "x"}}},
]
OPENCODE = {
    "info": {"id": "s"},
    "messages": [
        {"info": {"role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "x"}]},
        {"info": {"role": "assistant"}, "parts": [{"type": "tool", "tool": "f", "state": {"output": "x"}}]},
    ],
}
SEEDS: dict[str, list[Any] | dict[str, Any]] = {
    "openai": test_openai.CHAT,
    "claude-code": CLAUDE,
    "codex": CODEX,
    "pi": PI,
    "nanobot": NANOBOT,
    "gemini-cli": GEMINI,
    "hermes": HERMES,
    "letta-code": LETTA + LETTA_LOCAL,
    "copilot-cli": COPILOT,
    "opencode": OPENCODE,
    "chatgpt": [test_formats.conversation()],
}
# The readers that take a document; the others want one record a line.
DOCUMENTS = ("openai", "gemini-cli", "hermes", "chatgpt", "opencode")

odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["\ud83d", "user", "assistant", "text", "tool_use", "tool_result", "1"]),
    st.sampled_from(["[]", "{}", "[[]]", "[null]", '{"type": "text"}']).map(json.loads),
    st.lists(st.one_of(st.none(), st.text(max_size=3), st.dictionaries(st.sampled_from(["type", "text"]), st.text()))),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, as the path to it."""
    if isinstance(value, dict):
        inner = list(value.items())
    else:
        inner = list(enumerate(value)) if isinstance(value, list) else []
    return [path] + [place for key, item in inner for place in places(item, (*path, key))]


def written(name: str, value: Any) -> bytes:
    if name in DOCUMENTS:
        return json.dumps(value).encode()
    return "".join(json.dumps(row) + "\n" for row in value).encode()


def check(raw: bytes, name: str) -> None:
    """Read the bytes by content and as the named format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.bin")
        path.write_bytes(raw)
        for format_ in (None, name):
            found: list[Diagnostic] = []
            try:
                pairs = list(transcripts.read(path, format=format_, zone=UTC, report=found.append))
            except TranscriptError as error:
                found.append(Diagnostic(str(path), 0, str(error)))
                continue
            for key, message in pairs:
                sound(key, message)
            assert all(isinstance(one.line, int) and one.text for one in found)


def sound(key: str, message: Message) -> None:
    assert key.partition(":")[2]
    assert message.role in ("user", "assistant", "tool")
    assert message.role == "tool" or message.content.strip()
    assert message.id
    "\0".join((key, message.content, message.name or "", message.id, *message.calls, message.answers or "")).encode()
    assert message.at is None or message.at.tzinfo is UTC


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SEEDS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_field_of_any_other_value_never_raises(name: str, data: st.DataObject) -> None:
    value = json.loads(json.dumps(SEEDS[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(value)[1:] or [()]))
        if not path:
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = data.draw(odd_values)
    check(written(name, value), name)


def cut_off(raw: bytes, draw: Callable[..., Any]) -> bytes:
    return raw[: draw(st.integers(0, len(raw)))]


def put_in(raw: bytes, draw: Callable[..., Any]) -> bytes:
    at = draw(st.integers(0, len(raw)))
    return raw[:at] + draw(st.binary(max_size=6)) + raw[at:]


def taken_out(raw: bytes, draw: Callable[..., Any]) -> bytes:
    at = draw(st.integers(0, len(raw)))
    return raw[:at] + raw[at + draw(st.integers(0, 9)) :]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SEEDS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_bytes_cut_off_put_in_or_taken_out_never_raise(name: str, data: st.DataObject) -> None:
    raw = written(name, SEEDS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        raw = data.draw(st.sampled_from([cut_off, put_in, taken_out]))(raw, data.draw)
    check(raw, name)


@settings(max_examples=settings.default.max_examples * 2)
@given(raw=st.one_of(st.binary(max_size=80), st.text(max_size=80).map(lambda text: text.encode())), data=st.data())
def test_any_bytes_at_all_never_raise_in_any_format(raw: bytes, data: st.DataObject) -> None:
    own = [name for name in transcripts.known_formats() if name in SEEDS or name == "text"]
    start = data.draw(st.sampled_from([b"", b"[", b"{", b"User: ", b"PK\x03\x04", b"SQLite format 3\0", b"\xff\xfe"]))
    check(start + raw, data.draw(st.sampled_from(own)))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SEEDS if name not in ("openai", "nanobot", "chatgpt")])
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_samples_of_real_files_never_raise_however_they_are_damaged(name: str, data: st.DataObject) -> None:
    raw = sample(name).read_bytes()
    for _ in range(data.draw(st.integers(1, 5))):
        raw = data.draw(st.sampled_from([cut_off, put_in, taken_out]))(raw, data.draw)
    check(raw, name)


@pytest.mark.long
@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=1_500, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_many_more_fields_of_other_values_never_raise(name: str, data: st.DataObject) -> None:
    value = json.loads(json.dumps(SEEDS[name]))
    for _ in range(data.draw(st.integers(1, 6))):
        path = data.draw(st.sampled_from(places(value)[1:] or [()]))
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        if path:
            holder[path[-1]] = data.draw(odd_values)
    check(written(name, value), name)
