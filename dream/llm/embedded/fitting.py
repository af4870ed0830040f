"""Choose what fits each memory file: the most telling lines first; in a full file they push out what tells least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dream.llm.embedded.coverage import KEEP, density, forget, note, ranked
from dream.llm.embedded.routing import tells_of
from dream.llm.embedded.salience import salience, stands
from dream.llm.embedded.words import content
from dream.models import MEMORY_FILES, MemoryFile

ROOM: dict[MemoryFile, tuple[int, int]] = {  # lines and bytes of the whole file, a little below the guards' budgets
    "SOUL.md": (58, 5_700),
    "USER.md": (70, 3_000),  # short enough to stand whole before MEMORY.md in any prompt; what is over goes there
    "memory/MEMORY.md": (199, 24_500),
}
LINE = 40  # characters that a line costs beyond its own: a file is bound in lines as well as in bytes
LEAST = 0.006  # gain per character below which a line is not worth its place in a full file
PROFILE = 0.012  # gain per character below which a line about the user stands in MEMORY.md: USER.md comes first
PASSES = 4
SWAP = 0.15  # part of a file's lines that may make room in one dream; the guards allow 0.25
BETTER = 1.15  # how much more telling a new line must be than the old one it pushes out
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
        """Whether it has its place whatever it pushes out."""
        return bool(self.replaces) or self.file == "SOUL.md"


def fitting(
    files: Mapping[MemoryFile, str],
    old: list[tuple[MemoryFile, str]],
    added: list[New],
    names: frozenset[str],
    swap: float,
) -> list[tuple[New, list[tuple[MemoryFile, str]]]]:
    """Return the lines that fit, each with those that it pushes out, at most the share `swap` of a file's.

    `names` are those of the people whose lives memory tells of.
    """
    replaced = {line for new in added for line in new.replaces}
    kept = [line for line in old if line not in replaced]
    seen: dict[str, float] = {}
    for _, text in kept:
        note(content(text), seen)
    weighed = [(new.text, content(new.text), _factor(new, names)) for new in added]
    chosen: dict[int, list[tuple[MemoryFile, str]]] = {}
    rooms = {
        file: _Room(
            file,
            files.get(file, ""),
            [text for path, text in kept if path == file and f"- {text}" in files.get(path, "")],
            names,
            swap,
        )
        for file in MEMORY_FILES
    }
    for _ in range(PASSES):  # what was pushed out may make another line tell more: until nothing changes
        before = len(chosen)
        for number in ranked(weighed, seen, LINE, KEEP):
            if number in chosen:
                continue
            new, found = added[number], weighed[number][1]
            worth = weighed[number][2] * density(found, seen, len(new.text), LINE, KEEP)
            if new.file == "USER.md" and (worth < PROFILE or not rooms[new.file].holds(new.text)):
                new = added[number] = replace(new, file="memory/MEMORY.md")
            pushed = rooms[new.file].take(new.text, worth, new.sure)
            if pushed is not None:
                chosen[number] = [(new.file, text) for text in pushed]
                note(found, seen)
                for text in pushed:
                    forget(content(text), seen)
        if len(chosen) == before:
            break
    return [(added[number], chosen[number]) for number in sorted(chosen)]


def _factor(new: New, names: frozenset[str]) -> float:
    return 3.0 if new.sure else _worth(new.text, names)


def _worth(text: str, names: frozenset[str]) -> float:
    return salience(text) * (STANDS if stands(text) and not tells_of(text, names) else 1.0)


class _Room:
    """The room that a file has left, and its lines that tell least."""

    def __init__(self, file: MemoryFile, whole: str, lines: list[str], names: frozenset[str], swap: float) -> None:
        most_lines, most_bytes = ROOM[file]
        frame = [line for line in whole.split("\n") if not line.startswith("- ")]
        self.lines = most_lines - len(lines) - len(frame)
        self.bytes = most_bytes - sum(_size(text) for text in (*lines, *frame))
        self.weakest = sorted(_worths(lines, names), reverse=True)
        self.swaps = int(swap * len(lines))
        self.full = 1 - min(self.lines / most_lines, self.bytes / most_bytes)

    def holds(self, text: str) -> bool:
        """Say whether a line fits without pushing out another."""
        return self.lines >= 1 and self.bytes >= _size(text)

    def take(self, text: str, worth: float, sure: bool) -> list[str] | None:
        """Give room to a line: the lines that it pushes out, or None where it is not worth any of them."""
        pushed: list[str] = []
        if worth < LEAST * self.full**2 and not sure:
            return None
        lines, left = self.lines - 1, self.bytes - _size(text)
        while lines < 0 or left < 0:
            at = len(self.weakest) - 1 - len(pushed)
            if at < 0 or len(pushed) >= self.swaps or (worth < BETTER * self.weakest[at][0] and not sure):
                return None
            pushed.append(self.weakest[at][1])
            lines, left = lines + 1, left + _size(pushed[-1])
        if pushed:
            del self.weakest[-len(pushed) :]
            self.swaps -= len(pushed)
        self.lines, self.bytes = lines, left
        return pushed


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 3


def _worths(lines: list[str], names: frozenset[str]) -> list[tuple[float, str]]:
    """Return what each line tells for its length beside those that tell more."""
    weighed = [(text, content(text), _worth(text, names)) for text in lines]
    seen: dict[str, float] = {}
    worths = []
    for text, found, factor in (weighed[number] for number in ranked(weighed, None, LINE, KEEP)):
        worths.append((factor * density(found, seen, len(text), LINE, KEEP), text))
        note(found, seen)
    return worths
