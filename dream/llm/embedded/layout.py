"""Where a line stands in a memory file: under which heading, and among its neighbours by what it tells."""

from __future__ import annotations

import re

from dream.llm.embedded.coverage import density, note
from dream.llm.embedded.salience import salience
from dream.llm.embedded.sections import bare
from dream.llm.embedded.words import content, has_cjk
from dream.models import MemoryFile

TITLES: dict[MemoryFile, str] = {"SOUL.md": "# Soul", "USER.md": "# User", "memory/MEMORY.md": "# Memory"}
_HEADINGS: dict[MemoryFile, str] = {
    "SOUL.md": "## How to work with the user",
    "USER.md": "## Who they are and what they prefer",
    "memory/MEMORY.md": "## Facts and events",
}
_BULLET = re.compile(r"^[-*+] ")


def heading(file: MemoryFile) -> str:
    """Return the heading that new lines of a file stand under."""
    return _HEADINGS[file]


def is_fact(line: str) -> bool:
    """Say whether a line of a file is a bullet at its margin."""
    return _BULLET.match(line) is not None


def worth(text: str, seen: dict[str, float]) -> float:
    """Return how much a line tells per character beside what stands above it."""
    return salience(text) * density(content(text), seen, len(text))


def place(lines: list[str], file: MemoryFile, text: str) -> int | None:
    """Return the index in `lines` where a new bullet belongs: before the first that tells less.

    None where the file has no section for it yet.
    """
    start = next((index for index, line in enumerate(lines) if line.strip() == heading(file)), None)
    if start is None:
        return None
    seen: dict[str, float] = {}
    rows: list[tuple[int, bool]] = []  # where each bullet stands, and whether the new line tells more beside those above
    for index in range(start + 1, len(lines)):
        if lines[index].startswith("#"):
            break
        if is_fact(lines[index]):
            other = bare(lines[index])
            rows.append((index, worth(text, seen) > worth(other, seen)))
            note(content(other), seen)
    return _fairest(rows, start + 1)


def _fairest(rows: list[tuple[int, bool]], start: int) -> int:
    """Return the place that leaves the fewest better lines below and weaker lines above."""
    wrong = best = sum(not better for _, better in rows)
    at = rows[0][0] if rows else start
    for index, better in rows:
        wrong += 1 if better else -1
        if wrong < best:
            best, at = wrong, index + 1
    return at


def bullet(text: str) -> str:
    """Write a fact as a line of a memory file."""
    return f"- {text}"


def language(text: str) -> str:
    """Return `zh` for a text with Chinese letters, else `en`."""
    return "zh" if has_cjk(text) else "en"
