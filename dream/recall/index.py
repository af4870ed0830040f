"""The index of recall: one disposable SQLite file under .dream/. It holds terms and places, never a text of its own.

A search first takes in what is new: messages from where their file was left, entries from the last cursor. What is
gone, damaged, of another version, or no longer fits what it was made of, is built anew. Where it can't be written
(a workspace that may only be read), it lives in memory.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dream.door import make_folder, open_file
from dream.history import messages
from dream.history.archive import opened
from dream.history.history import History
from dream.history.messages import Said
from dream.recall.terms import terms

FILE_NAME = "recall.sqlite"
FILES = tuple(FILE_NAME + suffix for suffix in ("", "-journal", "-wal", "-shm"))
VERSION = 1
WAIT = 5.0  # seconds for another search that is taking things in
BATCH = 500  # documents taken in at a time
MESSAGE, ENTRY = 0, 1  # kinds of documents
HIGHEST = 1 << 40

_SCHEMA = """
CREATE TABLE source (name TEXT PRIMARY KEY, read INTEGER NOT NULL, last BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE session (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, terms INTEGER NOT NULL DEFAULT 0);
CREATE TABLE doc (
  id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, session INTEGER, position INTEGER NOT NULL, file INTEGER NOT NULL,
  start INTEGER NOT NULL, day INTEGER, speaker TEXT, terms INTEGER NOT NULL
);
CREATE INDEX place ON doc (session, position);
CREATE VIRTUAL TABLE words USING fts5(
  terms, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '.,:/@&+#_-%'"
);
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A document that holds some of the words asked for. `score` is BM25's, the higher the better.

    A message stands at `position` of `session`, in the line of the messages' file `file` that begins at `start`; of an
    entry `position` is its cursor.
    """

    number: int
    kind: int
    session: int | None
    position: int
    file: int
    start: int
    day: int | None
    speaker: str | None
    score: float


class Index:
    """The index for the history of one workspace, whose private directory is `private`."""

    def __init__(self, history: History, private: Path) -> None:
        self._history = history
        self._path = private / FILE_NAME
        self._base = _open(self._path)

    def close(self) -> None:
        """Give the file back."""
        self._base.close()

    def catch_up(self) -> None:
        """Take in what is new in history and messages; what was taken in and has changed makes all be read anew."""
        try:
            self._take_in()
        except sqlite3.DatabaseError:
            self._anew()
            self._take_in()

    def _take_in(self) -> None:
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            if not self._fits():
                _empty(self._base)
            for path in self._history.messages.paths():
                self._messages(path)
            self._entries()

    def _anew(self) -> None:
        self._base.close()
        remove(self._path.parent)
        self._base = _open(self._path)

    def _fits(self) -> bool:
        """Return whether what was read stands there still: the last line of each file that was taken in."""
        for name, read, last in self._base.execute("SELECT name, read, last FROM source").fetchall():
            if name == "history":
                if read > self._history.last_cursor():
                    return False
            elif not _ends_with(self._history.messages.folder / name, read, last):
                return False
        return True

    def _messages(self, path: Path) -> None:
        row = self._base.execute("SELECT read FROM source WHERE name = ?", (path.name,)).fetchone()
        read = row[0] if row else 0
        size = path.stat().st_size
        if size <= read:
            return
        year, _, month = path.stem.partition("-")
        file = int(year) * 12 + int(month) - 1
        end, last = read, b""
        for start, line in messages.raw(path, read):
            end, last = start + len(line) + 1, line[-64:]
            said = messages.decode(line)
            if said is not None and said.text:
                day = said.at.toordinal() if said.at else None
                self._add(MESSAGE, said.session, said.position, file, start, day, said.name or said.role, said.text)
        self._base.execute("REPLACE INTO source VALUES (?, ?, ?)", (path.name, end, last))

    def _entries(self) -> None:
        row = self._base.execute("SELECT read FROM source WHERE name = 'history'").fetchone()
        read = row[0] if row else 0
        last = read
        for entry in self._history.after(read):
            last = entry.cursor
            if entry.content:
                self._add(ENTRY, entry.session, entry.cursor, 0, 0, entry.when.toordinal(), None, entry.content)
        if last != read:
            self._base.execute("REPLACE INTO source VALUES ('history', ?, '')", (last,))

    def _add(
        self,
        kind: int,
        key: str | None,
        position: int,
        file: int,
        start: int,
        day: int | None,
        speaker: str | None,
        text: str,
    ) -> None:
        found = terms(text)
        session = self._session(key) if key is not None else None
        done = self._base.execute(
            "INSERT INTO doc (kind, session, position, file, start, day, speaker, terms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (kind, session, position, file, start, day, speaker.casefold() if speaker else None, len(found)),
        )
        self._base.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (done.lastrowid, " ".join(found)))

    def _session(self, key: str) -> int:
        self._base.execute("INSERT OR IGNORE INTO session (key) VALUES (?)", (key,))
        return int(self._base.execute("SELECT id FROM session WHERE key = ?", (key,)).fetchone()[0])

    def matches(
        self, words: Sequence[str], kind: int, limit: int, days: tuple[int | None, int | None] = (None, None)
    ) -> list[Found]:
        """Return the documents of a kind that hold any of `words`, the best `limit` by BM25, between two days."""
        if not words:
            return []
        rows = self._base.execute(
            "SELECT d.id, d.kind, d.session, d.position, d.file, d.start, d.day, d.speaker, -f.score FROM"
            " (SELECT words.rowid, bm25(words) AS score FROM words JOIN doc ON doc.id = words.rowid"
            "  WHERE words MATCH ? AND doc.kind = ? AND (? IS NULL OR doc.day >= ?) AND (? IS NULL OR doc.day <= ?)"
            "  ORDER BY score LIMIT ?) f JOIN doc d ON d.id = f.rowid ORDER BY f.score",
            (" OR ".join(map(_quoted, words)), kind, days[0], days[0], days[1], days[1], limit),
        )
        return [Found(*row) for row in rows]

    def said(self, found: Found) -> Said | None:
        """Return the message of a document."""
        path = self._history.messages.folder / f"{found.file // 12:04}-{found.file % 12 + 1:02}.jsonl"
        return messages.message_at(path, found.start)

    def holding(self, word: str, most: int = HIGHEST) -> int:
        """Return how many documents hold `word`, counted up to `most`."""
        counted = self._base.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (_quoted(word), most)
        )
        return int(counted.fetchone()[0])

    def near(self, session: int | None, position: int, reach: int) -> list[Found]:
        """Return the messages at most `reach` positions from a place in a session, that place's own too, in order."""
        rows = self._base.execute(
            "SELECT id, kind, session, position, file, start, day, speaker, 0.0 FROM doc"
            " WHERE session IS ? AND position BETWEEN ? AND ? AND kind = ? ORDER BY position",
            (session, position - reach, position + reach, MESSAGE),
        )
        return [Found(*row) for row in rows]

    def session(self, key: str) -> int | None:
        """Return the number of a session."""
        row = self._base.execute("SELECT id FROM session WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def size(self) -> int:
        """Return how many documents there are."""
        return int(self._base.execute("SELECT max(id) FROM doc").fetchone()[0] or 0)  # none is ever taken out alone


def remove(private: Path) -> None:
    """Take the index away with whatever lies beside it, as `forget` does: nothing forgotten stays in it."""
    for name in FILES:
        (private / name).unlink(missing_ok=True)


def _open(path: Path) -> sqlite3.Connection:
    try:
        return _connected(path)
    except sqlite3.DatabaseError:
        with suppress(OSError):
            remove(path.parent)
            return _connected(path)
    except OSError:
        pass
    base = sqlite3.connect(":memory:", isolation_level=None)
    _make(base)
    return base


def _connected(path: Path) -> sqlite3.Connection:
    """Open the file by the workspace's door; raises OSError or DatabaseError."""
    make_folder(path.parent)
    os.close(open_file(path, os.O_RDWR | os.O_CREAT))
    base = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
    try:
        base.execute("PRAGMA synchronous = OFF")  # what a power cut leaves is built anew
        base.execute("PRAGMA secure_delete = ON")
        version = base.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            base.execute("BEGIN IMMEDIATE")
            if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:  # nobody was quicker
                _make(base)
            base.execute("COMMIT")
    except sqlite3.DatabaseError:
        base.close()
        raise
    return base


def _make(base: sqlite3.Connection) -> None:
    """Make the tables, in the place of those of another version."""
    for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if name in ("source", "session", "doc", "words"):
            base.execute(f"DROP TABLE {name}")
    for statement in _SCHEMA.split(";\n"):
        base.execute(statement)
    base.execute(f"PRAGMA user_version = {VERSION}")


def _empty(base: sqlite3.Connection) -> None:
    for table in ("source", "session", "doc"):
        base.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
    base.execute("INSERT INTO words (words) VALUES ('delete-all')")


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _ends_with(path: Path, read: int, last: bytes) -> bool:
    """Return whether the line that ends at `read` ends with `last`."""
    try:
        with opened(path) as descriptor:
            return os.pread(descriptor, len(last) + 1, max(0, read - len(last) - 1)) == last + b"\n"
    except OSError:
        return False
