"""The archive: history moved out of the token budget into memory/archive/history-<first>-<last>.jsonl.

A move takes a beginning of history.jsonl, byte for byte. First the archive file is on disk, then
history.jsonl is replaced by its rest; where a crash falls between, history still begins with the bytes
of an archive file, which every reader passes over and the next writer cuts off.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import orjson

from dream.door import contents
from dream.errors import WorkspaceError
from dream.history.entries import HIGHEST, BrokenRow
from dream.history.rows import Chain, Sums, entries, outlined
from dream.workspace import files
from dream.workspace.files import opened, replace_by_part, replace_file

NAME = re.compile(r"history-(\d{1,19})-(\d{1,19})(?:\.(\d+))?\.jsonl")
SLACK = 0.1  # a move goes this far below the budget, so that not every dream makes a file
COMPARED = 1 << 18  # bytes compared at a time


class Archived(NamedTuple):
    """One archive file and the lowest and highest cursor in it; `size` in bytes. In the order of its entries."""

    first: int
    last: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Beginning:
    """The part of history.jsonl that a move takes: bytes up to `end`, its lowest cursor, and what it adds up to."""

    end: int
    first: int
    sums: Sums


def archived(folder: Path) -> list[Archived]:
    """List the archive files, oldest entries first; raises OSError."""
    try:
        with os.scandir(folder) as entries:
            named = ((NAME.fullmatch(entry.name), entry) for entry in entries)
            return sorted(Archived(int(m[1]), int(m[2]), m[0], entry.stat().st_size) for m, entry in named if m)
    except FileNotFoundError:
        return []


def already_moved(descriptor: int, size: int, folder: Path, archive: Listing) -> int:
    """Return how many bytes at the beginning of history an unfinished move has put in the archive."""
    position = 0
    while archive.last and position < size:
        cursor = next((row.cursor for _, row in entries(descriptor, position, size)), 0)
        if cursor > archive.last:
            break
        for file in archive.files:
            if file.first <= cursor <= file.last and _stands_at(descriptor, position, size, folder / file.name, file):
                position += file.size
                break
        else:
            break
    return position


def beginning(descriptor: int, end: int, chain: Chain, *, dreamt: int, tokens: int, budget: int) -> Beginning:
    """Choose what to move: the oldest entries up to the first undreamt one, until `tokens` is within `budget`.

    `chain` ends where history begins, and is followed to the end of what moves.
    """
    target = int(budget * (1 - SLACK))
    sums, stop, first = Sums(chain=chain), 0, HIGHEST
    odd: list[bytes] = []
    for offset, line, row in outlined(descriptor, 0, end):
        if isinstance(row, BrokenRow):
            odd.append(line)  # it goes along with the next entry that goes
            continue
        if row.cursor > dreamt or tokens - sums.tokens <= target:
            break
        for one in odd:
            chain.damaged(one)
        odd.clear()
        chain.follow(line, row.cursor, tuple)
        stop = min(offset + len(line) + 1, end)
        sums.add(row, offset, stop - offset)
        first = min(first, row.cursor)
    return Beginning(stop, first, sums)


def move(descriptor: int, end: int, history: Path, folder: Path, part: Beginning) -> Archived:
    """Put `part` in the archive, leave the rest, up to `end`, and return the file that came.

    Raises OSError, and then nothing is lost.
    """
    path, number = folder / f"history-{part.first}-{part.sums.highest}.jsonl", 1
    while path.exists():  # another one of the same range (damaged cursors) is not overwritten
        number += 1
        path = folder / f"history-{part.first}-{part.sums.highest}.{number}.jsonl"
    replace_by_part(path, descriptor, 0, part.end)
    files.checkpoint("between the steps of a move to the archive")
    replace_by_part(history, descriptor, part.end, end)
    return Archived(part.first, part.sums.highest, path.name, part.end)


def _stands_at(descriptor: int, start: int, size: int, path: Path, file: Archived) -> bool:
    """Return whether history holds, from `start` on, exactly the bytes of an archive file."""
    if not 0 < file.size <= size - start:
        return False
    position = 0
    with opened(path) as other:
        while chunk := os.pread(other, COMPARED, position):
            if os.pread(descriptor, len(chunk), start + position) != chunk:
                return False
            position += len(chunk)
    return True


# The list of archive files, which may be thousands: kept in memory and in .dream/ for as long as it must be right.
#
# A file that comes or goes changes the time of its directory. A list is trusted only where that time was older than
# any clock's tick when the list was made: what came later then shows. An archive file changes in no other way.


FILE_NAME = "archive.json"
VERSION = 3
TICK = 2_000_000_000  # ns: the coarsest clock of a file system (FAT)
MANY = 100  # files from which reading the list is quicker than making it

Key = tuple[int, int]  # of a directory: its inode, and when something in it came or went, in ns
NOWHERE: Key = (0, 0)  # of a directory that is not there


@dataclass(frozen=True, eq=False)
class Listing:
    """The archive files at one moment. `key` is None where the next list may be another one unnoticed."""

    key: Key | None
    files: Sequence[Archived]  # oldest entries first

    @cached_property
    def last(self) -> int:
        """The highest cursor in the archive; 0 where it is empty."""
        return max((file.last for file in self.files), default=0)

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each file."""
        return {file.name: file.size for file in self.files}


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
            known = self._made(key)
        self.known = known
        return known

    def with_one_more(self, file: Archived) -> Listing:
        """Return the list as it was made last, and the file that has come since. The next is made anew."""
        known = self.known
        if known is None:
            return self.listing()
        self.known = Listing(None, sorted((*known.files, file)))
        return self.known

    def _made(self, key: Key) -> Listing:
        settled = time.time_ns() - key[1] > TICK
        files = archived(self.folder)
        trusted = settled and self._key() == key
        listing = Listing(key if trusted else None, files)
        if trusted and len(files) >= MANY:
            data = orjson.dumps({"version": VERSION, "key": key, "files": list(map(tuple, files))})
            with suppress(WorkspaceError):  # it costs time later, and nothing else
                replace_file(self._path, data, durable=False)
        return listing

    def _kept(self) -> Listing | None:
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = orjson.loads(contents(self._path))
            inode, moment = kept["key"]
            if kept["version"] == VERSION:
                return Listing((inode, moment), [Archived(*row) for row in kept["files"]])
        return None

    def _key(self) -> Key:
        try:
            status = self.folder.stat()
        except FileNotFoundError:
            return NOWHERE
        return status.st_ino, status.st_mtime_ns
