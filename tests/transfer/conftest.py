"""A person's home directory with what their tools remember, and a workspace in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import workspaces

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home directory, for the commands and for what a test calls itself."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "HERMES_HOME", "OPENCODE_CONFIG_DIR", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def fresh(home: Path) -> Path:
    """A workspace that was just made."""
    return workspaces.fresh(home / ".dream" / "workspace", NOW).root


def write(path: Path, text: str) -> Path:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
