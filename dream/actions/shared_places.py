"""Places as machines share them: a file of a place is known by its id, so that it is the same one under any name.

What a place is called, and into which it was merged, are lines of one file more (`places/places.toml` in operations,
with one line for each id): of two names the later one wins. Paths, remotes and chats are this machine's own business;
those of a place that is new here come along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import orjson

from dream.actions import scopes
from dream.directory import Workspace
from dream.memory import KNOWN_PLACES, MEMORY_FILES, place_of
from dream.versions.fold import Folded
from dream.workspace.places import KnownPlace
from dream.workspace.review_files import REJECTED

_LINE = re.compile(r"(p-[0-9a-f]{8}) (in )?(\S+)")
_ARCHIVE = re.compile(r"(memory/archive/)([\w-]+)(\..+\.md)")


class Shared:
    """The places of this workspace, by which its paths become those of operations and back."""

    def __init__(self, workspace: Workspace) -> None:
        self._known = workspace.places().all()
        self._ids = {place.name: place.id for place in self._known}
        self._names = {one: place.name for place in self._known for one in (place.id, *place.also)}

    def path(self, file: str) -> str:
        """Return where a file that machines share lies on this disk."""
        return _renamed(file, self._names)

    def shared(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the files on the disk as machines share them, with one that says what places are called."""
        found = {_renamed(file, self._ids): self._rows(file, text, self._ids) for file, text in texts.items()}
        lines = [row for place in self._known for row in _lines(place)]
        return found | ({KNOWN_PLACES: "".join(f"{line}\n" for line in sorted(lines))} if lines else {})

    def on_disk(self, folded: Folded) -> dict[str, str]:
        """Return what the files on the disk are to be; of places that were merged the lines come together."""
        found: dict[str, str] = {}
        for file in sorted(folded.files, key=lambda one: place_of(one) not in self._ids.values()):
            path, text = self.path(file), self._rows(file, folded.text(file), self._names)
            if file == KNOWN_PLACES:
                continue
            there = found.get(path, "")
            new = [line for line in text.splitlines() if line.strip() and line not in there.splitlines()]
            found[path] = there + "".join(f"{line}\n" for line in new) if there else text
        return found

    @staticmethod
    def _rows(file: str, text: str, names: Mapping[str, str]) -> str:
        """Return the text of a file; in what was rejected the files are named otherwise."""
        if file != REJECTED or not names:
            return text
        rows = []
        for line in text.splitlines(keepends=True):
            found = re.search(r'"file":"(places/[^"]+)"', line)
            new = orjson.dumps(_renamed(found[1], names)).decode() if found else ""
            rows.append(f'{line[: found.start()]}"file":{new}{line[found.end() :]}' if found else line)
        return "".join(rows)


def is_whole(file: str) -> bool:
    """Return whether a file stays when its last line goes."""
    return file in MEMORY_FILES or file == REJECTED


def settle(workspace: Workspace, folded: Folded, now: datetime) -> bool:
    """Name and merge our places as the machines have them, in commits of their own; return whether any was.

    Raises UsageError for what can't be done here, as where a folder of that name holds something else.
    """
    named, merged = _wanted(folded)
    changed = False
    for one, into in merged.items():
        place, other = (
            next((each for each in workspace.places().all() if each.id == id_), None) for id_ in (one, into)
        )
        if place and other and place.is_group == other.is_group:
            changed |= bool(scopes.merge(workspace, place.name, other.name, now=now, locked=True))
        elif other and not place and one not in other.also:
            changed |= bool(scopes.also(workspace, other.name, one, now=now, locked=True))
    while todo := [place for place in workspace.places().all() if named.get(place.id, place.name) != place.name]:
        places = workspace.places()
        free = next((place for place in todo if places.by_name(named[place.id]) in (None, place)), None)
        place, new = (free, named[free.id]) if free else (todo[0], f"{todo[0].name[:30]}-{todo[0].id[2:]}")
        if free is None and all(one not in todo for one in places.all() if one.name == named[place.id]):
            break  # a place that the others don't know has the name
        changed |= bool(scopes.rename(workspace, place.name, new, now=now, locked=True))
    return changed


def _wanted(folded: Folded) -> tuple[dict[str, str], dict[str, str]]:
    """Return what each place is called, and into which one it was merged: of what is said twice the later counts."""
    slots = folded.files.get(KNOWN_PLACES, ())
    said: dict[str, tuple[tuple[int, int, str], re.Match[str]]] = {}
    for slot in slots:
        if (found := _LINE.fullmatch(slot.text)) is not None:
            order = max(op.order for op in slot.leaves)
            if found[1] not in said or said[found[1]][0] < order:
                said[found[1]] = (order, found)
    merged = {one: found[3] for one, (_, found) in said.items() if found[2]}
    for one in sorted(merged):  # two that were merged into each other: the first stays
        if _leads_back(one, merged):
            del merged[one]
    named: dict[str, str] = {}
    taken: set[str] = set()
    for one in dict.fromkeys(found[1] for slot in slots if (found := _LINE.fullmatch(slot.text))):
        if one not in merged and not said[one][1][2]:
            named[one] = _free(said[one][1][3], taken)
            taken.add(named[one].casefold())
    return named, merged


def _leads_back(one: str, merged: Mapping[str, str]) -> bool:
    seen, at = set[str](), one
    while at in merged and at not in seen:
        seen.add(at)
        at = merged[at]
    return at == one


def _free(name: str, taken: set[str]) -> str:
    number, found = 2, name
    while found.casefold() in taken:
        found, number = f"{name[:36]}-{number}", number + 1
    return found


def _lines(place: KnownPlace) -> list[str]:
    return [f"{place.id} {place.name}", *(f"{one} in {place.id}" for one in place.also)]


def _renamed(file: str, names: Mapping[str, str]) -> str:
    """Return the path of a file, or of an archive, of a place that is called otherwise."""
    if name := place_of(file):
        return file.replace(f"places/{name}/", f"places/{names.get(name, name)}/")
    found = _ARCHIVE.fullmatch(file)
    return f"{found[1]}{names[found[2]]}{found[3]}" if found and found[2] in names else file
