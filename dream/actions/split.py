"""Split a memory that mixes projects: each line moves to the place where all of its sources were said.

Entries of history from before there were places hold none. Of them the transcript tells, while its agent still has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from dream import transcripts
from dream.actions import scopes
from dream.consolidate import identity, listing
from dream.consolidate.consolidator import with_opener
from dream.consolidate.listing import File, Seen
from dream.directory import Workspace
from dream.errors import TranscriptError
from dream.memory import MEMORY_FILES
from dream.models import Entry, FileLine, Message
from dream.settings import Settings
from dream.transcripts.source import ignore
from dream.versions import trace
from dream.workspace.places import Places

SPLIT = (MEMORY_FILES[0], MEMORY_FILES[2])  # USER.md is the person's, wherever it was said


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The lines that belong to one place: its name, or its path or chat while it is not known.

    `said` is a message from there where it is not known yet, else None.
    """

    name: str
    said: Message | None
    lines: tuple[FileLine, ...]


def parts(workspace: Workspace, paths: Iterable[Path] = ()) -> list[Misplaced]:
    """Return which lines for everywhere rest on what was said in one place alone; nothing is changed.

    The transcripts of entries without a place are looked for in the configured sources and at `paths`.
    """
    places = workspace.places()
    wanted = [one for one in trace.fact_lines(workspace) if one[0] in SPLIT]
    origins = [one for one in trace.trace(workspace, wanted) if one.entries]
    cursors = {cursor for one in origins for cursor in one.entries}
    entries = {cursor: entry for cursor in cursors for entry in workspace.history.between(cursor, cursor)}
    told = _told(workspace, [entry for entry in entries.values() if not entry.place], paths)
    found: dict[str, Misplaced] = {}
    for one in origins:
        said = [_said(places, entries.get(cursor), told) for cursor in one.entries]
        keys = {key for key, _ in said}
        if len(keys) == 1 and (key := keys.pop()):
            known = places.named(key) if key.startswith("p-") else None
            part = found.setdefault(key, Misplaced(known.name if known else key, said[0][1], ()))
            found[key] = replace(part, lines=(*part.lines, (one.file, one.line)))
    return list(found.values())


def split(workspace: Workspace, found: Iterable[Misplaced], *, now: datetime) -> str | None:
    """Move the lines of each part into its place, in one commit; return its sha.

    Raises UsageError where a line does not stand where it was shown any more, and Busy.
    """
    places, lines = workspace.places(), dict[str, list[FileLine]]()
    for part in found:
        place = places.named(places.of(part.said)) if part.said else places.by_name(part.name)
        if place:
            lines.setdefault(place.name, []).extend(part.lines)
    return scopes.moved(workspace, lines, "(each line to where it was said)", now, locked=False)


def _said(places: Places, entry: Entry | None, told: Mapping[int, Message]) -> tuple[str, Message | None]:
    """Return the key of the place where an entry was said, and a message of one that is not known yet.

    The key is "" where that is nowhere, several or not known. The id that history holds decides, not its path:
    another repository may lie there by now.
    """
    if entry is None:
        return "", None
    if place := places.named(entry.place or places.of_session(entry.session or "")):
        return place.id if place in places.all() else "", None
    if (message := told.get(entry.cursor)) is None:
        return "", None
    found = places.at(message.cwd, message.chat)
    return places.key(message.cwd, message.chat), None if found else message


def _told(workspace: Workspace, entries: Iterable[Entry], paths: Iterable[Path]) -> dict[int, Message]:
    """Return, by cursor, a message of the one place in which all of an entry was said, as its transcript tells."""
    by_session: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.session and entry.span:
            by_session.setdefault(entry.session, []).append(entry)
    found: dict[int, Message] = {}
    if by_session:
        settings = workspace.settings(using=("sources",))
        for file in _files(workspace, settings, set(by_session), paths):
            with suppress(TranscriptError):
                for key, openers in _read(file, settings, by_session).items():
                    for entry in by_session[key]:
                        if (said := _of(workspace.places(), entry, openers)) is not None:
                            found[entry.cursor] = said
    return found


def _files(workspace: Workspace, settings: Settings, keys: set[str], paths: Iterable[Path]) -> Iterator[File]:
    """Yield the transcripts that may hold one of the sessions: all that are named, and of the sources' those."""
    seen = Seen(workspace.history)
    sources = listing.paths(settings, workspace.root, home=Path.home(), environ=os.environ, wrong=lambda error: None)
    known = {file.name: file for file in (*listing.listed(seen.paths()), *sources)}
    named = {file.name: file for path in paths for file in listing.files([path], ignore)}
    for file in (known | named).values():
        held = seen.keys(file.name)
        if file.name in named or held is None or not keys.isdisjoint(held):
            yield file


def _read(file: File, settings: Settings, wanted: Mapping[str, object]) -> dict[str, list[tuple[str, Message]]]:
    """Return, of each wanted session of a transcript, the digest of each message and the one that opened its turn."""
    by_key: dict[str, list[Message]] = {}
    zone = file.zone or settings.zone()
    for key, message in transcripts.read(file.path, zone=zone, session=file.session):
        if key in wanted:
            by_key.setdefault(key, []).append(message)
    return {
        key: [
            (identity.digest(one), replace(opener, content="", whole=""))
            for opener, (_, one) in with_opener(enumerate(messages))
        ]
        for key, messages in by_key.items()
    }


def _of(places: Places, entry: Entry, openers: list[tuple[str, Message]]) -> Message | None:
    first, end = entry.span or (0, 0)
    held = set(identity.digests(entry))
    said = [opener for own, opener in openers if own in held] if held else [one for _, one in openers[first:end]]
    whole = len(said) >= (len(held) or end - first)
    keys = {"" if places.is_never(one) else places.key(one.cwd, one.chat) for one in said}
    return said[0] if whole and len(keys) == 1 and keys != {""} else None
