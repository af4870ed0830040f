"""Taking changes back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from dream.actions.restore import restore, restore_batch
from dream.directory import Workspace
from dream.errors import Busy, Conflict, GitError, UnknownRevision
from dream.models import Proposal
from dream.versions import log, transaction
from dream.workspace.lock import run_lock
from dream.workspace.review_files import render_pending
from tests.git.support import CURSOR, NOW, add, dream, fingerprint, git, make, read, save, state, type_line

PENDING, REJECTED = "memory/.pending.jsonl", "memory/.rejected.jsonl"


def test_a_restore_gives_back_files_and_cursor_byte_for_byte(workspace: Workspace) -> None:
    states = [state(workspace)]
    shas = []
    for number in range(1, 4):
        shas.append(add(workspace, f"- fact {number}", number))
        states.append(state(workspace))
    done = restore(workspace, shas[1][:8], now=NOW)
    assert state(workspace) == states[1]
    assert done.sha == workspace.git.head()
    assert "-- fact 2\n-- fact 3\n" in done.diff.text
    assert workspace.git.log(1)[0].subject == f"restore: 1 file, +0 −2 (before {shas[1][:10]})"
    assert git(workspace.root, "status", "--porcelain") == ""


def test_a_restore_can_itself_be_taken_back_and_that_too(workspace: Workspace) -> None:
    first = add(workspace, "- one", 1)
    add(workspace, "- two", 2)
    full = state(workspace)
    back = restore(workspace, first, now=NOW).sha or ""
    empty = state(workspace)
    again = restore(workspace, back, now=NOW).sha or ""
    assert state(workspace) == full
    restore(workspace, again, now=NOW)
    assert state(workspace) == empty
    assert [change.kind for change in workspace.git.log(3)] == ["restore"] * 3


def test_at_gives_exactly_the_state_of_that_commit(workspace: Workspace) -> None:
    first = add(workspace, "- one", 1)
    then = state(workspace)
    add(workspace, "- two", 2)
    type_line(workspace, "- typed")
    restore(workspace, first, mode="at", now=NOW)
    assert state(workspace) == then
    assert "typed" in git(workspace.root, "log", "-p", "--author=person", "--format=%s")


@pytest.mark.slow
def test_bytes_that_are_no_utf8_come_back_as_they_were(workspace: Workspace) -> None:
    save(workspace, "USER.md", b"caf\xe9\r\n\0no newline")
    then = state(workspace)
    sha = dream(workspace, {"USER.md": b"clean\n"}, 1).sha or ""
    restore(workspace, sha, now=NOW)
    assert state(workspace) == then


def test_a_file_that_the_change_made_goes_and_one_that_it_removed_comes_back(workspace: Workspace) -> None:
    then = state(workspace)
    sha = dream(workspace, {"memory/archive/old.md": b"- old\n", "SOUL.md": None}, 1).sha or ""
    assert read(workspace, "SOUL.md") is None
    restore(workspace, sha, now=NOW)
    assert state(workspace) == then
    assert read(workspace, "memory/archive/old.md") is None


def test_the_review_queue_travels_back_and_the_rejected_facts_do_not(workspace: Workspace) -> None:
    dream(workspace, {PENDING: b"p1\n", REJECTED: b"r1\n"}, 1)
    sha = dream(workspace, {PENDING: b"p1\np2\n", REJECTED: b"r1\nr2\n", "USER.md": b"# U\n"}, 2).sha or ""
    restore(workspace, sha, now=NOW)
    assert read(workspace, PENDING) == b"p1\n"
    assert read(workspace, REJECTED) == b"r1\nr2\n"
    assert read(workspace, CURSOR) == b"1\n"


def test_forget_remembers_what_went_away(workspace: Workspace) -> None:
    sha = add(workspace, "- lives in Osaka", 1)
    done = restore(workspace, sha, forget=True, now=NOW)
    assert [(fact.file, fact.text) for fact in done.forgotten] == [("USER.md", "lives in Osaka")]
    assert [fact.text for fact in workspace.rejected()] == ["lives in Osaka"]


def test_without_forget_nothing_is_rejected(workspace: Workspace) -> None:
    restore(workspace, add(workspace, "- x", 1), now=NOW)
    assert workspace.rejected() == []


def test_only_takes_one_change_out_and_keeps_the_later_ones_and_the_cursor(workspace: Workspace) -> None:
    add(workspace, "- one", 1)
    second = add(workspace, "- two", 2)
    add(workspace, "- three", 3)
    type_line(workspace, "- typed")
    done = restore(workspace, second, mode="only", now=NOW)
    assert (read(workspace, "USER.md") or b"").endswith(b"- one\n- three\n- typed\n")
    assert read(workspace, CURSOR) == b"3\n"
    assert workspace.rejected() == []
    assert done.diff.files["USER.md"].removed == 1


def test_taking_a_restore_back_lifts_what_it_banned(workspace: Workspace) -> None:
    second = add(workspace, "- two", 2)
    done = restore(workspace, second, mode="only", forget=True, now=NOW)
    assert [fact.text for fact in workspace.rejected()] == ["two"]
    assert done.sha is not None
    restore(workspace, done.sha, now=NOW)
    assert workspace.rejected() == []
    assert "- two" in workspace.read_file("USER.md")


def test_only_conflicts_where_a_later_change_built_on_it_and_changes_nothing(workspace: Workspace) -> None:
    sha = add(workspace, "- lives in Osaka", 1)
    text = (read(workspace, "USER.md") or b"").replace(b"Osaka", b"Tokyo")
    dream(workspace, {"USER.md": text}, 2)
    type_line(workspace, "- typed", "SOUL.md")
    before, head = fingerprint(workspace.root), workspace.git.head()
    with pytest.raises(Conflict, match=r"USER\.md.*\n.*Osaka\n<<< now\n- lives in Tokyo"):
        restore(workspace, sha, mode="only", now=NOW)
    assert {**fingerprint(workspace.root)} | {str(workspace.private / "run.lock"): ""} == before | {
        str(workspace.private / "run.lock"): ""
    }
    assert workspace.git.head() == head


@pytest.mark.slow
def test_only_works_on_the_very_first_change_of_a_file(workspace: Workspace) -> None:
    sha = dream(workspace, {"memory/archive/a.md": b"- a\n"}, 1).sha or ""
    restore(workspace, sha, mode="only", now=NOW)
    assert read(workspace, "memory/archive/a.md") is None


def test_what_all_files_begin_with_is_no_fact_that_a_person_took_back(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "w", now=NOW)
    begun = workspace.git.head() or ""

    done = restore(workspace, begun, mode="only", now=NOW)

    assert done.sha is not None
    assert done.forgotten == ()
    assert workspace.rejected() == []


def test_a_dry_run_shows_the_diff_and_changes_nothing_at_all(workspace: Workspace) -> None:
    sha = add(workspace, "- one", 1)
    type_line(workspace, "- typed")
    before = fingerprint(workspace.root)
    for mode in ("before", "only", "at"):
        plan = restore(workspace, sha, mode=mode, dry_run=True, forget=True, now=NOW)  # type: ignore[arg-type]
        assert plan.sha is None
        assert ("-- one" in plan.diff.text) == (mode != "at")
    assert fingerprint(workspace.root) == before


def test_what_a_person_typed_later_stays_and_is_in_its_own_commit(workspace: Workspace) -> None:
    sha = add(workspace, "- dreamt", 1)
    type_line(workspace, "- committed")
    add(workspace, "- dreamt later", 2)
    type_line(workspace, "- not committed")
    done = restore(workspace, sha, now=NOW)
    assert (read(workspace, "USER.md") or b"").endswith(b"- committed\n- not committed\n")
    assert b"dreamt" not in (read(workspace, "USER.md") or b"")
    assert done.hand is not None
    assert [change.kind for change in done.kept] == ["hand"]


def test_a_persons_correction_of_a_dreamt_line_outlives_the_dream(workspace: Workspace) -> None:
    sha = add(workspace, "- lives in Osaka", 1)
    save(workspace, "USER.md", (read(workspace, "USER.md") or b"").replace(b"Osaka", b"Kyoto"))
    restore(workspace, sha, now=NOW)
    assert b"- lives in Kyoto\n" in (read(workspace, "USER.md") or b"")


def test_a_named_hand_edit_is_taken_back(workspace: Workspace) -> None:
    then = state(workspace)
    type_line(workspace, "- typed")
    hand = transaction.commit_hand_edits(workspace, NOW) or ""
    restore(workspace, hand, now=NOW)
    assert {**state(workspace), CURSOR: None} == {**then, CURSOR: None}


def test_a_hand_edit_that_was_taken_back_by_name_does_not_rise_again(workspace: Workspace) -> None:
    sha = add(workspace, "- dreamt", 1)
    type_line(workspace, "- typed")
    hand = transaction.commit_hand_edits(workspace, NOW) or ""
    restore(workspace, hand, mode="only", now=NOW)
    restore(workspace, sha, now=NOW)
    assert b"typed" not in (read(workspace, "USER.md") or b"")


def test_a_memory_file_that_a_person_deleted_comes_back(workspace: Workspace) -> None:
    sha = add(workspace, "- one", 1)
    then = read(workspace, "USER.md")
    (workspace.root / "USER.md").unlink()
    restore(workspace, sha, mode="at", now=NOW)
    assert read(workspace, "USER.md") == then


def test_a_state_that_is_already_there_is_nothing_to_do(workspace: Workspace) -> None:
    sha = add(workspace, "- one", 1)
    head = workspace.git.head()
    done = restore(workspace, sha, mode="at", now=NOW)
    assert done.sha is None
    assert "nothing to do" in done.reason
    assert workspace.git.head() == head


def test_before_the_very_first_change_there_is_nothing(workspace: Workspace) -> None:
    first = workspace.git.log()[-1].sha
    add(workspace, "- one", 1)
    with pytest.raises(GitError, match="--at"):
        restore(workspace, first, now=NOW)
    restore(workspace, first, mode="at", now=NOW)
    assert b"- one" not in (read(workspace, "USER.md") or b"")


def test_an_unknown_sha_changes_nothing(workspace: Workspace) -> None:
    type_line(workspace, "- typed")
    head = workspace.git.head()
    with pytest.raises(UnknownRevision):
        restore(workspace, "deadbeef", now=NOW)
    assert workspace.git.head() == head


def test_another_run_that_holds_the_workspace_is_told(workspace: Workspace) -> None:
    sha = add(workspace, "- one", 1)
    with run_lock(workspace.private), pytest.raises(Busy):
        restore(workspace, sha, now=NOW)


def test_the_older_dreams_of_nanobot_can_be_taken_back(tmp_path: Path) -> None:
    from tests.git.test_isolation import nanobot

    root = nanobot(tmp_path / "w")
    old = git(root, "rev-parse", "HEAD").strip()
    workspace = make(root)
    restore(workspace, old[:7], now=NOW)
    assert read(workspace, "USER.md") == b"# User\n- Mei\n"


def test_a_batch_goes_as_a_whole_with_what_it_holds_and_later_changes_stay(workspace: Workspace) -> None:
    def of_batch(line: str, batch: str) -> None:
        before = read(workspace, "USER.md") or b""
        message = partial(log.build, "dream", trailers={log.BATCH: batch})
        changes: dict[str, bytes | None] = {"USER.md": before + line.encode() + b"\n"}
        transaction.commit(workspace, changes, expected={"USER.md": before}, message=message, now=NOW)

    held = [
        Proposal(number, NOW, "USER.md", "", "- held\n", "review", "", (), (), batch)
        for number, batch in ((1, "b-00000001"), (2, "b-00000002"))
    ]
    of_batch("- one", "b-00000001")
    of_batch("- two", "b-00000002")
    of_batch("- three", "b-00000001")
    save(workspace, PENDING, render_pending(held))
    type_line(workspace, "- typed")
    assert restore_batch(workspace, "b-00000001", dry_run=True, now=NOW).sha is None
    done = restore_batch(workspace, "b-00000001", now=NOW)
    text = (read(workspace, "USER.md") or b"").decode()
    assert ["- one" in text, "- two" in text, "- three" in text, "- typed" in text] == [False, True, False, True]
    assert workspace.pending() == held[1:]
    restore(workspace, done.sha or "", now=NOW)
    assert "- one" in (read(workspace, "USER.md") or b"").decode()
    with pytest.raises(UnknownRevision, match="names no batch"):
        restore_batch(workspace, "b-0000000f", now=NOW)
