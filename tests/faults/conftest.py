"""The shim, compiled once, and workspaces to strike at, made once and copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forking
from tests.faults import support


@pytest.fixture(scope="session")
def shim() -> Path:
    """The library that counts, kills and refuses calls."""
    return forking.shim() or pytest.skip("no C compiler, or no glibc, to build the shim with")


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a past and with work to do."""
    root = tmp_path_factory.mktemp("pattern") / "w"
    support.build(root)
    return root
