"""What other machines of the same memory have heard: their history and messages, as sync has laid them beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dream.history.history import History
from dream.recall import MACHINES, Hit, of_entry, of_message
from dream.recall.search import Search, Wanted
from dream.recall.search_index import caught_up
from dream.workspace.files import read_note

if TYPE_CHECKING:
    from dream.directory import Workspace


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """Another machine: its name and id, and its history and messages, which are only read."""

    name: str
    id: str
    history: History


def machines(workspace: Workspace) -> Iterator[OtherMachine]:
    """Yield the other machines whose history was synced to this one; none where the workspace is not synced."""
    folder = workspace.memory / MACHINES
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_symlink() and (path / "machine.json").exists():
            name = str(read_note(path / "machine.json").get("name", path.name))
            history = History(path, private=workspace.private / MACHINES / path.name, durable=False)
            yield OtherMachine(name, path.name, history)


def found(workspace: Workspace, wanted: Wanted, limit: int, ours: Sequence[Hit]) -> list[Hit]:
    """Merge our hits with those of other machines by score: each message once."""
    hits = list(ours)
    about = replace(wanted, kinds=tuple(kind for kind in wanted.kinds if kind != "memory"))
    for other in machines(workspace):
        with caught_up(other.history) as index:
            theirs = Search(index, about, history=other.history).hits(limit)
        other.history.close()
        hits = _merged(hits, [named(hit, other.name) for hit in theirs])
    return hits[:limit]


def named(hit: Hit, machine: str) -> Hit:
    """Return a hit of another machine with its citation here: the machine's name is part of an entry's."""
    number = hit.cite.removeprefix("history:")
    return hit if number == hit.cite else replace(hit, cite=f"history:{machine}:{number}")


def entry(workspace: Workspace, machine: str, cursor: int, around: int) -> list[Hit]:
    """Return an entry of the machine of this name, with its neighbours; [] where there is none."""
    for other in machines(workspace):
        if machine in (other.name, other.id):
            entries = other.history.between(cursor - around, cursor + around)
            if any(one.cursor == cursor for one in entries):
                return [named(of_entry(one), other.name) for one in entries]
    return []


def talk(workspace: Workspace, session: str, first: int, last: int) -> list[Hit]:
    """Return the messages of a session that another machine has kept, in order; [] where none has."""
    for other in machines(workspace):
        with caught_up(other.history) as index:
            said = [one for place in index.between(session, first, last) if (one := index.said(place)) is not None]
        if said:
            return [of_message(one) for one in said]
    return []


def _merged(ours: list[Hit], theirs: list[Hit]) -> list[Hit]:
    there = {hit.cite for hit in ours}
    left, merged = [hit for hit in theirs if hit.cite not in there], list[Hit]()
    for hit in ours:
        while left and left[0].score > hit.score:
            merged.append(left.pop(0))
        merged.append(hit)
    return merged + left
