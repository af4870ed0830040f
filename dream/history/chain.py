"""The log as lines: where its complete part ends, how one line follows another, and which entries are missing.

All of it reads through a descriptor with pread(2), so that a reader keeps the file that it opened while another process
replaces it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dream.history.checksums import FIRST, checksum, is_as_written, marked, more_after
from dream.history.entries import BrokenRow, Outline, cursor_at_once, is_ours, is_whole, outline
from dream.workspace.files import CHUNK, LOST, Records, lines, lines_backwards

CursorRange = tuple[int, int]  # the first and the last cursor
KnownLosses = Callable[[], Iterable[CursorRange]]  # the known losses: read only if entries are missing


def outlined(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes, Outline | BrokenRow]]:
    """Yield (offset, line, its outline, or why it is no entry) of each line that is not blank."""
    for offset, line in lines(descriptor, start, end):
        if line.strip():
            try:
                row: Outline | BrokenRow = outline(line)
            except BrokenRow as fault:
                row = fault
            yield offset, line, row


def settled_end(descriptor: int, start: int, end: int) -> int:
    """Return where the complete part of the file ends.

    Behind it is what a cut append left: a line without its newline that is no whole entry, and
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


# Missing entries: cursors rise by one and each checksum continues the line before, across all files.
#
# A loss that a person has accepted (`dream doctor --repair`), or that was there when the workspace was adopted,
# is noted in memory/archive/lost.jsonl and is not reported again.


@dataclass(slots=True)
class Chain:
    """How far a reader has followed the log, to the end of a line.

    `last` is the mark of that line, `sealed` that of the last one with a checksum, "" before the first. `loose` means
    that the line before is damaged, so that its checksum is not known. `given` is the highest cursor that can be read,
    in damaged lines too.
    """

    highest: int = 0
    last: str = FIRST.decode()
    sealed: str = ""
    loose: bool = False
    given: int = 0

    def copy(self) -> Chain:
        """Return an independent copy of the chain."""
        return Chain(self.highest, self.last, self.sealed, self.loose, self.given)

    def follow(self, line: bytes, cursor: int, lost: KnownLosses) -> str:
        """Follow the log to an entry; return the fault between it and the line before, "" if there is none."""
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
        """Follow the log over a line that is no entry."""
        found, cursor = checksum(line), cursor_at_once(line) if is_ours(line) else 0
        self.last, self.loose = marked(line, found).decode(), found is None
        self.given = max(self.given, cursor)
        if cursor == self.highest + 1:  # a cursor may be what is damaged
            self.highest += 1

    def skip_to(self, highest: int, last: str) -> None:
        """Skip to the last of several lines that are known to be undamaged."""
        self.highest, self.last, self.sealed, self.loose = highest, last, last, False


@dataclass(frozen=True, slots=True)
class LogFlaw:
    """A fault at a line of the log; `missing` are the cursors that are missing before it."""

    offset: int
    text: str
    missing: CursorRange | None = None


def flaws(descriptor: int, start: int, end: int, chain: Chain, lost: KnownLosses) -> Iterator[LogFlaw]:
    """Read every byte of a file of the log, following `chain`, and yield its flaws; raises OSError.

    A line that still has the bytes its checksum is of is not parsed.
    """
    for offset, line in lines(descriptor, start, end):
        found, cursor, flaw = checksum(line), cursor_at_once(line), ""
        whole = found is not None and cursor > 0 and is_as_written(line, found)
        if found and whole and cursor == chain.highest + 1 and found[1].decode() == chain.last:
            chain.skip_to(cursor, found[2].decode())
            continue
        if not line.strip():
            continue
        if not whole:
            try:
                row = outline(line)
                cursor, flaw = row.cursor, row.flaw
            except BrokenRow as fault:
                chain.damaged(line)
                yield LogFlaw(offset, str(fault))
                continue
        before = chain.highest
        if flaw:
            yield LogFlaw(offset, flaw)
        if cursor <= before:
            yield LogFlaw(offset, out_of_order(cursor, before))
        if said := chain.follow(line, cursor, lost):
            yield LogFlaw(offset, said, (before + 1, cursor - 1) if cursor > before + 1 else None)


def out_of_order(cursor: int, highest: int) -> str:
    """Return the sentence for an entry whose cursor does not rise."""
    return f"entry {cursor} comes after entry {highest}; `dream doctor --repair` renumbers it"


def missing(first: int, last: int, lost: Iterable[CursorRange]) -> str:
    """Return the sentence for missing entries `first` to `last`; "" where each was `lost` before, or there is none."""
    for begin, end in sorted(lost):
        if begin <= first <= end:
            first = end + 1
    if first > last:
        return ""
    return f"entry {first} is missing" if first == last else f"the entries {first}–{last} are missing"


def accepted(archive: Path) -> list[CursorRange]:
    """Return the losses that were accepted; damaged lines among them don't count."""
    found: list[CursorRange] = []
    for row in Records(archive / LOST):
        with suppress(ValueError, TypeError, KeyError):
            found.append((int(row["first"]), int(row["last"])))
    return found
