"""A wish to forget that was said in a talk waits in review with what it would take, and is never a line of memory."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import Workspace, pipeline
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import MEMORY_FILES
from dream.reports import RunReport
from dream.settings import Settings
from tests.cli.commands import dream
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)
ASKED = "Please forget my old address. And I have a cat called Miso."
SUMMARY = (
    "- User wants to forget: my old address {0}\n    > Please forget my old address.\n"
    "- The user has a cat called Miso {0}"
)


def night(folder: Path, workspace: Workspace, said: str, summary: str, answer: str) -> RunReport:
    """Hear a talk and dream it."""
    talk = folder / f"{workspace.history.last_cursor()}.jsonl"
    talk.write_text(json.dumps({"role": "user", "content": said}) + "\n", encoding="utf-8")
    pipeline.consolidate(workspace, [talk], settings=SETTINGS, now=NOW, model=ScriptedModel(summary))
    models = Models(ScriptedModel(answer), ScriptedModel("done"), Meter(SETTINGS))
    return pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = fresh(tmp_path / "ws", NOW)
    line = "The user's old address is 12 Elm Street"
    night(tmp_path, made, "My old address is 12 Elm Street.", f"- {line} {{0}}", f"[USER/Person] {line} {{1}}")
    assert line in made.read_file("USER.md")
    return made


def held(workspace: Workspace) -> list[tuple[str, str]]:
    return [(one.guard, one.old_text) for one in workspace.pending()]


def test_a_wish_waits_and_accepting_it_forgets_what_it_names_and_the_wish(tmp_path: Path, workspace: Workspace) -> None:
    answer = "[FORGET] my old address {2}\n[USER/Person] Has a cat called Miso {2}"

    report = night(tmp_path, workspace, ASKED, SUMMARY, answer)

    assert (report.exit_status, held(workspace)) == (3, [("forget", "my old address")])
    assert "Has a cat called Miso" in workspace.read_file("USER.md")
    shown = dream("review", "-w", workspace.root).out
    assert "1. a wish to forget: my old address, from entry 2" in shown
    assert "The user's old address is 12 Elm Street" in shown
    assert dream("review", "accept", "all", "-w", workspace.root).status == 0
    assert held(workspace)  # not unseen, among others
    done = dream("review", "accept", "1", "-w", workspace.root)
    assert (done.status, held(workspace)) == (0, []), done.err
    assert "Forgotten." in done.out
    for words in ("Elm Street", "old address"):
        assert not dream("search", words, "--json", "-w", workspace.root).json
        patches = workspace.git.git.run("log", "--patch", "--format=%B").decode()
        assert words not in patches
    assert "Miso" in workspace.read_file("USER.md")


@pytest.mark.parametrize(
    "answer",
    [
        "[USER/Preferences] User wants to forget: my old address {2}",
        "[SOUL/Rules] Please forget my old address {2}",
        "[MEMORY/Facts] The user asked that their old address be forgotten {2}",
    ],
)
def test_a_wish_is_never_a_line_of_memory_whatever_the_reader_makes_of_it(
    tmp_path: Path, workspace: Workspace, answer: str
) -> None:
    before = {file: workspace.read_file(file) for file in MEMORY_FILES}

    night(tmp_path, workspace, ASKED, SUMMARY, answer)

    assert {file: workspace.read_file(file) for file in MEMORY_FILES} == before
    assert held(workspace) == [("forget", "my old address")]


def test_a_wish_that_no_user_said_is_no_proposal(tmp_path: Path, workspace: Workspace) -> None:
    night(tmp_path, workspace, "Thanks!", "(nothing)", "[FORGET] the user's old address {1}")
    assert held(workspace) == []
