"""Locks between processes and between threads of one: flock(2), which the kernel releases when a process dies.

A lock file is never removed (two processes could then lock two files of one name), and what stands in it
is for people: whether it is locked, only the kernel says.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from dream.door import make_folder, open_file
from dream.errors import Busy
from dream.workspace.files import alive, explained, opened

RUN_LOCK = "run.lock"
LETTING_GO = 1.0  # seconds; a killed holder's child that has not come to exec yet still has its descriptor
_ours: weakref.WeakSet[FileLock] = weakref.WeakSet()
_children_are_told = threading.Event()


class FileLock:
    """An exclusive lock on a file, held by one thread of one process at a time; waits for its turn.

    Not re-entrant. A forked child starts without it, whoever held it in the parent.
    """

    __slots__ = ("__weakref__", "_descriptor", "_mutex", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1
        self._mutex = threading.Lock()
        _in_every_child(self)

    def __enter__(self) -> None:
        self._mutex.acquire()
        try:
            if self._descriptor < 0:
                self._descriptor = open_lock_file(self.path)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._mutex.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._mutex.release()

    def close(self) -> None:
        """Give the descriptor back; the next `with` opens it again."""
        with self._mutex:
            self._drop()

    def forget(self) -> None:
        """Start anew in a forked child: the parent's descriptor is closed, not unlocked."""
        self._drop()
        self._mutex = threading.Lock()

    def _drop(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self._drop()


def open_lock_file(path: Path) -> int:
    """Open or create the file to lock; raises OSError."""
    make_folder(path.parent)
    return open_file(path, os.O_RDWR | os.O_CREAT)


def is_free(path: Path) -> bool:
    """Return whether nobody holds the lock on a file at this moment; raises OSError."""
    try:
        with opened(path, os.O_RDWR) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


@contextmanager
def run_lock(private: Path, command: str = "dream", *, now: datetime | None = None) -> Iterator[None]:
    """Hold the workspace whose private directory is `private` for the block, or raise Busy at once.

    Busy names who holds it: process, host, command and since when. A holder that died holds nothing.
    """
    lock = _RunLock(private / RUN_LOCK)
    lock.take()
    try:
        lock.sign(command, now or datetime.now(UTC))
        yield
    finally:
        lock.release()


class _RunLock(FileLock):
    """The lock of one holder; each has its own, so threads exclude each other too."""

    __slots__ = ()

    def take(self) -> None:
        with explained("opened", self.path):
            self._descriptor = open_lock_file(self.path)
            try:
                self._lock()
            except OSError as fault:
                holder = _holder(self._descriptor)
                self._drop()
                if isinstance(fault, BlockingIOError):
                    raise Busy(f"{holder} holds this workspace; wait until it has ended.") from None
                raise

    def _lock(self) -> None:
        """Lock at once or raise BlockingIOError; of a holder that is dead already, wait until the kernel is done."""
        until = time.monotonic() + LETTING_GO
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until or not _is_dead(self._descriptor):
                    raise
                time.sleep(LETTING_GO / 100)
            else:
                return

    def sign(self, command: str, now: datetime) -> None:
        """Write down who holds the lock; where the disk is full, it is held unsigned."""
        who = {"pid": os.getpid(), "host": os.uname().nodename, "command": command, "since": now.isoformat()}
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, orjson.dumps(who, option=orjson.OPT_APPEND_NEWLINE), 0)

    def release(self) -> None:
        """Let go, unless this is a forked child, which has forgotten it: the parent's lock stays held."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._drop()


def _signature(descriptor: int) -> dict[str, Any]:
    """Return what the holder signed the lock file with; empty where that can't be read."""
    with suppress(OSError, ValueError):
        who = orjson.loads(os.pread(descriptor, 4096, 0))
        if isinstance(who, dict):
            return who
    return {}


def _holder(descriptor: int) -> str:
    """Return who signed the lock file; "Another run" where that can't be read."""
    who = _signature(descriptor)
    try:
        since = datetime.fromisoformat(who["since"]).astimezone(UTC)
        return f"`{who['command']}` (process {who['pid']} on {who['host']}, since {since:%Y-%m-%d %H:%M:%S} UTC)"
    except (ValueError, KeyError, TypeError):
        return "Another run"


def _is_dead(descriptor: int) -> bool:
    """Return whether the process that signed the lock file, on this host, has died."""
    who = _signature(descriptor)
    pid = who.get("pid")
    return who.get("host") == os.uname().nodename and isinstance(pid, int) and pid > 0 and not alive(pid)


def _in_every_child(lock: FileLock) -> None:
    """See to it that a forked child closes `lock`: flock(2) belongs to the descriptor that fork copies."""
    _ours.add(lock)
    if not _children_are_told.is_set():
        _children_are_told.set()
        os.register_at_fork(after_in_child=_forget_all)


def _forget_all() -> None:
    for lock in list(_ours):
        lock.forget()
