"""The archive: history moved out of the token budget into memory/archive/history-<first>-<last>.jsonl.

A move takes a beginning of history.jsonl, byte for byte, in files of a megabyte. First the archive files are written,
then history.jsonl is replaced by its rest. After a crash between the two, history still begins with the bytes of
archive files: readers skip them, and the next writer cuts them off.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dream.history.chain import Chain, KnownLosses, missing, outlined
from dream.history.checksums import checksum, marked
from dream.history.entries import HIGHEST, Outline
from dream.workspace import files
from dream.workspace.files import lines_backwards, opened, replace_by_part, size_of

NAME = re.compile(r"history-(\d{1,19})-(\d{1,19})(?:\.(\d+))?\.jsonl")
SLACK = 0.1  # a move frees this share of the budget, so that not every dream creates a file
LARGE = 1 << 20  # bytes after which the next archive file begins
COMPARED = 1 << 18  # bytes compared at a time


class Archived(NamedTuple):
    """One archive file, and the lowest and highest cursor in it. In the order of its entries."""

    first: int
    last: int
    name: str


@dataclass(frozen=True, slots=True)
class MovedPart:
    """The part of history.jsonl that moves to one archive file: its bytes up to `end`, cursors and count of entries."""

    end: int
    first: int
    last: int
    entries: int


def archived(folder: Path) -> tuple[Archived, ...]:
    """List the archive files, oldest entries first; raises OSError."""
    try:
        named = map(NAME.fullmatch, os.listdir(folder))  # noqa: PTH208  # of thousands of files: a third of the time
        return tuple(sorted(Archived(int(found[1]), int(found[2]), found[0]) for found in named if found))
    except FileNotFoundError:
        return ()


def highest(archive: Sequence[Archived]) -> int:
    """Return the highest cursor in the archive; 0 where it is empty."""
    return max((file.last for file in archive), default=0)


def chain_of(folder: Path, archive: Sequence[Archived], lost: KnownLosses) -> tuple[Chain, list[str]]:
    """Return the chain at the end of the archive, from its file names and last line, and the gaps between files."""
    chain, gaps = Chain(), []
    for file in archive:
        if file.first > chain.highest + 1 and (said := missing(chain.highest + 1, file.first - 1, lost())):
            gaps.append(said)
        chain.highest = max(chain.highest, file.last)
    if archive:
        with opened(folder / archive[-1].name) as descriptor:
            _, line = next(lines_backwards(descriptor, 0, size_of(descriptor)), (0, b""))
        found = checksum(line)
        chain.last = marked(line, found).decode()
        chain.sealed = chain.last if found else ""
    return chain, gaps


def already_moved(descriptor: int, size: int, folder: Path, archive: Sequence[Archived]) -> int:
    """Return how many bytes at the beginning of history an unfinished move has put in the archive."""
    position, last = 0, highest(archive)
    while position < size:
        rows = (row for _, _, row in outlined(descriptor, position, size) if isinstance(row, Outline))
        cursor = next((row.cursor for row in rows), 0)
        if cursor > last:
            break
        for file in archive:
            length = _length(descriptor, position, size, folder / file.name) if file.first <= cursor <= file.last else 0
            if length:
                position += length
                break
        else:
            break
    return position


def beginning(descriptor: int, end: int, *, dreamt: int, budget: int) -> list[MovedPart]:
    """Choose what to move: the oldest entries up to the first undreamt one, until the rest is within `budget` tokens.

    Nothing moves if the whole log is within it.
    """
    ends, cursors, tokens = array("q"), array("q"), array("q")  # of a million entries they take 24 MB
    for offset, line, row in outlined(descriptor, 0, end):
        if isinstance(row, Outline):  # an invalid line is moved with the next entry
            ends.append(min(offset + len(line) + 1, end))
            cursors.append(row.cursor)
            tokens.append(row.tokens)
    left, parts, begin, first = sum(tokens), list[MovedPart](), 0, 0
    if left <= budget:
        return []
    for number, cursor in enumerate((*cursors, HIGHEST)):
        is_last = cursor > dreamt or left <= budget * (1 - SLACK)
        if number > first and (is_last or ends[number - 1] - begin >= LARGE):
            begin, taken = ends[number - 1], cursors[first:number]
            parts.append(MovedPart(begin, min(taken), max(taken), len(taken)))
            first = number
        if is_last:
            break
        left -= tokens[number]
    return parts


def move(descriptor: int, end: int, history: Path, folder: Path, parts: Sequence[MovedPart]) -> None:
    """Move `parts` to the archive and keep the rest, up to `end`, in the log; loses nothing when it raises OSError."""
    start = 0
    for part in parts:
        path, number = folder / f"history-{part.first}-{part.last}.jsonl", 1
        while path.exists():  # a file with the same range (damaged cursors) is not overwritten
            number += 1
            path = folder / f"history-{part.first}-{part.last}.{number}.jsonl"
        replace_by_part(path, descriptor, start, part.end)
        start = part.end
    files.checkpoint("between the steps of a move to the archive")
    replace_by_part(history, descriptor, start, end)


def _length(descriptor: int, start: int, size: int, path: Path) -> int:
    """Return the bytes of an archive file where history holds exactly them from `start` on, else 0."""
    position = 0
    with opened(path) as other:
        length = size_of(other)
        if length > size - start:
            return 0
        while chunk := os.pread(other, COMPARED, position):
            if os.pread(descriptor, len(chunk), start + position) != chunk:
                return 0
            position += len(chunk)
    return length
