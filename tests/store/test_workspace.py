"""The workspace: made, adopted, found, read; what is damaged in it is said."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.errors import WorkspaceError
from dream.models import Diagnostic, NewEntry, Proposal, Rejected
from dream.workspace.review_files import grown, render_pending
from tests.store.helpers_history import NOW, contents, cursors, facts, row


def made(directory: Path) -> Workspace:
    """Make a workspace."""
    return Workspace.create(directory / "workspace", now=NOW)


def nanobot(directory: Path) -> Path:
    """Lay out a workspace as nanobot does."""
    root = directory / "nanobot"
    (root / "memory").mkdir(parents=True)
    (root / "SOUL.md").write_text("# My soul\n")
    (root / "memory" / "MEMORY.md").write_text("- my memory\r\n", newline="")
    (root / "memory" / "history.jsonl").write_bytes(row(1, "a") + row(2, "b") + row(3, "c"))
    (root / "memory" / ".cursor").write_text("3")
    (root / "memory" / ".dream_cursor").write_text("2")
    return root


def test_a_new_workspace_has_its_files_and_a_first_commit(tmp_path: Path) -> None:
    workspace = made(tmp_path)

    assert workspace.read_file("SOUL.md").startswith("# Soul\n")
    assert workspace.read_file("USER.md").startswith("# User\n")
    assert workspace.read_file("memory/MEMORY.md").startswith("# Memory\n")
    assert workspace.git.head() is not None
    assert (workspace.dream_cursor(), workspace.pending(), workspace.rejected()) == (0, [], [])
    assert (workspace.private / ".gitignore").read_text() == "*\n"


def test_a_path_may_be_a_string_and_now_is_the_clock_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = datetime.now(UTC).replace(microsecond=0)

    made = Workspace.create("memory")

    assert made.root == Workspace.open("memory").root == tmp_path / "memory"
    assert Workspace("memory").memory == Path("memory/memory")
    assert made.git.log()[0].time >= before


def test_making_it_again_changes_nothing(tmp_path: Path) -> None:
    first = made(tmp_path)
    (first.root / "USER.md").write_text("mine\n")
    made(tmp_path)
    head = first.git.head()

    again = made(tmp_path)

    assert again.read_file("USER.md") == "mine\n"
    assert again.git.head() == head


def test_a_nanobot_workspace_is_adopted_as_it_stands(tmp_path: Path) -> None:
    root = nanobot(tmp_path)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    workspace = Workspace.create(root, now=NOW)

    assert {path: path.read_bytes() for path in before} == before
    assert workspace.read_file("USER.md").startswith("# User\n")
    assert workspace.dream_cursor() == 2
    assert contents(list(workspace.history.after(2))) == ["c"]
    assert cursors(workspace.history.append(facts(1), now=NOW)) == [4]


def test_an_old_history_is_imported_as_already_dreamt(tmp_path: Path) -> None:
    root = tmp_path / "old"
    (root / "memory").mkdir(parents=True)
    (root / "memory/HISTORY.md").write_text("[2026-04-03 10:00] a\n\n[2026-04-04 10:00] b\n")

    workspace = Workspace.create(root, now=NOW)
    Workspace.create(root, now=NOW)

    assert contents(list(workspace.history.after(0))) == ["[2026-04-03 10:00] a", "[2026-04-04 10:00] b"]
    assert workspace.dream_cursor() == 2
    assert (root / "memory/HISTORY.md").exists()


def test_an_old_history_behind_entries_that_wait_does_not_skip_them(tmp_path: Path) -> None:
    root = nanobot(tmp_path)
    (root / "memory/HISTORY.md").write_text("[2026-04-03 10:00] a\n")

    workspace = Workspace.create(root, now=NOW)

    assert workspace.dream_cursor() == 2
    assert cursors(list(workspace.history.after(2))) == [3, 4]


def test_the_workspace_is_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    here = made(tmp_path)
    other = Workspace.create(tmp_path / "other", now=NOW)
    deep = here.root / "memory" / "archive"
    deep.mkdir(exist_ok=True)
    away = tmp_path / "away"
    away.mkdir()

    assert Workspace.find(deep, {"DREAM_WORKSPACE": str(other.root)}).root == other.root
    assert Workspace.find(deep, {"DREAM_WORKSPACE": ""}).root == here.root
    with pytest.raises(WorkspaceError, match="make one with `dream init`"):
        Workspace.find(away, {})
    default = Workspace.create(Workspace.default(), now=NOW)
    assert Workspace.find(away, {}).root == default.root == tmp_path / "home/.dream/workspace"


def test_a_directory_that_is_none_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()

    with pytest.raises(WorkspaceError, match=r"is no workspace; make one with `dream init"):
        Workspace.open(tmp_path)
    with pytest.raises(WorkspaceError, match=r"is no workspace"):
        Workspace.find(tmp_path, {"DREAM_WORKSPACE": str(tmp_path / "missing")})


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(WorkspaceError, match="cannot be made"):
        Workspace.create(tmp_path / "file", now=NOW)


def test_a_memory_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    user = workspace.root / "USER.md"
    user.write_bytes(b"\xff")
    assert workspace.read_file("USER.md") == "\ufffd"
    user.unlink()
    assert workspace.read_file("USER.md") == ""
    user.symlink_to(workspace.root / "SOUL.md")
    with pytest.raises(WorkspaceError, match="symbolic link"):
        workspace.read_file("USER.md")
    user.unlink()
    user.mkdir()
    with pytest.raises(WorkspaceError, match="directory"):
        workspace.read_file("USER.md")


def test_an_empty_dream_cursor_as_nanobot_makes_it_is_no_damage(tmp_path: Path) -> None:
    root = nanobot(tmp_path)
    (root / "memory/.dream_cursor").write_text("")
    Workspace.create(root, now=NOW)
    reports: list[Diagnostic] = []

    assert Workspace.open(root, report=reports.append).dream_cursor() == 0
    assert reports == []


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "rubbish", [b"", b"\n", b"-3", b"3.5", b"null", b"\xff", b"9" * 40, b"1 2", "３".encode(), None]
)
def test_a_damaged_dream_cursor_is_taken_from_the_last_commit(tmp_path: Path, rubbish: bytes | None) -> None:
    root = nanobot(tmp_path)
    Workspace.create(root, now=NOW)
    path = root / "memory/.dream_cursor"
    path.unlink() if rubbish is None else path.write_bytes(rubbish)
    reports: list[Diagnostic] = []

    assert Workspace.open(root, report=reports.append).dream_cursor() == 2
    assert len(reports) == 1
    assert reports[0].text.endswith("taken from the last commit: 2")


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["7", "7\n", " 7 \r\n"])
def test_a_dream_cursor_is_read_however_it_was_written(tmp_path: Path, text: str) -> None:
    workspace = made(tmp_path)
    (workspace.root / "memory/.dream_cursor").write_text(text)

    assert workspace.dream_cursor() == 7


def test_a_dream_cursor_of_a_workspace_without_git_is_nought(tmp_path: Path) -> None:
    root = nanobot(tmp_path)
    (root / "memory/.dream_cursor").write_text("x")
    reports: list[Diagnostic] = []

    assert Workspace.open(root, report=reports.append).dream_cursor() == 0
    assert len(reports) == 1


def test_what_waits_and_what_was_taken_back_is_read(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    proposal = Proposal(1, NOW, "USER.md", "- old", "- new", "loss", "why", ("[USER] fact",), (41, 44))
    undreamable = Proposal(2, NOW, None, "", "", "poisoned", "why", (), (45,))
    fact = Rejected(NOW, "USER.md", "likes 茶", "a" * 40)
    (workspace.root / "memory/.pending.jsonl").write_bytes(render_pending([proposal, undreamable]))
    (workspace.root / "memory/.rejected.jsonl").write_bytes(grown(b"", [fact]))

    assert workspace.pending() == [proposal, undreamable]
    assert workspace.rejected() == [fact]


def test_a_damaged_line_of_what_waits_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    made(tmp_path)
    reports: list[Diagnostic] = []
    workspace = Workspace.open(tmp_path / "workspace", report=reports.append)
    good = grown(b"", [Rejected(NOW, "USER.md", "likes tea", "x")])
    bad = b'null\n{"at": 5}\nnot json\n{"at":"2026-11-21","file":"../x","text":"a","source":"b"}\n'
    (workspace.root / "memory/.rejected.jsonl").write_bytes(bad + good + good[:20])

    assert [fact.text for fact in workspace.rejected()] == ["likes tea"]
    assert sorted(found.line for found in reports) == [1, 2, 3, 4, 6]


def test_the_settings_of_the_workspace_reach_the_log(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    (workspace.root / "dream.toml").write_text('timezone = "Asia/Tokyo"\ndurable = false\n')
    (workspace.memory / "history.jsonl").write_bytes(row(1, "a"))

    assert Workspace.open(workspace.root).history.last(1)[0].at.isoformat() == "2026-04-02T15:02:00+00:00"


def test_the_context_holds_the_files_and_what_was_not_dreamt_yet(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    (workspace.root / "SOUL.md").write_text("# Soul\n\nHow I behave.\n\n- Be brief\n")
    workspace.history.append([*facts(3), NewEntry("nothing", "", "s", (0, 3))], now=NOW)
    (workspace.root / "memory/.dream_cursor").write_text("1")

    text = workspace.context(1000)

    assert text.startswith("<dream-memory>\n## SOUL.md\n\n# Soul\n\nHow I behave.\n\n- Be brief\n")
    assert text.endswith("[2] 2026-11-21 03:00 fact 2\n[3] 2026-11-21 03:00 fact 3\n</dream-memory>\n")
    assert "fact 1" not in text


def test_a_workspace_in_which_nothing_was_learnt_yet_gives_a_prompt_nothing(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    assert workspace.context(1000) == ""

    (workspace.root / "USER.md").write_text("# User\n\n## Person\n- Lives in Kyoto\n")

    assert workspace.context(1000) == (
        "<dream-memory>\n## USER.md\n\n# User\n\n## Person\n- Lives in Kyoto\n</dream-memory>\n"
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("linked", ["memory", "memory/archive"])
def test_a_link_in_place_of_a_directory_of_memory_is_refused(tmp_path: Path, linked: str) -> None:
    workspace = made(tmp_path)
    (workspace.root / linked).mkdir(exist_ok=True)
    (workspace.root / linked).rename(tmp_path / "elsewhere")
    (workspace.root / linked).symlink_to(tmp_path / "elsewhere")

    for opening in (Workspace.open, Workspace.create):
        with pytest.raises(WorkspaceError, match=f"{linked} is a symbolic link"):
            opening(workspace.root)


def test_a_link_that_leads_nowhere_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "memory").symlink_to(tmp_path / "gone")

    with pytest.raises(WorkspaceError, match="symbolic link"):
        Workspace.create(tmp_path / "w", now=NOW)


def test_a_link_to_the_whole_workspace_is_the_workspace(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    (tmp_path / "link").symlink_to(workspace.root)

    linked = Workspace.open(tmp_path / "link")

    linked.history.append(facts(1), now=NOW)
    assert cursors(workspace.history.last(2)) == [1]
    assert linked.git.head() == workspace.git.head()
