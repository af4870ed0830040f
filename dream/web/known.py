"""What the server reads once and keeps: the changes, the workspace's status, and whose each session is."""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice, takewhile
from pathlib import Path

from dream.actions import status
from dream.actions.status import Health
from dream.directory import Workspace
from dream.errors import DreamError
from dream.nights import timers
from dream.versions import FILES, STATE
from dream.versions.trace import Deed, steps

FIRST = 64  # changes that the first look waits for; the others are read in the background
CHUNK = 256
LATER = 0.5  # seconds after the first look, so that the first page is not held up
BREATH = 0.02  # seconds between two chunks, for the pages that are asked for meanwhile
ENTRIES = 50  # entries of a change whose sessions are read
PATIENCE = 0.08  # seconds that a page waits for the workspace's state, before it shows the last known one
WARMING = 1.0  # seconds that the start of the server waits for it
WATCHED = (*FILES, *STATE, "memory/history.jsonl", ".dream/runs.jsonl", ".git/HEAD", ".git/logs/HEAD")


def pulse(root: Path) -> str:
    """Return a fingerprint that changes with anything in the workspace, without reading any file's content."""
    seen = hashlib.blake2b(digest_size=8)
    for name in WATCHED:
        with suppress(OSError):
            found = (root / name).stat()
            seen.update(f"{name} {found.st_mtime_ns} {found.st_size} {found.st_ino}\n".encode())
    return seen.hexdigest()


class Past:
    """A cache of the changes and status of the workspace at `root`; safe to share between threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.complete = False  # whether every change has been read
        self._steps: tuple[Deed, ...] = ()
        self._head: str | None = None
        self._begun = 0
        self._lock = threading.Lock()
        self._sessions: dict[int, str] = {}
        self._worker = ThreadPoolExecutor(1, "status")
        self._reading: tuple[str, Future[Health]] | None = None
        self._last: Health | None = None

    def steps(self, workspace: Workspace) -> tuple[Deed, ...]:
        """Return the changes, newest first: at least the newest of them, and all as soon as they have been read."""
        with self._lock:
            head = workspace.git.head() if workspace.git.exists else None
            if head != self._head or head is None:
                self._take_in(workspace, head)
            return self._steps

    def _take_in(self, workspace: Workspace, head: str | None) -> None:
        newest = self._steps[0].change.sha if self._steps else None
        if head and newest and workspace.git.is_ancestor(newest, head):
            new = takewhile(lambda step: step.change.sha != newest, steps(workspace, head))
            self._steps = (*new, *self._steps)
        else:
            rest = steps(Workspace(self.root), head) if head else iter(())
            self._steps, self._begun = tuple(islice(rest, FIRST)), self._begun + 1
            self.complete = len(self._steps) < FIRST
            if not self.complete:
                threading.Thread(target=self._read_on, args=(rest, self._begun), daemon=True).start()
        self._head = head

    def _read_on(self, rest: Iterator[Deed], begun: int) -> None:
        time.sleep(LATER)
        with suppress(DreamError):  # the versions were rewritten meanwhile: the next read starts from the beginning
            while more := tuple(islice(rest, CHUNK)):
                with self._lock:
                    if begun != self._begun:
                        return
                    self._steps += more
                time.sleep(BREATH)
            with self._lock:
                self.complete = self.complete or begun == self._begun

    def warm(self) -> None:
        """Read what the first page needs, then start on the rest; the page itself reports what fails."""
        with suppress(DreamError):
            self.health(WARMING)
            self.steps(Workspace.open(self.root))

    def health(self, patience: float = PATIENCE) -> Health | None:
        """Return the workspace's status, perhaps of a moment ago; None if it is not known yet."""
        now = pulse(self.root)
        with self._lock:
            if self._reading is None or (self._reading[0] != now and self._reading[1].done()):
                self._reading = (now, self._worker.submit(self._read_health))
            future = self._reading[1]
        if wait([future], patience).done and future.exception() is None:
            self._last = future.result()
        return self._last

    def _read_health(self) -> Health:
        workspace = Workspace.open(self.root)
        try:
            settings = workspace.settings(using=())
            return status.read(workspace, settings, datetime.now(UTC), timers.scheduled(workspace, settings))
        finally:
            workspace.history.close()

    def learn(self, workspace: Workspace, cursors: Collection[int]) -> None:
        """Read the sessions of many entries at once, where they lie near each other."""
        new = [cursor for cursor in cursors if cursor not in self._sessions]
        if new and max(new) - min(new) <= ENTRIES * len(new):
            found = workspace.history.between(min(new), max(new))
            self._sessions |= {entry.cursor: sys.intern(entry.session or "") for entry in found}

    def session(self, workspace: Workspace, cursor: int) -> str:
        """Return the key of an entry's session; "" if it has none."""
        self.learn(workspace, [cursor])
        return self._sessions.get(cursor, "")

    def close(self) -> None:
        """Stop reading in the background."""
        with self._lock:
            self._begun += 1
        self._worker.shutdown(wait=False, cancel_futures=True)
