"""Keep memory up, not only add to it: what it says twice, headings that hold nothing.

After ten dreams that changed a file, or once it nears its budget, code looks for such lines. What is said twice over it
takes out itself; what needs judgement, the edit agent gets as numbered findings. It is a commit of its own, guarded
like every other dream; the cursor stays where it is.
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

# By file, the commit at which it was last looked through, and marks of the lines that were left alone then: a hint
# that saves calls.
FILE_NAME = "tidied.json"
LEFT = "left"
DREAMS = 10  # that changed a file, after which it is looked through
FULL = 0.8  # of its budget, from which on it is looked through after every dream
MOST = 30  # lines that the edit agent is asked about at a time

_GAP = re.compile(r"\n{3,}")


def due(
    changes: Sequence[Change], texts: Mapping[MemoryFile, str], private: Path, settings: Settings
) -> tuple[MemoryFile, ...]:
    """Return the files that it is time to look through; `changes` are the dreams, newest first."""
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
    """Read at which commit each file was last looked through; none where the note is missing or damaged."""
    try:
        return {str(path): str(sha) for path, sha in read_note(private / FILE_NAME).items() if path != LEFT}
    except (ValueError, TypeError, AttributeError):
        return {}


def read_left(private: Path) -> frozenset[str]:
    """Read the marks of the lines that the edit agent left alone; none where the note is missing or damaged."""
    try:
        return frozenset(map(str, read_note(private / FILE_NAME).get(LEFT, ())))
    except (ValueError, TypeError, AttributeError):
        return frozenset()


def write_looks(private: Path, files: Sequence[MemoryFile], sha: str, left: Set[str]) -> None:
    """Note that files were looked through, that `sha` is the newest dream since, and the marks of what was `left`."""
    write_note(private / FILE_NAME, {**read_looks(private), **dict.fromkeys(files, sha), LEFT: sorted(left)})


def doubled(path: MemoryFile, text: str) -> list[Finding]:
    """Return as removals the lines that another line of the file says too; the earlier and shorter one goes.

    A rule in SOUL.md goes only where the very same words stand there again.
    """
    gone: set[int] = set()
    stated = [(number, line) for number, line in enumerate(lines(text)) if not line.startswith("#")]
    for (first, one), (second, other) in combinations(stated, 2):
        if first in gone or second in gone or not (same_fact(one, other) if like(path) != "SOUL.md" else one == other):
            continue
        gone.add(first if len(one) <= len(other) else second)
    # Of two lines with the very same words neither can be named alone: `swept` drops the second.
    once = [line for number, line in stated if number in gone and lines(text).count(line) == 1]
    return [Finding(path, without_bullet(line), (), remove=True) for line in once]


def doubtful(path: MemoryFile, text: str, left: Set[str] = frozenset()) -> dict[str, Finding]:
    """Return as removals the lines that somebody has to look at: what they say is nearly said twice.

    Each by a mark of the line and of the one that is near; those whose mark is in `left` have been looked at.
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
    """Return texts without second copies of a line, headings that hold nothing and runs of empty lines.

    What a person wrote stays, and so do the headings that a new workspace has.
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
    """Return whether a row is a heading of a section with nothing below it."""
    below = next((other for other in rows[place + 1 :] if other.strip()), "# ")
    return rows[place].startswith("## ") and below.startswith(("# ", "## "))
