"""Manage places: rename, merge or separate them, move a line, and name what is never read.

Each change is one commit of a person, which a restore can undo. Rows of history have a place's id and don't change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path, PurePath

from dream.actions.drop import Line
from dream.directory import Workspace
from dream.dreaming import phase2
from dream.dreaming.draft import replaced
from dream.errors import UsageError
from dream.memory import KNOWN_PLACES, MEMORY_FILES, files_of, like, memory_file, place_of
from dream.models import FileLine, Finding, MemoryFile
from dream.text.words import without_bullet
from dream.versions import log, read_all, trace, transaction
from dream.workspace import review_files
from dream.workspace.lock import run_lock
from dream.workspace.places import EVERYWHERE, KnownPlace, Places

Files = dict[str, bytes | None]  # by path; None is a file that goes
Making = Callable[[Places, Mapping[str, bytes]], Files]


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place as it is listed: what it is known by, how many lines its files hold, and the place that it may be.

    `same` are that place's name and what the two have in common: "remote" or "path".
    """

    name: str
    kind: str
    paths: tuple[str, ...]
    remotes: tuple[str, ...]
    chats: tuple[str, ...]
    lines: int
    same: tuple[str, ...] = ()


def listed(workspace: Workspace) -> list[PlaceRow]:
    """List the places that are known."""
    places = workspace.places()
    known, alike = places.all(), {name: (other, shared) for name, other, shared in places.alike()}
    return [
        PlaceRow(
            place.name,
            "group" if place.is_group else "project",
            place.paths,
            place.remotes,
            place.chats,
            sum(len(list(trace.facts(workspace.read_file(file)))) for file in place.files),
            alike.get(place.name, ()),
        )
        for place in known
    ]


def group(workspace: Workspace, chat: str, *, now: datetime) -> KnownPlace | None:
    """Note that the key of a chat is a group's, and return its place; raises UsageError for none, and Busy."""
    if not chat.strip():
        raise UsageError("Name the key of a chat: dream places group telegram:-100883")
    found = workspace.places().named(workspace.places().group(chat))
    _done(workspace, lambda places, files: {}, "", now, locked=False)
    return found


def rename(workspace: Workspace, name: str, new: str, *, now: datetime, locked: bool = False) -> str | None:
    """Give a place another name, and its files another folder; return the commit's sha.

    Raises UsageError for a name that is none or is taken, and Busy.
    """

    def deed(places: Places, found: Mapping[str, bytes]) -> Files:
        place = _named(places, name)
        places.check_name(new, but=place)
        changes = _carried(found, {place.name: new}, workspace)
        return changes | {KNOWN_PLACES: places.written({place.id: replace(place, name=new)})}

    return _done(workspace, deed, f"(place {name} renamed to {new})", now, locked=locked)


def merge(workspace: Workspace, name: str, into: str, *, now: datetime, locked: bool = False) -> str | None:
    """Merge a place into another one: its lines, paths and remotes move there. Raises the same errors as `rename`."""

    def deed(places: Places, found: Mapping[str, bytes]) -> Files:
        other = _named(places, into)
        if name.casefold() in places.lost():  # a folder whose place was renamed in the file
            return _carried(found, {name: other.name}, workspace)
        place = _named(places, name)
        if place == other or place.is_group != other.is_group:
            raise UsageError(
                "A place is merged into another of its kind: a project into a project, a chat into a chat."
            )
        joint = replace(
            other,
            paths=_union(other.paths, place.paths),
            remotes=_union(other.remotes, place.remotes),
            chats=_union(other.chats, place.chats),
            also=_union(other.also, (place.id, *place.also)),
            apart=_union(other.apart, place.apart),
        )
        changes = _carried(found, {place.name: other.name}, workspace)
        return changes | {KNOWN_PLACES: places.written({other.id: joint, place.id: None})}

    return _done(workspace, deed, f"(place {name} merged into {into})", now, locked=locked)


def also(workspace: Workspace, name: str, one: str, *, now: datetime, locked: bool = False) -> str | None:
    """Note that a place's rows of history may hold the id `one`, too: another machine has merged that one into it."""

    def deed(places: Places, found: Mapping[str, bytes]) -> Files:
        place = _named(places, name)
        return {KNOWN_PLACES: places.written({place.id: replace(place, also=_union(place.also, (one,)))})}

    return _done(workspace, deed, f"(place {name} is {one} too)", now, locked=locked)


def apart(workspace: Workspace, name: str, other: str, *, now: datetime, locked: bool = False) -> str | None:
    """Note that a place is not the same as another, so that nobody is asked again. Raises as `rename` does."""

    def deed(places: Places, found: Mapping[str, bytes]) -> Files:
        place, one = _named(places, name), _named(places, other)
        if place == one:
            raise UsageError(f"{name} is one place; name two.")
        told = replace(place, apart=_union(place.apart, (one.id,)))
        return {KNOWN_PLACES: places.written({place.id: told})}

    return _done(workspace, deed, f"(place {name} is not {other})", now, locked=locked)


def move(workspace: Workspace, line: Line, to: str, *, now: datetime, locked: bool = False) -> str | None:
    """Move a line to a place, with "everywhere" to the files that apply there, or to a memory file.

    Return the commit's sha. Raises UsageError for what is none of them, and Busy.
    """
    return moved(workspace, {to: [(line.file, line.text)]}, f"(moved to {to})", now, locked=locked)


def goals(workspace: Workspace) -> list[MemoryFile]:
    """Return every memory file that a line can be moved to: the three, and two for each place."""
    return [*MEMORY_FILES, *(file for place in workspace.places().all() for file in place.files)]


def never(workspace: Workspace, what: str, *, lift: bool = False, now: datetime, locked: bool = False) -> str | None:
    """Never read a project, by its name or path, or a chat or session, by its key; with `lift` read it again.

    Raises UsageError where nothing is named.
    """
    if not what.strip():
        raise UsageError("Name a project, a chat or a session: dream places never ~/work/secret")
    place = workspace.places().by_name(what)
    is_path = what.startswith(("/", "~", ".")) or (place is None and Path(what).is_dir())
    path = os.path.realpath(Path(what).expanduser()) if is_path else what
    named = (*place.paths, *place.chats) if place is not None else (path,)

    def deed(places: Places, found: Mapping[str, bytes]) -> Files:
        left = [one for one in places.never() if one not in named]
        return {KNOWN_PLACES: places.written({}, never=left if lift else [*left, *named])}

    told = f"({'read again' if lift else 'never read'}: {', '.join(named)})"
    return _done(workspace, deed, told, now, locked=locked)


def _named(places: Places, name: str) -> KnownPlace:
    found = places.by_name(name)
    if found is None:
        known = ", ".join(one.name for one in places.all()) or "none"
        raise UsageError(f"No place is named {name}; there is {known}.")
    return found


def moved(
    workspace: Workspace,
    lines: Mapping[str, Sequence[FileLine]],
    note: str,
    now: datetime,
    *,
    locked: bool,
) -> str | None:
    """Move lines to the places that are named, each under the heading that it stood below, in one commit."""

    def deed(places: Places, found: Mapping[str, bytes]) -> Files:
        texts: dict[str, str] = {}
        for name, some in lines.items():
            for file, line in some:
                goal = _goal(places, file, name)
                source = texts.setdefault(file, found.get(file, b"").decode("utf-8"))
                if goal == file or line not in source.splitlines():
                    raise UsageError(f"{line.strip()!r} does not stand in {file} any more, or stands there already.")
                texts[file] = _without(source, line)
                texts[goal] = _with(texts.get(goal, found.get(goal, b"").decode("utf-8")), goal, line, source)
        return {
            file: text.encode("utf-8") if text.strip() or file in MEMORY_FILES else None for file, text in texts.items()
        }

    return _done(workspace, deed, note, now, locked=locked)


def _goal(places: Places, file: MemoryFile, to: str) -> MemoryFile:
    """Return the file to which a line of `file` moves: that of a place, the one for everywhere, or the one named."""
    if goal := memory_file(to):
        return goal if not place_of(goal) else f"places/{_named(places, place_of(goal)).name}/{PurePath(goal).name}"
    if to.casefold() == EVERYWHERE:
        return like(file)
    found = {like(one): one for one in _named(places, to).files}
    if like(file) not in found:
        raise UsageError("A line of USER.md is the person's, and holds everywhere.")
    return found[like(file)]


def _without(text: str, line: str) -> str:
    rows = text.splitlines(keepends=True)
    at = next(number for number, row in enumerate(rows) if row.rstrip("\r\n") == line)
    return "".join(rows[:at] + rows[at + 1 :])


def _with(text: str, file: MemoryFile, line: str, source: str) -> str:
    """Return the text of a file with a line below the heading that it stands under in `source`."""
    rows = source.splitlines()
    above = rows[: rows.index(line)] if line in rows else []
    heading = next((row.lstrip("# ") for row in reversed(above) if row.startswith("## ")), "")
    fact = without_bullet(line).strip()
    if not {line, f"- {fact}"}.isdisjoint(text.splitlines()):
        return text
    return replaced(text, phase2.addition(text, Finding(file, fact, (), heading=heading), 1))


def _carried(found: Mapping[str, bytes], names: Mapping[str, str], workspace: Workspace) -> Files:
    """Return the files of places under other names: their lines, archives, and what is held and rejected of them."""
    changes: Files = {}
    for old, new in names.items():
        for file, goal in zip(files_of(old), files_of(new), strict=True):
            if file in found:
                text, there = found[file].decode("utf-8"), found.get(goal, b"").decode("utf-8")
                for line in trace.facts(text) if there else ():
                    there = _with(there, goal, line, text)
                changes |= {file: None, goal: (there or text).encode("utf-8")}
        for path in [path for path in found if path.startswith(f"memory/archive/{old}.")]:
            goal = f"memory/archive/{new}.{path.partition('.')[2]}"
            changes |= {path: None, goal: found.get(goal, b"") + found[path]}

    def called(file: MemoryFile) -> MemoryFile:
        old = place_of(file)
        return file.replace(f"places/{old}/", f"places/{names[old]}/") if old in names else file

    def told(text: str) -> str:
        return next((text.replace(f"[places/{old}/", f"[places/{new}/") for old, new in names.items()), text)

    held = workspace.pending()
    if any(one.file and place_of(one.file) in names for one in held):
        rows = [
            replace(one, file=called(one.file), findings=tuple(map(told, one.findings))) if one.file else one
            for one in held
        ]
        changes[review_files.PENDING] = review_files.render_pending(rows)
    facts = [replace(one, file=called(one.file)) for one in workspace.rejected() if place_of(one.file) in names]
    if facts:
        changes[review_files.REJECTED] = review_files.grown(found.get(review_files.REJECTED, b""), facts)
    return changes


def _union(some: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *more)))


def _done(workspace: Workspace, deed: Making, note: str, now: datetime, *, locked: bool) -> str | None:
    """Commit what `deed` makes of the files as they stand, as a person's change; return its sha."""
    with nullcontext() if locked else run_lock(workspace.private, "dream places", now=now):
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
        found = read_all(workspace.root)
        if (known := found.get(KNOWN_PLACES)) is not None:  # places noted since the last commit: a restore keeps them
            noted = partial(log.build, "hand", note="(the list of places)")
            transaction.commit(workspace, {KNOWN_PLACES: known}, expected={}, message=noted, now=now)
        changes = deed(workspace.places(), found)
        expected = {path: found.get(path) for path in changes}
        message = partial(log.build, "hand", note=note)
        return transaction.commit(workspace, changes, expected=expected, message=message, now=now).sha
