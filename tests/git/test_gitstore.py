"""Commits, the list of changes, one change, and what a sha may be."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import count
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from dream.actions import forget
from dream.actions.doctor import examine
from dream.directory import Workspace
from dream.errors import GitError, UnknownRevision
from dream.models import Finding, Outcome
from dream.reports import LineCount
from dream.versions import diff, log, trace, transaction
from dream.versions.store import GitStore
from tests.git.support import NOW, VERSIONED, add, dream, git, make, read, type_line


def test_a_commit_leaves_a_clean_status_and_a_whole_repository(workspace: Workspace) -> None:
    add(workspace, "- likes tea", 1)
    assert git(workspace.root, "status", "--porcelain") == ""
    assert "dream: 1 file, +1 −0 (entry 1)" in git(workspace.root, "log", "--format=%s", "-1")
    assert git(workspace.root, "fsck", "--full", "--strict") == ""
    workspace.git.fsck()


def test_a_commit_carries_the_time_it_was_given(workspace: Workspace) -> None:
    now = datetime(2020, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=9)))
    dream(workspace, {"USER.md": b"# User\n"}, 1, now=now)
    assert git(workspace.root, "log", "-1", "--format=%aI %cI %an %ae %cn %ce") == (
        "2020-02-03T04:05:06+09:00 2020-02-03T04:05:06+09:00 dream dream@localhost dream dream@localhost\n"
    )
    assert workspace.git.log(1)[0].time == now


def test_threads_that_read_through_one_workspace_get_what_they_asked_for(workspace: Workspace) -> None:
    add(workspace, "- likes tea", 1)
    asked = ["USER.md", "SOUL.md", "memory/MEMORY.md", "memory/.dream_cursor"] * 25
    expected = [workspace.git.read("HEAD", path) for path in asked]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda path: workspace.git.read("HEAD", path), asked)) == expected


def test_the_list_shows_what_git_shows(workspace: Workspace) -> None:
    add(workspace, "- one", 1)
    type_line(workspace, "- typed")
    second = add(workspace, "- two", 2, "memory/MEMORY.md")
    changes = workspace.git.log()
    assert [change.kind for change in changes] == ["dream", "hand", "dream", "init"]
    assert changes[0].sha == second == git(workspace.root, "rev-parse", "HEAD").strip()
    assert changes[0].files == {"memory/MEMORY.md": LineCount(1, 0)}
    assert changes[0].entries == (2, 2)
    assert changes[0].parent == changes[1].sha
    assert changes[-1].parent is None
    assert workspace.git.log(2) == changes[:2]
    assert workspace.git.log(after=changes[2].sha) == changes[:2]


def test_a_shown_change_has_its_message_and_the_diff_that_git_has(workspace: Workspace) -> None:
    sha = add(workspace, "- caffè", 1)
    shown = workspace.git.show(sha)
    assert shown.change == workspace.git.log(1)[0]
    assert shown.body == "dream: 1 file, +1 −0 (entry 1)"
    assert "+- caffè\n" in shown.diff
    assert shown.diff == git(workspace.root, "show", "--format=", "--no-color", sha)


def test_the_very_first_change_is_shown_with_a_full_diff(workspace: Workspace) -> None:
    shown = workspace.git.show(workspace.git.log()[-1].sha)
    assert "+# User\n" in shown.diff


def test_every_listed_sha_is_git_own_and_resolves(workspace: Workspace) -> None:
    shas = [add(workspace, f"- fact {number}", number) for number in range(1, 4)]
    for sha in shas:
        assert workspace.git.resolve(sha) == workspace.git.resolve(sha[:10]) == sha
        assert git(workspace.root, "cat-file", "-t", sha[:10]) == "commit\n"


@pytest.mark.parametrize(
    ("prefix", "rule"),
    [
        ("abc", "at least 4"),
        ("3", "at least 4"),
        ("HEAD^", "is not a sha"),
        ("HEAD~1x", "is not a sha"),
        ("HEAD~99", "so none lies 99 before the newest"),
        ("--all", "is not a sha"),
        ("ABCDEF12", "is not a sha"),
        ("", "is not a sha"),
        ("a" * 41, "at most 40"),
        ("0" * 40, "names no change"),
        ("abcd\n--output=x", "is not a sha"),
    ],
)
def test_a_sha_that_breaks_a_rule_is_refused_by_that_rule(workspace: Workspace, prefix: str, rule: str) -> None:
    with pytest.raises(UnknownRevision, match=rule):
        workspace.git.resolve(prefix)


def test_a_blob_a_tree_and_a_commit_by_hand_are_no_changes_of_dream(workspace: Workspace) -> None:
    git(workspace.root, "commit", "--allow-empty", "-qm", "mine")
    mine = git(workspace.root, "rev-parse", "HEAD").strip()
    for name in (mine, *git(workspace.root, "rev-parse", "HEAD^{tree}", "HEAD:USER.md").split()):
        with pytest.raises(UnknownRevision, match="names no change"):
            workspace.git.resolve(name)
    assert mine not in {change.sha for change in workspace.git.log()}


def test_a_change_that_is_no_longer_part_of_history_is_not_found(workspace: Workspace) -> None:
    sha = add(workspace, "- gone", 1)
    git(workspace.root, "reset", "--hard", "-q", "HEAD^")
    with pytest.raises(UnknownRevision):
        workspace.git.resolve(sha)


def test_an_ambiguous_sha_names_the_candidates(workspace: Workspace) -> None:
    head = workspace.git.head()
    assert head is not None
    data = workspace.git.git.run("cat-file", "commit", head)
    fields = data.partition(b"\n\n")[0].replace(b"\nauthor", b"\nparent %s\nauthor" % head.encode(), 1)
    for number in count():  # some 65,000 names, until one begins as its parent's does
        alike = b"%s\n\ndream: %d\n\nDream-Kind: dream\n" % (fields, number)
        name = hashlib.sha1(b"commit %d\0%s" % (len(alike), alike), usedforsecurity=False).hexdigest()
        if name[:4] == head[:4]:
            break
    workspace.git.git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=alike)
    workspace.git.git.run("update-ref", "HEAD", name)
    with pytest.raises(UnknownRevision, match=r"names 2 changes .*give more characters"):
        workspace.git.resolve(name[:4])


def test_a_commit_on_a_parent_that_is_no_longer_head_does_not_become_head(workspace: Workspace) -> None:
    head = workspace.git.head()
    first = add(workspace, "- first", 1)
    late = workspace.git.write({"USER.md": b"x\n"}, "dream: late", parent=head, now=NOW)
    assert not workspace.git.move_head(late, head)
    assert workspace.git.head() == first


def test_the_mode_of_a_file_is_kept(workspace: Workspace) -> None:
    (workspace.root / "USER.md").chmod(0o755)
    add(workspace, "- x", 1)
    assert git(workspace.root, "ls-tree", "HEAD", "USER.md").startswith("100755 ")
    assert (workspace.root / "USER.md").stat().st_mode & 0o777 == 0o755


def test_odd_names_in_the_archive_are_versioned_as_they_are(workspace: Workspace) -> None:
    name = 'memory/archive/2026 "é\\ü.md'
    sha = dream(workspace, {name: b"- old\n"}, 1).sha
    assert sha is not None
    assert workspace.git.read(sha, name) == b"- old\n"
    assert workspace.git.read_all(sha)[name] == b"- old\n"
    assert workspace.git.log(1)[0].files == {name: LineCount(1, 0)}
    assert git(workspace.root, "status", "--porcelain") == ""


def test_a_stale_index_lock_of_the_person_stops_no_dream(workspace: Workspace) -> None:
    lock = workspace.root / ".git" / "index.lock"
    lock.touch()
    sha = add(workspace, "- x", 1)
    assert workspace.git.head() == sha
    lock.unlink()
    add(workspace, "- y", 2)
    assert git(workspace.root, "status", "--porcelain") == ""


def test_an_error_of_git_after_head_has_moved_is_no_reason_to_begin_anew(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = workspace.git.git
    run = door.run

    def failing(*arguments: str, **more: object) -> bytes:
        printed = run(*arguments, **more)  # type: ignore[arg-type]
        if "--stdin" in arguments and arguments[0] == "update-ref":
            raise GitError("git update-ref failed: unable to unlink HEAD.lock: Input/output error")
        return printed

    monkeypatch.setattr(door, "run", failing)
    add(workspace, "- x", 1)
    monkeypatch.undo()
    assert [change.kind for change in workspace.git.log()] == ["dream", "init"]
    assert git(workspace.root, "status", "--porcelain") == ""
    add(workspace, "- y", 2)
    assert [change.kind for change in workspace.git.log()] == ["dream", "dream", "init"]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"])
def test_a_lock_that_a_dead_git_left_on_a_ref_is_named_and_the_doctor_takes_it_away(
    workspace: Workspace, name: str
) -> None:
    lock = workspace.root / ".git" / name
    lock.touch()
    with pytest.raises(GitError, match="`dream doctor` tells what to do about a lock"):
        add(workspace, "- x", 1)
    old = time.time() - 2 * 3600
    os.utime(lock, (old, old))
    examine(workspace, workspace.settings(), now=NOW, repair=True)
    assert not lock.exists()
    assert add(workspace, "- x", 1) == workspace.git.head()


def test_loose_objects_are_packed_once_they_are_many(workspace: Workspace) -> None:
    packs = workspace.root / ".git" / "objects" / "pack"
    workspace.git.pack()
    assert not list(packs.glob("*.pack"))
    shelf = workspace.root / ".git" / "objects" / "17"
    shelf.mkdir(exist_ok=True)
    number = 0
    while len(list(shelf.iterdir())) < 5:
        number += 1
        data = b"%d\n" % number
        if hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest().startswith("17"):
            subprocess.run(["git", "hash-object", "-w", "--stdin"], input=data, cwd=workspace.root, check=True)
    sha = add(workspace, "- x", 1)
    (workspace.root / ".git" / "gc.log").write_text("fatal: what another gc complained of")
    workspace.git.pack()
    assert list(packs.glob("*.pack"))
    assert workspace.git.resolve(sha) == sha
    workspace.git.fsck()


def test_a_damaged_object_is_said_in_a_sentence(workspace: Workspace) -> None:
    add(workspace, "- x", 1)
    blob = git(workspace.root, "rev-parse", "HEAD:USER.md").strip()
    path = workspace.root / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(b"broken")
    with pytest.raises(GitError, match="git fsck failed"):
        workspace.git.fsck()
    with pytest.raises(GitError):
        workspace.git.read_all("HEAD")


def test_without_a_repository_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="dream init"):
        GitStore(tmp_path, tmp_path / ".dream").head()


def test_before_the_first_commit_the_list_is_empty(tmp_path: Path) -> None:
    store = GitStore(tmp_path, tmp_path / ".dream")
    store.ensure()
    assert store.log() == store.log(20) == []
    assert store.head() is None
    assert store.snapshot() == (None, {})


@pytest.mark.slow
def test_without_git_on_the_machine_the_error_says_so(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dream.versions.store import GitStore; from dream.errors import *\n"
        "root = Path(sys.argv[1])\n"
        "try: GitStore(root, root / '.dream').ensure()\n"
        "except GitError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "Git was not found; install git and see that it is on the PATH.\n", done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / ".dream"]


def test_a_dream_starts_few_processes(workspace: Workspace) -> None:
    add(workspace, "- x", 1)
    workspace.git.git.started = 0
    add(workspace, "- y", 2)
    assert workspace.git.git.started == 5  # what is there, blobs to commit, HEAD's move, the index


def test_reading_starts_one_process(workspace: Workspace) -> None:
    sha = add(workspace, "- x", 1)
    git, door = workspace.git, workspace.git.git
    for deed in (lambda: git.log(20), lambda: git.show(sha), lambda: git.read_all(sha), git.snapshot, git.head):
        before = door.started
        deed()
        assert door.started == before + 1
    before = door.started
    with git.reading():
        assert (git.head(), git.snapshot()[0], git.read("HEAD", "USER.md")) == (sha, sha, read(workspace, "USER.md"))
    assert door.started == before + 1


def test_head_is_what_git_says_wherever_it_is_kept(workspace: Workspace) -> None:
    first, second = add(workspace, "- x", 1), add(workspace, "- y", 2)
    root, store = workspace.root, workspace.git
    assert store.head() == second
    git(root, "pack-refs", "--all")
    assert store.head() == second
    git(root, "update-ref", "HEAD", first)
    assert store.head() == first
    git(root, "symbolic-ref", "refs/heads/other", "refs/heads/main")
    git(root, "symbolic-ref", "HEAD", "refs/heads/other")
    assert store.head() == first
    git(root, "checkout", "-q", "--detach", second)
    assert store.head() == second
    git(root, "checkout", "-q", "--orphan", "fresh")
    assert store.head() is None


def test_an_object_that_is_not_whole_is_not_taken_for_it(workspace: Workspace) -> None:
    sha = add(workspace, "- x", 1)
    name = git(workspace.root, "rev-parse", "HEAD:USER.md").strip()
    lying = workspace.root / ".git/objects" / name[:2] / name[2:]
    lying.chmod(0o600)
    for data in (b"", b"no zlib", lying.read_bytes()[:-8]):
        lying.write_bytes(data)
        with pytest.raises(GitError):
            workspace.git.read_all(sha)


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"a"]), max_size=6).map(b"".join)


@hypothesis.given(old=st.none() | lines, new=st.none() | lines)
def test_a_comparison_can_be_applied_by_git(old: bytes | None, new: bytes | None) -> None:
    if old == new or b"" in (old, new):
        return
    found = diff.compare({"USER.md": old}, {"USER.md": new})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "USER.md")
        if old is not None:
            place.write_bytes(old)
        subprocess.run(["git", "apply", "-"], input=found.text.encode(), cwd=folder, check=True)
        assert (place.read_bytes() if place.exists() else None) == new
    assert found.files["USER.md"].added - found.files["USER.md"].removed == rows(new) - rows(old)


def rows(data: bytes | None) -> int:
    return len((data or b"").splitlines())


def test_a_line_that_looks_like_the_head_of_a_diff_is_a_line_of_its_file(workspace: Workspace) -> None:
    sha = add(workspace, "++ b/USER.md", 1)
    step = next(trace.steps(workspace))
    assert (step.change.sha, step.added, step.removed) == (sha, [("USER.md", "++ b/USER.md")], [])
    found = forget.forget(workspace, sha, dry_run=True, now=NOW)
    assert ("USER.md", 1) in found.places


def test_a_change_that_a_person_accepted_is_forgotten_with_its_finding(workspace: Workspace) -> None:
    outcome = Outcome(Finding("USER.md", "works at the harbour office", (1,)), "applied", "held, then accepted")
    text = (read(workspace, "USER.md") or b"") + b"- Works in the office of the port\n"
    message = partial(log.build, "dream", outcomes=[outcome])
    sha = transaction.commit(workspace, {"USER.md": text}, expected={}, message=message, now=NOW).sha
    forget.forget(workspace, sha or "", now=NOW)
    assert "office" not in git(workspace.root, "log", "--format=%B")


def test_state_and_history_do_not_show_as_untracked(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    for name in ("memory/history.jsonl", "memory/.cursor", "memory/archive/history-1-9.jsonl", "memory/HISTORY.md"):
        (workspace.root / name).parent.mkdir(exist_ok=True)
        (workspace.root / name).write_bytes(b"x\n")
    assert git(workspace.root, "status", "--porcelain") == ""
    assert not (workspace.root / ".gitignore").exists()
    assert all(read(workspace, path) is not None for path in VERSIONED[:3])
