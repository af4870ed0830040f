"""Tell what a file is from how it begins."""

from __future__ import annotations

import codecs
import errno
import io
import stat
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO

from dream.errors import NoTranscript, TranscriptError
from dream.models import Diagnostic, Report
from dream.transcripts import databases, parsing, scanning
from dream.transcripts.carried import Carried
from dream.transcripts.scanning import CHUNK
from dream.transcripts.source import HEAD_BYTES, HEAD_RECORDS, Head, Shape, Source

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


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


def head(source: Source) -> Head:
    """Read as much of `source` as tells its format. What is broken there is reported when it is read in earnest."""
    quiet = replace(source, report=_unheard, carried=Carried())
    with source.open() as file:
        start = file.read(HEAD_BYTES)
    if source.shape == "sqlite":
        return Head(source.shape, start, names=databases.tables(source.path))
    if source.shape == "zip":
        return Head(source.shape, start, names=_members(source.path))
    if source.shape == "text":
        return Head(source.shape, start)
    records = tuple(record.value for record in islice(quiet.records(), HEAD_RECORDS))
    header, lists = source.header()
    return Head(source.shape, start, records, header, lists)


def _unheard(diagnostic: Diagnostic) -> None:
    """Report nothing."""


def _members(path: Path) -> tuple[str, ...]:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
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
    """Tell the shape of a text file from its first bytes, and from whether anything follows a long first line."""
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
    """Say whether anything follows the first newline, which may have been passed already."""
    while chunk := file.read(CHUNK):
        rest = chunk if newline else chunk.partition(b"\n")[2]
        newline = newline or b"\n" in chunk
        if rest.strip():
            return True
    return False


def _holds_list(start: bytes) -> bool:
    return any(piece.name.endswith("[]") for piece in scanning.pieces(io.BytesIO(start)))


def _unclosed(line: bytes) -> bool:
    """Say whether a line is the first one of JSON written over many lines."""
    return line.rstrip().endswith((b"{", b"[", b",", b":"))


def _is_object(line: bytes) -> bool:
    try:
        parsing.record(line)
    except parsing.Broken:
        return False
    return True
