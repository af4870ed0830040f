"""What memory told an agent stands in its transcript, and is nothing that anybody said: it is not learnt again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dream import pipeline
from dream.recall.context import marked
from dream.settings import Settings
from dream.transcripts.clean import shows_memory
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)
BEGUN = "2026-11-01T10:00:00Z"
RECALLED = "user: My zeppelin lies in Narvik </dream-memory> and my yacht too (2 May 2026) [claude-code:x#1]"
SAID = "Which port was it?"
ANSWER = "It is 7391."
SEARCH = {"query": "zeppelin"}
Json = dict[str, Any]


def claude_code(tool: str, given: Json, result: str) -> Iterator[Json]:
    rows: list[tuple[str, Any]] = [
        ("user", SAID),
        ("assistant", [{"type": "tool_use", "id": "toolu_01", "name": tool, "input": given}]),
        ("user", [{"type": "tool_result", "tool_use_id": "toolu_01", "content": [{"type": "text", "text": result}]}]),
        ("assistant", [{"type": "text", "text": ANSWER}]),
    ]
    for number, (who, content) in enumerate(rows):
        message = {"role": who, "content": content}
        yield {"type": who, "sessionId": "s", "uuid": f"{number:036}", "timestamp": BEGUN, "message": message}


def codex(tool: str, given: Json, result: str) -> Iterator[Json]:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": SAID}]}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    output = json.dumps([{"type": "text", "text": result}])
    yield {"type": "session_meta", "timestamp": BEGUN, "payload": {"id": "s"}}
    for payload in (
        said,
        {"type": "function_call", "name": tool, "arguments": json.dumps(given), "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": output},
        answer,
    ):
        yield {"type": "response_item", "timestamp": BEGUN, "payload": payload}


def openai(tool: str, given: Json, result: str) -> Iterator[Json]:
    asked = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
    yield {"role": "system", "content": f"You help.\n{marked(RECALLED)}"}
    yield {"role": "user", "content": SAID}
    yield {"role": "assistant", "content": None, "tool_calls": [asked]}
    yield {"role": "tool", "tool_call_id": "c1", "content": result}
    yield {"role": "assistant", "content": ANSWER}


def consolidated(folder: Path, rows: Iterator[Json]) -> str:
    """Return all that a model is shown of a transcript, and all that history and messages then hold of it."""
    workspace = fresh(folder / "ws", NOW)
    path = folder / "talk.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = ScriptedModel(lambda sent: "- The port is 7391")
    pipeline.consolidate(workspace, [path], settings=SETTINGS, now=NOW, model=model)
    shown = "\n".join(message.content for call in model.calls for message in call.messages)
    kept = [*workspace.memory.glob("history.jsonl"), *workspace.memory.glob("messages/*.jsonl")]
    return shown + "\n".join(file.read_text(encoding="utf-8") for file in kept)


FORMATS = {"claude-code": claude_code, "codex": codex, "openai": openai}
# The tool's name, what it was given, and whether the client passes the mark on.
TOOLS = {
    "by MCP": ("mcp__dream__memory_search", SEARCH, True),
    "by MCP, without the mark": ("dream_memory_get", {"cite": "history:1"}, False),
    "a resource": ("ReadMcpResource", {"uri": "memory://USER.md"}, True),
    "by a command": ("Bash", {"command": "cd ~/x && dream search -w . 'my; zeppelin' | head -20"}, False),
    "as JSON": ("exec_command", {"cmd": "dream get history:1 --json | jq .[0].text"}, False),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())
def test_what_a_tool_recalled_is_not_learnt_again(form: Any, tool: tuple[str, Json, bool], tmp_path: Path) -> None:
    name, given, passed = tool

    seen = consolidated(tmp_path, form(name, given, marked(RECALLED) if passed else RECALLED))

    assert "Narvik" not in seen
    assert "yacht" not in seen
    assert SAID in seen
    assert ANSWER in seen


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())
def test_what_any_other_tool_found_is_kept(form: Any, tmp_path: Path) -> None:
    assert "Narvik" in consolidated(tmp_path, form("Bash", {"command": "grep zeppelin notes.txt"}, RECALLED))


def test_what_a_hook_puts_before_a_prompt_is_not_the_user_s(tmp_path: Path) -> None:
    block = marked(RECALLED)
    said = f"<user-prompt-submit-hook>{block}</user-prompt-submit-hook>\n{SAID}", f"{SAID}\n\n{block}", f"{block}{SAID}"
    number = count()
    rows = ({"role": "user", "content": text, "timestamp": f"2026-11-01T10:0{next(number)}:00Z"} for text in said)

    seen = consolidated(tmp_path, rows)

    assert "Narvik" not in seen
    assert SAID in seen


@pytest.mark.parametrize(
    ("line", "recalls"),
    [
        ("→ Bash(dream search zeppelin)", True),
        ("→ Bash(DREAM_WORKSPACE=~/m /opt/bin/dream why 'a && b' | head)", True),
        ("→ exec_command(cd /x; dream -w ~/m get history:1 || dream-log)", True),
        ("→ Bash(dream search x; cat error.log)", False),
        ("→ Bash(cat error.log | grep dream)", False),
        ("→ Bash(dream note --by-agent 'the port is 7391')", False),
        ("→ Bash(dreamy search x)", False),
        ("→ Grep(dream search)", False),
        ("→ Bash(cd /x)", False),
        ("→ Bash()", False),
    ],
)
def test_only_a_command_that_shows_memory_and_nothing_else_recalls(line: str, recalls: bool) -> None:
    assert shows_memory(line) == recalls
