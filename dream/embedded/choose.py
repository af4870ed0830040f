"""Stage four: which statements there is room for, and where each stands in its file, by what it will be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dream.embedded.statement import New, Statement
from dream.embedded.write import history_line, line
from dream.llm.tokens import estimate
from dream.models import MemoryFile

PROFILE_LINES, PROFILE_BYTES = 70, 5_000  # of USER.md, so that it stands whole before MEMORY.md in any prompt
MEMORY_LINES, MEMORY_BYTES = 200, 25_000  # of MEMORY.md; what is over moves to the archive
LEAST = 1.5  # worth of a line below which it gets no place in a full MEMORY.md
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
    """Return the new lines, those about the user that USER.md has no room for as lines of MEMORY.md."""
    profile = files.get("USER.md", "")
    lines = PROFILE_LINES - profile.count("\n")
    room = PROFILE_BYTES - len(profile.encode("utf-8", "replace"))
    least = LEAST * _fullness(files.get("memory/MEMORY.md", "")) ** 2
    fitted = []
    for new in added:
        if new.statement.weight < least and not new.replaces:
            continue
        if new.file == "USER.md" and not new.replaces:
            size = len(line(new.statement).encode("utf-8", "replace")) + 3
            lines, room = lines - 1, room - size
            if lines < 0 or room < 0:
                new = replace(new, file="memory/MEMORY.md")  # noqa: PLW2901 - the same line, elsewhere
        fitted.append(new)
    return fitted


def _fullness(text: str) -> float:
    """Return the share of MEMORY.md's room that is taken: the fuller it is, the more must a line be worth."""
    return min(1.0, max(text.count("\n") / MEMORY_LINES, len(text.encode("utf-8", "replace")) / MEMORY_BYTES))


def section(file: MemoryFile, said: Statement) -> str:
    """Return the name of the section of its file that a statement belongs in."""
    if file == "SOUL.md":
        return "Rules"
    if file == "USER.md":
        return "Preferences" if said.kind == "preference" else "Person"
    return "People" if said.kind == "preference" else _SECTIONS.get(said.kind, "Facts")
