"""Which transcript files history holds whole, as they stood: an unchanged one need not be opened again.

`.dream/sources.json` is a cache: without it every file is read once more, and nothing is archived twice. Whether
history still holds what it held is told by its inode and the bytes where it ended; only if those are others, each
session's position is looked up.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import orjson

from dream.errors import WorkspaceError
from dream.store.files import replace
from dream.store.history import History

FILE_NAME = "sources.json"
VERSION = 2
WITNESS = 64  # bytes of history before its end
TICK = 2_000_000_000  # ns: the coarsest clock of a file system (FAT); a file this new may change and not look so
DATABASES = (".db", ".sqlite")  # what their writers add stands in a second file at first

Look = tuple[int, ...]


def look(path: str) -> Look:
    """Return what changes with the file: size, time, inode, and those of a database's log; raises OSError."""
    status = os.stat(path)  # noqa: PTH116  # of thousands of files: half the time of Path.stat
    found: Look = (status.st_size, status.st_mtime_ns, status.st_ino)
    if path.endswith(DATABASES):
        with suppress(OSError):
            log = os.stat(f"{path}-wal")  # noqa: PTH116  # as above
            found += (log.st_size, log.st_mtime_ns)
    return found


def is_utf8(path: str) -> bool:
    """Tell whether a path can stand in JSON."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class Seen:
    """The cache beside `history`. What was read under other `terms` (settings, version) counts as not read."""

    def __init__(self, history: History, terms: str) -> None:
        self._path = history.private / FILE_NAME
        self._history = history
        self._terms = terms
        self._files: dict[str, tuple[list[int], dict[str, int], str]] = {}
        self._changed = False
        with suppress(OSError, ValueError, TypeError, KeyError):
            state = orjson.loads(self._path.read_bytes())
            if state["version"] == VERSION:
                self._files = dict(state["files"])
                if not _still(history.path, state.get("history", ())):
                    self._check()

    def holds(self, path: str, now: Look) -> bool:
        """Tell whether all of the file, which looks as `now`, was in history, and still is."""
        found = self._files.get(path)
        return found is not None and found[0] == [*now] and found[2] == self._terms

    def sessions(self, path: str) -> int:
        """Return how many sessions the file held when it was last read; 1 for one that was not."""
        found = self._files.get(path)
        return 1 if found is None else len(found[1])

    def note(self, path: str, before: Look, keys: Mapping[str, int], at: datetime) -> bool:
        """Note that history holds all of the file as it looked `before` it was read; `keys` are their positions.

        Not noted, and False, is what has changed since, or only just before `at`: it might again within one tick of
        the clock.
        """
        with suppress(OSError):
            age = int(at.timestamp() * 1e9) - max(before[1::3])
            if look(path) == before and not 0 <= age < TICK:
                self._files[path] = (list(before), dict(keys), self._terms)
                self._changed = True
                return True
        return False

    def save(self, listed: Iterable[str]) -> list[str]:
        """Write the cache, without the files that are gone, which are returned.

        One that can't be written costs time and nothing else; so does a file whose name is not UTF-8.
        """
        missing = [path for path in self._files.keys() - set(listed) if not Path(path).exists()]
        for path in missing:
            del self._files[path]
        if self._changed or missing:
            named = {path: found for path, found in self._files.items() if is_utf8(path)}
            with suppress(OSError, WorkspaceError):
                state = {"version": VERSION, "history": _mark(self._history.path), "files": named}
                replace(self._path, orjson.dumps(state), durable=False)
        return missing

    def _check(self) -> None:
        """Drop the files of which history no longer holds all."""
        positions = self._history.positions()
        lost = [
            path
            for path, (_, ends, _) in self._files.items()
            if any(positions.get(key, 0) < end for key, end in ends.items())
        ]
        for path in lost:
            del self._files[path]
        self._changed = True


def _mark(path: Path) -> list[int | str]:
    """Return what tells whether history still begins with all that it holds now. Raises OSError."""
    with path.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        start = max(status.st_size - WITNESS, 0)
        return [status.st_ino, status.st_size, os.pread(file.fileno(), WITNESS, start).hex()]


def _still(path: Path, mark: Sequence[int | str]) -> bool:
    """Tell whether history still begins with what it held at `mark`."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        inode, size, witness = int(mark[0]), int(mark[1]), bytes.fromhex(str(mark[2]))
        with path.open("rb", buffering=0) as file:
            start = max(size - WITNESS, 0)
            same = os.pread(file.fileno(), size - start, start) == witness
            return same and os.fstat(file.fileno()).st_ino == inode
    return False
