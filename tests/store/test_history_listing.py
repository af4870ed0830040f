"""Thousands of archive files cost nothing: their list is kept, and made anew when one comes, goes, or may have."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.history.history import History
from dream.workspace.files import replace_file
from tests.store.helpers_history import NOW, cursors, fact, history

_calls: Counter[str] = Counter()
_counting: list[bool] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if _counting and event in ("os.scandir", "open", "os.listdir"):
        _calls[event] += 1


sys.addaudithook(_note)


def system_calls(deed: Callable[[], object]) -> Counter[str]:
    """Count the directories that `deed` lists and the files that it opens."""
    _calls.clear()
    _counting.append(True)
    try:
        deed()
    finally:
        _counting.clear()
    return Counter(_calls)


@pytest.fixture(scope="session", params=[5, 150])
def _archived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("archived")
    log = history(made)
    for number in range(request.param):
        log.append([fact(f"fact {number}", f"s{number}", (0, 1)) for _ in range(2)], now=NOW)
        log.archive(2 * number + 1, 1, now=NOW)
    log.close()
    return made


@pytest.fixture
def archived(_archived: Path, tmp_path: Path) -> Path:
    """A log with a few archive files, or 150; the last move was long ago."""
    shutil.copytree(_archived, tmp_path, dirs_exist_ok=True)
    age(tmp_path)
    history(tmp_path).size()  # whoever comes first makes the list
    return tmp_path


def age(directory: Path, seconds: int = 60) -> None:
    """Let the last change of the archive's directory be long ago."""
    then = time.time() - seconds
    os.utime(directory / "memory/archive", (then, then))


def test_how_many_archive_files_there_are_makes_no_difference(archived: Path) -> None:
    deeds: dict[str, Callable[[History], object]] = {
        "open and read the last": lambda log: log.last(2),
        "open and count": lambda log: (log.size(), log.last_cursor(), log.position("s1")),
        "open and append": lambda log: log.append([fact("new")], now=NOW),
        "open and read after a cursor": lambda log: list(log.after(log.last_cursor() - 1)),
    }
    for deed in deeds.values():
        counted = system_calls(lambda deed=deed: deed(history(archived)))  # type: ignore[misc]

        assert counted["os.scandir"] <= (1 if len(list((archived / "memory/archive").iterdir())) < 100 else 0)
        assert counted["open"] <= 8


def test_an_open_log_does_not_list_its_archive_again(archived: Path) -> None:
    log = history(archived)
    log.size()

    counted = system_calls(lambda: [log.position(f"s{number}") for number in range(5)])

    assert counted["os.scandir"] == 0


def test_a_file_that_comes_or_goes_is_noticed(archived: Path) -> None:
    log, other = history(archived), history(archived)
    last = log.last_cursor()
    log.append([fact("moved"), fact("stays")], now=NOW)
    before = cursors(list(other.after(0)))

    log.archive(last + 1, 1, now=NOW)

    assert cursors(list(other.after(0))) == cursors(list(history(archived).after(0))) == before
    first = min((archived / "memory/archive").glob("history-*.jsonl"), key=lambda path: int(path.name.split("-")[1]))
    gone = len(first.read_bytes().splitlines())
    first.unlink()
    assert cursors(list(other.after(0))) == cursors(list(history(archived).after(0))) == before[gone:]


def test_a_file_that_is_rewritten_under_its_name_is_noticed(archived: Path) -> None:
    log = history(archived)
    log.size()
    first = min((archived / "memory/archive").glob("history-*.jsonl"), key=lambda path: int(path.name.split("-")[1]))
    assert log.position("s0") == 1

    plain = re.sub(rb',"checksum":"[0-9a-f-]+"', b"", first.read_bytes())  # a changed line with one is not believed
    replace_file(first, plain.replace(b'"session":"s0","span":[0,1]', b'"session":"s0","span":[0,12]'))

    assert log.position("s0") == history(archived).position("s0") == 12


def test_a_list_made_within_a_tick_of_the_clock_is_not_kept(tmp_path: Path) -> None:
    log = history(tmp_path)
    log.append([fact("one"), fact("two")], now=NOW)
    log.archive(1, 1, now=NOW)
    assert cursors(log.last(2)) == [1, 2]
    folder = tmp_path / "memory/archive"
    moment = folder.stat().st_mtime_ns

    next(folder.glob("history-*.jsonl")).unlink()
    os.utime(folder, ns=(moment, moment))  # the clock has not moved on

    assert cursors(log.last(2)) == cursors(history(tmp_path).last(2)) == [2]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"[]",
        b'{"version":3}',
        b'{"version":3,"key":[0,0],"files":3}',
        b'{"version":3,"key":[0,0],"files":[[1,2]]}',
        b'{"version":1,"key":[0,0],"files":[[1,2,"history-1-2.jsonl",90]]}',
    ],
)
def test_a_damaged_list_is_made_anew(archived: Path, rubbish: bytes) -> None:
    before = cursors(list(history(archived).after(0)))

    (archived / ".dream/archive.json").write_bytes(rubbish)

    assert cursors(list(history(archived).after(0))) == before
