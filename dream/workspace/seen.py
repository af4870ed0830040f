"""Which transcript files history holds whole, as they stood: an unchanged one need not be opened again.

It stands in the index: without it every file is read once more, and nothing is archived twice. Whether history still
holds what it held is told by its inode and the bytes where it ended; only if those are others, each session's position
is looked up.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dream.history.archive import opened
from dream.history.history import History

LOOKS, ENDS = "sources", "sources: positions"  # documents in the index
WITNESS = 64  # bytes of history before its end
TICK = 2_000_000_000  # ns: the coarsest clock of a file system (FAT); a file this new may change and not look so
DATABASES = (".db", ".sqlite", ".vscdb")  # what their writers add stands in a second file at first

Look = tuple[int, ...]


class SeenFile(Protocol):
    """A file in a list: its name, how it looked, and whether a person named it."""

    @property
    def name(self) -> str: ...
    @property
    def look(self) -> Look: ...
    @property
    def named(self) -> bool: ...


F = TypeVar("F", bound=SeenFile)


def look(path: str) -> Look:
    """Return what changes with the file: size, time, inode, and those of a database's log; raises OSError.

    An empty log says nothing: reading a database makes one.
    """
    status = os.stat(path)  # noqa: PTH116  # of thousands of files: half the time of Path.stat
    found: Look = (status.st_size, status.st_mtime_ns, status.st_ino)
    if path.endswith(DATABASES):
        with suppress(OSError):
            log = os.stat(f"{path}-wal")  # noqa: PTH116  # as above
            found += (log.st_size, log.st_mtime_ns) if log.st_size else ()
    return found


def is_utf8(path: str) -> bool:
    """Tell whether a path can stand in JSON."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class Seen:
    """The cache beside `history`. What was read under other `terms` (settings, version) counts as not read.

    How each file looked is kept column by column: thousands of small lists cost more to read than to compare. How far
    each session of a file is in history is asked for only where history has changed, or the cache will.
    """

    def __init__(self, history: History, terms: str) -> None:
        self._history = history
        self._terms = terms
        self._looks: dict[str, dict[str, Look]] = {terms: {}}  # by terms, then by file
        self._changed = False
        with suppress(ValueError, TypeError, KeyError):
            if state := history.index.document(LOOKS):
                self._looks |= _by_terms(state["groups"])
                if not _still(history.path, state.get("history", ())):
                    self._check()

    def holds(self, path: str, now: Look) -> bool:
        """Tell whether all of the file, which looks as `now`, was in history, and still is."""
        return self._looks[self._terms].get(path) == now

    def unread(self, files: Iterable[F]) -> list[F]:
        """Return those of `files` that history does not hold as they look; one that a person named is among them."""
        held = self._looks[self._terms].get
        return [file for file in files if held(file.name) != file.look or file.named]

    def is_settled(self, listed: Set[str]) -> bool:
        """Tell whether the cache stays as it is where the files `listed` are those that there are."""
        return not self._changed and all(files.keys() <= listed for files in self._looks.values())

    def sessions(self, path: str) -> int:
        """Return how many sessions the file held when it was last read; 1 for one that was not."""
        found = self._ends.get(path)
        return 1 if found is None else len(found)

    def note(self, path: str, before: Look, keys: Mapping[str, int], at: datetime) -> bool:
        """Note that history holds all of the file as it looked `before` it was read; `keys` are their positions.

        Not noted, and False, is what has changed since, or only just before `at`: it might again within one tick of
        the clock.
        """
        with suppress(OSError):
            age = int(at.timestamp() * 1e9) - max(before[1::3])
            if look(path) == before and not 0 <= age < TICK:
                self._forget([path])
                self._looks[self._terms][path] = before
                self._ends[path] = dict(keys)
                return True
        return False

    def save(self, listed: Set[str]) -> list[str]:
        """Write the cache, without the files that are gone, which are returned.

        One that can't be written costs time and nothing else; so does a file whose name is not UTF-8.
        """
        missing = [path for files in self._looks.values() for path in files.keys() - listed if not Path(path).exists()]
        self._forget(missing)
        if self._changed:
            with suppress(OSError):
                looks = {"history": _mark(self._history.path), "groups": self._groups()}
                ends = {path: found for path, found in self._ends.items() if is_utf8(path)}
                self._history.index.keep(**{LOOKS: looks, ENDS: ends})
        return missing

    @cached_property
    def _ends(self) -> dict[str, dict[str, int]]:
        """How far each session of each file is in history, by file."""
        return dict(self._history.index.document(ENDS) or {})

    def _check(self) -> None:
        """Drop the files of which history no longer holds all."""
        known = self._history.tails({key for ends in self._ends.values() for key in ends})
        held = {path for path, ends in self._ends.items() if all(known[key][0] >= end for key, end in ends.items())}
        self._forget([path for files in self._looks.values() for path in files if path not in held])
        self._changed = True

    def _forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            for files in self._looks.values():
                files.pop(path, None)
            self._ends.pop(path, None)
            self._changed = True

    def _groups(self) -> list[dict[str, object]]:
        """Write the looks as columns: of each terms, and of each length, since a database has a log beside it."""
        groups: dict[tuple[str, int], list[tuple[str, Look]]] = {}
        for terms, files in self._looks.items():
            for path, found in files.items():
                if is_utf8(path):
                    groups.setdefault((terms, len(found)), []).append((path, found))
        return [
            {
                "terms": terms,
                "names": [path for path, _ in rows],
                "looks": list(zip(*(row for _, row in rows), strict=True)),
            }
            for (terms, _), rows in groups.items()
        ]


def _by_terms(groups: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Look]]:
    """Read what `Seen` writes. Raises ValueError, TypeError or KeyError for what is not that."""
    found: dict[str, dict[str, Look]] = {}
    for group in groups:
        rows = zip(group["names"], zip(*group["looks"], strict=True), strict=True)
        found.setdefault(group["terms"], {}).update(rows)
    return found


def _mark(path: Path) -> list[int | str]:
    """Return what tells whether history still begins with all that it holds now. Raises OSError."""
    with opened(path) as file:
        status = os.fstat(file)
        start = max(status.st_size - WITNESS, 0)
        return [status.st_ino, status.st_size, os.pread(file, WITNESS, start).hex()]


def _still(path: Path, mark: Sequence[int | str]) -> bool:
    """Tell whether history still begins with what it held at `mark`."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        inode, size, witness = int(mark[0]), int(mark[1]), bytes.fromhex(str(mark[2]))
        with opened(path) as file:
            start = max(size - WITNESS, 0)
            return os.pread(file, size - start, start) == witness and os.fstat(file).st_ino == inode
    return False
