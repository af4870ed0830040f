"""Fleets of real workspaces."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from dream.actions.note import note
from dream.settings import Settings
from dream.workspace.workspace import Workspace
from tests.workspaces import fresh

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def workspace(root: Path, name: str, *facts: str) -> Workspace:
    """Make a workspace in which these facts wait to be dreamt."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    made = fresh(root / name, NOW)
    for fact in facts:
        note(made, fact, settings=Settings(), now=NOW)
    made.history.close()
    return made


def dreams(made: Workspace) -> list[str]:
    """Return the shas of its dreams."""
    return [change.sha for change in made.git.log(100) if change.kind == "dream"]
