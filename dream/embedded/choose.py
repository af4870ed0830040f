"""Stage four: which statements there is room for, and where each stands in its file, by what it will be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dream.embedded import read
from dream.embedded.statement import New, Statement
from dream.embedded.write import history_line, line, parsed
from dream.language.likeness import ranked
from dream.language.tokens import estimate
from dream.models import MemoryFile

PROFILE_LINES, PROFILE_BYTES = 70, 5_000  # of USER.md, so that it stands whole before MEMORY.md in any prompt
MEMORY_LINES, MEMORY_BYTES = 200, 25_000  # of MEMORY.md; what is over moves to the archive
LINE = 40  # characters that a line costs beyond its own: the file is bound in lines as well as in bytes
WEIGHT = 0.5  # how much the kind of a statement counts beside its words
_SECTIONS = {
    "person": "People",
    "preference": "Preferences",
    "plan": "Plans",
    "solution": "Solutions",
    "decision": "Decisions",
    "event": "Events",
    "fact": "Facts",
    "rule": "Rules",
}


def spoken(said: Sequence[Statement], limit: int) -> list[Statement]:
    """Return the statements of a conversation, in order, that fit into `limit` tokens: what is worth least goes."""
    sizes = [estimate(f"- {history_line(one)}\n") + 1 for one in said]
    if sum(sizes) <= limit:
        return list(said)
    kept: set[int] = set()
    for number in sorted(range(len(said)), key=lambda n: (-said[n].weight, n)):
        if sizes[number] <= limit:
            kept.add(number)
            limit -= sizes[number]
    return [one for number, one in enumerate(said) if number in kept]


def fitting(files: Mapping[MemoryFile, str], added: Sequence[New]) -> list[New]:
    """Return the new lines that are worth their room, those that USER.md has none for as lines of MEMORY.md."""
    profile = files.get("USER.md", "")
    lines = PROFILE_LINES - profile.count("\n")
    room = PROFILE_BYTES - len(profile.encode("utf-8", "replace"))
    fitted = []
    for new in added:
        if new.file == "USER.md" and not new.replaces:
            size = len(line(new.statement).encode("utf-8", "replace")) + 3
            lines, room = lines - 1, room - size
            if lines < 0 or room < 0:
                new = replace(new, file="memory/MEMORY.md")  # noqa: PLW2901 - the same line, elsewhere
        fitted.append(new)
    return _telling(files.get("memory/MEMORY.md", ""), fitted)


def _telling(text: str, added: Sequence[New]) -> list[New]:
    """Return `added` without the lines that a full MEMORY.md would be worth no more with.

    All that it holds and all that is new is weighed together; what would be the first to go gets no place.
    """
    number = {at: line(new.statement) for at, new in enumerate(added) if _may_wait(new)}
    old = [row for row in text.split("\n") if row.startswith("- ")]
    lines = MEMORY_LINES - text.count("\n") + len(old)
    room = MEMORY_BYTES - _bytes(text) + sum(map(_bytes, old))
    texts = [*number.values(), *old]
    if len(texts) <= lines and sum(map(_bytes, texts)) <= room:
        return list(added)
    rates = [added[at].statement.weight ** WEIGHT for at in number] + [
        read.of_line(parsed(row[2:])).weight ** WEIGHT for row in old
    ]
    kept = set()
    for place in ranked(texts, rates=rates, line=LINE):
        lines, room = lines - 1, room - _bytes(texts[place])
        if lines < 0 or room < 0:
            break
        kept.add(place)
    left = {at for place, at in enumerate(number) if place not in kept}
    return [new for at, new in enumerate(added) if at not in left]


def _may_wait(new: New) -> bool:
    return new.file == "memory/MEMORY.md" and not new.replaces


def _bytes(row: str) -> int:
    return len(row.encode("utf-8", "replace")) + 1


def section(file: MemoryFile, said: Statement) -> str:
    """Return the name of the section of its file that a statement belongs in."""
    if file == "SOUL.md":
        return "Rules"
    if file == "USER.md":
        return "Preferences" if said.kind == "preference" else "Person"
    return "People" if said.kind == "preference" else _SECTIONS.get(said.kind, "Facts")
