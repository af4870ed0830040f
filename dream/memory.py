"""The memory files by their names: three that hold everywhere, and two for each place."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACES = "places"  # the folder of places in a workspace
KNOWN_PLACES = "places/places.toml"
PRIVATE = "Private"  # the heading of SOUL.md below which rules stand that no group is given
FORGET = "FORGET"  # the tag of a finding that is a wish to forget, and no line of a file
MEMBERS = "Members asked"  # the one in a group's own SOUL.md below which rules of its members stand
PLACE_NAME = r"[^\W_][\w-]{0,39}"
MEMORY_FILES: tuple[str, ...] = ("SOUL.md", "USER.md", "memory/MEMORY.md")
DREAM_CURSOR = "memory/.dream_cursor"  # beside them, and committed with them
TEMPLATES: Mapping[str, bytes] = {
    "SOUL.md": b"# Soul\n\nHow I behave.\n\n## Manner\n\n## Rules\n",
    "USER.md": b"# User\n\nWho I work for, and what they prefer.\n\n## Person\n\n## Preferences\n\n## Plans\n",
    "memory/MEMORY.md": (
        b"# Memory\n\nWhat is true of the work.\n\n## Facts\n\n## Decisions\n\n## Solutions\n\n## Events\n"
    ),
}
_NAMES = tuple(file.removeprefix("memory/") for file in MEMORY_FILES)
_HEADING = re.compile(r"(#{1,6})\s")
_OF_PLACE = re.compile(rf"places/({PLACE_NAME})/(SOUL|MEMORY)\.md")


def files_of(place: str) -> tuple[str, ...]:
    """Return the two memory files of the place with this name; none for ""."""
    return (f"places/{place}/SOUL.md", f"places/{place}/MEMORY.md") if place else ()


def place_of(file: str) -> str:
    """Return the name of the place that a memory file belongs to, "" for one of the three."""
    found = _OF_PLACE.fullmatch(file)
    return found[1] if found else ""


def like(file: str) -> str:
    """Return which of the three files a memory file is like: a place's rules are as SOUL.md, its facts as MEMORY.md."""
    found = _OF_PLACE.fullmatch(file)
    return file if found is None else "SOUL.md" if found[2] == "SOUL" else "memory/MEMORY.md"


def tag(file: str) -> str:
    """Return how a finding names its file: `USER`, `places/crumb/SOUL`."""
    return file.removeprefix("memory/").removesuffix(".md")


def memory_file(name: object) -> str | None:
    """Return the memory file that a path, a citation's file or a tag names; None for anything else."""
    path = f"{name.removeprefix('memory/').removesuffix('.md')}.md" if isinstance(name, str) else ""
    return {"MEMORY.md": "memory/MEMORY.md"}.get(path, path) if path in _NAMES or _OF_PLACE.fullmatch(path) else None


def public(text: str) -> str:
    """Return the rules of SOUL.md that a group may be given: all but those below the heading for private ones."""
    rows = text.split("\n")
    private = [number for number, row in enumerate(rows) if _is_private(row)]
    for start in private:
        level = len(rows[start]) - len(rows[start].lstrip("#"))
        for number in range(start, len(rows)):
            heading = _HEADING.match(rows[number])
            if number > start and heading and len(heading[1]) <= level:
                break
            rows[number] = ""
    return "\n".join(rows)


def _is_private(row: str) -> bool:
    return bool(_HEADING.match(row)) and row.lstrip("#").strip().casefold() == PRIVATE.casefold()
