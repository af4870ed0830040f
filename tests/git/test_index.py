"""Git's own index keeps up with HEAD, or a person's `git commit` would revert a dream."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from dream.actions.doctor import examine
from dream.versions import transaction
from dream.workspace.workspace import Workspace
from tests.git.support import NOW, add, git, read, type_line


def lock(workspace: Workspace, age: float) -> Path:
    """Leave the lock of a git that died `age` seconds ago."""
    path = workspace.root / ".git" / "index.lock"
    path.write_bytes(b"half an index")
    os.utime(path, (time.time() - age,) * 2)
    return path


def status(workspace: Workspace) -> str:
    return git(workspace.root, "status", "--porcelain")


def test_a_stale_lock_is_removed_and_the_index_keeps_up(workspace: Workspace) -> None:
    left = lock(workspace, 3 * 3600)
    add(workspace, "- x", 1)
    assert not left.exists()
    assert status(workspace) == ""


def test_after_a_fresh_lock_the_next_command_brings_the_index_to_head(workspace: Workspace) -> None:
    left = lock(workspace, 1)
    add(workspace, "- x", 1)
    assert left.exists()
    left.unlink()
    assert status(workspace).startswith("MM")
    transaction.recover(workspace)
    assert status(workspace) == ""
    git(workspace.root, "commit", "-q", "--allow-empty", "-m", "by hand")
    assert b"- x\n" in (workspace.git.read("HEAD", "USER.md") or b"")


def test_while_the_lock_is_held_the_index_stays_behind_and_later_catches_up(workspace: Workspace) -> None:
    left = lock(workspace, 1)
    add(workspace, "- x", 1)
    add(workspace, "- y", 2, "SOUL.md")
    transaction.recover(workspace)
    left.unlink()
    add(workspace, "- z", 3, "memory/MEMORY.md")
    transaction.recover(workspace)
    assert status(workspace) == ""


def test_an_old_lock_that_a_process_has_open_stays(workspace: Workspace) -> None:
    left = lock(workspace, 600)
    holder = "import sys; f = open(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        add(workspace, "- x", 1)
        assert left.exists()
        process.communicate()
    add(workspace, "- y", 2)
    assert not left.exists()


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


def test_the_doctor_names_and_mends_an_index_that_nobody_marked(workspace: Workspace) -> None:
    git(workspace.root, "add", ".")
    left = lock(workspace, 1)
    add(workspace, "- x", 1)
    left.unlink()
    (workspace.private / "index-behind").unlink()
    settings = workspace.settings()
    told = examine(workspace, settings, now=NOW)
    assert [(one.file, one.mended) for one in told if "index" in one.file] == [(".git/index", False)]
    assert "USER.md, memory/.dream_cursor" in next(one.text for one in told if one.file == ".git/index")
    mended = examine(workspace, settings, now=NOW, repair=True)
    assert [one.mended for one in mended if one.file == ".git/index"] == [True]
    assert status(workspace) == ""
    assert [one for one in examine(workspace, settings, now=NOW) if "index" in one.file] == []


def test_what_a_person_has_staged_is_not_behind(workspace: Workspace) -> None:
    type_line(workspace, "- typed")
    git(workspace.root, "add", "USER.md")
    assert [one for one in examine(workspace, workspace.settings(), now=NOW) if "index" in one.file] == []
    (workspace.private / "index-behind").touch()
    transaction.recover(workspace)
    assert status(workspace) == "M  USER.md\n"
    assert read(workspace, "USER.md") is not None
