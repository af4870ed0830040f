"""The list of archive files, which may be thousands: kept in memory and in .dream/ for as long as it must be right.

A file that comes or goes changes the time of its directory. A list is trusted only where that time was older than any
clock's tick when the list was made: what came later then shows. An archive file changes in no other way, so that of a
list that is out of date every file still stands that has its name and its inode.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import orjson

from dream.door import contents
from dream.errors import WorkspaceError
from dream.store.files import replace
from dream.store.history_archive import Archived, Row, archived, ordered

FILE_NAME = "archive.json"
VERSION = 2
COLUMNS = 5  # of a row
TICK = 2_000_000_000  # ns: the coarsest clock of a file system (FAT)
MANY = 100  # files from which reading the list is quicker than making it

Key = tuple[int, int]  # of a directory: its inode, and when something in it came or went, in ns
NOWHERE: Key = (0, 0)  # of a directory that is not there


@dataclass(frozen=True, eq=False)
class Listing:
    """The archive files at one moment. `key` is None where the next list may be another one unnoticed."""

    key: Key | None
    rows: Sequence[Row]

    @property
    def last(self) -> int:
        """The highest cursor in the archive; 0 where it is empty."""
        return self._last

    @cached_property
    def _last(self) -> int:
        return max((row[1] for row in self.rows), default=0)

    @cached_property
    def files(self) -> list[Archived]:
        """The files, oldest entries first."""
        return [Archived(*row[:4]) for row in self.rows]

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each file."""
        return {row[2]: row[3] for row in self.rows}


class Archive:
    """The directory `folder`; its list is kept in `private`."""

    def __init__(self, folder: Path, private: Path) -> None:
        self.folder = folder
        self._path = private / FILE_NAME
        self.known: Listing | None = None  # the list as it was made last

    def listing(self) -> Listing:
        """List the files as they are; raises OSError."""
        key = self._key()
        known = self.known or self._kept()
        if known is None or known.key != key:
            known = self._made(key, known.rows if known else ())
        self.known = known
        return known

    def with_one_more(self, row: Row) -> Listing:
        """Return the list as it was made last, and the file that has come since. The next is made anew."""
        known = self.known
        if known is None:
            return self.listing()
        rows = [*known.rows, row]
        self.known = Listing(None, rows if row[0] > known.last else ordered(rows))
        return self.known

    def _made(self, key: Key, before: Sequence[Row]) -> Listing:
        settled = time.time_ns() - key[1] > TICK
        rows = archived(self.folder, {row[2]: row for row in before})
        trusted = settled and self._key() == key
        listing = Listing(key if trusted else None, rows)
        if trusted and len(rows) >= MANY:
            data = orjson.dumps({"version": VERSION, "key": key, "files": rows})
            with suppress(WorkspaceError):  # it costs time later, and nothing else
                replace(self._path, data, durable=False)
        return listing

    def _kept(self) -> Listing | None:
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = orjson.loads(contents(self._path))
            inode, moment = kept["key"]
            rows: Sequence[Row] = kept["files"]
            if kept["version"] == VERSION and all(len(row) == COLUMNS for row in rows):
                return Listing((inode, moment), rows)
        return None

    def _key(self) -> Key:
        try:
            status = self.folder.stat()
        except FileNotFoundError:
            return NOWHERE
        return status.st_ino, status.st_mtime_ns
