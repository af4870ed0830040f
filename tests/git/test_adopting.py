"""A workspace that is adopted: an `init` commit with the state found in it, then the person's files as theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.actions.restore import restore
from dream.dreaming import authors
from tests.git.support import CURSOR, NOW, add, git, make, read, state

FOUND = {"SOUL.md": b"# Soul\n", "USER.md": b"# User\n- Mei\n", "memory/MEMORY.md": b"# Memory\n"}


def nanobot(root: Path, *committed: str) -> Path:
    """Lay out a workspace that has dreamt up to entry 1, with `committed` in a repository of its own."""
    for path, data in {**FOUND, CURSOR: b"1"}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    if committed:
        git(root, "init", "-q", "-b", "master")
        git(root, "add", "-f", *committed)
        git(root, "commit", "-qm", "init: nanobot memory store")
    return root


REPOSITORIES = [(), tuple(FOUND), (*FOUND, CURSOR), ("USER.md",)]


@pytest.mark.few(1)
@pytest.mark.parametrize("committed", REPOSITORIES)
def test_restoring_the_first_dream_brings_back_the_cursor_that_was_found(
    tmp_path: Path, committed: tuple[str, ...]
) -> None:
    workspace = make(nanobot(tmp_path / "w", *committed))
    before = state(workspace)
    assert workspace.git.read("HEAD", CURSOR) == b"1"
    first = add(workspace, "- dreamt", 2)
    restore(workspace, first, now=NOW)
    assert state(workspace) == before
    assert read(workspace, CURSOR) == b"1"


def test_what_nanobot_has_undone_itself_is_listed_and_can_be_restored(tmp_path: Path) -> None:
    root = nanobot(tmp_path / "w", *FOUND, CURSOR)
    (root / "USER.md").write_text("# User\n- Mei\n- dreamt\n")
    git(root, "commit", "-qam", "dream: 2026-04-03 00:02, 1 change(s)")
    (root / "USER.md").write_text("# User\n- Mei\n")
    git(root, "commit", "-qam", "revert: undo 1a2b3c4d")
    workspace = make(root)
    changes = workspace.git.log()
    undone = next(change for change in changes if change.subject == "revert: undo 1a2b3c4d")
    assert [change.kind for change in changes if change.subject.startswith(("dream:", "revert"))] == [
        "restore",
        "dream",
    ]
    restore(workspace, undone.sha[:8], now=NOW)
    assert read(workspace, "USER.md") == b"# User\n- Mei\n- dreamt\n"


def test_the_first_commit_is_init_and_the_files_found_are_the_persons(tmp_path: Path) -> None:
    root = nanobot(tmp_path / "w")
    (root / "SOUL.md").unlink()
    workspace = make(root)
    hand, init = workspace.git.log()
    assert (hand.kind, init.kind) == ("hand", "init")
    assert set(workspace.git.read_all(init.sha)) == {"SOUL.md", CURSOR, "memory/format"}
    assert git(root, "log", "-1", "--format=%an", hand.sha, "--", "USER.md") == "person\n"
    assert authors.person_lines(workspace.git)["USER.md"] == {"# User", "- Mei"}
    assert git(root, "status", "--porcelain") == ""
    assert make(root).git.head() == hand.sha


def test_a_workspace_with_nothing_missing_has_an_init_commit_too(tmp_path: Path) -> None:
    root = nanobot(tmp_path / "w")
    (root / CURSOR).unlink()
    workspace = make(root)
    assert [change.kind for change in workspace.git.log()] == ["hand", "init"]
    assert workspace.git.read_all("HEAD") == FOUND | {"memory/format": b"2\n"}


def test_a_file_that_is_gone_when_a_workspace_is_made_again_is_made_anew(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    template = read(workspace, "SOUL.md")
    (workspace.root / "SOUL.md").unlink()
    make(workspace.root)
    assert read(workspace, "SOUL.md") == template
    assert [change.kind for change in workspace.git.log()] == ["init", "hand", "init"]
