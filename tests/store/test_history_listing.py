"""Thousands of archive files cost nothing that grows with what is in them: their names say what they hold."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.history.history import History
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


@pytest.fixture(params=[5, 60])
def archived(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A log with a few archive files, or 60."""
    with history(tmp_path) as log:
        for number in range(request.param):
            log.append([fact(f"fact {number}", f"s{number}", (0, 1)) for _ in range(2)], now=NOW)
            log.archive(2 * number + 1, 1, now=NOW)
        assert log.position("s0") == 1
    return tmp_path


def test_how_many_archive_files_there_are_makes_no_difference(archived: Path) -> None:
    deeds: dict[str, Callable[[History], object]] = {
        "open and read the last": lambda log: log.last(2),
        "open and count": lambda log: (log.size(), log.last_cursor(), log.position("s1")),
        "open and append": lambda log: log.append([fact("new")], now=NOW),
        "open and read after a cursor": lambda log: list(log.after(log.last_cursor() - 1)),
        "open and read one": lambda log: log.numbered([3]),
    }
    for deed in deeds.values():
        counted = system_calls(lambda deed=deed: deed(history(archived)))  # type: ignore[misc]

        assert counted["os.listdir"] + counted["os.scandir"] <= 3
        assert counted["open"] <= 8


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
