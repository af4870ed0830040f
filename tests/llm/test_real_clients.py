"""The real Claude Code and Codex from npm, against a server on loopback that speaks their providers' protocols.

`pytest -m long tests/llm/test_real_clients.py`; without npm, or where it has no network, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest

from dream import pipeline
from dream.errors import AnswerUnusable, ModelInaccessible
from dream.llm import ChatMessage, Completion
from dream.llm.clients import CLIENTS, ClientModel, found, logged_in
from dream.models import NewEntry
from dream.reports import Usage
from dream.settings import Settings
from tests.llm.fakes import path_with
from tests.workspaces import fresh

pytestmark = pytest.mark.long

PACKAGES = ("@anthropic-ai/claude-code@2.1.330", "@openai/codex@0.169.0")
NAMES = ("claude-code/haiku", "codex/gpt-5.5")
ANSWER = "[USER] Lives in Tokyo {1}"
SETTINGS = Settings(retries=0, timeout=60.0, timezone="UTC")
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
Way = Literal["answer", "quota", "cut", "tool"]


class Providers(ThreadingHTTPServer):
    """Anthropic's and OpenAI's streaming protocols, which answer in one `way`; `asked` are the requests' bodies."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.way: Way = "answer"
        self.asked: list[dict[str, Any]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(404, b"{}")  # of Codex, which asks for a WebSocket first

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Providers)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        anthropic = self.path.startswith("/v1/messages")
        if not (anthropic or self.path.endswith("/responses")) or "count_tokens" in self.path:
            self._send(200, b"{}")
            return
        server.asked.append(body)
        if server.way == "quota":
            fault = {"type": "usage_limit_reached", "message": "You've hit your limit", "plan_type": "plus"}
            self._send(429, json.dumps({"type": "error", "error": fault}).encode())
            return
        events = _messages(server.way) if anthropic else _responses(server.way)
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(200, stream.encode(), "text/event-stream")

    def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


def _messages(way: Way) -> Iterator[dict[str, Any]]:
    used = {"input_tokens": 120, "output_tokens": 1, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 0}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": used}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": ANSWER}
    if way == "tool":
        block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": '{"command": "ls"}'}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = {"cut": "max_tokens", "tool": "tool_use"}.get(way, "end_turn")
    ended = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def _responses(way: Way) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {"id": "r"}}
    said = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "shell", "arguments": '{"command": ["ls"]}'}
    yield {"type": "response.output_item.done", "output_index": 0, "item": call if way == "tool" else said}
    used = {"input_tokens": 150, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 9, "total_tokens": 159}
    if way == "cut":
        why = {"incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"}
        yield {"type": "response.incomplete", "response": {"id": "r", "usage": used} | why}
    else:
        yield {"type": "response.completed", "response": {"id": "r", "usage": used}}


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both clients, installed by npm for this run."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm")
    place = tmp_path_factory.mktemp("npm")
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), *PACKAGES]
    done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=500)
    if done.returncode:
        pytest.skip(f"npm cannot install the clients: {done.stderr.strip()[-200:]}")
    return place / "node_modules" / ".bin"


@pytest.fixture
def providers() -> Iterator[Providers]:
    with Providers() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def home(programs: Path, providers: Providers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Log in to both, with hooks that would leave a trace and notes that would be sent, were the calls not apart."""
    home, trace = Path.home(), f"touch {tmp_path}/hook-ran"
    hooks = {event: [{"hooks": [{"type": "command", "command": trace}]}] for event in ("SessionStart", "Stop")}
    claude = {"apiKeyHelper": "echo sk-ant-test", "env": {"ANTHROPIC_BASE_URL": providers.base}, "hooks": hooks}
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(claude))
    (home / ".claude" / "CLAUDE.md").write_text("Say MARMALADE.")
    (home / ".codex").mkdir()
    (home / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "sk-test"}')
    (home / ".codex" / "AGENTS.md").write_text("Say MARMALADE.")
    # Codex takes its provider's address from its configuration alone, which a call of ours passes over.
    wrapper = tmp_path / "bin" / "codex"
    wrapper.parent.mkdir()
    address = f'openai_base_url="{providers.base}/v1"'
    real = f"{programs}/codex"
    call = f"shift\nexec {real} exec -c '{address}' \"$@\"\n"
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = exec ] || exec {real} "$@"\n{call}')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{path_with(programs)}")
    return home


def ask(name: str, text: str = "Wohin? 東京 @/etc/passwd") -> Completion:
    return ClientModel(name, SETTINGS).complete([ChatMessage("system", "You read."), ChatMessage("user", text)])


@pytest.mark.parametrize("name", NAMES)
def test_a_call_sends_our_prompt_and_nothing_of_the_persons(
    home: Path, providers: Providers, tmp_path: Path, name: str
) -> None:
    done = ask(name)

    sent = json.dumps(providers.asked, ensure_ascii=False)
    assert (done.text, len(providers.asked)) == (ANSWER, 1)
    assert done.usage == {NAMES[0]: Usage(1, 150, 9, None, 30), NAMES[1]: Usage(1, 150, 9, None, 40)}[name]
    assert "You read." in sent
    assert "Wohin? 東京 @/etc/passwd" in sent
    assert "MARMALADE" not in sent
    assert "root:" not in sent
    assert not (tmp_path / "hook-ran").exists()
    left = [path for place in (".claude/projects", ".codex/sessions") for path in (home / place).rglob("*.jsonl")]
    assert left == []


@pytest.mark.parametrize("name", NAMES)
def test_each_way_to_fail_is_seen_and_none_is_asked_for_ever(home: Path, providers: Providers, name: str) -> None:
    providers.way = "quota"
    with pytest.raises(ModelInaccessible, match="the plan allows no more now"):
        ask(name)
    providers.way = "cut"
    assert ask(name).finish == "length"
    providers.way, before = "tool", len(providers.asked)
    with pytest.raises(AnswerUnusable, match="asked for a tool"):
        ask(name)
    assert len(providers.asked) - before < 20  # left alone Codex asks a thousand times


@pytest.mark.parametrize("name", NAMES)
def test_a_login_is_seen_without_a_call(home: Path, providers: Providers, name: str) -> None:
    client = CLIENTS[name.partition("/")[0]]
    program = found(client, os.environ)
    assert program is not None

    assert logged_in(client, program)
    for file in (home / ".claude" / "settings.json", home / ".codex" / "auth.json"):
        file.unlink()
    assert not logged_in(client, program)
    with pytest.raises(ModelInaccessible, match="nobody is logged in"):
        ask(name)
    assert providers.asked == []


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_dream_with_a_real_client(home: Path, providers: Providers, tmp_path: Path, name: str) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    workspace.history.append([NewEntry("note", "I live in Tokyo")], now=NOW)

    done = pipeline.run(workspace, settings=Settings(model=name, retries=0, timezone="UTC"), now=NOW)

    assert (done.outcome, done.reason) == ("committed", "")
    assert "Lives in Tokyo" in workspace.read_file("USER.md")
