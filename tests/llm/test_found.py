"""`dream models`: what can read on this machine, chosen by a person and tried on conversations that are shipped."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.llm import found as found_module
from dream.llm.found import SERVERS, FoundModel, readers
from dream.settings import Settings
from tests.cli.commands import dream, on_a_terminal
from tests.llm.fakes import Fake, claude, path_with
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
# What each kind of server answers; one of the tests stands for all four.
ANSWERS = {
    "/api/tags": {"models": [{"name": "qwen3:8b"}, {"name": "nomic-embed-text"}]},
    "/api/v0/models": {"data": [{"id": "gemma-4", "max_context_length": 131072, "loaded_context_length": 8192}]},
    "/props": {"default_generation_settings": {"n_ctx": 16384}},
    "/v1/models": {"data": [{"id": "phi-5", "max_model_len": 65536}]},
}
SHOWN = {
    "qwen3:8b": {"capabilities": ["completion"], "model_info": {"qwen3.context_length": 8192}},
    "nomic-embed-text": {"capabilities": ["embedding"], "model_info": {}},
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(ANSWERS.get(self.path))

    def do_POST(self) -> None:
        self._send(SHOWN[json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]])

    def _send(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def named(found: list[FoundModel]) -> dict[str, int | None]:
    return {one.name: one.window for one in found}


def test_local_servers_are_found_with_their_models_and_windows(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_module, "SECONDS", 60)  # the servers are asked for sure, however busy the machine is
    found = readers(Settings(), {"PATH": ""}, [(server, ask) for _, ask in SERVERS])

    assert named(found) == {
        "embedded": None,
        "ollama_chat/qwen3:8b": 8192,
        "openai/gemma-4": 8192,
        "openai/phi-5": 65536,
    }  # vLLM's comes after that of llama.cpp, which has the same name here
    (ollama,) = (one for one in found if one.name.startswith("ollama"))
    assert (ollama.needs, ollama.night_usd, ollama.provider) == ({"context_window": 8192}, 0.0, "this machine")
    (gemma,) = (one for one in found if one.name == "openai/gemma-4")
    assert gemma.needs == {"api_base": f"{server}/v1", "api_key": "none", "context_window": 8192}


def test_clients_are_listed_with_version_and_login_and_keys_with_a_price(place: Path) -> None:
    Fake("claude", place)
    Fake("codex", place).login(there=False)

    found = dream("models", "--json", ANTHROPIC_API_KEY="sk-1").json

    by_name = {one["name"]: one for one in found}
    assert by_name["claude-code/haiku"]["about"] == "Claude Code 9.9.9, logged in; your plan pays"
    assert (by_name["codex/gpt-5.5"]["ready"], by_name["claude-code/haiku"]["ready"]) == (False, True)
    assert 0 < by_name["anthropic/claude-haiku-4-5"]["night_usd"] < 1
    assert [one["name"] for one in found if one["chosen"]] == ["embedded"]


def test_a_reader_is_written_into_dream_toml_beside_what_stands_there(place: Path, workspace: Workspace) -> None:
    Fake("claude", place)
    (workspace.root / "dream.toml").write_text(
        '# mine\nmodel = "openai/phi-5"  # local\napi_base = "http://127.0.0.1:8000/v1"\napi_key = "none"\n'
        'timezone = "UTC"\n'
    )

    refused = dream("models", "use", "claude-code/haiku", "-w", workspace.root)
    done = dream("models", "use", "claude-code/haiku", "--yes", "-w", workspace.root)

    assert (refused.status, "add --yes" in refused.err, done.status) == (1, True, 0)
    assert "Anthropic receives what was said to any of your agents" in done.out
    assert "yours to decide" in done.out
    written = '# mine\nmodel = "claude-code/haiku"  # local\ntimezone = "UTC"\n'
    assert (workspace.root / "dream.toml").read_text() == written


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("claude-code/haiku", "cannot read yet: Claude Code 9.9.9, nobody is logged in: start `claude`"),
        ("codex/gpt-5.5", "codex is not installed here"),
        ("gpt", "no LiteLLM name like openai/gpt-5-mini"),
    ],
)
def test_what_cannot_read_is_not_chosen(place: Path, workspace: Workspace, name: str, why: str) -> None:
    Fake("claude", place).login(there=False)

    done = dream("models", "use", name, "--yes", "-w", workspace.root)

    assert (done.status, why in done.err) == (2, True)
    assert not (workspace.root / "dream.toml").exists()


def test_init_on_a_terminal_asks_once_and_enter_keeps_the_default(place: Path, tmp_path: Path) -> None:
    Fake("claude", place)

    kept = on_a_terminal("init", tmp_path / "a", typed="\n")
    chosen = on_a_terminal("init", tmp_path / "b", typed="1\ny\n")
    again = on_a_terminal("init", tmp_path / "a")

    assert "Which one reads?" in kept.out
    assert (tmp_path / "a" / "dream.toml").read_text() == 'model = "embedded"\n'
    assert (tmp_path / "b" / "dream.toml").read_text() == 'model = "claude-code/haiku"\n'
    assert "Which one reads?" not in again.out + dream("init", tmp_path / "c").out
    assert chosen.status == 0


def test_a_trial_shows_what_a_model_makes_of_two_conversations_and_leaves_nothing() -> None:
    done = dream("models", "test", "embedded", "--json").json

    assert [len(one["files"]) for one in done["conversations"]] == [3, 3]
    assert [one["usage"]["calls"] for one in done["conversations"]] == [3, 3]
    assert {one["says"]: one["held"] for one in done["conversations"][1]["looked"]}["zieht nach Görlitz"]
    state = Path(os.environ["HOME"]) / ".local" / "state" / "dream" / "trusted"
    assert not state.exists() or list(state.iterdir()) == []


def test_a_trial_that_fails_says_why(place: Path) -> None:
    Fake("claude", place).answer(claude("You've hit your limit · resets 6pm", is_error=True, api_error_status=429))

    done = dream("models", "test", "claude-code/haiku")

    assert (done.status, "resets 6pm" in done.err) == (1, True)
