"""What is gone from the log: cursors rise by one and each checksum continues the line before, across all files.

A loss that a person has accepted (`dream doctor --repair`), or that was there when the workspace was adopted, stands in
memory/archive/lost.jsonl and is not named again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from dream.store.files import read_bytes
from dream.store.history_records import FIRST, checksum, is_ours, legible_cursor, marked

LOST = "lost.jsonl"  # beside the archive files
Range = tuple[int, int]  # the first and the last cursor
Lost = Callable[[], Iterable[Range]]  # the losses that are known: asked for only where one shows


@dataclass(slots=True)
class Chain:
    """How far a reader has followed the log, to the end of a line.

    `last` is the mark of that line, `sealed` that of the last one with a checksum, "" before the first. `loose` tells
    that the line is damaged, so that what follows can't be told to follow it.
    """

    highest: int = 0
    last: str = FIRST.decode()
    sealed: str = ""
    loose: bool = False

    def copy(self) -> Chain:
        """Return a chain that goes on from here by itself."""
        return Chain(self.highest, self.last, self.sealed, self.loose)

    def follow(self, line: bytes, cursor: int, lost: Lost) -> str:
        """Go on to an entry; return what is wrong between it and the line before, "" where nothing is."""
        found = checksum(line)
        said = ""
        if cursor > self.highest + 1 and (gap := missing(self.highest + 1, cursor - 1, lost())):
            said = gap
        elif found and not self.loose and found[1].decode() not in (self.last, self.sealed):
            said = f"a line before entry {cursor} is gone, or was changed: the checksum continues another one"
        elif not found and self.sealed and is_ours(line):
            said = f"entry {cursor} has lost its checksum"
        self.last, self.loose = marked(line, found).decode(), False
        if found:
            self.sealed = self.last
        self.highest = max(self.highest, cursor)
        return said

    def damaged(self, line: bytes) -> None:
        """Go on to a line that is no entry."""
        found = checksum(line)
        self.last, self.loose = marked(line, found).decode(), found is None
        if legible_cursor(line) == self.highest + 1:  # a cursor may be what is damaged
            self.highest += 1

    def stands_at(self, highest: int, last: str) -> None:
        """Go on to the last of lines that were just appended, and are known to be sound."""
        self.highest, self.last, self.sealed, self.loose = highest, last, last, False


def missing(first: int, last: int, lost: Iterable[Range]) -> str:
    """Say that the entries from `first` to `last` are not there; "" where each was `lost` before, or there is none."""
    for begin, end in sorted(lost):
        if begin <= first <= end:
            first = end + 1
    if first > last:
        return ""
    return f"entry {first} is missing" if first == last else f"the entries {first}–{last} are missing"


def accepted(archive: Path) -> list[Range]:
    """Return the losses that were accepted; damaged lines among them don't count."""
    found: list[Range] = []
    for line in (read_bytes(archive / LOST) or b"").splitlines():
        try:
            row = orjson.loads(line)
            found.append((int(row["first"]), int(row["last"])))
        except (ValueError, TypeError, KeyError):
            continue
    return found
