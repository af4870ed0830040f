"""The index: what the log, git and the transcripts say, so that it can be looked up: one SQLite file, a cache.

Nothing of value is only in it. Where it is gone, damaged or another version's, it is built anew; where SQLite can't
lock or write, it lies in memory and is worked out by each process, and `dream doctor` says so. It is written in WAL
mode without waiting for the disk: after a power cut it is as it was a moment before, and whole.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from dream.door import is_foreign, open_file
from dream.errors import WorkspaceError
from dream.workspace.files import check_plain, reason
from dream.workspace.lock import FileLock

if TYPE_CHECKING:
    from sqlite3 import Connection, Error

NAME = "index.sqlite"
LOCK = f"{NAME}.lock"  # held while the file is opened, made or removed
NAMES = tuple(NAME + end for end in ("-wal", "-shm", "-journal", ""))
VERSION = 15  # of the tables; a file of any other is removed
TRIES = 3  # a file found damaged, a new one, memory
PATIENCE = 2.0  # seconds until another process has written, which takes it milliseconds
TABLES = (
    "CREATE TABLE document (name text primary key, data blob) without rowid",
    "CREATE TABLE archived (name text primary key, size integer) without rowid",
    "CREATE TABLE session (key blob primary key, position integer, prefix text) without rowid",
    "CREATE TABLE message (digest blob primary key, session blob) without rowid",
)
# Of `recall`, which makes them when it first takes something in.
RECALL_TABLES = (
    "CREATE TABLE recall_source (name TEXT PRIMARY KEY, read INTEGER NOT NULL, last BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE recall_session (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL)",
    (
        "CREATE TABLE recall_doc (id INTEGER PRIMARY KEY, session INTEGER, position INTEGER NOT NULL,"
        " file INTEGER NOT NULL, start INTEGER NOT NULL, day INTEGER, speaker TEXT, marks INTEGER NOT NULL)"
    ),
    "CREATE INDEX recall_place ON recall_doc (session, position)",
    "CREATE TABLE recall_part (part INTEGER PRIMARY KEY, lengths BLOB NOT NULL, days BLOB NOT NULL)",
    ("CREATE TABLE recall_term (term TEXT, part INTEGER, docs BLOB NOT NULL, PRIMARY KEY (term, part)) WITHOUT ROWID"),
    "CREATE TABLE recall_digest (doc INTEGER PRIMARY KEY, digest BLOB NOT NULL)",
    "CREATE TABLE recall_sketch (part INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)
VECTOR_TABLES = (
    "CREATE TABLE recall_model (name TEXT NOT NULL)",
    "CREATE TABLE recall_vector (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
)
# What the system refuses is no damage, and the file stays (SQLite's result codes).
REFUSED = {3: "PERM", 5: "BUSY", 6: "LOCKED", 7: "NOMEM", 8: "READONLY", 10: "IOERR", 13: "FULL", 14: "CANTOPEN"}
REFUSED |= {15: "PROTOCOL", 22: "NOLFS", 23: "AUTH"}

T = TypeVar("T")
_of_parents: list[Connection] = []  # opened before a fork: SQLite must neither use nor close them here


class Index:
    """The index in the directory `private`; threads and processes may share it.

    Another process may remove it at any moment: what is asked in one transaction is of one file.
    """

    def __init__(self, private: Path) -> None:
        self._path = private / NAME
        self._lock = FileLock(private / LOCK)
        self._guard = threading.RLock()
        self._connection: Connection | None = None
        self._process = 0
        self._inode = 0
        self.refused = ""  # why it can't be used, in SQLite's or the system's words

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]] | None:
        """Return what a query finds; None where there is no index, or not any more."""
        return self._tried(lambda db: db.execute(query, values).fetchall(), make=False)

    def read(self, deed: Callable[[Connection], T]) -> T | None:
        """Do `deed`, which only reads, in one transaction; None where there is no index."""

        def transaction(db: Connection) -> T:
            db.execute("begin")
            try:
                return deed(db)
            finally:
                db.execute("rollback")

        return self._tried(transaction, make=False)

    def change(self, deed: Callable[[Connection], T]) -> T | None:
        """Do `deed` in one transaction, in a new file where there is none; None where SQLite gives up in memory too."""

        def transaction(db: Connection) -> T:
            db.execute("begin immediate")
            try:
                done = deed(db)
                db.execute("commit")
            finally:
                if db.in_transaction:
                    db.execute("rollback")
            return done

        return self._tried(transaction, make=True)

    def document(self, name: str) -> Any:
        """Return the JSON value that is kept under `name`; None where there is none."""
        for (data,) in self.rows("select data from document where name = ?", name) or ():
            with suppress(ValueError):
                return orjson.loads(data)
        return None

    def keep(self, **documents: object) -> None:
        """Keep JSON values under their names; what can't be kept costs time later, and nothing else."""
        rows = [(name, orjson.dumps(value)) for name, value in documents.items()]
        self.change(lambda db: db.executemany("insert or replace into document values (?, ?)", rows))

    def remove(self) -> None:
        """Remove the index, with every byte that SQLite keeps beside it; raises OSError."""
        with self._guard:
            self.close()
            if any(os.path.lexists(self._path.with_name(name)) for name in NAMES):
                self._remove()

    def fault(self) -> str:
        """Return why the index that was begun can't be used; "" where it can, or there is none."""
        with self._guard:
            self.close()
            if os.path.lexists(self._path):
                self.change(lambda db: db.execute("select count(*) from document"))
            return self.refused

    def close(self) -> None:
        """Give the descriptors back; the next use opens the file again."""
        with self._guard:
            self._drop()
            self._lock.close()
            self.refused = ""

    def __del__(self) -> None:
        self._drop()

    def _tried(self, deed: Callable[[Connection], T], *, make: bool) -> T | None:
        """Do `deed`, anew where the file turns out to be damaged or refused; None where there is none to read."""
        with self._guard:
            for _ in range(TRIES):
                if self._connection is None or self._process != os.getpid() or self._has_moved():
                    self._open(make=make)
                if self._connection is None:
                    return None
                import sqlite3

                try:
                    return deed(self._connection)
                except sqlite3.ProgrammingError:
                    raise
                except sqlite3.DatabaseError as fault:
                    self._drop()
                    if not self._is_refusal(fault):
                        with suppress(OSError):
                            self._remove()
            return None

    def _open(self, *, make: bool) -> None:
        """Open the file, or make it if that is wanted; in memory where the system refuses it."""
        if self._connection is not None and self._process != os.getpid():
            _of_parents.append(self._connection)
            self._connection = None
        self._drop()
        if not (make or os.path.lexists(self._path)):
            return
        import sqlite3

        self._process = os.getpid()
        try:
            if not self.refused:
                with self._lock:
                    self._connection = self._connected()
                self._inode = self._path.stat().st_ino
        except (WorkspaceError, sqlite3.DatabaseError) as fault:
            self.refused = str(fault)
        except OSError as fault:
            self.refused = reason(fault)
        if self.refused and make:
            self._drop()
            self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            for statement in TABLES:
                self._connection.execute(statement)

    def _connected(self) -> Connection:
        """Open the file, or make it; raises sqlite3.DatabaseError, WorkspaceError or OSError."""
        import sqlite3

        try:
            return self._sound()
        except sqlite3.DatabaseError as fault:
            if self._is_refusal(fault):
                raise
        self._unlink()
        return self._sound()

    def _sound(self) -> Connection:
        import sqlite3

        for name in NAMES:  # SQLite itself would follow a link
            path = self._path.with_name(name)
            check_plain(path)
            if os.path.lexists(path) and is_foreign(path.lstat()):
                raise WorkspaceError(f"{path} belongs to another user; make it yours first.")
        if not self._path.exists():  # SQLite's own mode would be 0644
            os.close(open_file(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        db = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: Connection) -> None:
        import sqlite3

        db.execute("pragma trusted_schema = off")
        version = db.execute("pragma user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"the index is of version {version}")
        made = {sql for (sql,) in db.execute("select sql from sqlite_master where sql is not null")}
        if not made <= {*TABLES, *RECALL_TABLES, *VECTOR_TABLES}:  # a trigger could do anything, and without end
            raise sqlite3.DatabaseError("something in the index is not dream's")
        if db.execute("pragma journal_mode = wal").fetchone()[0] != "wal":
            self.refused = "SQLite can't share memory there"
            raise sqlite3.OperationalError(self.refused)
        db.execute("pragma synchronous = normal")
        if not version:
            for statement in ("begin immediate", *TABLES, f"pragma user_version = {VERSION}", "commit"):
                db.execute(statement)

    def _is_refusal(self, fault: Error) -> bool:
        """Return whether the system refused, and note it; else the file is damaged, or another version's."""
        if self.refused:
            return True
        if getattr(fault, "sqlite_errorcode", 0) & 0xFF in REFUSED:
            self.refused = str(fault)
        return bool(self.refused)

    def _has_moved(self) -> bool:
        try:
            return not self.refused and self._inode != self._path.stat().st_ino
        except OSError:
            return True

    def _drop(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _remove(self) -> None:
        with self._lock:
            self._unlink()

    def _unlink(self) -> None:
        for name in NAMES:
            self._path.with_name(name).unlink(missing_ok=True)
