"""One run at a time, between processes and threads; the dead hold nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dream.errors import Busy, WorkspaceError
from dream.workspace import lock as lock_module
from dream.workspace.lock import FileLock, run_lock
from tests.store.helpers_history import NOW

HOLDER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from dream.workspace.lock import run_lock
with run_lock(Path(sys.argv[1]), "dream run", now=datetime(2026, 11, 21, 3, tzinfo=UTC)):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(private: Path) -> subprocess.Popen[str]:
    """Start a process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(private)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_is_told_at_once_who_holds_the_workspace(tmp_path: Path) -> None:
    process = holder(tmp_path)
    expected = (
        f"`dream run` (process {process.pid} on {os.uname().nodename}, since 2026-11-21 03:00:00 UTC) "
        "holds this workspace; wait until it has ended."
    )

    with pytest.raises(Busy, match=re.escape(expected)), run_lock(tmp_path, now=NOW):
        pass

    process.communicate()
    with run_lock(tmp_path, now=NOW):
        pass


def test_what_a_killed_run_held_is_free(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    with run_lock(tmp_path, now=NOW):
        pass


def test_the_lock_file_stays_and_is_empty_between_runs(tmp_path: Path) -> None:
    with run_lock(tmp_path, now=NOW):
        inode = (tmp_path / "run.lock").stat().st_ino
    with run_lock(tmp_path, now=NOW):
        pass

    assert (tmp_path / "run.lock").stat().st_ino == inode
    assert (tmp_path / "run.lock").read_bytes() == b""


def test_a_failed_run_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), run_lock(tmp_path, now=NOW):
        _ = 1 / 0

    with run_lock(tmp_path, now=NOW):
        pass


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    found: list[str] = []

    def other() -> None:
        try:
            with run_lock(tmp_path, now=NOW):
                found.append("held")
        except Busy:
            found.append("busy")

    with run_lock(tmp_path, now=NOW):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    assert found == ["busy"]


def test_a_forked_child_neither_holds_nor_releases_the_lock(tmp_path: Path) -> None:
    with run_lock(tmp_path, now=NOW):
        child = os.fork()
        if child == 0:
            try:
                with run_lock(tmp_path, now=NOW):
                    os._exit(1)
            except Busy:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        with pytest.raises(Busy), run_lock(tmp_path, now=NOW):
            pass


def test_a_child_that_outlives_a_run_does_not_keep_its_lock(tmp_path: Path) -> None:
    read, write = os.pipe()
    with run_lock(tmp_path, now=NOW):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
    os.close(read)
    try:
        with run_lock(tmp_path, now=NOW):
            pass
    finally:
        os.close(write)
        os.waitpid(child, 0)


@pytest.mark.parametrize("rubbish", [b"", b"{", b"null", b"[]", b'{"pid": 1}', b"\xff"])
def test_what_stands_in_the_lock_file_decides_nothing(tmp_path: Path, rubbish: bytes) -> None:
    with run_lock(tmp_path, now=NOW):
        (tmp_path / "run.lock").write_bytes(rubbish)
        with pytest.raises(Busy, match=r"^Another run holds this workspace; wait until it has ended\.$"):
            run_lock(tmp_path, now=NOW).__enter__()
    (tmp_path / "run.lock").write_bytes(rubbish)
    with run_lock(tmp_path, now=NOW):
        pass


def test_a_private_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(WorkspaceError, match=r"run\.lock cannot be opened"), run_lock(tmp_path / "file", now=NOW):
        pass


def test_a_waiting_lock_lets_threads_in_one_by_one(tmp_path: Path) -> None:
    lock, inside, most = FileLock(tmp_path / "x.lock"), [0], [0]

    def work() -> None:
        for _ in range(100):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lock.close()

    assert most == [1]


# A holder that is killed while a child of its fork, which has the descriptor too, has not come to exec yet.
ORPHAN = """
import ctypes, os, sys, time
from pathlib import Path
from dream.workspace.lock import run_lock
with run_lock(Path(sys.argv[1]), "dream run"):
    if ctypes.CDLL(None).fork() == 0:  # as subprocess forks: without Python's hooks
        print("held", flush=True)
        time.sleep(float(sys.argv[2]))
        os._exit(0)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(("stays", "busy"), [(0.3, False), (600, True)])
def test_a_dead_holders_child_is_given_a_moment_to_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: float, busy: bool
) -> None:
    if not busy:
        monkeypatch.setattr(lock_module, "LETTING_GO", 100.0)  # on a busy machine the child may end late
    process = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path), str(stays)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    process.wait()
    try:
        if busy:
            with pytest.raises(Busy), run_lock(tmp_path, now=NOW):
                pass
        else:
            with run_lock(tmp_path, now=NOW):
                pass
    finally:
        os.killpg(process.pid, signal.SIGKILL) if busy else None
        process.stdout.close()
