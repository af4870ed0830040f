"""A line of memory leads back to the messages that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm import Json
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.settings import Settings
from dream.versions.trace import Origin, origins
from tests.scripted import ScriptedModel, tool_calls
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def dream(workspace: Workspace, findings: str, *edits: Mapping[str, Json]) -> None:
    """Append one entry, dream it, and make the edits; without any, findings are applied deterministically."""
    place = workspace.history.last_cursor()
    entry = NewEntry("summary", "- what was said", "chat:1", (10 * place, 10 * place + 10))
    workspace.history.append([entry], now=NOW)
    asked = [tool_calls(*(("edit_file", edit) for edit in edits))] if edits else []
    models = Models(ScriptedModel(findings), ScriptedModel(*asked, "done"), Meter(QUIET, now=lambda: NOW))
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=models)
    assert report.outcome == "committed", report.reason


def origin(workspace: Workspace, words: str) -> Origin:
    return next(one for one in origins(workspace) if words in one.line)


def test_a_line_leads_to_its_finding_entries_and_span(workspace: Workspace) -> None:
    dream(workspace, "[USER] Lives in Tokyo {1}\n[USER] Has a cat {1}")
    dream(workspace, "[USER] Drinks oolong tea {2}")
    found = origin(workspace, "Drinks oolong")
    assert (found.file, found.findings, found.entries) == ("USER.md", ("Drinks oolong tea",), (2,))
    assert found.spans == (("chat:1", 10, 20),)
    assert origin(workspace, "Tokyo").spans == (("chat:1", 0, 10),)


def test_what_is_kept_of_a_line_keeps_its_origin(workspace: Workspace) -> None:
    dream(workspace, "[USER] Lives in Tokyo with a cat {1}")
    edit: dict[str, Json] = {
        "path": "USER.md",
        "old_text": "Lives in Tokyo with a cat",
        "new_text": "Lives in Tokyo with a cat called Mochi",
        "findings": [1],
    }
    dream(workspace, "[USER] The cat is called Mochi {2}", edit)
    found = origin(workspace, "Mochi")
    assert found.entries == (1, 2)
    assert len(found.commits) == 2


def test_a_line_that_no_dream_wrote_has_no_origin(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- Typed by a person\n", encoding="utf-8")
    dream(workspace, "[USER] Lives in Tokyo {1}")
    assert origin(workspace, "Typed").entries == ()
