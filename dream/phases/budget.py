"""Keep each memory file within its budget: what is over moves to an archive file, one line is left behind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from dream.models import MemoryFile
from dream.phases.draft import added
from dream.settings import Settings

TARGET = 0.9  # of the budget, so that the next fact does not move lines again
_MOVED = re.compile(r"^- (\d+) older lines are in (memory/archive/\S+\.md)$")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A file that fits, and the lines that moved out of it, by archive file."""

    text: str
    moved: tuple[str, ...]
    archive: str


def limits(file: MemoryFile, settings: Settings) -> tuple[int, int]:
    """Return how many lines and bytes `file` may hold."""
    return {
        "SOUL.md": (settings.soul_max_lines, settings.soul_max_bytes),
        "USER.md": (settings.user_max_lines, settings.user_max_bytes),
        "memory/MEMORY.md": (settings.memory_max_lines, settings.memory_max_bytes),
    }[file]


def fit(file: MemoryFile, before: str, text: str, keep: frozenset[str], settings: Settings, day: date) -> Fitted | None:
    """Move the oldest lines of the largest section out of `text` until it fits; None when it fits as it is.

    Headings, lines in `keep` (a person's) and lines that this dream wrote stay where they are.
    """
    max_lines, max_bytes = limits(file, settings)
    if _fits(text, max_lines, max_bytes, 1.0):
        return None
    archive = f"memory/archive/{file.removeprefix('memory/').removesuffix('.md')}-{day:%Y-%m}.md"
    fresh = set(added(before, text))
    here = text.splitlines(keepends=True)
    moved: list[str] = []
    while not _fits("".join(here), max_lines, max_bytes, TARGET):
        place = _oldest_movable(here, keep | fresh)
        if place is None:
            break
        moved.append(here.pop(place).rstrip("\r\n"))
    if not moved:
        return None
    return Fitted(_with_pointer("".join(here), len(moved), archive), tuple(moved), archive)


def archived(earlier: str, fitted: Fitted, day: date) -> str:
    """Return the archive file's text with the moved lines added under the day."""
    head = earlier if earlier.strip() else "# Moved out of memory\n"
    return f"{head.rstrip()}\n\n## {day.isoformat()}\n\n" + "\n".join(fitted.moved) + "\n"


def _fits(text: str, max_lines: int, max_bytes: int, share: float) -> bool:
    return len(text.splitlines()) <= max_lines * share and len(text.encode("utf-8")) <= max_bytes * share


def _oldest_movable(here: list[str], stay: Mapping[str, object] | set[str] | frozenset[str]) -> int | None:
    """Find the first list line of the section that holds most of them."""
    sections: dict[int, list[int]] = {}
    section = -1
    for place, line in enumerate(here):
        if line.startswith("#"):
            section = place
        elif line.lstrip().startswith(("- ", "* ")) and line.rstrip() not in stay and not _MOVED.match(line.rstrip()):
            sections.setdefault(section, []).append(place)
    return max(sections.values(), key=len)[0] if sections else None


def _with_pointer(text: str, count: int, archive: str) -> str:
    """Leave one line that says where the moved ones are; an earlier one of the same file counts on."""
    newline = "\r\n" if "\r\n" in text else "\n"
    kept = []
    for line in text.splitlines():
        earlier = _MOVED.match(line)
        if earlier and earlier[2] == archive:
            count += int(earlier[1])
        else:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return newline.join([*kept, "", f"- {count} older lines are in {archive}", ""])
