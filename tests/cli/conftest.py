"""A workspace for the tests of the command line, made once for each kind and copied."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import workspaces
from tests.cli.commands import dream
from tests.workspaces import copied

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="session")
def _dreamt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dreamt") / "workspace"
    done = dream("demo", place)
    assert done.status == 0, done.err
    return place


@pytest.fixture
def dreamt(_dreamt: Path, tmp_path: Path) -> Path:
    """The demo's workspace: three dreams."""
    return copied(_dreamt, tmp_path / "workspace")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A workspace that was just made."""
    return workspaces.fresh(tmp_path / "fresh", NOW).root
