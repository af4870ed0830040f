"""A run with nothing to do says why, and leaves a record like any other; in any doubt the stages look."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.reports import RunReport
from dream.settings import Settings
from dream.workspace import runs
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def dream(workspace: Workspace) -> tuple[RunReport, int]:
    """Run; return the report, and how many calls phase 1 has made."""
    model = ScriptedModel("[SKIP]")
    models = Models(model, ScriptedModel("done"), Meter(SETTINGS))
    return pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models), len(model.calls)


def test_when_all_is_dreamt_no_model_is_asked_and_the_reason_is_said(workspace: Workspace) -> None:
    assert "history is empty" in pipeline.run(workspace, settings=SETTINGS, now=NOW).reason
    workspace.history.append([NewEntry("summary", "- x")], now=NOW)
    assert dream(workspace)[1] == 1

    report, calls = dream(workspace)

    assert (report.outcome, calls) == ("nothing", 0)
    assert report.reason == "no entry after 1: all of history has been dreamt"
    assert runs.last(workspace.private)[0].reason == report.reason


@pytest.mark.parametrize("content", [b"0\n", b"", b"rubbish"])
def test_an_entry_is_dreamt_whatever_becomes_of_the_file_that_says_how_far_dreams_are(
    workspace: Workspace, content: bytes
) -> None:
    workspace.history.append([NewEntry("summary", "- x"), NewEntry("summary", "- y")], now=NOW)
    (workspace.root / "memory/.dream_cursor").write_bytes(content)

    assert dream(workspace)[1] == 1
    assert workspace.dream_cursor() == 2
