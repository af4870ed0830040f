"""The messages stay: each once, also after a crash, open to nobody else, checked, mended, and gone when forgotten."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.actions.doctor import examine
from dream.actions.forget import forget
from dream.actions.restore import restore
from dream.actions.why import why
from dream.directory import Workspace
from dream.errors import DreamError, HistoryError
from dream.history import messages
from dream.history.messages import KeptMessage
from dream.models import NewEntry
from tests.cli.commands import dream
from tests.faults.support import called
from tests.recall.test_search import NOW, SETTINGS, TALK, said, texts
from tests.workspaces import fresh

MONTH = timedelta(days=31)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = fresh(tmp_path / "ws", NOW)
    pipeline.consolidate(made, [said(tmp_path, TALK)], settings=SETTINGS, now=NOW)
    return made


def kept(workspace: Workspace) -> list[KeptMessage]:
    rows = (line for path in workspace.history.messages.paths() for _, line in messages.raw(path))
    return [one for line in rows if (one := messages.decode(line))]


def positions(workspace: Workspace) -> list[tuple[str, int]]:
    return [(one.session, one.position) for one in kept(workspace)]


def test_why_shows_the_very_sentence_when_the_transcript_is_gone(workspace: Workspace, tmp_path: Path) -> None:
    pipeline.run(workspace, settings=SETTINGS, now=NOW)
    (tmp_path / "talk.jsonl").unlink()

    (found,) = why(workspace, "7391")
    (source,) = found.evidence

    assert [(one.text, one.rests) for one in source.messages] == [(TALK[0][1], True), (TALK[1][1], False)]
    assert workspace.get(source.messages[0].cite)[0].text == TALK[0][1]
    shown = called(workspace.root, "why", "7391").out
    assert f"▸ user: {TALK[0][1]}  [{source.messages[0].cite}]" in shown


def test_why_finds_the_sentence_of_an_entry_that_does_not_say_on_which_it_rests(workspace: Workspace) -> None:
    talk = [KeptMessage("old", n, "user", text) for n, text in enumerate(("hello", "I keep bees in Ghent", "bye"))]
    row = NewEntry("summary", "- I keep bees in Ghent", "old", (0, 3))
    workspace.history.append([row], now=NOW, said=talk)
    pipeline.run(workspace, settings=SETTINGS, now=NOW)

    found = [one for reason in why(workspace, "bees") for source in reason.evidence for one in source.messages]

    assert [one.text for one in found if one.rests] == ["I keep bees in Ghent"]


def test_messages_without_a_line_worth_keeping_and_raw_ones_stay_too(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    rows = (("user", "ok"), ("assistant", "Fine."))
    pipeline.consolidate(made, [said(tmp_path, rows, "idle")], settings=SETTINGS, now=NOW)
    assert [entry.kind for entry in made.history.after(0)] == ["nothing"]
    assert [one.text for one in kept(made)] == ["ok", "Fine."]


def test_a_restored_dream_keeps_no_message_twice(workspace: Workspace) -> None:
    pipeline.run(workspace, settings=SETTINGS, now=NOW)
    before = positions(workspace)
    restore(workspace, workspace.git.log(1)[0].sha, now=NOW)
    assert pipeline.run(workspace, settings=SETTINGS, now=NOW).outcome == "committed"
    assert positions(workspace) == before


@pytest.mark.few(1)
@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("later", [timedelta(0), MONTH])
def test_what_a_crash_left_is_not_written_again(workspace: Workspace, later: timedelta, end: bytes) -> None:
    """Not in the next month either, nor when another session comes first."""
    (path,) = workspace.history.messages.paths()
    left = KeptMessage("late", 0, "user", "The harbour master is called Odile")
    with path.open("ab") as file:
        file.write(messages.encode(left) + end)

    for session, one in (("other", replace(left, session="other", text="Bread is baked at six")), ("late", left)):
        again = Workspace.open(workspace.root)
        again.history.append([NewEntry("nothing", "", session, (0, 1))], now=NOW + later, said=[one])

    assert sorted(positions(workspace)[len(TALK) :]) == [("late", 0), ("other", 0)]
    assert texts(workspace, "Odile")


def test_half_a_message_that_a_crash_left_is_set_aside(workspace: Workspace) -> None:
    (path,) = workspace.history.messages.paths()
    with path.open("ab") as file:
        file.write(b'{"session": "late", "posi')
    again = Workspace.open(workspace.root)
    again.history.append(
        [NewEntry("nothing", "", "late", (0, 1))], now=NOW, said=[KeptMessage("late", 0, "user", "Odile")]
    )
    assert positions(workspace)[-1] == ("late", 0)
    assert len(path.read_bytes().splitlines()) == len(TALK) + 1
    assert "late" in (workspace.memory / "archive/set-aside.jsonl").read_text()


def test_an_append_that_failed_and_is_tried_again_keeps_each_once(workspace: Workspace) -> None:
    new = [NewEntry("nothing", "", "late", (0, 1))]
    one = [KeptMessage("late", 0, "user", "Odile")]
    log = workspace.memory / "history.jsonl"
    workspace.history.append(
        [NewEntry("nothing", "", "first", (0, 1))], now=NOW, said=[KeptMessage("first", 0, "user", "a")]
    )

    workspace.history._writer._write = _refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(HistoryError):
        workspace.history.append(new, now=NOW, said=one)
    del workspace.history._writer._write
    workspace.history.append(new, now=NOW, said=one)

    assert positions(workspace).count(("late", 0)) == 1
    assert log.read_bytes().count(b'"late"') == 1


def _refuse(data: bytes, size: int, cursor: int = 0) -> None:
    raise OSError(28, "No space left on device")


def test_messages_that_were_deleted_are_found_in_history(workspace: Workspace) -> None:
    assert texts(workspace, "HS-214", kinds=["message"])
    shutil.rmtree(workspace.history.messages.folder)
    assert texts(workspace, "HS-214", kinds=["message"]) == []
    assert texts(workspace, "HS-214", kinds=["history"])


def test_an_older_workspace_without_messages_is_searched_and_sound(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    made.history.append([NewEntry("summary", "- The ticket is HS-214", "s", (0, 4))], now=NOW)
    assert [hit.kind for hit in made.search("HS-214")] == ["history"]
    assert examine(made, SETTINGS, now=NOW) == []
    made.history.append(
        [NewEntry("nothing", "", "s", (4, 5))], now=NOW, said=[KeptMessage("s", 4, "user", "HS-214 waits for Odile")]
    )
    assert {hit.kind for hit in made.search("HS-214")} == {"history", "message"}


Harm = Callable[[Path], object]


def appended(data: bytes) -> Harm:
    return lambda path: path.write_bytes(path.read_bytes() + data)


def _first_again(path: Path) -> None:
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[0])


def _linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def _folder_linked(path: Path) -> None:
    elsewhere = path.parents[2] / "elsewhere"
    path.parent.rename(elsewhere)
    path.parent.symlink_to(elsewhere)


def _opened(path: Path) -> None:
    for folder in path.parents[:3]:
        folder.chmod(0o755)
    path.chmod(0o644)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


HARMS: dict[str, tuple[Harm, str, bool]] = {
    "torn": (appended(b'{"session": "la'), "cut short", True),
    "no JSON": (appended(b"hello\n"), "1 line is no message", True),
    "no message": (appended(b'[1, 2]\n{"session": 3}\n'), "2 lines are no messages", True),
    "twice": (_first_again, "1 message stands there twice", True),
    "open to all": (_opened, "everybody on this machine", True),
    "a link": (_linked, "symbolic link", False),
    "a folder that is a link": (_folder_linked, "symbolic link", False),
    "a pipe": (_pipe, "not an ordinary file", False),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("harm", HARMS)
def test_damage_to_the_messages_is_named_mended_without_loss_and_no_search_fails(
    workspace: Workspace, harm: str
) -> None:
    (path,) = workspace.history.messages.paths()
    before = path.read_bytes()
    do, says, mends = HARMS[harm]
    do(path)

    named = examine(workspace, SETTINGS, now=NOW)
    assert [one for one in named if says in one.text and one.cure], named
    found = called(workspace.root, "search", "HS-214")
    assert "HS-214" in found.out
    assert ("can't be read" in found.err) is not mends

    done = examine(workspace, SETTINGS, now=NOW, repair=True)
    assert all(one.mended is mends for one in done if says in one.text)
    if mends:
        assert examine(workspace, SETTINGS, now=NOW) == []
        assert path.read_bytes() == before


def test_a_message_whose_entry_never_came_is_named_and_set_aside(workspace: Workspace) -> None:
    (path,) = workspace.history.messages.paths()
    session = kept(workspace)[0].session
    left = KeptMessage(session, 99, "user", "The harbour master is called Odile")
    with path.open("ab") as file:
        file.write(messages.encode(left) + b"\n")

    (named,) = examine(workspace, SETTINGS, now=NOW)
    assert "1 message waits for its entry" in named.text
    assert "the next `dream consolidate` ends it" in named.cure

    assert [one.mended for one in examine(workspace, SETTINGS, now=NOW, repair=True)] == [True]
    assert examine(workspace, SETTINGS, now=NOW) == []
    assert "Odile" in (workspace.memory / "archive/set-aside.jsonl").read_text()


def test_messages_are_open_to_their_owner_alone(workspace: Workspace) -> None:
    folder = workspace.history.messages.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_what_is_forgotten_is_in_no_byte_of_the_workspace(workspace: Workspace) -> None:
    assert texts(workspace, "HS-214")
    (workspace.history.messages.folder / ".2026-11.jsonl.999999-ab.dream-tmp").write_bytes(b"HS-214")
    (workspace.private / "forgetting.json").write_bytes(b"")  # an earlier one was killed
    forget(workspace, "HS-214", text=True, now=NOW)
    assert not any("HS-214" in text for text in texts(workspace, "HS-214"))
    workspace.history.close()
    for path in workspace.root.rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            assert b"hs-214" not in data, path
            assert b"hs214" not in data, path
    rows = [json.loads(line) for line in workspace.history.messages.paths()[0].read_bytes().splitlines()]
    assert [row["position"] for row in rows] == list(range(len(TALK)))


@pytest.mark.few(2)
@pytest.mark.parametrize("query", ["word " * 200_000, "花" * 1_000_000, "a'b" * 333_333, "\ud800 HS-214"])
def test_a_query_of_any_length_and_any_characters_is_answered_soon(workspace: Workspace, query: str) -> None:
    began = time.process_time()
    assert isinstance(workspace.search(query), list)
    assert time.process_time() - began < 2


def test_a_long_citation_of_nothing_is_told_in_a_short_sentence(workspace: Workspace) -> None:
    for citation in ("x" * 100_000, "\ud800#3"):
        with pytest.raises(DreamError) as told:
            workspace.get(citation)
        assert len(str(told.value)) < 250


def test_a_workspace_that_only_its_owner_may_write_is_searched_by_who_may_read(
    workspace: Workspace, home: Path
) -> None:
    for path in (workspace.root, *workspace.root.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    if os.geteuid() == 0:  # nothing is refused to root
        for path in (workspace.root, *workspace.root.rglob("*"), home, *home.rglob("*")):
            os.chown(path, 54321, 54321)
        for folder in workspace.root.parents[:-2]:
            folder.chmod(0o755)
        os.seteuid(54321)
    try:
        assert "HS-214" in Workspace.open(workspace.root).search("HS-214")[0].text
    finally:
        os.seteuid(os.getuid())
    for path in (workspace.root, *workspace.root.rglob("*")):
        path.chmod(0o700)


def test_a_citation_of_nothing_names_the_nearest_and_is_no_wrong_usage(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    dream("demo", root)
    nearest = {
        "USER.md:99": "USER.md:",
        "history:99": "history:",
        "claude-code:crumb-friday-1113#99": "claude-code:crumb-friday-1113#9",
        "claude-code:crumb-fryday#1": "claude-code:crumb-friday-1113#1",
    }

    for cite, near in nearest.items():
        done = dream("get", cite, "-w", root)
        assert (done.status, f"The nearest is {near}" in done.err) == (1, True), done.err
