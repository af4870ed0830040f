"""The log among many: processes, threads, forks, kills, full disks."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import threading
import time
from pathlib import Path

import pytest

from dream.errors import HistoryError
from tests.forking import Program
from tests.store.helpers_history import NOW, cursors, fact, facts, history, log

WRITER = """
import sys
from pathlib import Path
from tests.store.helpers_history import NOW, fact, history
log = history(Path(sys.argv[1]), durable=sys.argv[4] == "durable")
for number in range(int(sys.argv[3])):
    one = fact(f"{sys.argv[2]} {number} " + "x" * (number % 7 * 400))
    new = [one, fact(f"{sys.argv[2]} {number} second")] if number % 5 == 0 and sys.argv[5] == "pairs" else [one]
    print(log.append(new, now=NOW)[-1].cursor, flush=True)
"""


def writer(directory: Path, name: str, count: int, durable: str = "", pairs: str = "") -> Program:
    """Start a process that appends `count` times and prints each cursor."""
    return Program(WRITER, str(directory), name, str(count), durable, pairs)


def together(directory: Path, processes: int, count: int) -> list[int]:
    """Let processes append side by side; return the cursors that they were given."""
    running = [writer(directory, f"process {number}", count) for number in range(processes)]
    given = [int(line) for process in running for line in process.communicate().split()]
    assert [process.returncode for process in running] == [0] * processes
    return given


@pytest.mark.parametrize(
    ("processes", "count"), [(4, 60), pytest.param(8, 500, marks=pytest.mark.slow)], ids=["short", "slow"]
)
def test_many_processes_share_gap_free_cursors_and_whole_lines(tmp_path: Path, processes: int, count: int) -> None:
    given = together(tmp_path, processes, count)

    total = processes * count
    assert sorted(given) == list(range(1, total + 1))
    assert cursors(list(history(tmp_path).after(0))) == list(range(1, total + 1))
    assert log(tmp_path).read_bytes().count(b"\n") == total
    assert (tmp_path / "memory/.cursor").read_text() == f"{total}\n"


def test_threads_share_one_log(tmp_path: Path) -> None:
    log_ = history(tmp_path)

    def work() -> None:
        for _ in range(50):
            log_.append(facts(2), now=NOW)
            log_.last(3)
            log_.size()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert cursors(list(log_.after(0))) == list(range(1, 601))


def test_archiving_appending_and_reading_side_by_side_lose_nothing(tmp_path: Path) -> None:
    running = [writer(tmp_path, f"process {number}", 150) for number in range(2)]
    log_ = history(tmp_path)
    seen = 0
    while any(process.is_running for process in running):
        found = cursors(list(log_.after(0)))
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= seen
        seen = len(found)
        log_.archive(seen - 5, 200, now=NOW)
    for process in running:
        process.communicate()

    log_.archive(295, 200, now=NOW)  # also where both had ended before anything was seen

    assert cursors(list(history(tmp_path).after(0))) == list(range(1, 301))
    assert log_.size()[0] < 300


def test_only_one_of_two_consolidations_of_the_same_messages_is_kept(tmp_path: Path) -> None:
    source = """
import sys
from pathlib import Path
from dream.history.history import StalePosition
from tests.store.helpers_history import NOW, fact, history
log = history(Path(sys.argv[1]))
kept = 0
for number in range(100):
    try:
        log.append([fact("x", "session", (number, number + 1))], now=NOW)
        kept += 1
    except StalePosition:
        pass
print(kept)
"""
    running = [Program(source, str(tmp_path)) for _ in range(3)]
    kept = [int(process.communicate()) for process in running]

    entries = list(history(tmp_path).after(0))
    assert sum(kept) == len(entries)
    assert len({entry.span for entry in entries}) == len(entries)
    assert history(tmp_path).position("session") == 100


@pytest.mark.parametrize("rounds", [6, pytest.param(100, marks=pytest.mark.long)], ids=["short", "long"])
def test_a_kill_in_mid_append_loses_no_entry_that_was_acknowledged(tmp_path: Path, rounds: int) -> None:
    number = random.Random(7)
    promised: list[int] = []
    for turn in range(rounds):
        process = writer(tmp_path, f"turn {turn}", 100_000, durable="durable" if turn % 2 else "", pairs="pairs")
        promised.append(int(process.stdout.readline()))
        time.sleep(number.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        promised += [int(line) for line in process.communicate().split("\n") if line.strip().isdigit()][:-1]

        found = list(history(tmp_path).after(0))
        assert set(promised) <= set(cursors(found))
        assert cursors(found) == list(range(1, len(found) + 1))
    singles = [entry for entry in found if int(entry.content.split()[2]) % 5 == 0]
    assert sum(entry.content.endswith("second") for entry in singles) * 2 == len(singles)
    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [len(found) + 1]


def test_a_forked_child_does_not_share_the_lock(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append(facts(1), now=NOW)
    context = multiprocessing.get_context("fork")

    def work() -> None:
        for _ in range(60):
            log_.append(facts(1), now=NOW)

    children = [context.Process(target=work) for _ in range(3)]
    for child in children:
        child.start()
    work()
    for child in children:
        child.join()

    assert cursors(list(log_.after(0))) == list(range(1, 242))


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_full_disk_is_said_and_leaves_the_log_as_it_was(tmp_path: Path, room: int) -> None:
    log_ = history(tmp_path)
    log_.append(facts(20), now=NOW)
    before = log(tmp_path).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, hard))
    try:
        with pytest.raises(HistoryError, match=r"history\.jsonl cannot be appended to: .*; nothing was added\."):
            log_.append([fact("x" * 500), fact("y" * 500)], now=NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert log(tmp_path).read_bytes() == before
    assert cursors(log_.append(facts(1), now=NOW)) == [21]


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/dream-memory")  # root may write everywhere but where the kernel says no
    else:
        target = tmp_path
        target.chmod(0o500)

    with pytest.raises(HistoryError, match="cannot be appended to"):
        history(target).append(facts(1), now=NOW)
