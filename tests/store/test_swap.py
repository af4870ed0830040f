"""Compare and replace: what a person saves at any instant is there afterwards."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dream.errors import WorkspaceError
from dream.versions import swap as swap_module
from dream.versions.swap import swap
from tests.store.helpers_history import names

CASES = [(None, b"new"), (b"old", b"new"), (b"old", None), (b"", b"new"), (b"old", b"")]


@pytest.fixture(params=["exchange", "fallback"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take both roads: the system's atomic exchange, and the one for systems without it."""
    if request.param == "fallback":
        monkeypatch.setattr(swap_module, "exchange", lambda one, other: False)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("expected", "new"), CASES)
def test_a_file_that_is_as_expected_is_swapped(tmp_path: Path, expected: bytes | None, new: bytes | None) -> None:
    path = tmp_path / "USER.md"
    if expected is not None:
        path.write_bytes(expected)

    assert swap(path, expected, new) == expected

    assert (path.read_bytes() if path.exists() else None) == new
    assert names(tmp_path) == ([] if new is None else ["USER.md"])


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("expected", "new"), CASES)
def test_a_file_that_is_otherwise_stays(tmp_path: Path, expected: bytes | None, new: bytes | None) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes(b"theirs")

    assert swap(path, expected, new) == b"theirs"

    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["USER.md"]


@pytest.mark.usefixtures("_way")
def test_a_file_that_is_gone_stays_gone(tmp_path: Path) -> None:
    assert swap(tmp_path / "USER.md", b"old", b"new") is None
    assert names(tmp_path) == []


def test_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "USER.md").symlink_to(tmp_path / "real")

    with pytest.raises(WorkspaceError, match="symbolic link"):
        swap(tmp_path / "USER.md", b"old", b"new")


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("how", ["rename", "in place"])
def test_a_save_between_the_look_and_the_swap_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes(b"old")
    look = swap_module.read_bytes

    def look_and_let_them_save(asked: Path) -> bytes | None:
        found = look(asked)
        if asked == path and found == b"old":
            save(path, b"theirs", how)
        return found

    monkeypatch.setattr(swap_module, "read_bytes", look_and_let_them_save)

    assert swap(path, b"old", b"new") == b"theirs"
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["USER.md"]


def save(path: Path, data: bytes, how: str) -> None:
    """Save as editors do."""
    if how == "rename":
        beside = path.with_name("4913")
        beside.write_bytes(data)
        beside.replace(path)
    else:
        path.write_bytes(data)


def test_a_save_while_theirs_is_given_back_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes(b"old")
    trade = swap_module.exchange
    saves = [b"first", b"second", b"third"]

    def save_and_trade(one: Path, other: Path) -> bool:
        if saves:
            save(path, saves.pop(0), "rename")
        return trade(one, other)

    monkeypatch.setattr(swap_module, "exchange", save_and_trade)
    swap(path, b"old", b"new")

    assert path.read_bytes() == b"third"
    assert names(tmp_path) == ["USER.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether a file is open for writing")
def test_an_editor_that_is_still_writing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap_module, "PATIENCE", 100.0)  # on a busy machine the editor may end late
    path = tmp_path / "USER.md"
    path.write_bytes(b"old")
    editor = path.open("r+b")

    def finish() -> None:
        time.sleep(0.2)
        editor.write(b"theirs, longer")
        editor.close()

    thread = threading.Thread(target=finish)
    thread.start()
    found = swap(path, b"old", b"new")
    thread.join()

    assert found == b"theirs, longer"
    assert path.read_bytes() == b"theirs, longer"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether a file is open for writing")
def test_a_file_that_stays_open_for_writing_is_left_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap_module, "PATIENCE", 0.05)
    path = tmp_path / "USER.md"
    path.write_bytes(b"old")

    with (
        path.open("r+b"),
        pytest.raises(WorkspaceError, match=r"USER\.md is open for writing in another program; close it there"),
    ):
        swap(path, b"old", b"new")

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["USER.md"]


EDITOR = """
import sys, time
from pathlib import Path
path, how = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, sys.argv[3])
from tests.store.test_swap import save
end = time.monotonic() + float(sys.argv[4])
number = 0
while time.monotonic() < end:
    number += 1
    save(path, f"theirs {number}".encode(), how)
    time.sleep(0.0003 * (number % 4))
    while path.read_bytes() == b"ours":
        save(path, f"theirs {number} again".encode(), how)
print(number)
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["rename", "in place"])
@pytest.mark.parametrize(
    "seconds", [0.3, pytest.param(0.7, marks=pytest.mark.slow), pytest.param(30, marks=pytest.mark.long)]
)
def test_in_a_race_with_an_editor_nothing_but_what_was_expected_is_replaced(
    tmp_path: Path, how: str, seconds: float
) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes(b"start")
    root = str(Path(__file__).parents[2])
    editor = subprocess.Popen(
        [sys.executable, "-c", EDITOR, str(path), how, root, str(seconds)], stdout=subprocess.PIPE, cwd=root
    )
    swapped = 0
    while editor.poll() is None:
        found = path.read_bytes() if path.exists() else b""
        if found in (b"", b"ours"):
            continue
        swapped += swap(path, found, b"ours") == found
    out, _ = editor.communicate()

    last = out.split()[-1].decode()
    assert path.read_bytes() in (b"ours", f"theirs {last}".encode(), f"theirs {last} again".encode())
    assert names(tmp_path) == ["USER.md"]


@pytest.mark.parametrize("moment", ["before", "after", "given back"])
def test_a_killed_swap_is_finished_by_the_next(tmp_path: Path, moment: str) -> None:
    path, aside = tmp_path / "USER.md", tmp_path / ".USER.md.dream-swap"
    present, waiting = {
        "before": (b"old", b"new"),  # written beside, not yet traded
        "after": (b"new", b"old"),  # traded, not yet looked at
        "given back": (b"new", b"theirs"),  # a person's file came out, and then the power went
    }[moment]
    path.write_bytes(present)
    aside.write_bytes(waiting)

    found = swap(path, b"old", b"new")

    assert found == {"before": b"old", "after": b"new", "given back": b"theirs"}[moment]
    assert path.read_bytes() == (b"theirs" if moment == "given back" else b"new")
    assert names(tmp_path) == ["USER.md"]


def test_a_swap_killed_while_its_new_file_had_two_names_is_finished(tmp_path: Path) -> None:
    orphan = tmp_path / ".USER.md.999999999-aaaa.dream-tmp"
    orphan.write_bytes(b"new")
    (tmp_path / "USER.md").hardlink_to(orphan)

    assert swap(tmp_path / "USER.md", None, b"new") == b"new"
    assert names(tmp_path) == ["USER.md"]


def test_a_killed_swap_with_two_saves_of_a_person_keeps_both(tmp_path: Path) -> None:
    (tmp_path / "USER.md").write_bytes(b"newer")
    (tmp_path / ".USER.md.dream-swap").write_bytes(b"older")

    assert swap(tmp_path / "USER.md", b"old", b"new") == b"newer"
    assert (tmp_path / "USER.md.saved").read_bytes() == b"older"


@pytest.mark.parametrize("waiting", [b"old", b"theirs"])
def test_a_swap_killed_while_the_name_was_free_is_undone(tmp_path: Path, waiting: bytes) -> None:
    (tmp_path / ".USER.md.dream-swap").write_bytes(waiting)

    assert swap(tmp_path / "USER.md", b"expected otherwise", b"new") == waiting
    assert (tmp_path / "USER.md").read_bytes() == waiting
