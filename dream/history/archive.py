"""The archive: history moved out of the token budget into memory/archive/history-<first>-<last>.jsonl.

A move takes a beginning of history.jsonl, byte for byte. First the archive file is on disk, then
history.jsonl is replaced by its rest; where a crash falls between, history still begins with the bytes
of an archive file, which every reader passes over and the next writer cuts off.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import orjson

from dream.door import contents, open_file
from dream.errors import WorkspaceError
from dream.history.log import Chain, Sums, lines
from dream.history.records import HIGHEST, BrokenRow, outline
from dream.workspace import files
from dream.workspace.files import replace_by_part, replace_file

NAME = re.compile(r"history-(\d{1,19})-(\d{1,19})(?:\.(\d+))?\.jsonl")
SLACK = 0.1  # a move goes this far below the budget, so that not every dream makes a file
COMPARED = 1 << 18  # bytes compared at a time


@dataclass(frozen=True, slots=True, order=True)
class Archived:
    """One archive file and the lowest and highest cursor in it; `size` in bytes."""

    first: int
    last: int
    name: str
    size: int


Row = Sequence[Any]  # first and last cursor, name, bytes, and the inode: of one archive file


class Files(Protocol):
    """The archive files, and the highest cursor in any of them: 0 where there are none."""

    @property
    def last(self) -> int: ...
    @property
    def files(self) -> list[Archived]: ...


@dataclass(frozen=True, slots=True)
class Beginning:
    """The part of history.jsonl that a move takes: bytes up to `end`, its cursors, and what it adds up to."""

    end: int
    first: int
    last: int
    sums: Sums


def archived(folder: Path, known: Mapping[str, Row]) -> list[Row]:
    """List the archive files, oldest entries first; raises OSError.

    A file that is `known` by its name and still has its inode is as it was: nothing more is asked of it.
    """
    found: list[Row] = []
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return found
    with entries:
        for entry in entries:
            row = known.get(entry.name)
            if row is not None and row[-1] == entry.inode():
                found.append(row)
            elif match := NAME.fullmatch(entry.name):
                found.append((int(match[1]), int(match[2]), entry.name, entry.stat().st_size, entry.inode()))
    return ordered(found)


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Sort archive files, oldest entries first."""
    return sorted(rows, key=itemgetter(0, 1, 2))


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a file for reading as a descriptor; raises OSError."""
    descriptor = open_file(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def size_of(descriptor: int) -> int:
    """Return the bytes of an open file."""
    return os.fstat(descriptor).st_size


def already_moved(descriptor: int, size: int, folder: Path, archive: Files) -> int:
    """Return how many bytes at the beginning of history an unfinished move has put in the archive."""
    position = 0
    while archive.last and position < size:
        cursor = _first_cursor(descriptor, position, size)
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
    for offset, line in lines(descriptor, 0, end):
        try:
            row = outline(line)
        except BrokenRow:
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
    return Beginning(stop, first, sums.highest, sums)


def move(descriptor: int, end: int, history: Path, folder: Path, part: Beginning) -> Row:
    """Put `part` in the archive, leave the rest, up to `end`, and return the file that came.

    Raises OSError, and then nothing is lost.
    """
    path = _free_name(folder, part)
    replace_by_part(path, descriptor, 0, part.end)
    status = path.stat()
    files.checkpoint("between the steps of a move to the archive")
    replace_by_part(history, descriptor, part.end, end)
    return part.first, part.last, path.name, status.st_size, status.st_ino


def _free_name(folder: Path, part: Beginning) -> Path:
    """Name the archive file; another one of the same range (damaged cursors) is not overwritten."""
    path = folder / f"history-{part.first}-{part.last}.jsonl"
    number = 2
    while path.exists():
        path = folder / f"history-{part.first}-{part.last}.{number}.jsonl"
        number += 1
    return path


def _first_cursor(descriptor: int, start: int, size: int) -> int:
    for _, line in lines(descriptor, start, size):
        try:
            return outline(line).cursor
        except BrokenRow:
            continue
    return 0


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
# any clock's tick when the list was made: what came later then shows. An archive file changes in no other way, so
# that of a list that is out of date every file still stands that has its name and its inode.


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
                replace_file(self._path, data, durable=False)
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
