"""The short look says that nothing is to be done only where the pipeline would say the same."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.settings import Settings
from dream.workspace import idle, runs
from dream.workspace.workspace import Workspace
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def dream(workspace: Workspace) -> str:
    models = Models(ScriptedModel("[SKIP]"), ScriptedModel("done"), Meter(SETTINGS))
    doubtful = workspace.private / "attempts.json"  # so that the stages themselves look
    doubtful.write_bytes(b"{}")
    reason = pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models).reason
    doubtful.unlink(missing_ok=True)
    return reason


def test_an_empty_history_is_said_as_the_pipeline_says_it(workspace: Workspace) -> None:
    assert idle.nothing_to_dream(workspace.root) == dream(workspace) == idle.why_nothing(0, 0)


def test_all_dreamt_is_said_as_the_pipeline_says_it(workspace: Workspace) -> None:
    workspace.history.append([NewEntry("summary", "- x")], now=NOW)
    assert idle.nothing_to_dream(workspace.root) is None
    dream(workspace)
    assert idle.nothing_to_dream(workspace.root) == dream(workspace) == idle.why_nothing(1, 1)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".dream/apply.json", b"{}"),
        (".dream/attempts.json", b"{}"),
        ("memory/.dream_cursor", b"0\n"),
        ("memory/.dream_cursor", b""),
        ("memory/.dream_cursor", b"rubbish"),
        ("memory/.cursor", b"7\n"),
        ("memory/.cursor", b"\xff"),
        ("memory/history.jsonl", b""),
        ("memory/history.jsonl", b'{"cursor":1,"timestamp":"2026-11-21T03:00:07+00:00","content":"torn'),
        ("memory/history.jsonl", b"null\n"),
        ("memory/history.jsonl", b'{"cursor":2,"timestamp":"2026-11-21T03:00:07+00:00","content":"new"}\n'),
    ],
)
def test_in_any_doubt_the_pipeline_looks_itself(workspace: Workspace, file: str, content: bytes) -> None:
    workspace.history.append([NewEntry("summary", "- x")], now=NOW)
    dream(workspace)
    (workspace.root / file).write_bytes(content)
    assert idle.nothing_to_dream(workspace.root) is None


def test_the_record_it_leaves_is_one_like_any_other(workspace: Workspace) -> None:
    why = pipeline.run(workspace, settings=SETTINGS, now=NOW).reason
    (record,) = runs.last(workspace.private)
    assert record == runs.RunRecord(NOW, record.ended, command="run", outcome="nothing", reason=why)
