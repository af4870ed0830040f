"""Find the elements of a JSON array in a stream of bytes, without holding the array.

Only brackets and strings are looked at; each element is parsed on its own, so that a broken one doesn't take
the others along. What is held is one element, at most MAX_RECORD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

CHUNK = 1 << 18
MAX_RECORD = 64 << 20  # bytes of one record; what is larger is no message
# The fields of an object whose elements are streamed; every other field belongs to its header.
LISTS = ("messages", "items", "events", "conversations", "steps")

_MARK = re.compile(rb'["{}\[\],:]')
_OPENS, _CLOSES = b"{[", b"}]"


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one value and the line it begins on.

    `name` is "" for an element of the outermost array, `messages[]` for one of such a list, else the field's name.
    `whole` is false where the file ended, or the value passed MAX_RECORD, before the value was complete.
    """

    raw: bytes
    line: int
    name: str = ""
    whole: bool = True


class _Window:
    """The part of a file that is in memory; offsets are those of the file. Nothing before `keep` is needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.data = b""
        self.base = 0
        self.keep: int | None = None
        self._counted = (0, 1)  # up to this offset, this line

    def cut(self, start: int, end: int) -> bytes:
        return self.data[start - self.base : end - self.base]

    def line(self, offset: int) -> int:
        """Return the line of `offset`; offsets must not decrease."""
        before, line = self._counted
        line += self.data.count(b"\n", before - self.base, offset - self.base)
        self._counted = (offset, line)
        return line

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
            close = self.data.find(b'"', at)
            newline = self.data.find(b"\n", at, close if close >= 0 else len(self.data))
            if newline >= 0:
                return self.base + newline
            if close < 0:
                return None if self._more else self.base + len(self.data)
            slash = close
            while self.data[slash - 1 : slash] == b"\\":
                slash -= 1
            if (close - slash) % 2 == 0:
                return self.base + close + 1
            at = close + 1

    _more = True

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


def pieces(file: IO[bytes]) -> Iterator[Piece]:
    """Yield the elements of the array in `file`, or the fields of the object and the elements of its LISTS.

    The last piece is not whole if the file ends before its outermost bracket is closed.
    """
    window = _Window(file)
    levels: list[str] = []  # "" in the array, "{" in the object, else the name of the list
    name, string, start, depth, field_start = "", (0, 0), -1, 0, -1
    for sign, at, end in window.marks():
        if start >= 0:  # within a value: only its end matters
            depth += (sign in _OPENS) - (sign in _CLOSES)
            if depth == 0:
                if window.keep is not None:
                    yield Piece(window.cut(start, end), window.line(start), _name(levels, name))
                start, field_start, window.keep = -1, -1, None
            elif end - start > MAX_RECORD and window.keep is not None:
                yield Piece(b"", window.line(start), _name(levels, name), whole=False)
                window.keep = None
        elif sign == b'"':
            string = (at, end)
        elif sign == b":":
            name, field_start, window.keep = (
                window.cut(string[0] + 1, string[1] - 1).decode("utf-8", "replace"),
                end,
                end,
            )
        elif sign in _OPENS:
            entered = _entered(levels, sign, name)
            if entered is not None:
                levels.append(entered)
                field_start, window.keep = -1, None
            else:
                start, depth, window.keep = at, 1, at
        else:
            if field_start >= 0 and levels == ["{"]:
                yield Piece(window.cut(field_start, at).strip(), window.line(field_start), name)
            field_start, window.keep = -1, None
            if sign in _CLOSES and levels:
                levels.pop()
            if not levels:
                return
    if start >= 0 and window.keep is not None:
        yield Piece(window.cut(start, window.base + len(window.data)), window.line(start), _name(levels, name), False)
    elif levels:
        yield Piece(b"", window.line(window.base + len(window.data)), _name(levels, name), False)


def _entered(levels: list[str], sign: bytes, name: str) -> str | None:
    """Name the level that a bracket opens, or None where it opens a value."""
    if not levels:
        return "{" if sign == b"{" else ""
    if levels == ["{"] and sign == b"[" and name in LISTS:
        return name
    return None


def _name(levels: list[str], name: str) -> str:
    return name if levels == ["{"] else f"{levels[-1]}[]" if levels and levels[-1] else ""
