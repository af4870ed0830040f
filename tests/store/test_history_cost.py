"""What an append asks of the system: counted, so that a slower road is noticed on any machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.helpers_history import NOW, facts, history

OF_THE_SYSTEM = {"posix", "fcntl"}


def system_calls(deed: Callable[[], object]) -> Counter[str]:
    """Count the functions of the system that `deed` calls, by name."""
    calls: Counter[str] = Counter()

    def note(_: object, event: str, function: object) -> None:
        if event == "c_call" and getattr(function, "__module__", None) in OF_THE_SYSTEM:
            calls[function.__name__] += 1  # type: ignore[attr-defined]

    sys.setprofile(note)
    try:
        deed()
    finally:
        sys.setprofile(None)
    return Counter({name: count for name, count in calls.items() if name not in ("fspath", "getpid")})


@pytest.mark.parametrize("before", [1, 2_000])
@pytest.mark.parametrize("entries", [1, 50])
@pytest.mark.parametrize("durable", [False, True])
def test_an_append_is_six_system_calls_whatever_its_size_and_whatever_lies_before(
    tmp_path: Path, before: int, entries: int, durable: bool
) -> None:
    log = history(tmp_path, durable=durable)
    log.append(facts(before), now=NOW)

    counted = system_calls(lambda: log.append(facts(entries), now=NOW))

    synced = {"fdatasync": 1} if durable else {}
    assert counted == {"flock": 2, "stat": 1, "write": 1, "pwrite": 1} | synced
