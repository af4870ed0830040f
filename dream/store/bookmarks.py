"""Where reading a transcript that only grows can go on: one small file for each, in `.dream/bookmarks/`.

A bookmark holds for a file that still begins with the bytes that it was made of. Those are known by windows spread
over all of them, which is all of a smaller file; so what is not noticed is a row in the middle of a larger one
that was overwritten in place, at the same length, while the file grew. It is a cache: without it a file is read whole.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import orjson

from dream.door import contents
from dream.errors import WorkspaceError
from dream.store.files import replace

FOLDER = "bookmarks"
LEAST = 1 << 16  # bytes; a smaller file is read as fast as a bookmark
WINDOW = 1 << 12  # bytes
WINDOWS = 32

Ends = Mapping[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Bookmark:
    """What history held of a file up to byte `offset`, and what its reader knew there.

    `ends` are by session key the position in history, and the digest of the messages up to there.
    """

    offset: int
    ends: Ends
    state: bytes


class Bookmarks:
    """The bookmarks in `private`; those that were made under other `terms` (settings, version) don't count."""

    def __init__(self, private: Path, terms: str) -> None:
        self._folder = private / FOLDER
        self._terms = terms

    def of(self, name: str) -> Bookmark | None:
        """Return the bookmark of the file `name`; None where there is none, or the file begins with other bytes."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            head, _, state = contents(self._path(name)).partition(b"\n")
            row = orjson.loads(head)
            if row["terms"] == self._terms and row["name"] == name and row["witness"] == _witness(name, row["offset"]):
                ends = {key: (int(position), str(prefix)) for key, (position, prefix) in row["ends"].items()}
                return Bookmark(row["offset"], ends, state)
        return None

    def put(self, name: str, bookmark: Bookmark) -> None:
        """Keep a bookmark of a file that nobody has changed since it was read."""
        if bookmark.offset < LEAST:
            return
        with suppress(OSError, TypeError, WorkspaceError):  # TypeError: a name that is not UTF-8
            row = {"name": name, "terms": self._terms, "offset": bookmark.offset}
            row |= {"witness": _witness(name, bookmark.offset), "ends": bookmark.ends}
            replace(self._path(name), orjson.dumps(row) + b"\n" + bookmark.state, durable=False)

    def forget(self, name: str) -> None:
        """Take the bookmark of a file away."""
        with suppress(OSError):
            self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self._folder / blake2b(os.fsencode(name), digest_size=12).hexdigest()


def _at_once(name: str, flags: int) -> int:
    """Open a file; what has become a named pipe keeps nobody waiting."""
    return os.open(name, flags | os.O_NONBLOCK)


def _witness(name: str, end: int) -> str:
    """Return the digest of the file's inode and of windows of its first `end` bytes. Raises OSError, ValueError."""
    with open(name, "rb", buffering=0, opener=_at_once) as file:
        status = os.fstat(file.fileno())
        if status.st_size < end:
            raise ValueError("the file is shorter than it was")
        found = blake2b(f"{status.st_ino} {end}".encode(), digest_size=16)
        last = max(end - WINDOW, 0)
        spread = [last * at // (WINDOWS - 1) for at in range(WINDOWS)]
        starts = range(0, end, WINDOW) if end <= WINDOW * WINDOWS else spread
        for start in starts:
            found.update(os.pread(file.fileno(), min(WINDOW, end - start), start))
    return found.hexdigest()
