"""Git's own index keeps up with HEAD, or a person's `git commit` would revert a dream."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from dream.actions.doctor import examine
from dream.directory import Workspace
from tests.git.support import NOW, add, git, type_line


def lock(workspace: Workspace, age: float) -> Path:
    """Leave the lock of a git that died `age` seconds ago."""
    path = workspace.root / ".git" / "index.lock"
    path.write_bytes(b"half an index")
    os.utime(path, (time.time() - age,) * 2)
    return path


def status(workspace: Workspace) -> str:
    return git(workspace.root, "status", "--porcelain")


def test_what_a_lock_kept_from_the_index_comes_with_the_next_commit(workspace: Workspace) -> None:
    left = lock(workspace, 1)
    add(workspace, "- x", 1)
    add(workspace, "- y", 2, "SOUL.md")
    assert left.exists()
    left.unlink()
    add(workspace, "- z", 3, "memory/MEMORY.md")
    assert status(workspace) == ""
    git(workspace.root, "commit", "-q", "--allow-empty", "-m", "by hand")
    assert b"- x\n" in (workspace.git.read("HEAD", "USER.md") or b"")


def test_the_lock_of_a_git_commit_whose_editor_is_open_stays(workspace: Workspace, tmp_path: Path) -> None:
    reached, editor = tmp_path / "reached", tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch '{reached}'\nsleep 60\n", encoding="utf-8")
    editor.chmod(0o755)
    type_line(workspace, "- typed", "SOUL.md")
    command = ["git", "-c", "user.name=M", "-c", "user.email=m@x", "-c", f"core.editor={editor}", "commit", "-qa"]
    with subprocess.Popen(command, cwd=workspace.root, start_new_session=True) as process:
        while process.poll() is None and not reached.exists():
            time.sleep(0.01)
        left = workspace.root / ".git" / "index.lock"
        os.utime(left, (time.time() - 600,) * 2)
        add(workspace, "- x", 1)
        assert left.exists()
        os.killpg(process.pid, 15)


def test_what_a_person_has_staged_of_other_files_stays_staged(workspace: Workspace) -> None:
    (workspace.root / "notes.txt").write_text("mine")
    git(workspace.root, "add", "notes.txt")
    add(workspace, "- x", 1)
    assert status(workspace) == "A  notes.txt\n"


def test_the_doctor_names_a_lock_that_a_dead_git_left(workspace: Workspace) -> None:
    left = lock(workspace, 3 * 3600)
    told = examine(workspace, workspace.settings(), now=NOW)
    assert [(one.file, one.mended) for one in told if "lock" in one.file] == [(".git/index.lock", False)]
    examine(workspace, workspace.settings(), now=NOW, repair=True)
    assert not left.exists()
