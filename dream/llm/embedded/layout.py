"""Where a line stands under its heading: among its neighbours by what it tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dream.llm.embedded.coverage import ranked
from dream.llm.embedded.dates import dated
from dream.llm.embedded.headings import SAID_ON
from dream.llm.embedded.salience import salience
from dream.llm.embedded.sections import bare
from dream.llm.embedded.words import content
from dream.models import MemoryFile

TITLES: dict[MemoryFile, str] = {"SOUL.md": "# Soul", "USER.md": "# User", "memory/MEMORY.md": "# Memory"}
HAPPENED = 1.3  # how much more a line tells that has its own date: a quarter of what people ask is when
_BULLET = re.compile(r"^[-*+] ")


def is_fact(line: str) -> bool:
    """Say whether a line of a file is a bullet at its margin."""
    return _BULLET.match(line) is not None


def bullet(text: str) -> str:
    """Write a fact as a line of a memory file."""
    return f"- {text}"


def ranks(texts: Sequence[str]) -> dict[str, int]:
    """Return the place of each line when those that tell most beside the ones above them come first."""
    weighed = [(text, content(text), _factor(text)) for text in texts]
    return {texts[index]: place for place, index in enumerate(ranked(weighed))}


def _factor(text: str) -> float:
    return salience(text) * (HAPPENED if dated(SAID_ON.sub("", text)) else 1.0)


def section_of(lines: Sequence[str], title: str) -> range:
    """Return the indices of the lines under the heading `title`; it must be there."""
    start = next(index for index, line in enumerate(lines) if line.strip() == title) + 1
    return range(start, next((n for n in range(start, len(lines)) if lines[n].startswith("#")), len(lines)))


def place(lines: Sequence[str], title: str, text: str, order: Mapping[str, int]) -> int:
    """Return the index in `lines` where a new bullet belongs under the heading `title`, by the ranks of all.

    It is the place that leaves the fewest better lines below it and weaker ones above it.
    """
    inside = section_of(lines, title)
    rows = [(n, order[text] < order.get(bare(lines[n]), 0)) for n in inside if is_fact(lines[n])]
    return _fairest(rows, inside.start)


def _fairest(rows: list[tuple[int, bool]], start: int) -> int:
    wrong = best = sum(not better for _, better in rows)
    at = rows[0][0] if rows else start
    for index, better in rows:
        wrong += 1 if better else -1
        if wrong < best:
            best, at = wrong, index + 1
    return at
