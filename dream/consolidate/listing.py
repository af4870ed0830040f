"""Which transcripts are to be read: what the setting `sources` names, and what of it history does not hold yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dream import __version__, transcripts
from dream.errors import SettingsError, TranscriptError
from dream.history.history import History
from dream.models import Report, Unread
from dream.reports import named
from dream.settings import Settings
from dream.transcripts import known_formats, names

if TYPE_CHECKING:
    from dream.directory import Workspace

SEEN = "sources"  # a document in the index
DATABASES = (".db", ".sqlite", ".vscdb")  # new rows are in a second file at first (the write-ahead log)

Look = tuple[int, ...]
SOON = 7  # days: sessions that their agent deletes within these are reported
ZONE = " @ "  # between a source and the zone of its naive times: "hermes @ Asia/Tokyo"


def look(path: str) -> Look:
    """Return a fingerprint of the file: size, time, inode, and those of a database's log; raises OSError.

    An empty log says nothing: reading a database makes one.
    """
    status = os.stat(path)  # noqa: PTH116  # of thousands of files: half the time of Path.stat
    found: Look = (status.st_size, status.st_mtime_ns, status.st_ino)
    if path.endswith(DATABASES):
        with suppress(OSError):
            log = os.stat(f"{path}-wal")  # noqa: PTH116  # as above
            found += (log.st_size, log.st_mtime_ns) if log.st_size else ()
    return found


class Seen:
    """The transcript files that `history` holds whole and that have not changed since: none is opened again.

    A cache: without it every file is read once more, and nothing is archived twice. Files read in a given `form` are
    always read. `_files` has a look and the positions of its sessions for each file.
    """

    def __init__(self, history: History, form: str | None = None) -> None:
        self._history = history
        self._form = form
        self._files: dict[str, tuple[list[int], dict[str, int]]] = {}
        self._changed = False
        with suppress(ValueError, TypeError, KeyError):
            state = history.index.document(SEEN) if form is None else None
            if state and state["version"] == __version__:
                self._files = state["files"]
                if not _still(history.path, *state["history"]):
                    self._check()

    def unread(self, files: Iterable[File]) -> list[File]:
        """Return the `files` whose present state history does not hold, and all that a person named."""
        held = self._files.get
        return [file for file in files if held(file.name, ([],))[0] != [*file.look] or file.named]

    def sessions(self, path: str) -> int:
        """Return how many sessions the file had when it was last read; 1 if it was never read."""
        return len(self._files[path][1]) if path in self._files else 1

    def paths(self) -> tuple[str, ...]:
        """Return the files that are known."""
        return tuple(self._files)

    def keys(self, path: str) -> Set[str] | None:
        """Return the keys of the sessions that a file held when it was last read; None if that is not known."""
        return self._files[path][1].keys() if path in self._files else None

    def note(self, path: str, before: Look, keys: Mapping[str, int]) -> None:
        """Note that history holds the whole file, unless it changed since `before`; `keys` are positions."""
        with suppress(OSError):
            if look(path) == before and path.encode("utf-8", "ignore").decode() == path:  # else it can't stand in JSON
                self._files[path] = [*before], dict(keys)
                self._changed = True

    def save(self, listed: Set[str]) -> None:
        """Write the cache, without the files that are gone; one that can't be written costs time and nothing else."""
        for path in [path for path in self._files.keys() - listed if not Path(path).exists()]:
            del self._files[path]
            self._changed = True
        if self._changed and self._form is None:
            with suppress(OSError):
                state = {"version": __version__, "history": _mark(self._history.path), "files": self._files}
                self._history.index.keep(**{SEEN: state})

    def _check(self) -> None:
        """Drop the files that history, if it was replaced, no longer holds as a whole."""
        known = self._history.tails({key for _, ends in self._files.values() for key in ends})
        self._files = {
            path: (look, ends)
            for path, (look, ends) in self._files.items()
            if all(known[key][0] >= end for key, end in ends.items())
        }
        self._changed = True


def _mark(path: Path) -> tuple[int, int]:
    """Return inode and bytes of the log, by which one that only grew is known. Raises OSError."""
    status = path.stat()
    return status.st_ino, status.st_size


def _still(path: Path, inode: int, size: int) -> bool:
    with suppress(OSError):
        now = _mark(path)
        return now[0] == inode and now[1] >= size
    return False


# Which transcript files are read: those that exist, are quiet, and have changed since history read them.


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


def files(paths: Iterable[Path | File], report: Report) -> list[File]:
    """List the transcript files at `paths`, each once.

    A path without transcripts is reported; raises TranscriptError if no path has any.
    """
    found: dict[str, File] = {}
    first: TranscriptError | None = None
    for path in paths:
        if isinstance(path, File):
            found.setdefault(path.name, path)
            continue
        try:
            for one in listed(transcripts.names(path), named=str(path)):
                found.setdefault(one.name, one)
        except TranscriptError as error:
            first = first or error
            report(Unread(str(path), 0, without_file_name(str(path), error)))
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
    """Sort files by the time of their last message, so that history is in order of time."""
    if len(found) < 2:
        return found
    zone = settings.zone()
    return sorted(found, key=lambda file: transcripts.newest(file.name, file.zone or zone, file.look[1]))


def without_file_name(name: str, error: TranscriptError) -> str:
    """Return an error's message without the file's name, which the report already begins with."""
    return str(error).removeprefix(f"{name} ")


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source on this machine: its files (bytes in all), and how many of them have something new.

    `sessions` counts those in files that have been read; a new file is taken for one session. `problem` says what is
    wrong with a configured source that cannot be read, or that an agent is here of which no session can be; "" where
    all is well. Of the files with something new its agent deletes `going` within `within_days`, as `setting` of its
    own says.
    """

    name: str = field(metadata=named("source"))
    configured: bool
    files: int
    sessions: int
    bytes: int
    new: int
    problem: str = ""
    going: int = 0
    within_days: int = 0
    setting: str = ""

    @property
    def title(self) -> str:
        """The agent's name as its makers write it; the source itself if it is no agent."""
        reader = known_formats().get(self.name.partition(ZONE)[0])
        return (reader and reader.title) or self.name

    @property
    def deletes(self) -> str:
        """Say in a sentence which unread sessions its agent will delete, and when; "" for none."""
        if not self.going:
            return ""
        days = "a day" if self.within_days == 1 else f"{self.within_days} days"
        return f"{self.title} deletes {self.going:,} of these sessions within {days}: `{self.setting}`"


def unread_agents(
    workspace: Workspace, settings: Settings, now: datetime, *, home: Path, environ: Mapping[str, str]
) -> list[str]:
    """Say, in one sentence each, which agents on this machine are not read, and what they will delete soon."""
    told = []
    for one in survey(settings, workspace.root, workspace.history, now, home=home, environ=environ):
        if one.problem and not one.configured:
            told.append(one.problem)
        elif one.new and (not one.configured or one.going):
            sessions = "a session" if one.new == 1 else f"{one.new:,} sessions"
            why = "" if one.configured else f" (`dream sources add {one.name}`)"
            gone = f"; {one.deletes}" if one.going else ""
            told.append(f"{sessions} of {one.title} {'is' if one.new == 1 else 'are'} not read{why}{gone}")
    return told


def paths(
    settings: Settings,
    root: Path,
    *,
    home: Path,
    environ: Mapping[str, str],
    wrong: Callable[[SettingsError], object] | None = None,
) -> list[File]:
    """Find the transcripts that the setting `sources` names; an agent that was never used gives none.

    A relative path is relative to `root`, the workspace: cron starts commands in any directory.
    What is neither an agent nor a path that is there is told to `wrong`, and the others are found all the same;
    without it, raises SettingsError.
    """
    lists = []
    for source in settings.sources:
        try:
            lists.append(_files(source, settings, root, home, environ))
        except SettingsError as error:
            if wrong is None:
                raise
            wrong(error)
    if len(lists) == 1:
        return lists[0]
    found: dict[str, File] = {}
    for file in (file for files in lists for file in files):
        found.setdefault(file.name, file)
    return list(found.values())


def survey(
    settings: Settings,
    root: Path,
    history: History | None,
    now: datetime,
    *,
    home: Path,
    environ: Mapping[str, str],
) -> list[FoundSource]:
    """List the configured sources and the agents that are found on this machine; opens none of their sessions.

    Without `history` all of them is new.
    """
    seen = Seen(history) if history else None
    agents = [name for name, reader in known_formats().items() if reader.places]
    configured = {source.rpartition(ZONE)[0].strip() or source: source for source in settings.sources}
    listed = []
    for name in dict.fromkeys((*configured, *agents)):
        try:
            files = _files(configured.get(name, name), settings, root, home, environ)
        except SettingsError as error:
            listed.append(FoundSource(configured[name], True, 0, 0, 0, 0, str(error)))
            continue
        if not files and name not in configured:
            if _is_here(name, home, environ):
                listed.append(FoundSource(name, False, 0, 0, 0, 0, _unreadable(name)))
            continue
        known = [seen.sessions(file.name) if seen else 1 for file in files]
        new = seen.unread(files) if seen else files
        size = sum(file.look[0] for file in files)
        none_read = name in known_formats() and files and not new and not sum(known)
        going = _going(name, new, now, home, environ)
        source, problem = configured.get(name, name), _unreadable(name) if none_read else ""
        counts = len(files), sum(known), size, len(new)
        listed.append(FoundSource(source, name in configured, *counts, problem, *going))
    return listed


def _unreadable(name: str) -> str:
    return f"{known_formats()[name].title} is here; none of its sessions could be read"


def _is_here(name: str, home: Path, environ: Mapping[str, str]) -> bool:
    """Return whether an agent keeps anything where its sessions should be."""
    for place in known_formats()[name].places:
        with suppress(OSError):
            if place.root(home, environ) != home and any(place.root(home, environ).iterdir()):
                return True
    return False


def _going(
    name: str, files: Sequence[File], now: datetime, home: Path, environ: Mapping[str, str]
) -> tuple[int, int, str]:
    """Count the files that their agent deletes within SOON days, by when the last of them, and by which setting."""
    reader = known_formats().get(name)
    rule = reader.deletes(home, environ) if reader else None
    if rule is None:
        return 0, 0, ""
    left = [rule.days - (now.timestamp() - file.look[1] / 1e9) / 86_400 for file in files]
    soon = [days for days in left if days <= SOON]
    return len(soon), max(1, ceil(max(soon))) if soon else 0, rule.setting if soon else ""


def check(source: str, settings: Settings, root: Path, *, home: Path, environ: Mapping[str, str]) -> int:
    """Return how many files `source` names at present. Raises SettingsError when it can't be one."""
    return len(_files(source, settings, root, home, environ))


def needs(source: str) -> str:
    """Return what must be installed to read `source`, and how; "" if nothing is missing."""
    reader = known_formats().get(split(source)[0])
    return reader.needs() if reader else ""


def split(source: str) -> tuple[str, tzinfo | None]:
    """Split a source and its time zone. Raises SettingsError for an unknown zone."""
    name, at, zone = source.rpartition(ZONE)
    if not at:
        return source, None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return name.strip(), ZoneInfo(zone.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"The source {source!r} of your settings: {zone!r} is not a known time zone.") from error


def _files(source: str, settings: Settings, root: Path, home: Path, environ: Mapping[str, str]) -> list[File]:
    name, zone = split(source)
    if name in known_formats():
        agents = listed(_of_agent(name, home, environ), zone=zone)
        return [file for file in agents if file.look[0]]  # Letta Code begins each agent with an empty one
    return list(listed(_of_path(name, root), zone=zone))


def _of_agent(name: str, home: Path, environ: Mapping[str, str]) -> list[str]:
    places = known_formats()[name].places
    if not places:
        raise SettingsError(f"The source {name!r} has no usual place; name the path of its files instead.")
    found: list[str] = []
    for place in places:
        try:
            found += names(place.glob(home, environ))
        except TranscriptError:
            continue  # this agent was never used here
    return found


def _of_path(source: str, root: Path) -> list[str]:
    path = root / Path(source).expanduser()
    try:
        return names(path)
    except TranscriptError as error:
        if path.is_dir():
            return []  # nothing there yet
        known = ", ".join(name for name, reader in known_formats().items() if reader.places)
        raise SettingsError(
            f"The source {source!r} of your settings: {error} Agents known by name: {known}."
        ) from error
