"""Read an SQLite file that another program may be writing, without ever writing to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from dream.errors import TranscriptError
from dream.transcripts.parts import Json
from dream.transcripts.source import Source

if TYPE_CHECKING:
    import sqlite3


def tables(path: Path) -> tuple[str, ...]:
    """Return the names of the tables in the file. Raises TranscriptError if it can't be read."""
    import sqlite3

    try:
        with closing(_open(path)) as database:
            found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            return tuple(str(name) for (name,) in found)
    except sqlite3.Error as error:
        raise TranscriptError(f"{path} is a database that cannot be read ({error}); copy it again.") from error


def rows(source: Source, table: str, order: Sequence[str], newest: tuple[str, str] | None = None) -> Iterator[Json]:
    """Yield the rows of a table, sorted by those columns of `order` that it has. A damaged rest is reported.

    `newest` names a column of groups and one of times: the group whose last time is the earliest comes first.
    """
    import sqlite3

    try:
        with closing(_open(source.path)) as database:
            columns = [str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')]
            sorts = [f'"{column}"' for column in order if column in columns] or ["rowid"]
            if newest and set(newest) <= set(columns):
                sorts.insert(0, f'max("{newest[1]}") OVER (PARTITION BY "{newest[0]}")')
            sort = ", ".join(sorts)
            yield from _named(database.execute(f'SELECT * FROM "{table}" ORDER BY {sort}'))  # noqa: S608, our own names
    except sqlite3.Error as error:
        source.say(0, f"The table {table!r} could not be read to its end ({error}).")


def selected(source: Source, statement: str) -> Iterator[Json]:
    """Yield what a SELECT of ours finds. A damaged rest is reported."""
    import sqlite3

    try:
        with closing(_open(source.path)) as database:
            yield from _named(database.execute(statement))
    except sqlite3.Error as error:
        source.say(0, f"The database could not be read to its end ({error}).")


def _named(cursor: sqlite3.Cursor) -> Iterator[Json]:
    columns = [str(column[0]) for column in cursor.description]
    for row in cursor:
        yield dict(zip(columns, row, strict=True))


def groups(source: Source, table: str, by: str, newest: str) -> list[str]:
    """Return the groups of a table's rows, by the column `by`; the one whose last `newest` is the earliest first.

    Raises TranscriptError if the table can't be read.
    """
    import sqlite3

    try:
        with closing(_open(source.path)) as database:
            found = database.execute(f'SELECT "{by}" FROM "{table}" GROUP BY "{by}" ORDER BY max("{newest}")')  # noqa: S608, our own names
            return [str(group) for (group,) in found]
    except sqlite3.Error as error:
        raise TranscriptError(f"{source.path} is a database that cannot be read ({error}); copy it again.") from error


def _open(path: Path) -> sqlite3.Connection:
    """Open read-only; where that needs a file beside it that can't be made, as it stands on disk."""
    import sqlite3

    place = f"file:{quote(str(path.resolve()).encode('utf-8', 'surrogateescape'))}"
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        database = sqlite3.connect(f"{place}?{mode}", uri=True, timeout=5)
        database.text_factory = _text
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            database.close()
            if "immutable" in mode:
                raise
        else:
            return database
    raise AssertionError("unreachable")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
