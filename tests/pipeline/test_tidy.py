"""Memory is kept up, not only added to: after ten dreams, in a commit of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.errors import ModelUnavailable
from dream.llm import Completion, ToolCall
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.reports import RunReport
from dream.settings import Settings
from dream.versions import log
from tests.scripted import Answer, ScriptedModel
from tests.workspaces import copied, fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)
MEMORY = "memory/MEMORY.md"


def night(workspace: Workspace, phase1: str, *phase2: Answer) -> RunReport:
    workspace.history.append([NewEntry("summary", "- something was said")], now=NOW)
    last = workspace.history.last_cursor()
    models = Models(
        ScriptedModel(phase1.replace("{}", f"{{{last}}}")),
        ScriptedModel(*(phase2 or ("done",))),
        Meter(QUIET, now=lambda: NOW),
    )
    return pipeline.run(workspace, settings=QUIET, now=NOW, models=models)


@pytest.fixture(scope="module")
def _dreamt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = fresh(tmp_path_factory.mktemp("dreamt") / "ws", NOW)
    for name in ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse"):
        night(workspace, f"[MEMORY/Facts] Project {name} is written in Rust {{}}")
    night(workspace, "[MEMORY/Facts] The mirror service listens on port 7392 {}")
    night(workspace, "[MEMORY/Facts] The API of crumb runs on port 8080 {}")
    text = workspace.read_file(MEMORY)
    more = "- The mirror service is listening on port 7392\n- Port 8080 is used by the API of crumb\n"
    more += "\n## Oddments\n\n\n\n## Decisions"
    (workspace.root / MEMORY).write_text(text.replace("## Decisions", more), encoding="utf-8")
    return workspace.root


@pytest.fixture
def workspace(_dreamt: Path, tmp_path: Path) -> Workspace:
    """A workspace that dreamt nine times; then an agent's own tool added what was said before, and a heading."""
    return Workspace.open(copied(_dreamt, tmp_path / "ws"))


def settle(old: str, new: str) -> Completion:
    call = ToolCall("1", "edit_file", {"path": MEMORY, "old_text": old, "new_text": new, "findings": [2]})
    return Completion("", (call,), "tool_calls")


def subjects(workspace: Workspace) -> list[str]:
    return [change.subject for change in log.log(workspace.git.git)]


def test_after_ten_dreams_what_is_said_twice_goes_in_a_commit_of_its_own(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DREAM_AUTHOR", "claude-code")
    assert not any("tidy" in subject for subject in subjects(workspace))
    merge = settle("- Port 8080 is used by the API of crumb\n", "")

    report = night(workspace, "[MEMORY/Facts] Tromso hosts the archive {}", merge, "done")

    text = workspace.read_file(MEMORY)
    assert (text.count("7392"), text.count("8080"), "Oddments" in text, "\n\n\n" in text) == (1, 1, False, False)
    assert "## Solutions" in text
    assert subjects(workspace)[0].startswith("dream: tidy: 2 lines removed: ")
    assert [batch.entries for batch in report.batches] == [(10, 10), (10, 10)]
    assert workspace.dream_cursor() == 10
    assert "7392" in workspace.read_file(MEMORY)


@pytest.mark.slow
def test_what_the_model_leaves_alone_is_not_asked_about_again_before_ten_more_dreams(workspace: Workspace) -> None:
    night(workspace, "[MEMORY/Facts] Tromso hosts the archive {}")
    asked = ScriptedModel("done")
    models = Models(ScriptedModel("[MEMORY/Facts] The choir meets on Tuesdays {11}"), asked, Meter(QUIET))
    workspace.history.append([NewEntry("summary", "- something was said")], now=NOW)
    pipeline.run(workspace, settings=QUIET, now=NOW, models=models)
    assert asked.calls == []


def test_what_was_left_alone_is_not_asked_about_after_every_dream_of_a_full_file(workspace: Workspace) -> None:
    full = replace(QUIET, memory_max_bytes=len(workspace.read_file(MEMORY)) * 5 // 4 - 20)
    asked: list[int] = []
    for cursor, fact in enumerate(("Tromso hosts the archive", "The choir meets on Tuesdays"), start=10):
        workspace.history.append([NewEntry("summary", "- something was said")], now=NOW)
        agent = ScriptedModel("done", "done")
        models = Models(ScriptedModel(f"[MEMORY/Facts] {fact} {{{cursor}}}"), agent, Meter(full))
        pipeline.run(workspace, settings=full, now=NOW, models=models)
        asked.append(len(agent.calls))
    assert asked[0] > 0
    assert asked[1] == 0


def test_a_person_s_lines_stay_whatever_they_repeat(workspace: Workspace) -> None:
    night(workspace, "[MEMORY/Facts] Tromso hosts the archive {}")
    text = workspace.read_file(MEMORY)
    assert "- The mirror service is listening on port 7392" in text
    assert "## Oddments" in text


def test_a_model_that_fails_at_tidying_ends_no_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DREAM_AUTHOR", "claude-code")
    report = night(workspace, "[MEMORY/Facts] Tromso hosts the archive {}", ModelUnavailable("it is down"))
    assert report.outcome == "committed"
    assert "Tromso" in workspace.read_file(MEMORY)
    assert not any("tidy" in subject for subject in subjects(workspace))
