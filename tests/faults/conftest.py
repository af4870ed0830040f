"""The shim, compiled once, and workspaces to strike at, made once and copied."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults import support


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that counts, kills and refuses calls."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build the shim with")
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl"], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("the shim needs glibc")
    return built


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a past and with work to do."""
    root = tmp_path_factory.mktemp("pattern") / "w"
    support.build(root)
    return root
