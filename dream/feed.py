"""Which transcripts are read, and which sessions stand in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from dream import __version__, transcripts
from dream.consolidate.flight import Talk
from dream.errors import TranscriptError
from dream.models import Diagnostic, Message, Report
from dream.settings import Settings
from dream.store.history import History
from dream.store.seen import DATABASES, Look, Seen, look
from dream.transcripts import sniffing
from dream.transcripts.reader import Pair


class Unread(Diagnostic):
    """A path that a person named and that could not be read: the command goes on, and fails in the end."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class File:
    """A transcript file: how it looked when it was listed, and whether a person named it itself.

    `zone` is that of its naive times; None is the settings'.
    """

    name: str
    look: Look
    named: bool = False
    zone: tzinfo | None = None

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
            report(Unread(str(path), 0, _bare(str(path), error)))
    if first is not None and not found:
        raise first
    return list(found.values())


def listed(names: Iterable[str], *, named: str | None = None, zone: tzinfo | None = None) -> Iterator[File]:
    """Look at each of the files; one that has gone is passed over."""
    for name in names:
        with suppress(OSError):
            yield File(name, look(name), name == named, zone)


def quiet(found: Iterable[File], now: datetime, idle_hours: float) -> list[File]:
    """Leave out the files that were written to within `idle_hours` before `now`.

    A time in the future says nothing. A database is never quiet as a whole while one of its sessions goes on, so it is
    read as it stands.
    """
    end = int(now.timestamp() * 1e9)
    start = end - int(idle_hours * 3600e9)
    return [file for file in found if not start < file.look[1] <= end or file.name.endswith(DATABASES)]


def fresh(found: Iterable[File], seen: Seen, history: History) -> list[File]:
    """Leave out the files that history holds as they stand; one that a person named is always read."""
    positions = history.positions()
    return [file for file in found if file.named or not seen.holds(file.name, file.look, positions)]


def terms(settings: Settings, form: str | None) -> str:
    """Name what decides about what is read of a file: when it changes, all are read anew."""
    return f"{__version__} {form} {settings.include_subagents}"


@dataclass(slots=True)
class _Reading:
    """One file while it is read: its sessions, how many of them are not in history yet, and whether all were read."""

    file: File
    keys: dict[str, None] = field(default_factory=dict)
    open: int = 0
    whole: bool = False
    fault: TranscriptError | None = None


class Feed:
    """Reads files as sessions.

    `progress` is told of each file before it is opened. What can't be read is told to `report`.
    """

    def __init__(
        self,
        settings: Settings,
        form: str | None,
        report: Report,
        *,
        progress: Callable[[str], None],
    ) -> None:
        self._settings, self._form, self._report = settings, form, report
        self._progress = progress
        self._readings: list[_Reading] = []

    def talks(self, found: Iterable[File]) -> Iterator[Talk]:
        """Yield each session of the files; take its messages before the next one.

        Raises the TranscriptError of the first file when none of them can be read, else reports them.
        """
        for file in found:
            self._progress(f"reading {file.name}")
            reading = _Reading(file)
            self._readings.append(reading)
            try:
                yield from self._sessions(reading)
                self._check_form(reading)
                reading.whole = True
            except TranscriptError as error:
                self._failed(reading, error)
        faults = [reading.fault for reading in self._readings if reading.fault]
        if faults and len(faults) == len(self._readings):
            raise faults[0]

    def note(self, seen: Seen, positions: Mapping[str, int], at: datetime) -> None:
        """Note the files that are now in history as a whole, and those in which there is nothing to read."""
        for reading in self._readings:
            hopeless = reading.fault is not None and not isinstance(reading.fault.__cause__, OSError)
            if (reading.whole and not reading.open and reading.fault is None) or (hopeless and not reading.keys):
                ends = {key: positions.get(key, 0) for key in reading.keys}
                seen.note(reading.file.name, reading.file.look, ends, at)

    def _sessions(self, reading: _Reading) -> Iterator[Talk]:
        """Yield the sessions of a file; one whose messages don't stand together is given again, whole, at the end."""
        scattered: dict[str, None] = {}
        for key, group in groupby(self._read(reading.file, self._report), key=itemgetter(0)):
            if key in reading.keys:
                scattered[key] = None
                continue
            reading.keys[key] = None
            yield self._talk(reading, key, group)
        for key in scattered:
            yield self._talk(reading, key, None)

    def _check_form(self, reading: _Reading) -> None:
        """Raise TranscriptError where a person named a file and a format, and the file has nothing of that format."""
        if self._form and reading.file.named and not reading.keys and not self._is_of_form(reading.file.path):
            raise TranscriptError(
                f"{reading.file.name} holds nothing in the format {self._form}; without --format its content tells."
            )

    def _is_of_form(self, path: Path) -> bool:
        head = sniffing.head(sniffing.open_source(path, _silent))
        return transcripts.FORMATS[self._form or ""].recognises(head)

    def _talk(self, reading: _Reading, key: str, group: Iterator[Pair] | None) -> Talk:
        def done() -> None:
            reading.open -= 1

        def once(group: Iterator[Pair]) -> Iterator[Message]:
            try:
                yield from map(itemgetter(1), group)
            except TranscriptError as error:
                self._failed(reading, error)

        def again() -> Iterator[Message]:
            pairs = self._read(reading.file, _silent)
            return once(pair for pair in pairs if pair[0] == key)

        reading.open += 1
        return Talk(key, _Messages(None if group is None else once(group), again), done)

    def _read(self, file: File, report: Report) -> Iterator[Pair]:
        return transcripts.read(
            file.path,
            format=self._form,
            zone=file.zone or self._settings.zone(),
            report=report,
            tool_result_chars=self._settings.tool_result_chars,
            include_subagents=self._settings.include_subagents,
        )

    def _failed(self, reading: _Reading, error: TranscriptError) -> None:
        if reading.fault is None:
            reading.fault = error
            kind = Unread if reading.file.named else Diagnostic
            self._report(kind(reading.file.name, 0, _bare(reading.file.name, error)))


@dataclass(slots=True)
class _Messages:
    """The messages of a session: at first as they come from the file that is open, after that read again."""

    first: Iterator[Message] | None
    again: Callable[[], Iterator[Message]]

    def __iter__(self) -> Iterator[Message]:
        first, self.first = self.first, None
        return self.again() if first is None else first


def _bare(name: str, error: TranscriptError) -> str:
    """Return what an error says of a file without the file's name, which stands before it already."""
    return str(error).removeprefix(f"{name} ")


def _silent(diagnostic: Diagnostic) -> None:
    """Diagnostics of a second reading were told at the first."""
