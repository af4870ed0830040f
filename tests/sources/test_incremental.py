"""A file that has nothing new is not opened; one that has is read, whatever its time says."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.consolidate import listing
from dream.consolidate.listing import SEEN
from dream.directory import Workspace
from dream.reports import ConsolidateReport, Step
from dream.settings import Settings
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chats").mkdir()
    return tmp_path / "chats"


def row(number: int, session: str) -> str:
    said = {"role": "user", "content": f"I moved to town number {number}."}
    about = {"uuid": f"uuid-of-the-row-{number}", "sessionId": session, "timestamp": f"2026-11-18T09:{number:02}:00Z"}
    return json.dumps({"type": "user", "message": said} | about) + "\n"


def write(path: Path, *numbers: int, session: str = "s1", at: datetime = NOW - timedelta(days=1)) -> Path:
    path.write_text("".join(row(number, session) for number in numbers), encoding="utf-8")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def read(workspace: Workspace, path: Path, *, now: datetime = NOW, **options: object) -> ConsolidateReport:
    return pipeline.consolidate(workspace, [path], settings=QUIET, now=now, **options)  # type: ignore[arg-type]


def opened(workspace: Workspace, path: Path, *, now: datetime = NOW) -> list[str]:
    """Read, and name the files that were opened."""
    steps: list[str] = []
    read(workspace, path, now=now, idle=True, progress=lambda step: steps.append(step.what))
    return [Path(step.removeprefix("reading ")).name for step in steps if step.startswith("reading ")]


def test_an_unchanged_file_is_not_opened_again(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1)
    write(folder / "b.jsonl", 2, session="s2")
    assert opened(workspace, folder) == ["a.jsonl", "b.jsonl"]
    assert opened(workspace, folder) == []
    write(folder / "b.jsonl", 2, 3, session="s2", at=NOW - timedelta(hours=5))
    assert opened(workspace, folder) == ["b.jsonl"]
    assert workspace.history.positions() == {"claude-code:s1": 1, "claude-code:s2": 2}


def test_a_file_that_is_named_itself_is_always_read(workspace: Workspace, folder: Path) -> None:
    path = write(folder / "a.jsonl", 1)
    path.write_text(path.read_text() + "{broken\n")
    assert len(read(workspace, path).diagnostics) == 1
    assert len(read(workspace, path).diagnostics) == 1
    os.utime(path, (0, 0))
    read(workspace, folder)
    assert read(workspace, folder).diagnostics == ()


def test_a_file_that_is_as_long_and_as_old_but_another_is_read(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1)
    opened(workspace, folder)
    write(folder / "new.jsonl", 2).replace(folder / "a.jsonl")
    assert opened(workspace, folder) == ["a.jsonl"]
    assert len(list(workspace.history.after(0))) == 2


def test_what_was_written_within_the_last_hours_waits(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1, at=NOW - timedelta(minutes=30))
    assert opened(workspace, folder) == []
    assert opened(workspace, folder, now=NOW + timedelta(hours=2)) == ["a.jsonl"]


def test_a_time_in_the_future_keeps_nobody_waiting(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1, at=NOW + timedelta(days=400))
    assert opened(workspace, folder) == ["a.jsonl"]
    assert opened(workspace, folder) == []
    write(folder / "a.jsonl", 1, 2, at=NOW + timedelta(days=400))
    assert opened(workspace, folder) == ["a.jsonl"]


@pytest.mark.few(1)
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("{")])
def test_without_its_cache_everything_is_read_and_nothing_archived_twice(
    workspace: Workspace, folder: Path, damage: Callable[[Path], object]
) -> None:
    write(folder / "a.jsonl", 1)
    opened(workspace, folder)
    workspace.history.close()
    damage(workspace.private / "index.sqlite")
    assert opened(workspace, folder) == ["a.jsonl"]
    assert len(list(workspace.history.after(0))) == 1


def test_a_history_that_was_lost_is_filled_again(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1)
    opened(workspace, folder)
    workspace.history.path.unlink()
    assert opened(Workspace.open(workspace.root), folder) == ["a.jsonl"]


def test_deleted_files_leave_the_cache_and_history_as_it_is(workspace: Workspace, folder: Path) -> None:
    gone = write(folder / "a.jsonl", 1)
    write(folder / "b.jsonl", 2, session="s2")
    opened(workspace, folder)
    gone.unlink()
    assert opened(workspace, folder) == []
    assert list(workspace.history.index.document(SEEN)["files"]) == [str(folder / "b.jsonl")]
    assert len(list(workspace.history.after(0))) == 2


def test_what_is_no_transcript_is_said_once(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1)
    write(folder / "b.json").write_text('{"just": "settings"}')
    os.utime(folder / "b.json", (0, 0))
    assert len(read(workspace, folder).diagnostics) == 1
    assert read(workspace, folder).diagnostics == ()


def test_a_stop_leaves_the_file_for_the_next_time(workspace: Workspace, folder: Path) -> None:
    from dream.errors import SpendingLimit

    write(folder / "a.jsonl", 1)

    def stop(step: Step) -> None:
        if step.what.startswith("consolidating"):
            raise SpendingLimit("enough")

    report = read(workspace, folder, progress=stop)
    assert (report.reason, report.messages) == ("enough", 0)
    assert opened(workspace, folder) == ["a.jsonl"]
    assert len(list(workspace.history.after(0))) == 1


def test_a_long_session_says_how_far_it_is(workspace: Workspace, folder: Path) -> None:
    rows = "".join(row(number, "s") for number in range(600))
    (folder / "a.jsonl").write_text(rows.replace("I moved to town number", "1234567890 " * 20))
    steps: list[Step] = []

    read(workspace, folder, progress=steps.append)

    told = [step for step in steps if ", message " in step.what]
    numbers = [int(step.what.rpartition(" ")[2].replace(",", "")) for step in told]
    assert told[0].what.startswith("consolidating 1 of 1: ")
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 2
    shares = [step.share or 0.0 for step in told]
    assert shares[0] < shares[1] < shares[-1] <= 1


def test_a_session_that_is_scattered_over_its_file_is_archived_once(workspace: Workspace, folder: Path) -> None:
    text = "".join(row(number, f"s{number % 2}") for number in range(8))
    path = folder / "a.jsonl"
    path.write_text(text)
    read(workspace, path)
    path.write_text(text + row(8, "s0") + row(9, "s1"))
    read(workspace, path)
    assert workspace.history.positions() == {"claude-code:s0": 5, "claude-code:s1": 5}


def test_a_resumed_file_that_copies_rows_of_another_session_repeats_nothing(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1, 2, 3)
    text = "".join([row(1, "s1"), row(2, "s1"), row(4, "s2"), row(5, "s2")])
    (folder / "b.jsonl").write_text(text)
    report = read(workspace, folder)
    assert (report.messages, workspace.history.positions()) == (5, {"claude-code:s1": 3, "claude-code:s2": 2})


def calls(deed: Callable[[], object]) -> Counter[str]:
    """Count what `deed` calls: the functions written in C by name, and all of Python's together."""
    counted: Counter[str] = Counter()

    def note(_: object, event: str, function: object) -> None:
        if event == "c_call":
            counted[function.__name__] += 1  # type: ignore[attr-defined]
        elif event == "call":
            counted["Python"] += 1

    sys.setprofile(note)
    try:
        deed()
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("more", [40, pytest.param(100, marks=pytest.mark.slow)])
def test_a_file_with_nothing_new_costs_one_look_and_ten_calls(workspace: Workspace, folder: Path, more: int) -> None:
    settings = replace(QUIET, sources=(str(folder / "*.jsonl"),))

    def night() -> None:
        opened = Workspace.open(workspace.root)
        found = listing.paths(settings, opened.root, home=folder, environ={})
        pipeline.consolidate(opened, found, settings=settings, now=NOW, idle=True)

    counted = []
    for size in (10, 10 + more):
        for number in range(size):
            write(folder / f"{number}.jsonl", number % 60, session=f"s{number}")
        night()
        again = (calls(night) for _ in range(3))  # what is done once in a process belongs to no file
        counted.append(min(again, key=Counter.total))
    few, many = counted

    assert many["stat"] - few["stat"] == more
    assert many["Python"] - few["Python"] <= 5.5 * more
    assert many.total() - few.total() <= 16 * more
    assert many["loads"] == few["loads"]


def test_a_night_with_nothing_new_does_not_read_what_history_adds_up_to(workspace: Workspace, folder: Path) -> None:
    write(folder / "a.jsonl", 1)
    opened(workspace, folder)
    another = Workspace.open(workspace.root)

    assert opened(another, folder) == []
    assert "_positions" not in vars(another.history)
