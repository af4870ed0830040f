"""What the setting `sources` names: an agent whose format we read, a path, or a glob; each with its zone if need be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dream import __version__, transcripts
from dream.errors import SettingsError, TranscriptError
from dream.history.history import History
from dream.models import Diagnostic, Report, named
from dream.settings import Settings
from dream.transcripts import FORMATS, names
from dream.transcripts.trajectory import Foreign
from dream.workspace.seen import DATABASES, Look, Seen, look

# Which transcript files are to be read: those that are there, quiet, and not in history as they stand.


class Unread(Diagnostic):
    """A path that a person named and that could not be read: the command goes on, and fails in the end."""

    __slots__ = ()


class File(NamedTuple):  # a dataclass takes three times as long to make, and there are thousands
    """A transcript file: how it looked when it was listed, and whether a person named it itself.

    `zone` is that of its naive times; None is the settings'. `session` is the id of a session that has none of its own,
    where the file's name is not to be it.
    """

    name: str
    look: Look
    named: bool = False
    zone: tzinfo | None = None
    session: str = ""

    @property
    def path(self) -> Path:
        """The file's path."""
        return Path(self.name)


def files(paths: Iterable[Path | File], report: Report, *, subagents: bool = False) -> list[File]:
    """List the transcript files at `paths`, each once.

    A path that holds none is told to `report` as long as another does; else TranscriptError.
    """
    found: dict[str, File] = {}
    first: TranscriptError | None = None
    for path in paths:
        if isinstance(path, File):
            found.setdefault(path.name, path)
            continue
        try:
            for one in listed(transcripts.names(path, subagents=subagents), named=str(path)):
                found.setdefault(one.name, one)
        except TranscriptError as error:
            first = first or error
            report(Unread(str(path), 0, bare(str(path), error)))
    if first is not None and not found:
        raise first
    return list(found.values())


def listed(names: Iterable[str], *, named: str | None = None, zone: tzinfo | None = None) -> Iterator[File]:
    """Look at each of the files; one that has gone is passed over."""
    for name in names:
        try:
            yield File(name, look(name), name == named, zone)
        except OSError:
            continue


def quiet(found: Iterable[File], now: datetime, idle_hours: float) -> list[File]:
    """Leave out the files that were written to within `idle_hours` before `now`.

    A time in the future says nothing. A database is never quiet as a whole while one of its sessions goes on, so it is
    read as it stands.
    """
    end = int(now.timestamp() * 1e9)
    start = end - int(idle_hours * 3600e9)
    return [file for file in found if not start < file.look[1] <= end or file.name.endswith(DATABASES)]


def in_order(found: list[File], settings: Settings) -> list[File]:
    """Sort files by when their last message was: what was said later is to stand later in history."""
    if len(found) < 2:
        return found
    zone = settings.zone()
    return sorted(found, key=lambda file: transcripts.newest(file.name, file.zone or zone, file.look[1]))


def of_subagents(paths: Iterable[Path]) -> int:
    """Count the transcripts at `paths` that are passed over because they are sub-agents'."""
    count = 0
    for path in paths:
        with suppress(TranscriptError):
            count += len(set(transcripts.names(path, subagents=True)).difference(transcripts.names(path)))
    return count


def terms(settings: Settings, form: str | None) -> str:
    """Name what decides about what is read of a file: when it changes, all are read anew."""
    return f"{__version__} {form} {settings.include_subagents}"


def bare(name: str, error: TranscriptError) -> str:
    """Return what an error says of a file without the file's name, which stands before it already."""
    return str(error).removeprefix(f"{name} ")


ZONE = " @ "  # between a source and the zone of its naive times: "hermes @ Asia/Tokyo"


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source on this machine: its files (bytes in all), and how many of them have something new.

    `sessions` counts those in files that have been read; a new file is taken for one session.
    """

    name: str = field(metadata=named("source"))
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
) -> list[FoundSource]:
    """List the configured sources and the agents that are found on this machine; opens none of their files.

    Without `history` all of them is new.
    """
    seen = Seen(history, terms(settings, None)) if history else None
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
        listed.append(
            FoundSource(configured.get(name, name), name in configured, len(files), sum(known), size, len(new))
        )
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
        agents = listed(_of_agent(name, home, environ, subagents=settings.include_subagents), zone=zone)
        return [file for file in agents if file.look[0]]  # Letta Code begins each agent with an empty one
    return list(listed(_of_path(name, root, subagents=settings.include_subagents), zone=zone))


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
