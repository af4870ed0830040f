"""A fresh workspace for a test: made once for each time, then copied, which takes a fifth of the time."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from datetime import datetime
from functools import cache
from pathlib import Path

from dream import trust
from dream.directory import Workspace


@cache
def _pattern(now: datetime) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="dream-made-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    workspace = Workspace.create(folder / "ws", now=now)
    workspace.history.close()
    return workspace.root


def fresh(root: Path, now: datetime) -> Workspace:
    """Return a workspace as `Workspace.create` makes it in a new or empty directory, trusted too."""
    return Workspace.open(copied(_pattern(now), root))


def copied(pattern: Path, root: Path) -> Path:
    """Copy a workspace and accept the copy as its owner does; return where it is."""
    shutil.copytree(pattern, root, symlinks=True, dirs_exist_ok=True)
    Workspace(root).trust()
    return root


def distrusted(workspace: Workspace) -> None:
    """Let a workspace be as a clone that was only used here: its `.dream/` is this user's, and it is not trusted."""
    mark = workspace.root / trust.MARK
    mark.unlink()
    mark.write_bytes(trust.note(workspace.root, trust.state_directory(os.environ), "made"))
