"""A fresh workspace for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.directory import Workspace
from tests.git.support import NOW
from tests.workspaces import fresh


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "w", NOW)
