"""The sessions that stand in transcript files, as a stream."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from dream import transcripts
from dream.consolidate import listing
from dream.consolidate.listing import File, Seen, without_file_name
from dream.consolidate.talk import Talk
from dream.errors import NoTranscript, ReaderMissing, TranscriptError
from dream.history.history import History
from dream.models import Diagnostic, Message, Report, Unread
from dream.reports import LeftOut, Progress, Step
from dream.settings import Settings
from dream.transcripts import source
from dream.transcripts.formats import chat_text
from dream.transcripts.source import Pair, Passed

MANY = 200  # messages from which on a session is long enough to say how far it has been read
MOST_STRAYS = 3  # names shown of files among the transcripts that are not transcripts


@dataclass(slots=True)
class _Reading:
    """One file while it is read: its sessions, and whether all were read.

    `keys` count the messages of each session that the file holds; `given` are those that were yielded, and `scattered`
    those of them whose messages are not contiguous.
    """

    file: File
    passed: Passed = field(default_factory=Passed)
    keys: dict[str, int] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    scattered: dict[str, None] = field(default_factory=dict)
    whole: bool = False
    fault: TranscriptError | None = None


class Feed:
    """Reads files as sessions, and notes each file that `history` then holds as a whole: who takes a session brings it
    into history before asking for the next.

    `form` is the format of all files, None where their content tells. `progress`
    receives each file before it is opened, `report` what can't be read.
    """

    def __init__(
        self,
        history: History,
        settings: Settings,
        form: str | None,
        report: Report,
        *,
        progress: Progress,
    ) -> None:
        self._history, self._settings, self._form, self.report = history, settings, form, report
        self.progress = progress
        self._seen = Seen(history, form)
        self._listed: list[File] = []
        self._left_out = LeftOut(hours=settings.idle_hours)
        self._place = ""  # of the file that is read, among all
        self._bytes = 0, 0  # of what is done, and of all files
        self._begin = 0  # bytes of the files before the one that is read
        self._reading: _Reading | None = None
        self._strays: list[tuple[str, str]] = []
        self._unreadable: Counter[tuple[str, str]] = Counter()
        self._read_any = False
        self._fault: TranscriptError | None = None

    def find(self, paths: Iterable[Path | File], *, quiet_at: datetime | None = None) -> list[File]:
        """List the files at `paths` whose current content is not in history yet, sorted by their last messages.

        With `quiet_at`, those written to within `idle_hours` before it are left out. A path without transcripts is
        reported; raises TranscriptError if no path has any.
        """
        self._listed = listing.files(paths, self.report)
        unread = self._seen.unread(self._listed)
        wanted = unread if quiet_at is None else listing.quiet(unread, quiet_at, self._settings.idle_hours)
        self._left_out = replace(self._left_out, busy=len(unread) - len(wanted))
        return listing.in_order(wanted, self._settings)

    def talks(self, found: Iterable[File]) -> Iterator[Talk]:
        """Yield each session of the files; take its messages before the next one.

        Raises the TranscriptError of the first file when none of them can be read, else reports them.
        """
        found = list(found)
        begin, of_all = 0, sum(file.look[0] for file in found)
        for number, file in enumerate(found, 1):
            self._place, self._begin = f"{number:,} of {len(found):,}", begin
            self._bytes = begin, of_all
            reading = self._reading = _Reading(file)
            self._step("reading", file.name)
            begin += file.look[0]
            try:
                yield from self._sessions(reading)
                self._check_form(reading)
                reading.whole = True
            except TranscriptError as error:
                self._failed(reading, error)
            self._read_any = self._read_any or reading.fault is None
            if reading.whole and not reading.keys:
                self._left_out = replace(self._left_out, silent=self._left_out.silent + 1)
            self._note(reading)
        self._tell_apart()
        if self._fault is not None and not self._read_any:
            raise self._fault

    def consolidates(self, key: str) -> None:
        """Report that a session is about to be consolidated, and how far a long one has been read."""
        read = self._reading.keys.get(key, 0) if self._reading else 0
        self._step("consolidating", f"{key}, message {read:,}" if read >= MANY else key)
        if self._reading:  # all bytes read so far are done before the next model call
            self._bytes = max(self._bytes[0], self._begin + self._reading.passed.bytes), self._bytes[1]

    def _step(self, does: str, what: str) -> None:
        """Report the next step, the number of its file, and how much of all files has been read."""
        if self._reading is None:
            self.progress(Step(f"{does} {what}"))
            return
        done, of_all = self._bytes
        self.progress(Step(f"{does} {self._place}: {what}", min(done, of_all) / (of_all or 1)))

    def left_out(self) -> LeftOut:
        """Return the files that were not read although nothing is wrong with them."""
        return self._left_out

    def _tell_apart(self) -> None:
        """Report files that are not transcripts, and formats whose reader is not installed, in one line each."""
        for (title, needs), count in self._unreadable.items():
            files = "1 transcript is" if count == 1 else f"{count:,} transcripts are"
            self.report(Diagnostic(title, 0, f"{files} passed over, which need {needs}"))
        if len(self._strays) == 1:
            self.report(Diagnostic(self._strays[0][0], 0, self._strays[0][1]))
        elif self._strays:
            first = ", ".join(Path(name).name for name, _ in self._strays[:MOST_STRAYS])
            rest = len(self._strays) - MOST_STRAYS
            names = f"{first} and {rest:,} more" if rest > 0 else first
            folder = os.path.commonpath([Path(name).parent for name, _ in self._strays])
            self.report(Diagnostic(folder, 0, f"{len(self._strays):,} files are no transcripts: {names}"))

    def close(self) -> None:
        """Write what was noted, without the files that are gone."""
        self._seen.save({file.name for file in self._listed})

    def _note(self, reading: _Reading) -> None:
        """Note a file that is now in history as a whole, or in which there is nothing to read."""
        mendable = isinstance(reading.fault, ReaderMissing) or isinstance(
            getattr(reading.fault, "__cause__", None), OSError
        )
        hopeless = reading.fault is not None and not mendable
        if not (reading.whole and reading.fault is None) and not (hopeless and not reading.keys):
            return
        positions = {key: position for key, (position, _) in self._history.tails(reading.keys).items()}
        self._seen.note(reading.file.name, reading.file.look, positions)

    def _sessions(self, reading: _Reading) -> Iterator[Talk]:
        """Yield the sessions of a file; one whose messages are not contiguous is yielded again, whole, at the end."""
        for key, group in groupby(self._counted(reading), key=itemgetter(0)):
            if key in reading.given:
                reading.scattered[key] = None
                continue
            reading.given.add(key)
            yield self._talk(reading, key, group)
        for key in reading.scattered:
            yield self._talk(reading, key, None)

    def _counted(self, reading: _Reading) -> Iterator[Pair]:
        """Read a file and count the messages of each session."""
        for pair in self._read(reading.file, self.report, reading.passed):
            reading.keys[pair[0]] = reading.keys.get(pair[0], 0) + 1
            yield pair

    def _check_form(self, reading: _Reading) -> None:
        """Raise TranscriptError where a person named a file and a format, and the file has nothing of that format."""
        if self._form and reading.file.named and not reading.keys and not self._is_of_form(reading.file):
            text = self._form == chat_text.TEXT.name
            needed = f"it needs {chat_text.NEEDED}" if text else "without --format its content tells"
            raise TranscriptError(f"{reading.file.name} holds nothing in the format {self._form}; {needed}.")

    def _is_of_form(self, file: File) -> bool:
        head = source.read_head(source.open_source(file.path, _silent))
        return transcripts.known_formats()[self._form or ""].recognises(head)

    def _talk(self, reading: _Reading, key: str, group: Iterator[Pair] | None) -> Talk:
        def once(pairs: Iterator[Pair]) -> Iterator[Message]:
            try:
                yield from map(itemgetter(1), pairs)
            except TranscriptError as error:
                self._failed(reading, error)

        def again() -> Iterator[Message]:
            return once(pair for pair in self._read(reading.file, _silent, Passed()) if pair[0] == key)

        return Talk(key, _Replayed(None if group is None else once(group), again))

    def _read(self, file: File, report: Report, passed: Passed) -> Iterator[Pair]:
        return transcripts.read(
            file.path,
            format=self._form,
            zone=file.zone or self._settings.zone(),
            report=report,
            session=file.session,
            passed=passed,
        )

    def _failed(self, reading: _Reading, error: TranscriptError) -> None:
        if reading.fault is None:
            reading.fault = error
            self._fault = self._fault or error
            told = without_file_name(reading.file.name, error)
            if reading.file.named:
                self.report(Unread(reading.file.name, 0, told))
            elif isinstance(error, ReaderMissing):
                self._unreadable[error.title, error.needs] += 1
            elif isinstance(error, NoTranscript):
                self._strays.append((reading.file.name, told.partition("; name one with --format")[0]))
            else:
                self.report(Diagnostic(reading.file.name, 0, told))


@dataclass(slots=True)
class _Replayed:
    """The messages of a session: at first as they come from the file that is open, after that read again."""

    first: Iterator[Message] | None
    again: Callable[[], Iterator[Message]]

    def __iter__(self) -> Iterator[Message]:
        first, self.first = self.first, None
        return self.again() if first is None else first


def _silent(diagnostic: Diagnostic) -> None:
    """Drop the diagnostics of a second reading: the first one reported them."""
