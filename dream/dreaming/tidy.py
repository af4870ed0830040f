"""Tidy memory: remove duplicate lines and empty headings.

After ten dreams that changed a file, or once it nears its budget, code looks for such lines. It removes exact
duplicates itself; the edit agent gets near duplicates as numbered findings. Tidying is a commit of its own, guarded
like every other dream; the cursor does not move.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations
from pathlib import Path

from dream.dreaming.draft import lines
from dream.memory import TEMPLATES, like
from dream.models import Finding, MemoryFile
from dream.settings import Settings
from dream.text.alike import near_fact, same_fact
from dream.text.words import without_bullet
from dream.versions.log import Change
from dream.workspace.files import read_note, write_note

# By file, the commit at which it was last tidied, and marks of the near duplicates that the edit agent kept: a hint
# that saves calls.
FILE_NAME = "tidied.json"
LEFT = "left"
DREAMS = 10  # that changed a file, after which it is tidied
FULL = 0.8  # share of its budget from which on a file is tidied after every dream
MOST = 30  # near duplicates that the edit agent gets at a time

_GAP = re.compile(r"\n{3,}")


def due(
    changes: Sequence[Change], texts: Mapping[MemoryFile, str], private: Path, settings: Settings
) -> tuple[MemoryFile, ...]:
    """Return the files that are due for tidying; `changes` are the dreams, newest first."""
    looked = read_looks(private)
    found: list[MemoryFile] = []
    for path, text in texts.items():
        shas = [change.sha for change in changes]
        since = changes[: shas.index(looked[path])] if looked.get(path) in shas else changes
        times = sum(path in change.files for change in since)
        most_lines, most_bytes = settings.limits(path)
        full = len(text.splitlines()) >= FULL * most_lines or len(text.encode()) >= FULL * most_bytes
        if times >= DREAMS or (full and times):
            found.append(path)
    return tuple(found)


def read_looks(private: Path) -> dict[str, str]:
    """Read the commit at which each file was last tidied; empty if the note is missing or damaged."""
    try:
        return {str(path): str(sha) for path, sha in read_note(private / FILE_NAME).items() if path != LEFT}
    except (ValueError, TypeError, AttributeError):
        return {}


def read_left(private: Path) -> frozenset[str]:
    """Read the marks of the near duplicates that the edit agent kept; empty if the note is missing or damaged."""
    try:
        return frozenset(map(str, read_note(private / FILE_NAME).get(LEFT, ())))
    except (ValueError, TypeError, AttributeError):
        return frozenset()


def write_looks(private: Path, files: Sequence[MemoryFile], sha: str, left: Set[str]) -> None:
    """Record that files were tidied as of commit `sha`, and the marks of the near duplicates that were kept."""
    write_note(private / FILE_NAME, {**read_looks(private), **dict.fromkeys(files, sha), LEFT: sorted(left)})


def doubled(path: MemoryFile, text: str) -> list[Finding]:
    """Return a removal for each line that duplicates another of the file; the earlier, shorter one is removed.

    A rule in SOUL.md is removed only if the file repeats it word for word.
    """
    gone: set[int] = set()
    stated = [(number, line) for number, line in enumerate(lines(text)) if not line.startswith("#")]
    for (first, one), (second, other) in combinations(stated, 2):
        if first in gone or second in gone or not (same_fact(one, other) if like(path) != "SOUL.md" else one == other):
            continue
        gone.add(first if len(one) <= len(other) else second)
    # Two identical lines cannot be told apart by their text: `swept` drops the second.
    once = [line for number, line in stated if number in gone and lines(text).count(line) == 1]
    return [Finding(path, without_bullet(line), (), remove=True) for line in once]


def doubtful(path: MemoryFile, text: str, left: Set[str] = frozenset()) -> dict[str, Finding]:
    """Return a removal for each near duplicate, which the edit agent has to judge.

    The key is a mark of both lines; those whose mark is in `left` have already been judged.
    """
    if like(path) == "SOUL.md":
        return {}
    stated = [line for line in lines(text) if not line.startswith("#")]
    found: dict[str, str] = {}
    for line, beside in ((one, other) for one, other in combinations(stated, 2) if near_fact(one, other)):
        mark = hashlib.sha256(f"{path}\n{line}\n{beside}".encode()).hexdigest()[:16]
        if line not in found and mark not in left and stated.count(line) == 1:
            found[line] = mark
    rows = list(found.items())[:MOST]
    return {mark: Finding(path, without_bullet(line), (), remove=True) for line, mark in rows}


def swept(texts: Mapping[MemoryFile, str], persons: Mapping[MemoryFile, frozenset[str]]) -> dict[MemoryFile, str]:
    """Return texts without repeated lines, empty headings and runs of empty lines.

    Lines that a person wrote stay, and so do the headings of a new workspace.
    """
    found: dict[MemoryFile, str] = {}
    for path, text in texts.items():
        kept = persons.get(path, frozenset()) | set(TEMPLATES[like(path)].decode().splitlines())
        rows = list(_without_copies(text.split("\n"), kept))
        rows = [row for place, row in enumerate(rows) if row.rstrip() in kept or not _holds_nothing(rows, place)]
        found[path] = _GAP.sub("\n\n", "\n".join(rows))
    return found


def _without_copies(rows: Sequence[str], kept: Set[str]) -> Iterator[str]:
    known: set[str] = set()
    for row in rows:
        if not (row.startswith("- ") and row in known and row not in kept):
            yield row
        known.add(row)


def _holds_nothing(rows: Sequence[str], place: int) -> bool:
    """Return whether a row is the heading of an empty section."""
    below = next((other for other in rows[place + 1 :] if other.strip()), "# ")
    return rows[place].startswith("## ") and below.startswith(("# ", "## "))
