"""Unified diffs as rows for a reader: by file, with the words that changed marked. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

from dream.versions.tracked import is_memory

LONGEST = 4_000  # characters of a line whose words are compared
_WORDS = re.compile(r"[^\W_]+|\s+|.", re.DOTALL)
_HEAD = re.compile(r"^diff --git a/(.*) b/\1$")

Sign = Literal["+", "-", " ", "@"]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of a diff; `parts` are pieces of it and whether each changed. `key` names the line where it was added.

    A row of sign `@` stands for lines that are left out.
    """

    sign: Sign
    parts: tuple[tuple[str, bool], ...]
    key: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What changed in one file."""

    file: str
    rows: tuple[DiffRow, ...]


def key(file: str, line: str) -> str:
    """Return a short name for a line of a file, by which it is found again only while it says just that."""
    return hashlib.blake2b(f"{file}\0{line}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def read(diff: str) -> list[FileDiff]:
    """Take a unified diff apart: the files that a person reads, in its order."""
    found: list[tuple[str, list[str]]] = []
    for line in diff.split("\n"):
        if head := _HEAD.match(line):
            found.append((head[1], []))
        elif found:
            found[-1][1].append(line)
    return [FileDiff(file, tuple(_rows(file, lines))) for file, lines in found if is_memory(file)]


def compared(file: str, old: str, new: str) -> tuple[DiffRow, ...]:
    """Compare two texts of a file line by line; what both hold is left out beyond two lines around."""
    before, after = old.splitlines(), new.splitlines()
    rows: list[DiffRow] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(2):
        rows += [DiffRow("@", ())] if group[0][1] or rows else []
        for kind, first, last, start, end in group:
            if kind == "equal":
                rows += [DiffRow(" ", ((line, False),)) for line in before[first:last]]
            else:
                rows += _changed(file, before[first:last], after[start:end])
    return tuple(rows)


def _rows(file: str, lines: Sequence[str]) -> Iterator[DiffRow]:
    gone, new, begun = list[str](), list[str](), False
    for line in [*lines, "@@"]:
        if begun and line[:1] == "-":
            gone.append(line[1:])
        elif begun and line[:1] == "+":
            new.append(line[1:])
        elif begun or line.startswith("@@"):
            yield from _changed(file, gone, new)
            gone, new = [], []
            if line.startswith("@@ "):
                begun = True
                yield DiffRow("@", ())
            elif line[:1] == " ":
                yield DiffRow(" ", ((line[1:], False),), key(file, line[1:]))


def _changed(file: str, gone: Sequence[str], new: Sequence[str]) -> list[DiffRow]:
    """Lay out what went and what came; lines that stand for each other have their changed words marked."""
    olds: list[DiffRow] = []
    news = [DiffRow("+", ((line, False),), key(file, line)) for line in new]
    for number, line in enumerate(gone):
        if number < len(new):
            before, after = words(line, new[number])
            olds.append(DiffRow("-", before))
            news[number] = DiffRow("+", after, news[number].key)
        else:
            olds.append(DiffRow("-", ((line, False),)))
    return [*olds, *news]


def beside(rows: Sequence[DiffRow]) -> list[tuple[DiffRow | None, DiffRow | None]]:
    """Pair rows for two columns: what went stands beside what came in its place."""
    pairs, gone, new = list[tuple[DiffRow | None, DiffRow | None]](), list[DiffRow](), list[DiffRow]()
    for row in [*rows, DiffRow("@", ())]:
        if row.sign in "-+":
            (gone if row.sign == "-" else new).append(row)
        else:
            pairs += [*zip_longest(gone, new), (row, row)]
            gone, new = [], []
    return pairs[:-1]


def words(old: str, new: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """Cut two lines into pieces and tell which of them the other has not; lines too unlike are one piece each."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if len(old) + len(new) > LONGEST or matcher.ratio() < 0.4:
        return ((old, False),), ((new, False),)
    left, right = list[tuple[str, bool]](), list[tuple[str, bool]]()
    for kind, first, last, start, end in matcher.get_opcodes():
        for pieces, side in ((before[first:last], left), (after[start:end], right)):
            if pieces:
                side.append(("".join(pieces), kind != "equal"))
    return tuple(left), tuple(right)
