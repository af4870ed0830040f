"""What the setting `sources` names: an agent whose format we read, a path, or a glob; each with its zone if need be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dream.errors import SettingsError, TranscriptError
from dream.settings import Settings
from dream.sources import listing
from dream.sources.listing import File
from dream.store.history import History
from dream.store.seen import Seen
from dream.transcripts import FORMATS, names
from dream.transcripts.trajectory import Foreign

ZONE = " @ "  # between a source and the zone of its naive times: "hermes @ Asia/Tokyo"


@dataclass(frozen=True, slots=True)
class Found:
    """A source on this machine: its files (bytes in all), and how many of them have something new.

    `sessions` counts those in files that have been read; a new file is taken for one session.
    """

    name: str
    configured: bool
    files: int
    sessions: int
    bytes: int
    new: int


def paths(settings: Settings, root: Path, *, home: Path, environ: Mapping[str, str]) -> list[File]:
    """Find the transcripts that the setting `sources` names; an agent that was never used gives none.

    A relative path is relative to `root`, the workspace: cron starts commands in any directory.
    Raises SettingsError for what is neither an agent nor a path that is there.
    """
    lists = [_files(source, settings, root, home, environ) for source in settings.sources]
    if len(lists) == 1:
        return lists[0]
    found: dict[str, File] = {}
    for file in (file for files in lists for file in files):
        found.setdefault(file.name, file)
    return list(found.values())


def survey(
    settings: Settings, root: Path, history: History | None, *, home: Path, environ: Mapping[str, str]
) -> list[Found]:
    """List the configured sources and the agents that are found on this machine; opens none of their files.

    Without `history` all of them is new.
    """
    seen = Seen(history, listing.terms(settings, None)) if history else None
    agents = [name for name, reader in FORMATS.items() if reader.places]
    configured = {split(source)[0]: source for source in settings.sources}
    listed = []
    for name in dict.fromkeys((*configured, *agents)):
        files = _files(configured.get(name, name), settings, root, home, environ)
        if not files and name not in configured:
            continue
        known = [seen.sessions(file.name) if seen else 1 for file in files]
        new = seen.unread(files) if seen else files
        size = sum(file.look[0] for file in files)
        listed.append(Found(configured.get(name, name), name in configured, len(files), sum(known), size, len(new)))
    return listed


def check(source: str, settings: Settings, root: Path, *, home: Path, environ: Mapping[str, str]) -> int:
    """Return how many files `source` names at present. Raises SettingsError when it can't be one."""
    return len(_files(source, settings, root, home, environ))


def needs(source: str) -> str:
    """Say what has to be installed before `source` can be read, and how; "" where all is there."""
    reader = FORMATS.get(split(source)[0])
    return reader.needs() if isinstance(reader, Foreign) else ""


def split(source: str) -> tuple[str, tzinfo | None]:
    """Take the zone off a source. Raises SettingsError for one that is not known."""
    name, at, zone = source.rpartition(ZONE)
    if not at:
        return source, None
    try:
        return name.strip(), ZoneInfo(zone.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"The source {source!r} of your settings: {zone!r} is not a known time zone.") from error


def _files(source: str, settings: Settings, root: Path, home: Path, environ: Mapping[str, str]) -> list[File]:
    name, zone = split(source)
    if name in FORMATS:
        found = _of_agent(name, home, environ, subagents=settings.include_subagents)
    else:
        found = _of_path(name, root, subagents=settings.include_subagents)
    return list(listing.listed(found, zone=zone))


def _of_agent(name: str, home: Path, environ: Mapping[str, str], *, subagents: bool) -> list[str]:
    places = FORMATS[name].places
    if not places:
        raise SettingsError(f"The source {name!r} has no usual place; name the path of its files instead.")
    found: list[str] = []
    for place in places:
        if place.subagents and not subagents:
            continue
        try:
            found += names(place.glob(home, environ), subagents=subagents)
        except TranscriptError:
            continue  # this agent was never used here
    return found


def _of_path(source: str, root: Path, *, subagents: bool) -> list[str]:
    path = root / Path(source).expanduser()
    try:
        return names(path, subagents=subagents)
    except TranscriptError as error:
        if path.is_dir():
            return []  # nothing there yet
        known = ", ".join(name for name, reader in FORMATS.items() if reader.places)
        raise SettingsError(
            f"The source {source!r} of your settings: {error} Agents known by name: {known}."
        ) from error
