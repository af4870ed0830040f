"""Read an SQLite file that another program may be writing, without ever writing to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from dream.errors import TranscriptError
from dream.transcripts.parts import Json

if TYPE_CHECKING:
    import sqlite3

    from dream.transcripts.source import Source


def tables(path: Path) -> tuple[str, ...]:
    """Return the names of the tables in the file. Raises TranscriptError if it can't be read."""
    return tuple(_asked(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"))


def groups(path: Path, table: str, by: str, newest: str) -> list[str]:
    """Return the groups of a table's rows, by the column `by`; the one whose last `newest` is the earliest first.

    Raises TranscriptError if the table can't be read.
    """
    return _asked(path, f'SELECT "{by}" FROM "{table}" GROUP BY "{by}" ORDER BY max("{newest}")')  # noqa: S608, our own names


def rows(source: Source, table: str, order: Sequence[str], newest: tuple[str, str] | None = None) -> Iterator[Json]:
    """Yield the rows of a table, sorted by those columns of `order` that it has. A damaged rest is reported.

    `newest` names a column of groups and one of times: the group whose last time is the earliest comes first.
    """
    columns = {row["name"] for row in selected(source, f'PRAGMA table_info("{table}")')}
    if columns:
        sorts = [f'"{column}"' for column in order if column in columns] or ["rowid"]
        if newest and columns.issuperset(newest):
            sorts.insert(0, f'max("{newest[1]}") OVER (PARTITION BY "{newest[0]}")')
        yield from selected(source, f'SELECT * FROM "{table}" ORDER BY {", ".join(sorts)}')  # noqa: S608, our own names


def selected(source: Source, statement: str) -> Iterator[Json]:
    """Yield the rows that a statement of ours finds. A damaged rest is reported."""
    import sqlite3

    try:
        with closing(_open(source.path)) as database:
            cursor = database.execute(statement)
            columns = [str(column[0]) for column in cursor.description]
            for row in cursor:
                yield dict(zip(columns, row, strict=True))
    except sqlite3.Error as error:
        source.say(0, f"The database could not be read to its end ({error}).")


def _asked(path: Path, statement: str) -> list[str]:
    """Return the first column of what a statement of ours finds. Raises TranscriptError."""
    import sqlite3

    try:
        with closing(_open(path)) as database:
            return [str(row[0]) for row in database.execute(statement)]
    except sqlite3.Error as error:
        raise TranscriptError(f"{path} is a database that cannot be read ({error}); copy it again.") from error


def _open(path: Path) -> sqlite3.Connection:
    """Open read-only; where that needs a file beside it that can't be made, as it stands on disk."""
    import sqlite3

    place = f"file:{quote(str(path.resolve()).encode('utf-8', 'surrogateescape'))}?mode=ro"
    try:
        return _connected(place)
    except sqlite3.OperationalError:
        return _connected(f"{place}&immutable=1")


def _connected(place: str) -> sqlite3.Connection:
    import sqlite3

    database = sqlite3.connect(place, uri=True, timeout=5)
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        database.close()
        raise
    return database
