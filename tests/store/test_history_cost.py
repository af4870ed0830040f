"""What an append asks of the system: counted, so that a slower road is noticed on any machine."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Container
from pathlib import Path
from types import FrameType

import pytest

from tests.store.helpers_history import NOW, facts, history

OF_THE_SYSTEM = {"posix", "fcntl"}


def calls(deed: Callable[[], object], modules: Container[str] = OF_THE_SYSTEM | {"orjson"}) -> Counter[str]:
    """Count the functions of `modules`, written in C, that `deed` calls, by name."""
    counted: Counter[str] = Counter()

    def note(_: object, event: str, function: object) -> None:
        if event == "c_call" and getattr(function, "__module__", None) in modules:
            counted[function.__name__] += 1  # type: ignore[attr-defined]

    # What other tests left is closed when it is collected as garbage: before the count or after it, not in between.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        deed()
    finally:
        sys.setprofile(None)
        gc.enable()
    return Counter({name: count for name, count in counted.items() if name not in ("fspath", "getpid")})


@pytest.mark.few(1)
@pytest.mark.parametrize("before", [1, 2_000])
@pytest.mark.parametrize("entries", [1, 50])
@pytest.mark.parametrize("durable", [False, True])
def test_an_append_is_seven_system_calls_whatever_its_size_and_whatever_lies_before(
    tmp_path: Path, before: int, entries: int, durable: bool
) -> None:
    log = history(tmp_path, durable=durable)
    log.append(facts(before), now=NOW)

    counted = calls(lambda: log.append(facts(entries), now=NOW), OF_THE_SYSTEM)

    synced = {"posix_fadvise": 1, "fdatasync": 1} if durable else {}
    assert counted == {"flock": 2, "stat": 1, "write": 1, "pwrite": 1} | synced


@pytest.mark.few(1)
@pytest.mark.parametrize("files", [3, 60])
@pytest.mark.parametrize("staying", [20, 900])
def test_a_move_parses_what_moves_once_and_nothing_that_stays_and_lists_no_archive(
    tmp_path: Path, files: int, staying: int
) -> None:
    log = history(tmp_path)
    for _ in range(files):
        log.append(facts(2), now=NOW)
        log.archive(log.last_cursor(), 1, now=NOW)
    log.append(facts(100 + staying), now=NOW)
    cursor = log.last_cursor()
    then = time.time() - 60
    os.utime(tmp_path / "memory/archive", (then, then))  # the last move was not this second
    log.size()

    counted = calls(lambda: log.archive(cursor - staying, 1, now=NOW))

    assert 100 <= counted["loads"] <= 110
    assert counted["scandir"] == counted["listdir"] == 0
    assert counted["stat"] + counted["fstat"] + counted["lstat"] < 20
    assert log.size() == (staying, 10 * staying)


def test_while_the_disk_is_at_work_a_durable_append_does_what_is_left(tmp_path: Path) -> None:
    log = history(tmp_path, durable=True)
    log.append(facts(1), now=NOW)
    order: list[str] = []

    def note(frame: FrameType, event: str, function: object) -> None:
        name = function.__name__ if event == "c_call" else frame.f_code.co_name if event == "call" else ""  # type: ignore[attr-defined]
        if name in ("write", "posix_fadvise", "pwrite", "appended", "fdatasync"):
            order.append(name)

    sys.setprofile(note)
    try:
        log.append(facts(1), now=NOW)
    finally:
        sys.setprofile(None)

    assert order == ["write", "posix_fadvise", "pwrite", "appended", "fdatasync"]
