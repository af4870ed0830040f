"""What every row says of its origin, and the number of the format, which decides who may write."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.errors import WorkspaceError
from dream.history.messages import KeptMessage
from dream.models import NewEntry
from dream.trust import state_directory
from dream.versions import transaction
from dream.workspace import machine
from tests.faults.support import called
from tests.forking import Program
from tests.git.support import make
from tests.store.helpers_history import NOW


def test_a_machine_is_drawn_once_for_all_its_processes(tmp_path: Path) -> None:
    code = (
        f"from pathlib import Path; from dream.workspace import machine; print(machine.this(Path({str(tmp_path)!r})))"
    )
    running = [Program(code) for _ in range(4)]
    said = {one.communicate() for one in running}

    this = machine.this(tmp_path)
    assert said <= {f"{this}\n", ""}
    assert (len(this.id), len(bytes.fromhex(this.key))) == (10, 32)
    assert stat.S_IMODE((tmp_path / machine.NAME).stat().st_mode) == 0o600
    (tmp_path / machine.NAME).write_text("{}", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="is damaged"):
        machine.this(tmp_path)


def test_a_row_says_which_machine_wrote_it_and_where_it_was_said(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    said = KeptMessage("s", 0, "user", "We use tabs here", NOW, id="abcdefgh", place="p-0011aabb")
    new = NewEntry("summary", "- Uses tabs", "s", (0, 1), ids="abcdefgh", prefix="12345678", place="p-0011aabb")

    (entry,) = workspace.history.append([new], now=NOW, said=[said])

    (read,) = Workspace.open(workspace.root).history.last(1)
    assert read == entry
    assert (read.machine, read.place) == (machine.this(state_directory(os.environ)).id, "p-0011aabb")
    (path,) = workspace.history.messages.paths()
    assert workspace.history.messages.at(path, 0) == said


def test_an_older_workspace_gets_its_number_with_the_first_write_and_keeps_it_when_restored(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    number = workspace.root / "memory/format"
    assert number.read_text() == "2\n"
    number.unlink()

    called(workspace.root, "note", "My bicycle is green")
    assert number.read_text() == "2\n"
    called(workspace.root, "run")

    assert workspace.git.read("HEAD", "memory/format") == b"2\n"
    called(workspace.root, "restore", "HEAD", "--yes")
    assert number.read_text() == "2\n"
    assert called(workspace.root, "doctor").status == 0


def test_a_workspace_of_a_newer_format_is_read_and_not_written(tmp_path: Path) -> None:
    root = make(tmp_path / "w").root
    called(root, "note", "My bicycle is green")
    (root / "memory/format").write_text("3\n")
    before = {path: path.read_bytes() for path in (root / "memory").rglob("*") if path.is_file()}

    for words in (["note", "x"], ["run"], ["consolidate", "dream/demo/1-monday.jsonl"], ["forget", "bicycle", "--yes"]):
        done = called(root, *words)
        assert (done.status, done.err.count("newer dream") + done.out.count("newer dream")) == (1, 1), (words, done)
    assert "green" in called(root, "search", "bicycle").out
    assert called(root, "context").status == called(root, "status").status == called(root, "log").status == 0
    assert "newer dream" in called(root, "doctor").out
    assert {path: path.read_bytes() for path in (root / "memory").rglob("*") if path.is_file()} == before
    with pytest.raises(WorkspaceError, match="newer dream"):
        transaction.commit_hand_edits(_edited(root), NOW)


def _edited(root: Path) -> Workspace:
    (root / "USER.md").write_text("# User\n\n- Typed by hand\n", encoding="utf-8")
    return Workspace.open(root)


def test_a_number_that_is_none_is_mended(tmp_path: Path) -> None:
    root = make(tmp_path / "w").root
    (root / "memory/format").write_bytes(b"two")

    assert called(root, "note", "x").status == 1
    assert called(root, "doctor", "--repair").status == 0
    assert json.loads((root / "memory/format").read_text()) == 2


def test_a_damaged_note_of_the_machine_stops_nobody_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = make(tmp_path / "w").root
    machine.this(tmp_path / "state/dream")
    (tmp_path / "state/dream" / machine.NAME).write_text("{", encoding="utf-8")

    assert "is damaged" in (noted := called(root, "note", "My bicycle is green")).err
    assert noted.status == 0
    assert "machine.json" in called(root, "doctor").out
