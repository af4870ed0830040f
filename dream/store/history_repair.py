"""Mend a damaged log without loss: what is no entry is set aside, what stands out of order gets a new cursor.

A line that is readable only with leniency is written as it reads; as it was it is set aside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from dream.store.files import put_in_place, temporary_name, write_all
from dream.store.history_bytes import lines
from dream.store.history_records import MORE, BrokenRow, decode, encode, more_after, outline

Keep = Callable[[bytes], None]


@dataclass(slots=True)
class Damage:
    """Where a log is damaged, by the offset of the line: no entry, odd, out of order, or a line that stands twice."""

    broken: set[int] = field(default_factory=set)
    falling: dict[int, int] = field(default_factory=dict)  # offset → the cursor that does not rise
    twice: set[int] = field(default_factory=set)
    odd: dict[int, bool] = field(default_factory=dict)  # offset → whether more than its line end is odd

    def __len__(self) -> int:
        return len(self.broken) + len(self.falling) + len(self.twice) + len(self.odd)


def find(descriptor: int, size: int) -> Damage:
    """Look at every line of the log; raises OSError."""
    damage, highest = Damage(), 0
    for offset, line in lines(descriptor, 0, size):
        if not line.strip():
            continue
        try:
            row = outline(line)
        except BrokenRow:
            damage.broken.add(offset)
            continue
        if row.flaw or line.endswith(b"\r"):
            damage.odd[offset] = bool(row.flaw)
        cursor = row.cursor
        if cursor <= highest:
            damage.falling[offset] = cursor
        highest = max(highest, cursor)
    if damage.falling:
        _tell_copies(descriptor, size, damage)
    return damage


def rewrite(descriptor: int, size: int, path: Path, damage: Damage, highest: int, set_aside: Keep) -> int:
    """Put a sound log in the place of `path`; return the highest cursor in use. Raises OSError.

    Entries out of order come last, in their old order, so that the next dream reads them.
    """
    temporary = temporary_name(path)
    goal = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    moved: list[bytes] = []
    try:
        for offset, line in lines(descriptor, 0, size):
            if offset in damage.broken or offset in damage.twice or damage.odd.get(offset):
                set_aside(line)
            if offset in damage.falling:
                moved.append(line)
            elif offset in damage.broken or offset in damage.twice:
                continue
            elif offset in damage.odd:
                write_all(goal, encode(decode(line)) if damage.odd[offset] else _alone(line.rstrip(b"\r")) + b"\n")
            elif line.strip():
                write_all(goal, _alone(line) + b"\n")
        for line in moved:
            highest += 1
            write_all(goal, _renumbered(line, highest))
        os.fsync(goal)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(goal)
    put_in_place(temporary, path)
    return highest


def _tell_copies(descriptor: int, size: int, damage: Damage) -> None:
    """Find the lines out of order that only repeat an earlier line, byte for byte."""
    cursors = set(damage.falling.values())
    seen: set[bytes] = set()
    for offset, line, cursor in _with_cursor(descriptor, size):
        if cursor not in cursors:
            continue
        if offset in damage.falling and line.strip() in seen:
            del damage.falling[offset]
            damage.twice.add(offset)
        seen.add(line.strip())


def _with_cursor(descriptor: int, size: int) -> Iterator[tuple[int, bytes, int]]:
    for offset, line in lines(descriptor, 0, size):
        try:
            yield offset, line, outline(line).cursor
        except BrokenRow:
            continue


def _alone(line: bytes) -> bytes:
    """Take the mark of a common append off a line: what came with it may stand elsewhere now."""
    return MORE.sub(b"}", line) if more_after(line) else line


def _renumbered(line: bytes, cursor: int) -> bytes:
    """Give a line another cursor and leave every other field as it is."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:  # readable only with leniency
        return encode(replace(decode(line), cursor=cursor))
    row.pop("more", None)
    return orjson.dumps({**row, "cursor": cursor}, option=orjson.OPT_APPEND_NEWLINE)
