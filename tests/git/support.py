"""What the git tests share: dreams without a model, and the person at the keyboard."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from dream.directory import Workspace
from dream.versions import log, transaction
from dream.versions.transaction import Committed, Hold

NOW = datetime(2026, 11, 21, 3, 0, 7, tzinfo=UTC)
CURSOR = "memory/.dream_cursor"
VERSIONED = ("SOUL.md", "USER.md", "memory/MEMORY.md", CURSOR, "memory/.pending.jsonl", "memory/format")


def make(root: Path) -> Workspace:
    return Workspace.create(root, now=NOW)


def dream(
    workspace: Workspace,
    changes: Mapping[str, bytes | None],
    cursor: int,
    *,
    expected: Mapping[str, bytes | None] | None = None,
    hold: Hold | None = None,
    now: datetime = NOW,
) -> Committed:
    """Commit `changes` as a dream does, with the cursor in it."""
    seen = {path: read(workspace, path) for path in changes} if expected is None else expected
    return transaction.commit(
        workspace,
        {**changes, CURSOR: b"%d\n" % cursor},
        expected=seen,
        message=lambda counts: log.build("dream", counts, entries=(cursor, cursor)),
        now=now,
        hold=hold,
    )


def add(workspace: Workspace, line: str, cursor: int, path: str = "USER.md") -> str:
    """Dream one line at the end of a file and return the commit."""
    sha = dream(workspace, {path: (read(workspace, path) or b"") + line.encode() + b"\n"}, cursor).sha
    assert sha is not None
    return sha


def read(workspace: Workspace, path: str) -> bytes | None:
    try:
        return (workspace.root / path).read_bytes()
    except FileNotFoundError:
        return None


def save(workspace: Workspace, path: str, data: bytes) -> None:
    """Save a file as a person's editor does."""
    target = workspace.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def type_line(workspace: Workspace, line: str, path: str = "USER.md") -> None:
    save(workspace, path, (read(workspace, path) or b"") + line.encode() + b"\n")


def state(workspace: Workspace) -> dict[str, bytes | None]:
    """Return every versioned file as it lies on disk."""
    archive = workspace.root / "memory" / "archive"
    names = [f"memory/archive/{path.name}" for path in sorted(archive.glob("*.md"))]
    return {path: read(workspace, path) for path in (*VERSIONED, *names)}


def git(directory: Path, *arguments: str, check: bool = True) -> str:
    """Run plain git as a person would, with an identity and nothing else configured."""
    own = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Mei",
        "GIT_AUTHOR_EMAIL": "mei@example.org",
        "GIT_COMMITTER_NAME": "Mei",
        "GIT_COMMITTER_EMAIL": "mei@example.org",
    }
    done = subprocess.run(["git", *arguments], cwd=directory, env=own, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def fingerprint(directory: Path) -> dict[str, str]:
    """Return every file under `directory` with its content and mode, to tell whether a byte has changed."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_symlink():
            found[str(path)] = f"link {path.readlink()}"
        elif path.is_file():
            found[str(path)] = f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found
