"""What search looks up: tables of its own in the workspace's index, which hold terms and places, never a text.

A search first takes in what is new: messages from where their file was left, entries from the last cursor. What no
longer fits what it was made of is built anew. Where the index can't be used (a workspace that may only be read),
the tables live in memory for as long as the search.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dream.door import open_file
from dream.errors import WorkspaceError
from dream.history import messages
from dream.history.messages import KeptMessage, Messages
from dream.recall.terms import terms
from dream.workspace import index

if TYPE_CHECKING:
    from dream.history.history import History

BATCH = 500  # documents taken in at a time, so that nobody waits long for the index
MESSAGE, ENTRY = 0, 1  # kinds of documents
HIGHEST = 1 << 40
HISTORY = "history"  # the name of the source that entries come from

_SCHEMA = (
    "CREATE TABLE recall_source (name TEXT PRIMARY KEY, read INTEGER NOT NULL, last BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE recall_session (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL)",
    (
        "CREATE TABLE recall_doc (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, session INTEGER,"
        " position INTEGER NOT NULL, file INTEGER NOT NULL, start INTEGER NOT NULL, day INTEGER, speaker TEXT)"
    ),
    "CREATE INDEX recall_place ON recall_doc (session, position)",
    (
        "CREATE VIRTUAL TABLE recall_words USING fts5"
        "(terms, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '.,:/@&+#_-%'\")"
    ),
)
_BEGUN = "SELECT id FROM recall_session WHERE key >= ? AND key < ? || char(1114111) LIMIT 2"


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


@dataclass(frozen=True, slots=True)
class _Document:
    """What is taken in: a message or an entry, where it stands, and its terms."""

    kind: int
    key: str | None
    position: int
    file: int
    start: int
    day: int | None
    speaker: str | None
    terms: str


@dataclass(frozen=True, slots=True)
class _Part:
    """What comes next of a source, which was read up to `before`; `last` is how the part's last line ends."""

    name: str
    before: int
    after: int
    last: bytes
    documents: Sequence[_Document]


class Index:
    """The tables for the history of one workspace."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._base = history.index
        self._in_memory = False

    def close(self) -> None:
        """Give what is in memory back; the workspace's index is its history's."""
        if self._in_memory:
            self._base.close()

    def catch_up(self) -> None:
        """Take in what is new in history and messages; what was taken in and has changed makes all be read anew."""
        self._base.renew()
        while (part := self._next(self._read())) is not None:
            if self._base.change(lambda db, part=part: _take_in(db, part)) is None:  # type: ignore[misc]
                self._base.renew()
                if self._base.change(lambda db: db.execute("SELECT 1")) is None:
                    self._use_memory()
        self._history.tell_of_index()

    def _use_memory(self) -> None:
        if self._in_memory:
            raise WorkspaceError("Search needs Python's SQLite to be built with FTS5, and it is not.")
        self._base, self._in_memory = index.Index.in_memory(), True

    def _read(self) -> Mapping[str, tuple[int, bytes]]:
        """Return how far each source was read, and how its last line ends; nothing where that doesn't stand there."""
        found = {name: (read, last) for name, read, last in self._rows("SELECT name, read, last FROM recall_source")}
        if all(self._fits(name, *known) for name, known in found.items()):
            return found
        self._base.change(_empty)
        return {}

    def _fits(self, name: str, read: int, last: bytes) -> bool:
        if name == HISTORY:
            return read <= self._history.last_cursor()
        return _ends_with(self._history.messages.folder / name, read, last)

    def _next(self, read: Mapping[str, tuple[int, bytes]]) -> _Part | None:
        for path in self._history.messages.paths():
            part = _messages(self._history.messages, path, read.get(path.name, (0, b""))[0])
            if part.after > part.before:
                return part
        before = read.get(HISTORY, (0, b""))[0]
        entries = list(islice(self._history.after(before), BATCH))
        documents = [
            _Document(ENTRY, one.session, one.cursor, 0, 0, one.when.toordinal(), None, " ".join(terms(one.content)))
            for one in entries
            if one.content
        ]
        return _Part(HISTORY, before, entries[-1].cursor, b"", documents) if entries else None

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds; nothing before anything was taken in."""
        if not self._base.rows("SELECT 1 FROM sqlite_master WHERE name = 'recall_words'"):
            return []
        return self._base.rows(query, *values) or []

    def matches(
        self, words: Sequence[str], kind: int, limit: int, days: tuple[int | None, int | None] = (None, None)
    ) -> list[Found]:
        """Return the documents of a kind that hold any of `words`, the best `limit` by BM25, between two days."""
        if not words:
            return []
        rows = self._rows(
            "SELECT d.id, d.kind, d.session, d.position, d.file, d.start, d.day, d.speaker, -f.score FROM"
            " (SELECT w.rowid, bm25(recall_words) AS score FROM recall_words w JOIN recall_doc o ON o.id = w.rowid"
            "  WHERE recall_words MATCH ? AND o.kind = ? AND (? IS NULL OR o.day >= ?) AND (? IS NULL OR o.day <= ?)"
            "  ORDER BY score LIMIT ?) f JOIN recall_doc d ON d.id = f.rowid ORDER BY f.score",
            *(" OR ".join(map(_quoted, words)), kind, days[0], days[0], days[1], days[1], limit),
        )
        return [Found(*row) for row in rows]

    def said(self, found: Found) -> KeptMessage | None:
        """Return the message of a document."""
        path = self._history.messages.folder / f"{found.file // 12:04}-{found.file % 12 + 1:02}.jsonl"
        return self._history.messages.at(path, found.start)

    def holding(self, word: str, most: int = HIGHEST) -> int:
        """Return how many documents hold `word`, counted up to `most`."""
        query = "SELECT count(*) FROM (SELECT 1 FROM recall_words WHERE recall_words MATCH ? LIMIT ?)"
        return sum(count for (count,) in self._rows(query, _quoted(word), most))

    def near(self, session: int | None, position: float, reach: float) -> list[Found]:
        """Return the messages at most `reach` positions from a place in a session, that place's own too, in order."""
        rows = self._rows(
            "SELECT id, kind, session, position, file, start, day, speaker, 0.0 FROM recall_doc"
            " WHERE session IS ? AND position BETWEEN ? AND ? AND kind = ? ORDER BY position",
            *(session, position - reach, position + reach, MESSAGE),
        )
        return [Found(*row) for row in rows]

    def between(self, session: str, first: int, last: int) -> list[Found]:
        """Return the messages of a session from position `first` to `last`, both included, in order.

        A beginning of its key that no other has names it too.
        """
        exact = self._rows("SELECT id FROM recall_session WHERE key = ?", session)
        rows = exact or self._rows(_BEGUN, session, session)
        if len(rows) > 1:
            return []
        middle, reach = (first + last) / 2, (last - first) / 2
        return [one for (number,) in rows for one in self.near(number, middle, reach)]

    def short(self, key: str, least: int) -> str:
        """Return the shortest beginning of a session's key that no other has, with `least` characters of its id."""
        for length in range(key.find(":") + 1 + least, len(key)):
            if len(self._rows(_BEGUN, key[:length], key[:length])) < 2:
                return key[:length]
        return key

    def has_messages(self, session: int) -> bool:
        """Return whether messages of a session are kept, by its number."""
        return bool(self._rows("SELECT 1 FROM recall_doc WHERE session = ? AND kind = ? LIMIT 1", session, MESSAGE))

    def size(self) -> int:
        """Return how many documents there are."""
        return sum(last or 0 for (last,) in self._rows("SELECT max(id) FROM recall_doc"))  # none goes alone


def _messages(kept: Messages, path: Path, before: int) -> _Part:
    """Read what comes next of a file of messages."""
    year, _, month = path.stem.partition("-")
    file = int(year) * 12 + int(month) - 1
    after, last, documents = before, b"", list[_Document]()
    for start, line in islice(kept.raw(path, before), BATCH):
        after, last = start + len(line) + 1, line[-64:]
        said = messages.decode(line)
        if said is not None and said.text:
            day = said.at.toordinal() if said.at else None
            speaker = (said.name or said.role).casefold()
            found = " ".join(terms(said.text))
            documents.append(_Document(MESSAGE, said.session, said.position, file, start, day, speaker, found))
    return _Part(path.name, before, after, last, documents)


def _take_in(db: sqlite3.Connection, part: _Part) -> bool:
    """Write a part, unless somebody else has."""
    _make(db)
    known = db.execute("SELECT read FROM recall_source WHERE name = ?", (part.name,)).fetchone()
    if (known[0] if known else 0) != part.before:
        return True
    for one in part.documents:
        done = db.execute(
            "INSERT INTO recall_doc (kind, session, position, file, start, day, speaker) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (one.kind, _session(db, one.key), one.position, one.file, one.start, one.day, one.speaker),
        )
        db.execute("INSERT INTO recall_words (rowid, terms) VALUES (?, ?)", (done.lastrowid, one.terms))
    db.execute("REPLACE INTO recall_source VALUES (?, ?, ?)", (part.name, part.after, part.last))
    return True


def _session(db: sqlite3.Connection, key: str | None) -> int | None:
    if key is None:
        return None
    db.execute("INSERT OR IGNORE INTO recall_session (key) VALUES (?)", (key,))
    return int(db.execute("SELECT id FROM recall_session WHERE key = ?", (key,)).fetchone()[0])


def _make(db: sqlite3.Connection) -> None:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'recall_words'").fetchone():
        for statement in _SCHEMA:
            db.execute(statement)


def _empty(db: sqlite3.Connection) -> bool:
    for table in ("recall_source", "recall_session", "recall_doc"):
        db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
    db.execute("INSERT INTO recall_words (recall_words) VALUES ('delete-all')")
    return True


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _ends_with(path: Path, read: int, last: bytes) -> bool:
    """Return whether the line that ends at `read` ends with `last`."""
    try:
        descriptor = open_file(path)
    except OSError:
        return False
    try:
        return os.pread(descriptor, len(last) + 1, max(0, read - len(last) - 1)) == last + b"\n"
    except OSError:
        return False
    finally:
        os.close(descriptor)
