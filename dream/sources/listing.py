"""Which transcript files are to be read: those that are there, quiet, and not in history as they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

from dream import __version__, transcripts
from dream.errors import TranscriptError
from dream.models import Diagnostic, Report
from dream.settings import Settings
from dream.store.seen import DATABASES, Look, look


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
