"""How far each session is in history: read from the log, and looked up in the index for the archive.

The index is a cache of what the entries of each archive file say about their sessions; the first lookup fills it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dream.errors import HistoryError
from dream.history.archive import Archived
from dream.history.entries import DIGEST_CHARS, HIGHEST, BrokenRow, Outline, outline, outlined
from dream.models import Entry
from dream.workspace.files import lines, opened, size_of
from dream.workspace.index import Index

if TYPE_CHECKING:
    from sqlite3 import Connection

    from dream.history.history import View

Tail = tuple[int, str]  # how far a session is in history, and the digest of its messages up to there
NOWHERE: Tail = (0, "")
TOLD = 1 << 26  # bytes of the archive that take a second


class Known:
    """The positions of sessions, and the session of each message, as entries tell them."""

    def __init__(self) -> None:
        self.tails: dict[str, Tail] = {}
        # Digest of a message → its session.
        self.holders: dict[str, str] = {}

    def note(self, row: Outline) -> None:
        """Add the position and messages of an entry."""
        session = row.session
        if session is None:
            return
        if row.end > self.tails.get(session, NOWHERE)[0]:
            self.tails[session] = min(row.end, HIGHEST), row.prefix
        for at in range(0, len(row.ids), DIGEST_CHARS):
            self.holders.setdefault(row.ids[at : at + DIGEST_CHARS], session)

    def read(self, descriptor: int, start: int, end: int) -> None:
        """Read the positions of sessions from the lines of an open file; raises OSError."""
        for _, line in lines(descriptor, start, end):
            if b'"session' in line:
                try:
                    self.note(outline(line))
                except BrokenRow:  # whoever follows the log names it
                    continue


class SessionTails:
    """The sessions of one log, whose archive lies in `folder`; threads may share it.

    `tell` is called with the file and the reason before much of the archive is read.
    """

    def __init__(self, index: Index, folder: Path, tell: Callable[[str, str], None]) -> None:
        self._index = index
        self._tell = tell
        self._folder = folder
        self._guard = threading.RLock()
        self._log = Known()
        self._read: tuple[int, int, int] = (0, 0, 0)  # inode, start and end of the log that `_log` is of
        self._full: Sequence[Archived] = ()  # the archive files that the index was last updated to

    def tails(self, view: View, sessions: Iterable[str]) -> dict[str, Tail]:
        """Return the position of each session and the digest of its messages up to there, "" where it is not known."""
        keys = list(dict.fromkeys(sessions))
        with self._guard:
            self._catch_up(view)
            found = {key: self._log.tails.get(key, NOWHERE) for key in keys}
            query = "select key, position, prefix from session where key = ?"
            for key, position, prefix in self._archived(view.archive, query, [(_key(key),) for key in keys]):
                found[_text(key)] = max(found[_text(key)], (position, prefix))
            return found

    def holders(self, view: View, digests: Sequence[str]) -> dict[str, str]:
        """Return the session of each known digest."""
        with self._guard:
            self._catch_up(view)
            found = {one: session for one in digests if (session := self._log.holders.get(one)) is not None}
            query = "select digest, session from message where digest = ?"
            rows = self._archived(view.archive, query, [(_key(one),) for one in digests])
            return found | {_text(digest): _text(session) for digest, session in rows}

    def positions(self, view: View) -> dict[str, int]:
        """Return the highest span end of every session."""
        with self._guard:
            self._catch_up(view)
            rows = self._archived(view.archive, "select key, position from session", [()])
            found = {_text(key): position for key, position in rows}
            for session, (position, _) in self._log.tails.items():
                found[session] = max(position, found.get(session, 0))
            return found

    def appended(self, inode: int, size: int, added: int, entries: Iterable[Entry]) -> None:
        """Note an append of `added` bytes to the log of `size` bytes, if all lines before it are known."""
        with self._guard:
            if self._read == (inode, 0, size):
                for entry in entries:
                    self._log.note(outlined(entry))
                self._read = inode, 0, size + added

    def reset(self) -> None:
        """Make the next call read the log again."""
        with self._guard:
            self._read = (0, 0, 0)

    def _catch_up(self, view: View) -> None:
        if self._read != (now := (view.inode, view.start, view.end)):
            self._log = Known()
            self._log.read(view.descriptor, view.start, view.end)
            self._read = now

    def _archived(self, archive: Sequence[Archived], query: str, values: Iterable[tuple[bytes, ...]]) -> list[Any]:
        """Query the index for each of `values`, after updating it to the files of the archive."""
        if not archive:
            return []

        def asked(db: Connection) -> list[Any]:
            return [row for one in values for row in db.execute(query, one)]

        def completed(db: Connection) -> list[Any]:
            self._complete(db, archive)
            return asked(db)

        found = self._index.read(lambda db: asked(db) if self._is_full(db, archive) else None)
        if found is None and (found := self._index.change(completed)) is None:
            raise HistoryError(f"{self._folder} can't be looked up: SQLite fails in memory too.")
        return found

    def _is_full(self, db: Connection, archive: Sequence[Archived]) -> bool:
        if archive == self._full:  # their sizes were compared; the index may have been removed since
            return bool(db.execute("select count(*) from archived").fetchone()[0] == len(archive))
        if _held(db) != self._sizes(archive):
            return False
        self._full = archive
        return True

    def _sizes(self, archive: Sequence[Archived]) -> set[tuple[str, int]]:
        return {(file.name, (self._folder / file.name).stat().st_size) for file in archive}

    def _complete(self, db: Connection, archive: Sequence[Archived]) -> None:
        held, there = _held(db), self._sizes(archive)
        if held - there:  # of another log, or a file is gone
            for statement in ("delete from archived", "delete from session", "delete from message"):
                db.execute(statement)
            held = set()
        new = {name for name, _ in there - held}
        if (size := sum(size for _, size in there - held)) > TOLD:
            self._tell(
                "memory/archive", f"{size // 1_000_000:,} MB of it are read for the index, once; it takes seconds"
            )
        for file in archive:  # the oldest first, as in the log
            if file.name in new:
                self._fill(db, file)

    def _fill(self, db: Connection, file: Archived) -> None:
        known = Known()
        with opened(self._folder / file.name) as descriptor:
            size = size_of(descriptor)
            known.read(descriptor, 0, size)
        db.executemany(
            "insert into session values (?, ?, ?) on conflict (key) do update"
            " set position = excluded.position, prefix = excluded.prefix where excluded.position > position",
            ((_key(session), *tail) for session, tail in known.tails.items()),
        )
        rows = ((_key(digest), _key(session)) for digest, session in known.holders.items())
        db.executemany("insert or ignore into message values (?, ?)", rows)
        db.execute("insert into archived values (?, ?)", (file.name, size))


def _held(db: Connection) -> set[tuple[str, int]]:
    return {(name, size) for name, size in db.execute("select name, size from archived")}


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
