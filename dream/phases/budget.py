"""Keep each memory file within its budget: what is over moves to an archive file, one line is left behind."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import date

from dream.models import MemoryFile
from dream.phases.draft import added
from dream.settings import Settings

TARGET = 0.9  # of the budget, so that the next fact does not move lines again
POINTER_BYTES = 80  # at most, of the line that is left behind
_MOVED = re.compile(r"^- (\d+) older lines are in (memory/archive/\S+\.md)\s*$")


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

    Headings and lines in `keep` (a person's) stay where they are. List lines go before prose, and lines that this
    dream wrote only where they alone are too many.
    """
    max_lines, max_bytes = limits(file, settings)
    here = text.splitlines(keepends=True)
    if _fits(here, (max_lines, max_bytes)):
        return None
    archive = f"memory/archive/{file.removeprefix('memory/').removesuffix('.md')}-{day:%Y-%m}.md"
    room = min(max_lines * TARGET, max_lines - 2), min(max_bytes * TARGET, max_bytes - POINTER_BYTES)
    moved = _move(here, room, keep | set(added(before, text)))
    if _fits([line for line in here if not _may_go(line, keep)], room):
        moved += _move(here, room, keep)
        moved += _move(here, room, keep, prose=True)
    if not moved:
        return None
    return Fitted(_with_pointer("".join(here), len(moved), archive), tuple(moved), archive)


def archived(earlier: str, fitted: Fitted, day: date) -> str:
    """Return the archive file's text with the moved lines added under the day."""
    head = earlier if earlier.strip() else "# Moved out of memory\n"
    return f"{head.rstrip()}\n\n## {day.isoformat()}\n\n" + "\n".join(fitted.moved) + "\n"


def _fits(here: Sequence[str], room: tuple[float, float]) -> bool:
    return len(here) <= room[0] and sum(len(line.encode("utf-8")) for line in here) <= room[1]


def _move(here: list[str], room: tuple[float, float], stay: Set[str], *, prose: bool = False) -> list[str]:
    """Take list items, or with `prose` any line, out of `here` until it fits, each with its indented further lines."""
    moved: list[str] = []
    while not _fits(here, room) and (place := _oldest(here, stay, prose=prose)) is not None:
        end = place + 1
        while end < len(here) and here[end].startswith((" ", "\t")) and _may_go(here[end], stay, item=False):
            end += 1
        moved += [line.rstrip() for line in here[place:end]]
        del here[place:end]
    return moved


def _oldest(here: list[str], stay: Set[str], *, prose: bool) -> int | None:
    """Find the first line that may go, in the section that holds most of them."""
    sections: dict[int, list[int]] = {}
    section = -1
    for place, line in enumerate(here):
        if line.startswith("#"):
            section = place
        elif _may_go(line, stay, item=None if prose else True):
            sections.setdefault(section, []).append(place)
    return max(sections.values(), key=len)[0] if sections else None


def _may_go(line: str, stay: Set[str], *, item: bool | None = None) -> bool:
    """Tell whether `line` may leave; with `item`, only a list item, or only what is none."""
    fixed = not line.strip() or line.startswith("#") or line.rstrip() in stay or _MOVED.match(line)
    return not fixed and item in {None, line.lstrip().startswith(("- ", "* "))}


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
