"""The commit is the transaction, also while a person edits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.errors import GitError, WorkspaceError
from dream.versions import transaction
from dream.versions.store import GitStore
from dream.versions.transaction import Held
from dream.workspace import files
from tests.git.support import CURSOR, NOW, add, dream, git, read, save, state, type_line

PENDING = "memory/.pending.jsonl"


def queue(stopped: Sequence[Held]) -> dict[str, bytes | None]:
    return {PENDING: b"".join(b"%s\n" % item.path.encode() for item in stopped)}


def at(name: str, deed: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a person act once, at one instant of a commit."""
    waiting = [deed]

    def checkpoint(reached: str) -> None:
        if reached == name and waiting:
            waiting.pop()()  # type: ignore[operator]

    monkeypatch.setattr(files, "checkpoint", checkpoint)


def test_files_and_cursor_land_together(workspace: Workspace) -> None:
    sha = dream(workspace, {"USER.md": b"# User\n- x\n", "SOUL.md": None}, 7).sha
    assert sha is not None
    assert workspace.git.read_all("HEAD") == {path: data for path, data in state(workspace).items() if data is not None}
    assert read(workspace, CURSOR) == b"7\n"
    assert read(workspace, "SOUL.md") is None
    assert not (workspace.private / "apply.json").exists()


def test_a_commit_that_changes_nothing_is_none(workspace: Workspace) -> None:
    dream(workspace, {}, 7)
    head = workspace.git.head()
    done = dream(workspace, {"USER.md": read(workspace, "USER.md")}, 7)
    assert done.sha is None
    assert workspace.git.head() == head


def test_what_a_person_typed_is_a_commit_of_their_own(workspace: Workspace) -> None:
    type_line(workspace, "- typed\r")
    sha = transaction.commit_hand_edits(workspace, NOW)
    assert sha is not None
    assert git(workspace.root, "log", "-1", "--format=%an <%ae> %cn %s") == (
        "person <person@localhost> dream hand: 1 file, +1 −0\n"
    )
    assert workspace.git.read(sha, "USER.md") == read(workspace, "USER.md")
    assert transaction.commit_hand_edits(workspace, NOW) is None
    assert git(workspace.root, "status", "--porcelain") == ""


@pytest.mark.few(2)
@pytest.mark.parametrize("data", [b"caf\xe9\n", b"a\r\nb\r\n", b"", b"\xef\xbb\xbfx\n", b"\0\0", None])
def test_whatever_bytes_a_person_leaves_are_kept(workspace: Workspace, data: bytes | None) -> None:
    if data is None:
        (workspace.root / "USER.md").unlink()
    else:
        save(workspace, "USER.md", data)
    sha = transaction.commit_hand_edits(workspace, NOW)
    assert sha is not None
    assert workspace.git.read(sha, "USER.md") == data
    assert workspace.git.show(sha).change.kind == "hand"


def test_new_and_removed_archive_files_are_hand_edits_and_the_cursor_is_not(workspace: Workspace) -> None:
    save(workspace, "memory/archive/old.md", b"- old\n")
    save(workspace, "memory/archive/history-1-2.jsonl", b"{}\n")
    save(workspace, CURSOR, b"99\n")
    sha = transaction.commit_hand_edits(workspace, NOW)
    assert sha is not None
    assert set(workspace.git.show(sha).change.files) == {"memory/archive/old.md"}
    assert git(workspace.root, "show", "--format=", "--name-only", sha) == "memory/archive/old.md\n"


@pytest.mark.parametrize("kind", ["directory", "symlink", "fifo"])
def test_something_else_in_the_place_of_a_memory_file_is_said(workspace: Workspace, kind: str, tmp_path: Path) -> None:
    path = workspace.root / "USER.md"
    path.unlink()
    if kind == "directory":
        path.mkdir()
    elif kind == "symlink":
        (tmp_path / "elsewhere").write_text("x")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    head = workspace.git.head()
    with pytest.raises(WorkspaceError, match=r"USER\.md"):
        dream(workspace, {"SOUL.md": b"x\n"}, 1, expected={})
    assert workspace.git.head() == head
    assert not (workspace.private / "apply.json").exists()


def test_a_file_saved_during_the_dream_is_merged_and_both_are_in_it(workspace: Workspace) -> None:
    seen = {"USER.md": read(workspace, "USER.md")}
    wanted = (seen["USER.md"] or b"") + b"- dreamt\n"
    save(workspace, "USER.md", (seen["USER.md"] or b"").replace(b"# User\n", b"# User Mei\n"))
    done = dream(workspace, {"USER.md": wanted}, 3, expected=seen)
    assert done.merged == ("USER.md",)
    assert done.hand is not None
    assert read(workspace, "USER.md") == wanted.replace(b"# User\n", b"# User Mei\n")
    assert "dreamt" not in workspace.git.show(done.hand).diff
    assert "Mei" not in workspace.git.show(done.sha or "").diff.replace(" # User Mei", "")


def test_where_both_changed_a_line_the_persons_stays_and_ours_is_held(workspace: Workspace) -> None:
    add(workspace, "- Osaka", 1)
    seen = {"USER.md": read(workspace, "USER.md")}
    wanted = (seen["USER.md"] or b"").replace(b"Osaka", b"Tokyo")
    theirs = (seen["USER.md"] or b"").replace(b"Osaka", b"Kyoto")
    save(workspace, "USER.md", theirs)
    done = dream(workspace, {"USER.md": wanted, "SOUL.md": b"# S\n"}, 3, expected={**seen, "SOUL.md": None}, hold=queue)
    assert {item.path: (item.base, item.wanted) for item in done.held} == {
        "SOUL.md": (None, b"# S\n"),
        "USER.md": (seen["USER.md"], wanted),
    }
    assert read(workspace, "USER.md") == theirs
    assert read(workspace, CURSOR) == b"3\n"
    assert b"USER.md" in (workspace.git.read("HEAD", PENDING) or b"")


INSTANTS = ["before intent", "after intent", "before update-ref", "after update-ref", "before swap of USER.md"]


@pytest.mark.few(1)
@pytest.mark.parametrize("instant", INSTANTS)
def test_a_save_at_any_instant_of_applying_is_merged(
    workspace: Workspace, instant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read(workspace, "USER.md") or b""
    at(instant, lambda: save(workspace, "USER.md", b"- typed first\n" + before), monkeypatch)
    done = dream(workspace, {"USER.md": before + b"- dreamt\n"}, 3)
    monkeypatch.undo()
    assert read(workspace, "USER.md") == b"- typed first\n" + before + b"- dreamt\n"
    hand = transaction.commit_hand_edits(workspace, NOW)
    assert hand is not None
    assert "+- typed first\n" in workspace.git.show(hand).diff
    assert "dreamt\n" not in workspace.git.show(hand).diff.replace("\n - dreamt", "")
    assert "typed" not in workspace.git.show(done.sha or "").diff


@pytest.mark.few(1)
@pytest.mark.parametrize("instant", INSTANTS)
def test_a_save_of_the_same_line_at_any_instant_wins_and_ours_is_held(
    workspace: Workspace, instant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(workspace, "- Osaka", 1)
    before = read(workspace, "USER.md") or b""
    theirs = before.replace(b"Osaka", b"Kyoto")
    at(instant, lambda: save(workspace, "USER.md", theirs), monkeypatch)
    done = dream(workspace, {"USER.md": before.replace(b"Osaka", b"Tokyo")}, 3, hold=queue)
    monkeypatch.undo()
    assert read(workspace, "USER.md") == theirs
    assert [item.path for item in done.held] == ["USER.md"]
    assert read(workspace, PENDING) == workspace.git.read("HEAD", PENDING) == b"USER.md\n"
    assert workspace.git.read("HEAD", "USER.md") == theirs
    assert "Kyoto" in workspace.git.show(workspace.git.log(2)[1].sha).diff
    assert workspace.git.log(2)[1].kind == "hand"


def test_a_commit_by_hand_at_the_same_moment_is_built_upon(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_hand() -> None:
        save(workspace, "SOUL.md", b"# By git\n")
        git(workspace.root, "commit", "-qam", "mine")

    at("before update-ref", by_hand, monkeypatch)
    before = read(workspace, "USER.md") or b""
    done = dream(workspace, {"USER.md": before + b"- dreamt\n"}, 3)
    assert git(workspace.root, "log", "--format=%s", "-2").splitlines()[1] == "mine"
    assert workspace.git.head() == done.sha
    assert read(workspace, "SOUL.md") == b"# By git\n" == workspace.git.read("HEAD", "SOUL.md")


def test_files_that_cannot_be_written_leave_everything_as_it_was(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before, head = state(workspace), workspace.git.head()

    def block() -> None:
        (workspace.root / "USER.md").rename(tmp_path / "USER.md")
        (workspace.root / "USER.md").mkdir()

    at("before swap of USER.md", block, monkeypatch)
    seen = {path: before[path] for path in ("SOUL.md", "USER.md")}
    with pytest.raises(WorkspaceError, match="directory"):
        dream(workspace, {"SOUL.md": b"# S\n", "USER.md": b"# U\n"}, 3, expected=seen)
    (workspace.root / "USER.md").rmdir()
    (tmp_path / "USER.md").rename(workspace.root / "USER.md")
    transaction.recover(workspace)
    after = state(workspace)
    consistent = (before, head) if workspace.git.head() == head else (after, workspace.git.head())
    assert (after, workspace.git.head()) == consistent


def test_a_ref_that_cannot_move_leaves_everything_as_it_was(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, head = state(workspace), workspace.git.head()

    def refuse(*_: object) -> bool:
        raise GitError("git update-ref failed: disk full")

    monkeypatch.setattr(GitStore, "move_head", refuse)
    with pytest.raises(GitError):
        dream(workspace, {"USER.md": b"# U\n"}, 3)
    assert (state(workspace), workspace.git.head()) == (before, head)
    assert not (workspace.private / "apply.json").exists()


def test_an_intent_that_never_reached_head_is_dropped(workspace: Workspace) -> None:
    before = state(workspace)
    (workspace.private / "apply.json").write_bytes(
        b'{"old": null, "new": "%s", "files": ["USER.md"], "index": []}' % (b"1" * 40)
    )
    assert transaction.recover(workspace)
    assert state(workspace) == before
    (workspace.private / "apply.json").write_bytes(b'{"old"')
    transaction.recover(workspace)
    assert state(workspace) == before


def crash(instant: str, workspace: Workspace, wanted: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a dream of USER.md end at one instant, as a kill does."""

    class Killed(BaseException): ...

    def kill() -> None:
        raise Killed

    at(instant, kill, monkeypatch)
    with pytest.raises(Killed):
        dream(workspace, {"USER.md": wanted}, 3)
    monkeypatch.undo()


def test_a_commit_that_a_crash_cut_short_is_taken_back_where_a_person_saved_the_same_line(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, before = add(workspace, "- Osaka", 1), read(workspace, "USER.md") or b""
    crash("before swap of USER.md", workspace, before.replace(b"Osaka", b"Tokyo"), monkeypatch)
    save(workspace, "USER.md", theirs := before.replace(b"Osaka", b"Kyoto"))
    assert transaction.recover(workspace)
    assert (workspace.git.head(), read(workspace, "USER.md"), read(workspace, CURSOR)) == (head, theirs, b"1\n")
    again = dream(workspace, {"USER.md": theirs + b"- dreamt\n"}, 3)
    assert [change.kind for change in workspace.git.log(3)] == ["dream", "hand", "dream"]
    assert again.hand is not None


def test_what_a_person_saves_over_a_commit_that_is_all_on_disk_is_theirs_and_the_commit_stays(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(workspace, "- Osaka", 1)
    before = read(workspace, "USER.md") or b""
    crash("before intent is removed", workspace, before.replace(b"Osaka", b"Tokyo"), monkeypatch)
    dreamt = workspace.git.head()
    save(workspace, "USER.md", theirs := before.replace(b"Osaka", b"Kyoto"))
    assert transaction.recover(workspace)
    assert (workspace.git.head(), read(workspace, "USER.md"), read(workspace, CURSOR)) == (dreamt, theirs, b"3\n")
