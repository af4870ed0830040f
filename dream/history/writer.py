"""Write history.jsonl: under a lock, with cursors that follow what is on disk, one write for each append.

An append is five system calls: lock, stat, write, `.cursor`, unlock, as long as no other process has changed the file
since the last one; else the file is read first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dream.door import contents, make_folder, open_file
from dream.errors import HistoryError
from dream.history import archive
from dream.history.archive import Archived
from dream.history.chain import Chain, CursorRange, accepted, flaws, missing, settled_end
from dream.history.checksums import OWN
from dream.history.entries import HIGHEST, encode, entry_of
from dream.models import Entry, NewEntry
from dream.workspace import files
from dream.workspace import format as workspace_format
from dream.workspace.files import (
    LOST,
    SET_ASIDE,
    begin_writing,
    opened,
    replace_by_part,
    set_aside,
    size_of,
    sync_data,
    sync_directory,
    write_all,
)
from dream.workspace.lock import FileLock

NoteFlaw = Callable[[str, int, int, str], None]  # (file, descriptor, offset, what is wrong there)


class StalePosition(HistoryError):
    """An entry's span begins before the position of its session: another process has appended it already."""


class Writer:
    """Appends to, repairs and archives one history file. The caller of every method holds `lock`."""

    def __init__(
        self,
        memory: Path,
        private: Path,
        *,
        durable: bool,
        flaw: NoteFlaw,
        committed: Callable[[], int],
        machine: Callable[[], str],
    ) -> None:
        self.lock = FileLock(private / "history.lock")
        self.descriptor = -1
        self.inode = 0
        self.archived: Sequence[Archived] = ()  # the files of the archive, as long as `descriptor` is of the log
        self._memory = memory
        self._path = memory / "history.jsonl"
        self._name = str(self._path)
        self._archive = memory / "archive"
        self._chain = Chain()  # to the end of the log
        self._size = -1  # size of the log after the last append; at any other size all of it is checked again
        self._durable = durable
        self._flaw = flaw
        self._committed = committed
        self._machine = machine
        self._cursor_descriptor = -1
        self._floor = 0  # the highest cursor known to have been given out

    def append(
        self,
        new: Sequence[NewEntry],
        times: Iterable[datetime],
        now: datetime,
        first: Callable[[int], None],
        appended: Callable[[int, int, int, list[Entry]], None],
    ) -> list[Entry]:
        """Append all of `new`, each at its time, or nothing.

        `first` is called just before they are written, with the size of the log; `appended` with its inode, that size,
        the bytes that came, and their entries. Raises HistoryError or OSError, and whatever `first` does.
        """
        size = self.ready(now)
        chain, last = self._chain, len(new)
        floor = max(chain.highest, self._floor)
        if floor + last >= HIGHEST:
            raise HistoryError(f"{self._path} holds a cursor too high to go on; take that line out.")
        entries: list[Entry] = []
        lines: list[bytes] = []
        before, machine = chain.last.encode(), self._machine()
        for number, (one, at) in enumerate(zip(new, times, strict=False), 1):
            entry = entry_of(one, floor + number, at, machine)
            entries.append(entry)
            line = encode(entry, more=last - number, before=before)
            lines.append(line)
            before = line[OWN]
        data = b"".join(lines)
        first(size)
        self._write(data, size, floor + last)
        chain.skip_to(floor + last, before.decode())
        self._size = size + len(data)
        appended(self.inode, size, len(data), entries)
        self._floor = floor + last
        if self._durable:
            try:
                self._sync(size)
            except OSError:  # these cursors are never given out again
                with suppress(OSError):
                    self._note_lost(floor + 1, floor + last, now)
                raise
        return entries

    def archive(self, dreamt: int, budget: int, now: datetime) -> int:
        """Move the oldest dreamt entries away until history is within `budget` tokens; return how many."""
        size = self.ready(now)
        if size <= budget:  # a token has a byte at least
            return 0
        parts = archive.beginning(self.descriptor, size, dreamt=dreamt, budget=budget)
        if parts:
            archive.move(self.descriptor, size, self._path, self._archive, parts)
        return sum(part.entries for part in parts)

    def repair(self, now: datetime) -> int:
        """Set aside invalid lines and renumber those out of order; return how many lines were changed.

        Checksums continue the line before again, and what is gone is noted as lost.
        """
        from dream.history import repair  # of no use to who only adds

        self.ready(now)
        mended, chain, late = 0, Chain(), list[bytes]()
        highest = max(self._floor, self._chain.highest)
        for path in self._files():
            data, is_last, followed = contents(path), path == self._path, chain.copy()
            found = repair.sort(data, followed)
            late += found.late
            if not (found.mended or found.unlinked or (is_last and late)):
                chain = followed
                continue
            # Out of the archive lines out of order are set aside too: a crash may come before they stand at the end.
            for line in [*found.aside, *(() if is_last else found.late)]:
                set_aside(self._archive / SET_ASIDE, line, now)
            if is_last:
                found.stay += [repair.renumbered(line, cursor) for cursor, line in enumerate(late, highest + 1)]
            files.replace_file(path, repair.joined(found.stay, chain))
            mended += found.mended
        self._floor = highest + len(late)
        self.ready(now)
        self.accept(now)
        return mended

    def accept(self, now: datetime, *, sealed: bool = True) -> None:
        """Note every entry that is missing now as lost, so that it is not reported again.

        With `sealed` off, nothing is noted for a log that has checksums.
        """
        self.ready(now)
        chain, gaps = Chain(), []
        for path in self._files():
            with opened(path) as descriptor:
                found = flaws(descriptor, 0, size_of(descriptor), chain, self._lost)
                gaps += [flaw.missing for flaw in found if flaw.missing]
        if chain.sealed and not sealed:
            return
        if missing(chain.highest + 1, self._floor, self._lost()):
            gaps.append((chain.highest + 1, self._floor))
        for first, last in gaps:
            self._note_lost(first, last, now)

    def _note_lost(self, first: int, last: int, now: datetime) -> None:
        at = now.astimezone(UTC).isoformat(timespec="seconds")
        files.append(self._archive / LOST, orjson.dumps({"timestamp": at, "first": first, "last": last}))

    def _files(self) -> list[Path]:
        return [*(self._archive / file.name for file in archive.archived(self._archive)), self._path]

    def _lost(self) -> list[CursorRange]:
        return accepted(self._archive)

    def ready(self, now: datetime) -> int:
        """Repair the end of the file, read it if another process has changed it, and return its size."""
        if self.descriptor >= 0:
            try:
                status = os.stat(self._name)  # noqa: PTH116  # the hot path: a quarter of the time of Path.stat
            except FileNotFoundError:
                return self._look(now)
            if status.st_size == self._size and status.st_ino == self.inode:
                return self._size
        return self._look(now)

    def close(self) -> None:
        """Close all descriptors."""
        self._close_history()
        if self._cursor_descriptor >= 0:
            os.close(self._cursor_descriptor)
            self._cursor_descriptor = -1
        self.lock.close()

    def __del__(self) -> None:
        self.close()

    def _look(self, now: datetime) -> int:
        self._open()
        workspace_format.begin(self._memory.parent)
        self.archived = archive.archived(self._archive)
        size = os.fstat(self.descriptor).st_size
        moved = archive.already_moved(self.descriptor, size, self._archive, self.archived)
        if moved:  # a crash fell between the two steps of a move
            replace_by_part(self._path, self.descriptor, moved, size)
            self._open()
            size = os.fstat(self.descriptor).st_size
        size = self._mend_tail(size, now)
        chain, gaps = archive.chain_of(self._archive, self.archived, self._lost)
        for said in gaps:
            self._flaw("archive", self.descriptor, 0, said)
        for flaw in flaws(self.descriptor, 0, size, chain, self._lost):
            self._flaw("history.jsonl", self.descriptor, flaw.offset, flaw.text)
        given = max(self._floor, highest_given(self._memory, self._committed), archive.highest(self.archived))
        if given > chain.highest and (said := missing(chain.highest + 1, given, self._lost())):
            self._flaw("history.jsonl", self.descriptor, size, said)
        self._floor = max(self._floor, chain.given, given)
        self._chain, self._size = chain, size
        self._open_cursor()
        return size

    def _open(self) -> None:
        """Open the file that now has this name, or create it."""
        try:
            inode = self._path.stat().st_ino
        except FileNotFoundError:
            inode = 0
        if self.descriptor >= 0 and inode == self.inode:
            return
        self._close_history()
        make_folder(self._memory)
        self.descriptor = open_file(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self.inode = os.fstat(self.descriptor).st_ino
        if not inode and self._durable:
            sync_directory(self._memory)

    def _close_history(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _mend_tail(self, size: int, now: datetime) -> int:
        """Complete a last line that lacks only its newline; set aside what an append did not finish."""
        end = settled_end(self.descriptor, 0, size)
        if end < size:
            self._flaw("history.jsonl", self.descriptor, end, "an append was cut short; its bytes are set aside")
            set_aside(self._archive / SET_ASIDE, os.pread(self.descriptor, size - end, end), now)
            os.ftruncate(self.descriptor, end)
        elif size and os.pread(self.descriptor, 1, size - 1) != b"\n":
            self._write(b"\n", size)
            if self._durable:
                self._sync(size)
            end += 1
        return end

    def _write(self, data: bytes, size: int, cursor: int = 0) -> None:
        """Append `data` to the file of `size` bytes, or cut it back to that and raise the OSError.

        Where it is to be durable, the disk has begun to write when this returns, so that work until `_sync` overlaps
        with it. `.cursor` is written before that, so that one journal commit of the file system serves both.
        """
        try:
            files.checkpoint("before an append")
            written = os.write(self.descriptor, data)
            if written < len(data):  # usually a full disk: writing the rest raises the error
                write_all(self.descriptor, data[written:])
            if self._durable:
                begin_writing(self.descriptor, size, len(data))
            if cursor:
                self._write_cursor(cursor)
            files.checkpoint("after an append")
        except OSError:
            os.ftruncate(self.descriptor, size)
            raise

    def _sync(self, size: int) -> None:
        """Wait until the append to the file of `size` bytes is on disk; on failure truncate it and raise OSError."""
        try:
            sync_data(self.descriptor)
        except OSError:
            os.ftruncate(self.descriptor, size)
            self._size = -1  # the chain has what is gone
            raise

    def _open_cursor(self) -> None:
        """Open `.cursor` anew, for it may have been replaced, and write the highest cursor into it."""
        if self._cursor_descriptor >= 0:
            os.close(self._cursor_descriptor)
            self._cursor_descriptor = -1
        self._cursor_descriptor = open_file(self._memory / ".cursor", os.O_RDWR | os.O_CREAT)
        given = max(self._floor, self._chain.highest)
        if given and os.pread(self._cursor_descriptor, 32, 0).strip() != b"%d" % given:
            os.ftruncate(self._cursor_descriptor, 0)
            self._write_cursor(given)

    def _write_cursor(self, cursor: int) -> None:
        """Write the highest cursor, in place; a full disk is no fault here, for the entries tell it too."""
        try:  # noqa: SIM105  # the hot path: `suppress` costs as much as the write
            os.pwrite(self._cursor_descriptor, b"%d\n" % cursor, 0)
        except OSError:
            pass


def highest_given(memory: Path, committed: Callable[[], int]) -> int:
    """Return the highest cursor that `.cursor` and `.dream_cursor` know of; where neither can be read, `committed`.

    The cursor of the last entry dreamt counts too: a new entry at or below it would never be dreamt.
    """
    return max(read_cursor(memory / ".cursor"), read_cursor(memory / ".dream_cursor")) or committed()


def read_cursor(path: Path) -> int:
    """Return the cursor in a file of one number; 0 if the file is missing or holds no cursor."""
    with suppress(OSError):
        cursor = files.number(contents(path)) or 0
        return cursor if cursor < HIGHEST else 0
    return 0
