"""How far each session is in history, and what the log adds up to, so that nobody reads it whole twice.

Both stand in the index (`dream.workspace.index`), with the bytes that they cover: caught up from there by every reader,
worked out anew where they don't match what is on disk, and never more than what the log says. What was counted since
the index was written is in memory, and laid over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from dream.history.archive import Listing
from dream.history.checksums import OWN
from dream.history.entries import DERIVED, HIGHEST, Outline, outlined
from dream.history.rows import WITNESS, Chain, Lost, Sums, scan
from dream.models import Entry
from dream.workspace.files import opened, size_of
from dream.workspace.index import Index

if TYPE_CHECKING:
    from sqlite3 import Connection

SAVE_AFTER = 1 << 18  # bytes that a reader has counted, and nobody after it shall
APPENDED = 1 << 20  # bytes after which one of many appends waits for the index
SMALL = 1 << 16  # bytes of a log that is read faster than SQLite is imported

NoteFlaw = Callable[[str, int, int, str], None]  # (file, descriptor, offset, what is wrong there)
Tail = tuple[int, str]  # how far a session is in history, and the digest of its messages up to there


class IndexGone(Exception):
    """The index can't be read any more, and what was laid over it is not all: count again, and ask again."""


class Positions:
    """The positions of all sessions, and the sums of history.jsonl; not safe between threads by itself."""

    def __init__(self, index: Index, folder: Path) -> None:
        self._index = index
        self._folder = folder  # the archive's
        self.forget()

    def forget(self) -> None:
        """Start over from what is on disk."""
        self.now = Sums(inode=-1)
        self.archived: dict[str, int] = {}  # name → size of each archive file that is counted in
        self.archived_chain = Chain()  # to the end of the archive, where history goes on
        self._counted: Listing | None = None  # the list of files that was counted in last
        self._tails: dict[str, Tail] = {}
        # Digest of a session's first message → session; and a key with "~" behind it → a key that was derived from it.
        self._firsts: dict[str, str] = {}
        self._beneath = False  # whether the index holds what is not in these two
        self._base = (0, 0)  # inode and start of the file that it is of, as it was when it was read or written last
        self._saved = 0  # bytes covered then

    def tail(self, session: str) -> Tail:
        """Return the position of `session` and the digest of its messages up to there, "" where it is not known."""
        newest = self._tails.get(session, (0, ""))
        for position, prefix in self._asked("select position, prefix from session where key = ?", session):
            if position >= newest[0]:
                return position, prefix
        return newest

    def beginning_with(self, first: str) -> str | None:
        """Return the session whose first message has the digest `first`, or one that was derived from `<key>~`."""
        for (session,) in self._asked("select session from first where digest = ?", first):
            return _text(session)
        return self._firsts.get(first)

    def positions(self) -> dict[str, int]:
        """Return the highest span end of every session."""
        found = {_text(key): position for key, position in self._asked("select key, position from session")}
        for session, (position, _) in self._tails.items():
            found[session] = max(position, found.get(session, 0))
        return found

    def catch_up(
        self, descriptor: int, inode: int, start: int, end: int, archive: Listing, flaw: NoteFlaw, lost: Lost
    ) -> None:
        """Count what is new in the open history file, whose sound part is `start` to `end`, and in its archive."""

        def fits() -> bool:
            return self.now.matches(descriptor, inode, start, end) and self._has_counted(archive)

        if not fits():
            if archive.files or end > SMALL:
                self._load()
            if not fits():
                self.forget()
                self.now = Sums(inode=inode, start=start, covered=start, ordered_from=start)
        is_new = self._count_archive(archive, flaw, lost)
        if self.now.covered < end:
            self._count("history.jsonl", self.now, descriptor, end, flaw, lost)
        if is_new or abs(self.now.covered - self._saved) > SAVE_AFTER:
            self.save()

    def appended(self, inode: int, data: bytes, entries: Iterable[Entry], *, size: int) -> None:
        """Count in what was just appended at `size`, behind all that is covered."""
        sums = self.now
        sums.inode = inode
        for entry in entries:
            row = outlined(entry)
            sums.add(row, size, len(data))
            self._note(row)
        sums.covered = size + len(data)
        sums.witness = data[-WITNESS:]
        sums.chain.stands_at(sums.highest, data[OWN].decode())
        if sums.covered > self._saved + APPENDED:
            self.save()

    def moved(self, name: str, end: int, part: Sums, *, inode: int, before: Listing | None, listing: Listing) -> None:
        """Take the entries up to byte `end` of history, whose sums are `part`, as those of the archive file `name`.

        History is the file `inode` from now on, and holds the rest; `listing` is that of the archive, `before` the move
        and after it. Of the sessions nothing is another.
        """
        self.archived[name] = end
        self.archived_chain = part.chain
        self.now.leave(part, end, inode)
        if before is self._counted:
            self._counted = listing
        self.save()

    def save(self) -> None:
        """Lay what is in memory down in the index; where that can't be, it stays in memory."""
        self._saved = self.now.covered
        if self._index.change(self._write):
            self._tails, self._firsts, self._beneath = {}, {}, True
            self._base = self.now.inode, self.now.start

    def _write(self, db: Connection) -> bool:
        now = self.now
        found = db.execute("select inode, start, covered from log").fetchone()
        ours = now.inode, now.start
        if self._beneath and (found is None or found[:2] not in (self._base, ours)):
            return False  # another process has counted another log
        if not self._beneath:
            db.execute("delete from session")
            db.execute("delete from first")
        db.executemany(
            "insert into session values (?, ?, ?) on conflict (key) do update"
            " set position = excluded.position, prefix = excluded.prefix where excluded.position > position",
            ((_key(session), *tail) for session, tail in self._tails.items()),
        )
        rows = ((_key(digest), _key(session)) for digest, session in self._firsts.items())
        db.executemany("insert or ignore into first values (?, ?)", rows)
        if not self._beneath or found[:2] != ours or found[2] <= now.covered:
            sums = {**asdict(now), "witness": now.witness.hex()}
            state = orjson.dumps({"sums": sums, "archived": self.archived, "archived_chain": self.archived_chain})
            db.execute("insert or replace into log values (1, ?, ?, ?, ?)", (*ours, now.covered, state))
        return True

    def _load(self) -> None:
        """Go on from what the index holds, if it holds anything."""
        self._index.renew()
        for (state,) in self._index.rows("select sums from log") or ():
            try:
                row = orjson.loads(state)
                sums, chain = row["sums"], Chain(**row["archived_chain"])
                sums["witness"], sums["chain"] = bytes.fromhex(sums["witness"]), Chain(**sums["chain"])
                archived, now = dict(row["archived"]), Sums(**sums)
            except (ValueError, TypeError, KeyError):
                return
            self.forget()
            self.now, self.archived, self.archived_chain = now, archived, chain
            self._beneath, self._base, self._saved = True, (now.inode, now.start), now.covered

    def _asked(self, query: str, *keys: str) -> list[tuple[Any, ...]]:
        """Ask the index, as far as it counts; raises IndexGone."""
        if not self._beneath:
            return []
        found = self._index.rows(query, *map(_key, keys))
        if found is None:
            self.forget()
            raise IndexGone
        return found

    def _has_counted(self, archive: Listing) -> bool:
        """Return whether each archive file that was counted in is there, as it was."""
        if archive is self._counted:
            return True
        sizes = archive.sizes
        return all(sizes.get(name) == size for name, size in self.archived.items())

    def _count_archive(self, archive: Listing, flaw: NoteFlaw, lost: Lost) -> bool:
        """Count in the archive files that are new; return whether there are any. Raises OSError."""
        if archive is self._counted:
            return False
        new = [(name, size) for name, size in archive.sizes.items() if name not in self.archived]
        for name, size in new:  # the oldest first, as in the log
            part = Sums(chain=self.archived_chain)
            with opened(self._folder / name) as descriptor:
                self._count(f"archive/{name}", part, descriptor, size_of(descriptor), flaw, lost)
            self.archived[name] = size
        if self.now.covered == self.now.start:
            self.now.chain = self.archived_chain.copy()
        self._counted = archive
        return bool(new)

    def _count(self, name: str, sums: Sums, descriptor: int, end: int, flaw: NoteFlaw, lost: Lost) -> None:
        for row in scan(sums, descriptor, end, lambda offset, why: flaw(name, descriptor, offset, why), lost):
            self._note(row)

    def _note(self, row: Outline) -> None:
        """Note how far an entry's session is, in memory."""
        session = row.session
        if session is None:
            return
        if row.end > self._tails.get(session, (0, ""))[0]:
            self._tails[session] = min(row.end, HIGHEST), row.prefix
        if row.first:
            self._firsts.setdefault(row.first, session)
            if derived := DERIVED.fullmatch(session):
                self._firsts.setdefault(f"{derived[1]}~", session)


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
