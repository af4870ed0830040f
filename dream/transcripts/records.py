"""JSON records out of bytes: found in a stream without holding it, parsed as tolerantly as can be without guessing.

`pieces` looks only at brackets and strings, and each piece is parsed on its own, so that a broken one doesn't take the
others along. What is held is one piece, at most MAX_RECORD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import orjson

from dream.text.safe import mend_json
from dream.transcripts.parts import Json

CHUNK = 1 << 18
MAX_RECORD = 64 << 20  # bytes of one record; what is larger is no message
# The fields of an object whose elements are streamed; every other field belongs to its header.
LISTS = ("messages", "items", "events", "conversations", "steps")

_MARK = re.compile(rb'["{}\[\],:]')
# A stretch of a string; so many escapes at once, as the matcher holds a little memory for each.
_IN_STRING = re.compile(rb'[^"\\\n]*(?:\\.[^"\\\n]*){0,1000}', re.DOTALL)
_OPENS, _CLOSES = b"{[", b"}]"


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one value and the line it begins on.

    `name` is "" for an element of the outermost array, `messages[]` for one of such a list, else the field's name.
    `indent` is the white space before it on its line.
    `whole` is false where the file ended, or the value passed MAX_RECORD, before the value was complete.
    """

    raw: bytes
    line: int
    name: str = ""
    whole: bool = True
    indent: bytes = b""


class Broken(ValueError):
    """A record that cannot be used; the message is the end of a sentence: "is not JSON (…)"."""


def pieces(file: IO[bytes]) -> Iterator[Piece]:
    """Yield the elements of the array in `file`, or the fields of the object and the elements of its LISTS.

    The last piece is not whole if the file ends before its outermost bracket is closed.
    """
    window = _Buffer(file)
    walk = _Walk(window)
    for sign, at, end in window.marks():
        piece = walk.within(sign, end) if walk.start is not None else walk.between(sign, at, end)
        if piece is not None:
            yield piece
    rest = walk.rest()
    if rest is not None:
        yield rest


def record(raw: bytes) -> tuple[Json, str]:
    """Return the JSON object in `raw`, and what had to be mended, or "". Raises Broken."""
    found, mended = value(raw)
    if not isinstance(found, dict):
        raise Broken(f"is JSON, but {_kind(found)} and not an object")
    return found, mended


def value(raw: bytes) -> tuple[Any, str]:
    """Return the JSON value in `raw`, and what had to be mended, or "".

    orjson is strict: what it refuses and `json` takes (unpaired surrogates, NaN, bytes that are not UTF-8,
    which become �) is mended. Raises Broken.
    """
    try:
        return orjson.loads(raw), ""
    except ValueError:
        return _tolerant(raw)


def incomplete() -> NoReturn:
    """Refuse a record whose end was not found."""
    raise Broken("is not complete, or too large")


class _Buffer:
    """The part of a file that is in memory; offsets are those of the file. Nothing before `keep` is needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.data = b""
        self.base = 0
        self.keep: int | None = None
        self._counted = (0, 1)  # up to this offset, this line
        self._more = True

    def cut(self, start: int, end: int) -> bytes:
        return self.data[start - self.base : end - self.base]

    def line(self, offset: int) -> int:
        """Return the line of `offset`; offsets must not decrease."""
        before, line = self._counted
        line += self.data.count(b"\n", before - self.base, offset - self.base)
        self._counted = (offset, line)
        return line

    def indent(self, offset: int) -> bytes:
        """Return the white space between the line's beginning and `offset`, or nothing."""
        before = self.data[max(offset - self.base - 80, 0) : offset - self.base].rpartition(b"\n")[2]
        return b"" if before.strip() else before

    def marks(self) -> Iterator[tuple[bytes, int, int]]:
        """Yield each bracket, comma and colon outside of strings, and each string: (sign, start, end)."""
        at = 0
        while True:
            mark = _MARK.search(self.data, at - self.base)
            if mark is None:
                at = self.base + len(self.data)
                if not self._grow(at):
                    return
                continue
            at = self.base + mark.start()
            end = at + 1
            if mark[0] == b'"':
                found = self._string_end(at)
                if found is None:
                    self._grow(at)
                    continue
                end = found
            yield mark[0], at, end
            at = end

    def _string_end(self, start: int) -> int | None:
        """Return the end of the string at `start`, which is its line's where nothing closes it; None: read on."""
        at = start - self.base + 1
        while True:
            at = _IN_STRING.match(self.data, at).end()  # type: ignore[union-attr]  # it matches anything
            follows = self.data[at : at + 1]
            if follows == b'"':
                return self.base + at + 1
            if follows == b"\n" or (not self._more and at + 1 >= len(self.data)):
                return self.base + at + (follows != b"\n") * len(follows)
            if at + 1 >= len(self.data):
                return None

    def _grow(self, needed: int) -> bool:
        """Read on, at least doubling what is held, and forget what is before `needed`."""
        needed = needed if self.keep is None else min(self.keep, needed)
        self.line(max(needed, self._counted[0]))
        self.data = self.data[needed - self.base :]
        self.base = needed
        more = self.file.read(max(CHUNK, len(self.data)))
        self._more = bool(more)
        self.data += more
        return self._more


class _Walk:
    """Where in the JSON the walk is: the levels that are open, and the value that is being passed.

    A level is "" in the array, "{" in the object, and in one of its LISTS that list's name.
    """

    def __init__(self, window: _Buffer) -> None:
        self.window = window
        self.levels: list[str] = []
        self.is_array = False
        self.indent = b""
        self.name = ""
        self.string = (0, 0)  # the last one, which a colon makes a name
        self.start: int | None = None  # of the value with brackets that is being passed
        self.depth = 0
        self.field: int | None = None  # where a field's value begins that has no brackets

    def within(self, sign: bytes, end: int) -> Piece | None:
        """Step on in a value: only its end matters, and that it does not grow too large."""
        self.depth += (sign in _OPENS) - (sign in _CLOSES)
        start, kept = self.start or 0, self.window.keep is not None
        if self.depth == 0:
            piece = self._piece(start, end) if kept else None
            self.start = self.field = self.window.keep = None
            return piece
        if kept and end - start > MAX_RECORD:
            self.window.keep = None
            return Piece(b"", self.window.line(start), self._path(), whole=False)
        return None

    def between(self, sign: bytes, at: int, end: int) -> Piece | None:
        """Step on between values: into one, into a level, out of one, or past a field without brackets."""
        if sign == b'"':
            self.string = (at, end)
            if self.field is None:
                self.window.keep = at  # it may be a name
        elif sign == b":":
            self.name = self.window.cut(self.string[0] + 1, self.string[1] - 1).decode("utf-8", "replace")
            self.field = self.window.keep = end
        elif sign in _OPENS:
            self._open(sign, at)
        else:
            ended = self.field is not None and self.levels == ["{"]
            piece = self._piece(self.field or 0, at) if ended else None
            self.field = self.window.keep = None
            if sign in _CLOSES and self.levels and (sign == b"}") == (self.levels[-1] == "{"):
                self.levels.pop()  # one that does not fit is part of something broken
            return piece
        return None

    def rest(self) -> Piece | None:
        """Return what the file's end left incomplete, if anything."""
        end = self.window.base + len(self.window.data)
        if self.start is not None and self.window.keep is not None:
            return self._piece(self.start, end, whole=False)
        return Piece(b"", self.window.line(end), self._path(), whole=False) if self.levels else None

    def _open(self, sign: bytes, at: int) -> None:
        if not self.levels and (sign == b"[" or not self.is_array):
            self.levels.append("{" if sign == b"{" else "")
            self.is_array = sign == b"["
        elif self.levels == ["{"] and sign == b"[" and self.name in LISTS:
            self.levels.append(self.name)
        else:
            self.levels = self.levels or [""]  # the array was closed too early
            self.start, self.depth, self.window.keep = at, 1, at
            self.indent = self.window.indent(at)
            return
        self.field = self.window.keep = None

    def _piece(self, start: int, end: int, *, whole: bool = True) -> Piece:
        raw = self.window.cut(start, end).strip()
        return Piece(raw, self.window.line(start), self._path(), whole, self.indent)

    def _path(self) -> str:
        if self.levels == ["{"]:
            return self.name
        return f"{self.levels[-1]}[]" if self.levels and self.levels[-1] else ""


def _tolerant(raw: bytes) -> tuple[Any, str]:
    mended = ""
    try:
        told = raw.decode("utf-8")
    except UnicodeDecodeError:
        told, mended = raw.decode("utf-8", "replace"), "holds bytes that are not UTF-8; they were replaced by �"
    try:
        return mend_json(json.loads(told.lstrip("\ufeff"))), mended
    except RecursionError:
        raise Broken("is nested too deeply") from None
    except ValueError as error:
        reason = error.msg.removesuffix(" at") if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise Broken(f"is not JSON ({reason[0].lower()}{reason[1:]})") from None


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
