"""Which lines a person wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.actions import drop, scopes
from dream.actions.restore import restore
from dream.directory import Workspace
from dream.dreaming.authors import AUTHORS, person_lines
from dream.dreaming.commit import look
from dream.versions import transaction
from dream.workspace.index import Index
from tests.git.support import NOW, add, dream, git, make, read, save, type_line


def test_lines_that_a_person_typed_are_theirs_and_no_others(workspace: Workspace) -> None:
    add(workspace, "- dreamt", 1)
    type_line(workspace, "## Mine   \n\n- typed")
    transaction.commit_hand_edits(workspace, NOW)
    add(workspace, "- dreamt later", 2)
    assert person_lines(workspace.git) == {"USER.md": {"## Mine", "- typed"}}


def test_a_line_that_was_moved_to_another_file_keeps_its_author(workspace: Workspace) -> None:
    add(workspace, "- dreamt", 1)
    type_line(workspace, "- typed")
    transaction.commit_hand_edits(workspace, NOW)
    for said in ("dreamt", "typed"):
        scopes.move(workspace, drop.named(workspace, said), "MEMORY.md", now=NOW)
    assert {"- dreamt", "- typed"} <= set(workspace.read_file("memory/MEMORY.md").splitlines())
    assert [{*theirs} & {"- dreamt", "- typed"} for theirs in person_lines(workspace.git).values()] == [{"- typed"}] * 2


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["environment", "dream.toml"])
def test_what_an_agent_edits_is_no_person_s(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    type_line(workspace, "- typed")
    transaction.commit_hand_edits(workspace, NOW)
    if where == "environment":
        monkeypatch.setenv("DREAM_AUTHOR", "claude-code <x>")
    else:
        (workspace.root / "dream.toml").write_text('author = "claude-code <x>"\n')
    type_line(workspace, "- by the agent's own tool")
    transaction.commit_hand_edits(workspace, NOW)

    assert person_lines(workspace.git) == {"USER.md": {"- typed"}}
    assert git(workspace.root, "log", "-1", "--format=%an").strip() == "claude-code x"
    assert workspace.git.log(limit=1)[0].kind == "hand"


def test_a_dry_run_takes_an_agent_s_edit_for_no_person_s(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    type_line(workspace, "- typed")
    assert look(workspace, uncommitted=True).person_lines["USER.md"] == {"- typed"}
    monkeypatch.setenv("DREAM_AUTHOR", "claude-code")
    assert look(workspace, uncommitted=True).person_lines["USER.md"] == frozenset()


def test_templates_are_nobodys(workspace: Workspace) -> None:
    assert person_lines(workspace.git) == {}


def test_what_was_there_before_adoption_is_the_persons(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "USER.md").write_bytes(b"# Me\n- caf\xe9\n")
    assert person_lines(make(tmp_path).git) == {"USER.md": {"# Me", "- caf\ufffd"}}


def test_it_is_so_too_where_an_agent_adopts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DREAM_AUTHOR", "claude-code")
    (tmp_path / "USER.md").write_bytes(b"# Me\n")
    assert person_lines(make(tmp_path).git) == {"USER.md": {"# Me"}}


def test_lines_that_a_person_committed_with_git_are_theirs(workspace: Workspace) -> None:
    type_line(workspace, "- by git")
    git(workspace.root, "commit", "-qam", "my own words")
    assert person_lines(workspace.git) == {"USER.md": {"- by git"}}


def test_a_line_that_begins_like_a_diff_header_is_read_as_a_line(workspace: Workspace) -> None:
    type_line(workspace, "++ b/SOUL.md\n+++ b/SOUL.md\n@@ -1 +1 @@\n-- x")
    transaction.commit_hand_edits(workspace, NOW)
    assert person_lines(workspace.git) == {"USER.md": {"++ b/SOUL.md", "+++ b/SOUL.md", "@@ -1 +1 @@", "-- x"}}


def test_only_new_commits_are_read_and_the_answer_is_that_of_a_full_reading(workspace: Workspace) -> None:
    for number in range(3):
        type_line(workspace, f"- typed {number}")
        add(workspace, f"- dreamt {number}", number)
        person_lines(workspace.git)
    known = person_lines(workspace.git)
    assert person_lines(workspace.git) == known
    add(workspace, "- dreamt at last", 9)
    assert person_lines(workspace.git) == known
    workspace.git.git.run("gc", "--quiet")
    assert person_lines(workspace.git) == known
    Index(workspace.private).remove()
    assert person_lines(workspace.git) == known == {"USER.md": {f"- typed {number}" for number in range(3)}}


def test_a_broken_or_rewritten_past_is_read_anew(workspace: Workspace) -> None:
    type_line(workspace, "- typed")
    transaction.commit_hand_edits(workspace, NOW)
    person_lines(workspace.git)
    Index(workspace.private).keep(**{AUTHORS: {"head": workspace.git.head(), "lines": 3}})
    assert person_lines(workspace.git) == {"USER.md": {"- typed"}}
    git(workspace.root, "reset", "--hard", "-q", "HEAD^")
    dream(workspace, {"USER.md": b"# User\n"}, 1)
    assert person_lines(workspace.git) == {}


def test_a_persons_line_stays_theirs_through_a_restore(workspace: Workspace) -> None:
    sha = add(workspace, "- dreamt", 1)
    type_line(workspace, "- typed")
    restore(workspace, sha, now=NOW)
    assert person_lines(workspace.git) == {"USER.md": {"- typed"}}
    save(workspace, "USER.md", (read(workspace, "USER.md") or b"").replace(b"- typed\n", b""))
    transaction.commit_hand_edits(workspace, NOW)
    assert person_lines(workspace.git) == {"USER.md": {"- typed"}}
