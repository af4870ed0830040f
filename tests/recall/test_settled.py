"""What no longer holds: the pair that a dream made of two lines marks the messages under them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.settings import Settings
from tests.recall.test_search import said
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

SETTINGS = Settings(timezone="UTC")
FIRST = datetime(2026, 7, 2, 3, tzinfo=UTC)
OLD, NEW = "Lena lives in Porto, near Boavista.", "We signed for the flat, so Lena is at home in Lisbon."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two nights: the reader writes a line, and replaces it by its number."""
    made = fresh(tmp_path / "ws", FIRST - timedelta(days=2))
    nights = (
        (OLD, "[USER] Lena lives in Porto {1}"),
        (NEW, "[USER-REPLACE U{n}] Lena lives in Lisbon {2}"),
    )
    for number, (text, finding) in enumerate(nights):
        now = FIRST + timedelta(days=10 * number)
        pipeline.consolidate(
            made, [said(tmp_path, (("user", text),), f"talk{number}", now)], settings=SETTINGS, now=now
        )
        rows = made.read_file("USER.md").splitlines()
        line = next((n for n, row in enumerate(rows, 1) if "Porto" in row), 0)
        model = ScriptedModel(finding.replace("{n}", str(line)))
        pipeline.run(made, settings=SETTINGS, now=now, models=Models(model, model, Meter(SETTINGS)))
    assert "Lisbon" in made.read_file("USER.md")
    assert "Porto" not in made.read_file("USER.md")
    return made


def test_the_message_that_changed_a_value_stands_before_the_one_that_it_changed(workspace: Workspace) -> None:
    found = workspace.search("where does Lena live, near Boavista?", kinds=["message"])
    assert [(hit.text, hit.until) for hit in found] == [(NEW, None), (OLD, date(2026, 7, 11))]


def test_history_and_context_say_until_when_the_old_value_held(workspace: Workspace) -> None:
    [old] = [hit for hit in workspace.search("Porto Boavista", kinds=["history"]) if "Porto" in hit.text]
    assert old.until == date(2026, 7, 11)
    block = workspace.context(1_000, query="where does Lena live, near Boavista?")
    assert all("(until 11 July 2026)" in row for row in block.splitlines() if "Porto" in row)


def test_as_of_the_day_before_the_old_value_holds(workspace: Workspace) -> None:
    hits = workspace.search("where does Lena live?", as_of="2026-07-05")
    assert "Porto" in hits[0].text
    assert not any(hit.until for hit in hits)


def test_a_changed_line_has_the_day_of_its_change(workspace: Workspace) -> None:
    [line] = workspace.search("Lena lives", kinds=["memory"], since=date(2026, 7, 10))
    assert line.when is not None
    assert line.when.date() == date(2026, 7, 11)
