"""A transcript on disk: what shape it has, how it begins, its records one after the other; and what a reader is."""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from glob import has_magic
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal
from urllib.parse import quote

from dream.errors import NoTranscript, TranscriptError
from dream.models import Diagnostic, Message, Report, Unread
from dream.transcripts import records
from dream.transcripts.parts import Json
from dream.transcripts.records import CHUNK, MAX_RECORD
from dream.transcripts.turns import Options

if TYPE_CHECKING:
    import sqlite3
    from zipfile import ZipFile


Shape = Literal["lines", "array", "object", "text", "zip", "sqlite"]
Pair = tuple[str, Message]  # a session's key, and a message of it
Said = tuple[str | None, Message]  # the same with the session's id, None where it has none

HEAD_BYTES = 1 << 16  # bytes of a file that are read to recognise its shape
HEAD_RECORDS = 40  # records that are read to recognise its format
RESTARTS = 20  # after elements of an array that are broken beyond their end
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
CUT_SHORT = "The file ends in the middle of its JSON; what stands before that was read."


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a transcript and the line that it begins on."""

    line: int
    value: Json


@dataclass(frozen=True, slots=True)
class Head:
    """What a format is recognised by: a file's shape, its first bytes, its first records, its header.

    `header` is the fields of an object beside its list of messages; `lists` are the names of its lists; `names` are
    the members of a zip file or the tables of a database.
    """

    shape: Shape
    start: bytes
    records: tuple[Json, ...] = ()
    header: Json = field(default_factory=dict)
    lists: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Passed:
    """How many bytes of a file have been read so far."""

    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript's file. Every method opens it anew and reads it as a stream.

    `default_id` is the id of a session whose format has none: `session`, else the file's stem and 8 hex digits of its
    absolute path.
    `passed` says how many bytes of its lines have been read.
    """

    path: Path
    shape: Shape
    encoding: str
    skip: int  # bytes of the byte order mark
    report: Report
    session: str = ""
    passed: Passed = field(default_factory=Passed, repr=False, compare=False)
    _header: list[tuple[Json, frozenset[str]]] = field(default_factory=list, repr=False, compare=False)  # once read

    @property
    def default_id(self) -> str:
        """Return an id that is the same as long as the file stays where it is."""
        if self.session:
            return self.session
        digest = sha256(str(self.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        stem = str(self.path.stem).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return f"{stem}-{digest}"

    def say(self, line: int, text: str) -> None:
        """Report something about a line of this file."""
        self.report((Unread if text == CUT_SHORT else Diagnostic)(str(self.path), line, text))

    def open(self) -> IO[bytes]:
        """Open the file as a stream of UTF-8 bytes; one in another encoding, which is rare, is read whole."""
        if self.encoding != "utf-8":
            text = self.path.read_bytes()[self.skip :].decode(self.encoding, "replace")
            return io.BytesIO(text.encode("utf-8", "replace"))
        file = self.path.open("rb")
        file.seek(self.skip)
        return file

    def lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """Yield (number, line, whether a newline ends it). A line over MAX_RECORD is reported and passed over."""
        number = 0
        with self.open() as file:
            while raw := file.readline(MAX_RECORD):
                number += 1
                self.passed.bytes += len(raw)
                if len(raw) == MAX_RECORD and not raw.endswith(b"\n"):
                    self.say(number, f"The line is longer than {MAX_RECORD >> 20} MiB and was left out.")
                    rest = b""
                    while not rest.endswith(b"\n") and (rest := file.readline(MAX_RECORD)):
                        self.passed.bytes += len(rest)
                    continue
                yield number, raw, raw.endswith(b"\n")

    def records(self) -> Iterator[Record]:
        """Yield the records: JSON lines, the elements of an array, or of an object's lists.

        A broken one is reported with its line and left out; so is a torn end, which is read when it is complete.
        """
        if self.shape == "lines":
            yield from self._line_records()
        elif self.shape in ("array", "object"):
            with self.open() as file:
                yield from records_in(file, self.say)

    def header(self) -> tuple[Json, frozenset[str]]:
        """Return the fields of an object, without its streamed lists, and the names of these lists.

        They may stand behind the list, so the first call passes the whole file; later ones remember.
        """
        if self.shape == "object" and not self._header:
            self._header.append(self._read_header())
        return self._header[0] if self._header else ({}, frozenset())

    def rows(self, table: str, order: Sequence[str], newest: tuple[str, str] | None = None) -> Iterator[Json]:
        """Yield a table's rows, sorted by the columns of `order` that it has. Rows lost to damage are reported.

        `newest` names a column to group by and one of times: groups are sorted by their latest time, oldest first.
        """
        columns = {row["name"] for row in self.selected(f'PRAGMA table_info("{table}")')}
        if columns:
            sorts = [f'"{column}"' for column in order if column in columns] or ["rowid"]
            if newest and columns.issuperset(newest):
                sorts.insert(0, f'max("{newest[1]}") OVER (PARTITION BY "{newest[0]}")')
            yield from self.selected(f'SELECT * FROM "{table}" ORDER BY {", ".join(sorts)}')

    def selected(self, statement: str) -> Iterator[Json]:
        """Yield the rows that an SQL statement returns. Rows lost to damage are reported."""
        import sqlite3

        try:
            with closing(_open(self.path)) as database:
                cursor = database.execute(statement)
                columns = [str(column[0]) for column in cursor.description]
                for row in cursor:
                    yield dict(zip(columns, row, strict=True))
        except sqlite3.Error as error:
            self.say(0, f"The database could not be read to its end ({error}).")

    def _read_header(self) -> tuple[Json, frozenset[str]]:
        found: Json = {}
        lists = set()
        with self.open() as file:
            for piece in records.pieces(file):
                if piece.name.endswith("[]"):
                    lists.add(piece.name[:-2])
                elif piece.whole:
                    try:
                        found[piece.name] = records.value(piece.raw)[0]
                    except records.Broken as broken:
                        self.say(piece.line, f"The field {piece.name!r} {broken}; it was left out.")
        return found, frozenset(lists)

    def _line_records(self) -> Iterator[Record]:
        for number, raw, ended in self.lines():
            if not raw.strip():
                continue
            try:
                value, mended = records.record(raw)
            except records.Broken as broken:
                if ended:
                    self.say(number, f"The line {broken}; it was left out.")
                else:
                    self.say(number, "The line is not complete yet and will be read when it is.")
                continue
            if mended:
                self.say(number, f"The line {mended}.")
            yield Record(number, value)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory, under home or where an environment variable says, and a glob pattern beneath it."""

    directory: str
    pattern: str
    variable: str | None = None

    def glob(self, home: Path, environ: Mapping[str, str]) -> str:
        """Return the glob pattern of the transcripts; `environ` is the environment as a value."""
        own = environ.get(self.variable) if self.variable else None
        return str(Path(own).expanduser() / self.pattern if own else home / self.directory / self.pattern)

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        """Return the directory beneath which an agent keeps its sessions, as far as no pattern is needed."""
        *above, _ = Path(self.glob(home, environ)).parts
        return Path(*takewhile(lambda part: not has_magic(part), above))


@dataclass(frozen=True, slots=True)
class Deletion:
    """After how many days without a change an agent deletes a session by itself, and the setting that says so."""

    days: float
    setting: str


def kept_for_ever(home: Path, environ: Mapping[str, str]) -> Deletion | None:
    """Say that an agent deletes no session by itself, as far as is known."""
    return None


def setting(path: Path, *names: str) -> object:
    """Return a setting in an agent's own JSON file; None where it is not set, or the file can't be read."""
    found: object = None
    with suppress(OSError, records.Broken):
        found = records.value(path.read_bytes())[0]
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


@dataclass(frozen=True, slots=True)
class Reader:
    """One agent's format: how it is recognised, from a file's content alone, and read, and where it lies.

    `name` stands in `--format` and at the front of session keys, unless `key` does. `read` yields session and message
    for each message of a file. The messages of one session come in order, and an append to the file never changes or
    moves earlier ones. Of a broken file what is left out is reported and the rest read; nothing but TranscriptError is
    raised, and that only where nothing can be read.
    `paired`: it records every call of a tool, so that a result without one is left out. `asks` is the agent's own tool
    that puts questions to the user. `needs` says what has to be installed before it can be read, and how; ""
    where all is there. `title` is what the agent's makers call it; `deletes` says when it deletes its sessions.
    """

    name: str
    recognises: Callable[[Head], bool]
    read: Callable[[Source, Options], Iterator[Said]]
    places: tuple[Place, ...] = ()
    key: str = ""
    paired: bool = True
    asks: str = ""
    needs: Callable[[], str] = str
    title: str = ""
    deletes: Callable[[Path, Mapping[str, str]], Deletion | None] = kept_for_ever


def open_source(path: Path, report: Report) -> Source:
    """Look at the file at `path`. Raises TranscriptError if it is missing, unreadable, empty or binary."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise TranscriptError(f"{path} is not a file; name a transcript or a directory of them.")
        with path.open("rb") as file:
            start = file.read(HEAD_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise TranscriptError(f"{path} does not exist; check the path.") from None
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "") and error.strerror
        raise TranscriptError(f"{path} cannot be read ({reason}); check its permissions.") from error
    except ValueError:
        raise TranscriptError(f"{str(path)!r} is no path: it holds a NUL character.") from None
    if start.startswith(b"PK\x03\x04"):
        return Source(path, "zip", "utf-8", 0, report)
    if start.startswith(b"SQLite format 3\0"):
        return Source(path, "sqlite", "utf-8", 0, report)
    encoding, skip = _encoding(start)
    told = start[skip:].decode(encoding, "replace").encode("utf-8", "replace") if encoding != "utf-8" else start[skip:]
    if not told.strip(b" \t\r\n\x00") and len(start) < HEAD_BYTES:
        raise NoTranscript(f"{path} is empty; there is nothing to read in it.")
    if b"\0" in told and not _is_object(told.lstrip().partition(b"\n")[0]):
        raise NoTranscript(f"{path} is a binary file, not a transcript; name a JSON, JSONL or text file.")
    source = Source(path, "text", encoding, skip, report)
    return replace(source, shape=_shape(source))


def read_head(source: Source) -> Head:
    """Read the beginning of `source`, to recognise its format. Damage is reported later, when the file is read."""
    quiet = replace(source, report=ignore, passed=Passed())
    with source.open() as file:
        start = file.read(HEAD_BYTES)
    if source.shape == "sqlite":
        return Head(source.shape, start, names=tables(source.path))
    if source.shape == "zip":
        with zipped(source.path) as archive:
            return Head(source.shape, start, names=tuple(archive.namelist()))
    if source.shape == "text":
        return Head(source.shape, start)
    records = tuple(record.value for record in islice(quiet.records(), HEAD_RECORDS))
    header, lists = source.header()
    return Head(source.shape, start, records, header, lists)


def records_in(file: IO[bytes], say: Callable[[int, str], None], restarts: int = RESTARTS) -> Iterator[Record]:
    """Yield the elements of the JSON array in `file`, or of the object's lists, and `say` which are broken.

    An element that lacks a bracket takes those after it along; they are looked for again where a line begins with
    the same indent, up to `restarts` times.
    """
    for piece in records.pieces(file):
        if piece.name and not piece.name.endswith("[]"):
            if not piece.whole:
                say(piece.line, CUT_SHORT)
            continue
        try:
            value, mended = records.record(piece.raw) if piece.whole else records.incomplete()
        except records.Broken as broken:
            follows = restarts and piece.raw.find(b"\n" + piece.indent + b"{") >= 0
            say(piece.line, f"The record {broken}; it was left out." if piece.whole or follows else CUT_SHORT)
            if follows:
                yield from _after(piece, say, restarts - 1)
            continue
        if mended:
            say(piece.line, f"The record {mended}.")
        yield Record(piece.line, value)


def _after(broken: records.Piece, say: Callable[[int, str], None], restarts: int) -> Iterator[Record]:
    """Yield the elements that a broken one took along."""
    found = broken.raw.find(b"\n" + broken.indent + b"{")
    passed = broken.line - 1 + broken.raw.count(b"\n", 0, found + 1)
    rest = io.BytesIO(b"[" + broken.raw[found + 1 :])
    for record in records_in(rest, lambda line, text: say(passed + line, text), restarts):
        yield Record(passed + record.line, record.value)


def at_once(name: str, flags: int) -> int:
    """Open a file, as `opener`, without blocking if it is a named pipe by now."""
    return os.open(name, flags | os.O_NONBLOCK)


def ignore(diagnostic: Diagnostic) -> None:
    """Report nothing."""


@contextmanager
def zipped(path: Path) -> Iterator[ZipFile]:
    """Open a zip file for the block. Raises TranscriptError where it, or what is read of it, can't be read."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        # RuntimeError is what an encrypted member raises.
        raise TranscriptError(f"{path} is a zip file that cannot be read ({error}); download it again.") from error


def _encoding(start: bytes) -> tuple[str, int]:
    """Return the encoding and the length of the byte order mark; UTF-16 is also known by its NULs."""
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return encoding, len(mark)
    sample = start[:1024]
    half = len(sample) // 2
    odd, even = sample[1::2].count(0), sample[0::2].count(0)
    if half > 1 and odd > 0.6 * half and even == 0:
        return "utf-16-le", 0
    if half > 1 and even > 0.6 * half and odd == 0:
        return "utf-16-be", 0
    return "utf-8", 0


def _shape(source: Source) -> Shape:
    """Return the shape of a text file by its first bytes, and by whether anything follows a long first line."""
    with source.open() as file:
        start = file.read(HEAD_BYTES)
        body = start.lstrip()
        first, newline, rest = body.partition(b"\n")
        if body.startswith(b"[") and body[1:].lstrip()[:1] in (b"{", b"[", b"]", b""):
            return "array"
        if not body.startswith(b"{"):
            lines = start.split(b"\n", 50)[:50]
            return "lines" if any(_is_object(line) for line in lines if line.lstrip().startswith(b"{")) else "text"
        if newline and _unclosed(first) and not _is_object(first):
            return "object"
        alone = not rest.strip() and not _goes_on(file, bool(newline))
    return "object" if alone and _holds_list(start) else "lines"


def _goes_on(file: IO[bytes], newline: bool) -> bool:
    """Return whether anything follows the first newline, which may have been passed already."""
    while chunk := file.read(CHUNK):
        rest = chunk if newline else chunk.partition(b"\n")[2]
        newline = newline or b"\n" in chunk
        if rest.strip():
            return True
    return False


def _holds_list(start: bytes) -> bool:
    return any(piece.name.endswith("[]") for piece in records.pieces(io.BytesIO(start)))


def _unclosed(line: bytes) -> bool:
    """Return whether a line is the first one of JSON written over many lines."""
    return line.rstrip().endswith((b"{", b"[", b",", b":"))


def _is_object(line: bytes) -> bool:
    try:
        records.record(line)
    except records.Broken:
        return False
    return True


# A database that another program may be writing: it is read without ever writing to it.


def tables(path: Path) -> tuple[str, ...]:
    """Return the names of the tables in the file. Raises TranscriptError if it can't be read."""
    return tuple(_asked(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"))


def groups(path: Path, table: str, by: str, newest: str) -> list[str]:
    """Return the groups of a table's rows, by the column `by`; the one whose last `newest` is the earliest first.

    Raises TranscriptError if the table can't be read.
    """
    return _asked(path, f'SELECT "{by}" FROM "{table}" GROUP BY "{by}" ORDER BY max("{newest}")')


def _asked(path: Path, statement: str) -> list[str]:
    """Return the first column of what a statement of ours finds. Raises TranscriptError."""
    import sqlite3

    try:
        with closing(_open(path)) as database:
            return [str(row[0]) for row in database.execute(statement)]
    except sqlite3.Error as error:
        raise TranscriptError(f"{path} is a database that cannot be read ({error}); copy it again.") from error


def _open(path: Path) -> sqlite3.Connection:
    """Open read-only; if SQLite can't create the files it needs for that, open the file as it is on disk."""
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
