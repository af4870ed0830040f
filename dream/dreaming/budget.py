"""Keep each memory file within its budget: surplus lines move to an archive file that one line points to. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from dream.dreaming.draft import added
from dream.memory import place_of
from dream.models import MemoryFile
from dream.settings import Settings

SMALL = 5  # lines that each section keeps while other sections have more
POINTER_LINES, POINTER_BYTES = 2, 110  # upper bound of the pointer line and the blank line before it
_HEADING = re.compile(r"(#{1,6})\s")
_MOVED = re.compile(r"^- (\d+) older lines are in (memory/archive/\S+\.md)(?: to \S+\.md)?\s*$")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A file within its budget, and the lines that moved to its archive file."""

    text: str
    moved: tuple[str, ...]
    archive: str


def fit_budget(
    file: MemoryFile,
    before: str,
    text: str,
    keep: frozenset[str],
    settings: Settings,
    day: date,
    recent: Callable[[], Set[str]] = frozenset,
) -> Fitted | None:
    """Move the oldest lines out of `text` until it fits; None when it fits as it is.

    New lines are added at the end of a section, so its first line is the oldest. Empty headings are removed first;
    if that is enough, no line moves. Other headings and the lines in `keep` (written by a person) never move. List
    items move before prose, `recent` lines (written in the last days) only after all others, and lines that this dream
    wrote only if they alone exceed the budget.
    """
    max_lines, max_bytes = settings.limits(file)
    here = text.splitlines(keepends=True)
    if _fits(here, (max_lines, max_bytes)):
        return None
    archive = f"memory/archive/{f'{place}.' if (place := place_of(file)) else ''}{Path(file).stem}-{day:%Y-%m}.md"
    here = _without_empty(here, keep)
    if _fits(here, (max_lines, max_bytes)):
        return Fitted("".join(here), (), archive)
    room = max_lines - POINTER_LINES, max_bytes - POINTER_BYTES
    new = set(added(before, text))
    moved = _move(here, room, keep | new | recent())
    moved += _move(here, room, keep | new)
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


def _without_empty(here: Sequence[str], keep: Set[str]) -> list[str]:
    """Return the lines without empty headings, and without two blank lines in a row."""
    kept: list[str] = []  # from the last line backwards
    below = ""  # the nearest line that is not blank
    for line in reversed(here):
        level = _level(line)
        if level > 1 and line.rstrip() not in keep and (not below or 0 < _level(below) <= level):
            continue
        kept.append(line)
        below = line if line.strip() else below
    kept.reverse()
    return [line for line, before in zip(kept, ["", *kept], strict=False) if line.strip() or before.strip()]


def _level(line: str) -> int:
    """Return the level of a heading, 0 for any other line."""
    match = _HEADING.match(line)
    return len(match[1]) if match else 0


def _fits(here: Sequence[str], room: tuple[int, int]) -> bool:
    return len(here) <= room[0] and _size(here) <= room[1]


def _size(here: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8")) for line in here)


def _move(here: list[str], room: tuple[int, int], stay: Set[str], *, prose: bool = False) -> list[str]:
    """Remove list items (with `prose`, any line) and their indented continuations from `here` until it fits."""
    order = _oldest_first(_sections(here, stay, prose=prose))
    lines, size = len(here), _size(here)
    gone: list[range] = []
    while (lines > room[0] or size > room[1]) and order:
        gone.append(order.pop(0))
        lines, size = lines - len(gone[-1]), size - _size(here[gone[-1].start : gone[-1].stop])
    moved = [here[place].rstrip() for item in sorted(gone, key=lambda item: item.start) for place in item]
    here[:] = _without(here, gone)
    return moved


def _without(here: Sequence[str], gone: Sequence[range]) -> list[str]:
    places = {place for item in gone for place in item}
    return [line for place, line in enumerate(here) if place not in places]


def _sections(here: Sequence[str], stay: Set[str], *, prose: bool) -> list[list[range]]:
    """Return, for each section, the line ranges that may move."""
    sections: list[list[range]] = [[]]
    for place, line in enumerate(here):
        if line.startswith("#"):
            sections.append([])
        elif _may_go(line, stay, item=None if prose else True):
            sections[-1].append(range(place, _end(here, place, stay)))
    return sections


def _oldest_first(sections: Sequence[Sequence[range]]) -> list[range]:
    """Return the line ranges that may move in the order in which they move; those of small sections come last."""
    large = [item for section in sections if len(section) > SMALL for item in section]
    return large + [item for section in sections if len(section) <= SMALL for item in section]


def _end(here: Sequence[str], place: int, stay: Set[str]) -> int:
    end = place + 1
    while end < len(here) and here[end].startswith((" ", "\t")) and _may_go(here[end], stay, item=False):
        end += 1
    return end


def _may_go(line: str, stay: Set[str], *, item: bool | None = None) -> bool:
    """Return whether `line` may move; `item` restricts this to list items (True) or to other lines (False)."""
    fixed = not line.strip() or line.startswith("#") or line.rstrip() in stay or _MOVED.match(line)
    return not fixed and item in {None, line.lstrip().startswith(("- ", "* "))}


def _with_pointer(text: str, count: int, archive: str) -> str:
    """Append the line that names the archive; its count includes that of an earlier such line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    first = archive
    kept: list[str] = []
    for line in text.splitlines():
        if earlier := _MOVED.match(line):
            count, first = count + int(earlier[1]), min(first, earlier[2])
            if kept and not kept[-1].strip():
                kept.pop()
        else:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    until = "" if first == archive else f" to {archive.rpartition('/')[2]}"
    return newline.join([*kept, "", f"- {count} older lines are in {first}{until}", ""])
