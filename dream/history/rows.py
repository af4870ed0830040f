"""The history file as bytes: its lines forwards and backwards, a place in it, and where its sound part ends.

Everything reads through a descriptor with pread(2), so that a reader keeps the file it has opened while
another process puts a new one in its place. Memory holds one chunk, or one line where that is longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dream.history.checksums import FIRST, checksum, marked, more_after
from dream.history.entries import BrokenRow, Outline, is_ours, is_whole, legible_cursor, outline
from dream.workspace.files import CHUNK, FIRST_CHUNK, LOST, Records, lines, lines_backwards


def outlined(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes, Outline | BrokenRow]]:
    """Yield (offset, line, what the index keeps of it, or why it is no entry) of each line that is not blank."""
    for offset, line in lines(descriptor, start, end):
        if line.strip():
            try:
                row: Outline | BrokenRow = outline(line)
            except BrokenRow as fault:
                row = fault
            yield offset, line, row


def entries(descriptor: int, start: int, end: int) -> Iterator[tuple[int, Outline]]:
    """Yield (offset, what the index keeps of it) of each entry."""
    return ((offset, row) for offset, _, row in outlined(descriptor, start, end) if isinstance(row, Outline))


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
    found = entries(descriptor, low, end)
    return next((offset for offset, row in found if row.cursor > cursor), end)


def _first_entry(descriptor: int, position: int, end: int) -> tuple[int, int] | None:
    """Return (offset, cursor) of the first entry whose line begins after `position`."""
    found = outlined(descriptor, position, end)
    next(found, None)  # the line that `position` lies in
    return next(((offset, row.cursor) for offset, _, row in found if isinstance(row, Outline)), None)


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


# What is gone from the log: cursors rise by one and each checksum continues the line before, across all files.
#
# A loss that a person has accepted (`dream doctor --repair`), or that was there when the workspace was adopted,
# stands in memory/archive/lost.jsonl and is not named again.


Range = tuple[int, int]  # the first and the last cursor
Lost = Callable[[], Iterable[Range]]  # the losses that are known: asked for only where one shows
Flaws = Callable[[int, str], None]


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
    """Return the sentence for missing entries `first` to `last`; "" where each was `lost` before, or there is none."""
    for begin, end in sorted(lost):
        if begin <= first <= end:
            first = end + 1
    if first > last:
        return ""
    return f"entry {first} is missing" if first == last else f"the entries {first}–{last} are missing"


def accepted(archive: Path) -> list[Range]:
    """Return the losses that were accepted; damaged lines among them don't count."""
    found: list[Range] = []
    for row in Records(archive / LOST):
        with suppress(ValueError, TypeError, KeyError):
            found.append((int(row["first"]), int(row["last"])))
    return found


# What the entries of a file add up to, so that nobody reads it twice.


WITNESS = 64  # bytes before the covered end that must be as they were


@dataclass(slots=True)
class Sums:
    """What the entries of one history file add up to, as far as `covered`.

    Cursors rise from `ordered_from` on, and are all above `before`, the highest that stands earlier. `lost` is the
    highest that can still be read in a line which is no entry any more: it was given out.
    """

    inode: int = 0
    start: int = 0
    covered: int = 0
    witness: bytes = b""
    highest: int = 0
    ordered_from: int = 0
    before: int = 0
    lost: int = 0
    entries: int = 0
    tokens: int = 0
    chain: Chain = field(default_factory=Chain)

    def add(self, row: Outline, offset: int, length: int) -> bool:
        """Count one entry; False if its cursor does not rise."""
        self.entries += 1
        self.tokens += row.tokens
        if row.cursor > self.highest:
            self.highest = row.cursor
            return True
        self.before, self.ordered_from = self.highest, offset + length
        return False

    def leave(self, part: Sums, end: int, inode: int) -> None:
        """Become the sums of what stands behind byte `end`, once it is a file of its own; `part` are those before."""
        self.inode, self.covered = inode, self.covered - end
        self.witness = self.witness[-self.covered :] if self.covered else b""
        self.entries -= part.entries
        self.tokens -= part.tokens
        self.before, self.ordered_from = (self.before, self.ordered_from - end) if self.ordered_from > end else (0, 0)

    def matches(self, descriptor: int, inode: int, start: int, end: int) -> bool:
        """Return whether these sums are a beginning of the open file as it stands."""
        if (self.inode, self.start) != (inode, start) or self.covered > end:
            return False
        return (
            not self.witness
            or os.pread(descriptor, len(self.witness), self.covered - len(self.witness)) == self.witness
        )


def scan(sums: Sums, descriptor: int, end: int, flaws: Flaws, lost: Lost) -> Iterator[Outline]:
    """Add to `sums` the entries from where it ends to `end`, and yield those of sessions.

    `flaws` gets (offset, why) of every odd line and of every loss that is not among the `lost`, which are asked for
    where one shows.
    """
    for offset, line, row in outlined(descriptor, sums.covered, end):
        if isinstance(row, BrokenRow):
            sums.lost = max(sums.lost, legible_cursor(line))
            sums.chain.damaged(line)
            flaws(offset, str(row))
            continue
        if row.flaw:
            flaws(offset, row.flaw)
        if not sums.add(row, offset, len(line) + 1):
            flaws(offset, out_of_order(row.cursor, sums.highest))
        if said := sums.chain.follow(line, row.cursor, lost):
            flaws(offset, said)
        if row.session is not None:
            yield row
    sums.covered = end
    kept = min(WITNESS, end - sums.start)
    sums.witness = os.pread(descriptor, kept, end - kept)


def out_of_order(cursor: int, highest: int) -> str:
    """Return the sentence for an entry whose cursor does not rise."""
    return f"entry {cursor} comes after entry {highest}; `dream doctor --repair` renumbers it"
