"""What an append asks of the system: counted, so that a slower road is noticed on any machine."""

from __future__ import annotations

import gc
import sys
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


def test_what_is_left_of_a_large_log_of_another_program_is_counted_without_reading_it(tmp_path: Path) -> None:
    log = history(tmp_path)
    row = '{"cursor": %d, "timestamp": "2026-04-03 00:02", "content": "' + "- Moved to Tokyo. " * 40 + '"}\n'
    log.path.parent.mkdir(exist_ok=True)
    log.path.write_text("".join(row % number for number in range(1, 30_001)))
    found: list[tuple[int, int]] = []

    counted = calls(lambda: found.extend([log.backlog(10_000), log.backlog(30_000), log.size()]), {"orjson"})

    (left, tokens), (none, _), (entries, _) = found
    assert abs(entries - 30_000) < 300
    assert (left, none, tokens > 1_000_000, counted.total() < 20) == (20_000, 0, True, True)


def test_while_the_disk_is_at_work_a_durable_append_does_what_is_left(tmp_path: Path) -> None:
    log = history(tmp_path, durable=True)
    log.append(facts(1), now=NOW)
    order: list[str] = []

    def note(frame: FrameType, event: str, function: object) -> None:
        name = function.__name__ if event == "c_call" else frame.f_code.co_name if event == "call" else ""  # type: ignore[attr-defined]
        if name in ("write", "posix_fadvise", "pwrite", "skip_to", "fdatasync"):
            order.append(name)

    sys.setprofile(note)
    try:
        log.append(facts(1), now=NOW)
    finally:
        sys.setprofile(None)

    assert order == ["write", "posix_fadvise", "pwrite", "skip_to", "fdatasync"]
