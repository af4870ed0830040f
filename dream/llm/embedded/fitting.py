"""Which file each new line goes to, by the room that is there; what is over a file's budget the guards archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dream.llm.embedded.coverage import KEEP, density, note, ranked
from dream.llm.embedded.routing import tells_of
from dream.llm.embedded.salience import salience, stands
from dream.llm.embedded.words import content
from dream.models import MemoryFile

PROFILE_LINES, PROFILE_BYTES = 70, 3_000  # of USER.md, so that it stands whole before MEMORY.md in any prompt
LINE = 40  # characters that a line costs beyond its own: a file is bound in lines as well as in bytes
MEMORY_LINES, MEMORY_BYTES = 200, 25_000  # of MEMORY.md; what is over moves to the archive
LEAST = 0.006  # gain per character below which a line is not worth a place in a full MEMORY.md
PROFILE = 0.012  # gain per character below which a line about the user stands in MEMORY.md: USER.md comes first
STANDS = 2.5  # how much more a line tells of how a thing is, "the wiki is at …", than one of what somebody did


@dataclass(frozen=True, slots=True)
class New:
    """A line to add, with the cursors it rests on and the old lines that it replaces."""

    file: MemoryFile
    text: str
    cursors: tuple[int, ...]
    replaces: tuple[tuple[MemoryFile, str], ...] = ()

    @property
    def sure(self) -> bool:
        """Whether it has its place in its file whatever it tells."""
        return bool(self.replaces) or self.file == "SOUL.md"


def fitting(
    files: Mapping[MemoryFile, str], old: Sequence[tuple[MemoryFile, str]], added: Sequence[New], names: frozenset[str]
) -> list[New]:
    """Return the new lines, those about the user that USER.md has no room for as lines of MEMORY.md.

    The fuller that is, the more must a line tell to be among them. `names` are those of the people whose lives memory tells of.
    """
    replaced = {line for new in added for line in new.replaces}
    seen: dict[str, float] = {}
    for line in old:
        if line not in replaced:
            note(content(line[1]), seen)
    weighed = [(new.text, content(new.text), _factor(new, names)) for new in added]
    room = _Room(files.get("USER.md", ""), [text for file, text in replaced if file == "USER.md"])
    least = LEAST * _fullness(files.get("memory/MEMORY.md", "")) ** 2
    fitted: dict[int, New] = {}
    for number in ranked(weighed, seen, LINE, KEEP):
        new, (text, found, factor) = added[number], weighed[number]
        worth = factor * density(found, seen, len(text), LINE, KEEP)
        if new.file == "USER.md" and not room.take(text, worth):
            new = replace(new, file="memory/MEMORY.md")
        if new.sure or new.file == "USER.md" or worth >= least:
            fitted[number] = new
            note(found, seen)
    return [fitted[number] for number in sorted(fitted)]


def _fullness(text: str) -> float:
    """Return the share of MEMORY.md's room that is taken; what a person wrote beyond it asks no more of a line."""
    return min(1.0, max(text.count("\n") / MEMORY_LINES, _size(text) / MEMORY_BYTES))


def _factor(new: New, names: frozenset[str]) -> float:
    if new.sure:
        return 3.0
    return salience(new.text) * (STANDS if stands(new.text) and not tells_of(new.text, names) else 1.0)


class _Room:
    """The room that USER.md has left."""

    def __init__(self, whole: str, replaced: Sequence[str]) -> None:
        self.lines = PROFILE_LINES - whole.count("\n") + len(replaced)
        self.bytes = PROFILE_BYTES - _size(whole) + sum(map(_size, replaced))

    def take(self, text: str, worth: float) -> bool:
        """Give room to a line that is worth its place; say whether it was given."""
        if worth < PROFILE or self.lines < 1 or self.bytes < _size(text):
            return False
        self.lines, self.bytes = self.lines - 1, self.bytes - _size(text)
        return True


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 3
