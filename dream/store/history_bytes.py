"""The history file as bytes: its lines forwards and backwards, a place in it, and where its sound part ends.

Everything reads through a descriptor with pread(2), so that a reader keeps the file it has opened while
another process puts a new one in its place. Memory holds one chunk, or one line where that is longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from dream.store.history_records import BrokenRow, is_whole, more_after, outline

FIRST_CHUNK = 1 << 14  # bytes read at first: a page of rows, or the tail that an append looks at
CHUNK = 1 << 20  # bytes read at a time where much is read


def lines(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) from `start`, where a line begins, to `end`."""
    pieces: list[bytes] = []
    position, offset, size = start, start, FIRST_CHUNK
    while position < end:
        chunk = os.pread(descriptor, min(size, end - position), position)
        if not chunk:
            break
        position += len(chunk)
        size = min(size * 4, CHUNK)
        if b"\n" not in chunk:
            pieces.append(chunk)
            continue
        first, *rest = chunk.split(b"\n")
        pieces.append(first)
        line = b"".join(pieces)
        yield offset, line
        offset += len(line) + 1
        pieces = [rest.pop()]
        for line in rest:
            yield offset, line
            offset += len(line) + 1
    if any(pieces):
        yield offset, b"".join(pieces)


def lines_backwards(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line) from the last line before `end` to the first after `start`; empty lines are left out."""
    pieces: list[bytes] = []  # of the line that a chunk's beginning has cut, last piece first
    position, size = end, FIRST_CHUNK
    while position > start:
        begin = max(start, position - size)
        chunk = os.pread(descriptor, position - begin, begin)
        position, size = begin, min(size * 4, CHUNK)
        first, *rest = chunk.split(b"\n")
        if not rest:
            pieces.append(chunk)
            continue
        offset = begin + len(chunk) - len(rest[-1])
        line = b"".join((rest.pop(), *reversed(pieces)))
        if line:
            yield offset, line
        for line in reversed(rest):
            offset -= len(line) + 1
            if line:
                yield offset, line
        pieces = [first]
    line = b"".join(reversed(pieces))
    if line:
        yield start, line


def settled_end(descriptor: int, start: int, end: int) -> int:
    """Return where the sound part of the file ends.

    Behind it is what an append has not finished: a line without its newline that is no whole entry, and
    the entries before it that were appended with it (they count together or not at all).
    """
    torn = end > start and os.pread(descriptor, 1, end - 1) != b"\n"
    expected = 0  # what `more` of the line before must be; 0: anything
    for offset, line in lines_backwards(descriptor, start, end):
        if torn and not is_whole(line):
            end, torn = offset, False
            continue
        torn = False
        more = more_after(line)
        if more == 0 or (expected and more != expected):
            break
        end, expected = offset, more + 1
    return end


def bisect(descriptor: int, start: int, end: int, cursor: int) -> int:
    """Return the offset of a line from which on every entry has a cursor above `cursor`.

    `start` is where a line begins, and cursors rise from there on; lines that are no entries may lie between.
    """
    low, high = start, end
    while high - low > FIRST_CHUNK:
        middle = (low + high) // 2
        probe = _first_entry(descriptor, middle, end)
        if probe is None or probe[0] >= high or probe[1] > cursor:
            high = middle
        else:
            low = probe[0]
    for offset, line in lines(descriptor, low, end):
        found = _cursor(line)
        if found is not None and found > cursor:
            return offset
    return end


def _first_entry(descriptor: int, position: int, end: int) -> tuple[int, int] | None:
    """Return (offset, cursor) of the first entry whose line begins after `position`."""
    found = lines(descriptor, position, end)
    next(found, None)  # the line that `position` lies in
    for offset, line in found:
        cursor = _cursor(line)
        if cursor is not None:
            return offset, cursor
    return None


def _cursor(line: bytes) -> int | None:
    try:
        return outline(line).cursor
    except BrokenRow:
        return None


def line_at(descriptor: int, offset: int) -> int:
    """Return the number of the line that begins at `offset`, from 1."""
    number, position = 1, 0
    while position < offset:
        chunk = os.pread(descriptor, min(CHUNK, offset - position), position)
        if not chunk:
            break
        number += chunk.count(b"\n")
        position += len(chunk)
    return number
