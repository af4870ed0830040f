"""History: memory/history.jsonl, append-only, one entry a line, and what was moved from it to memory/archive/.

Reading takes no lock: a reader opens the file first and lists the archive then, so that a move in between
shows it entries twice (which it notices) and never not at all.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import orjson

from dream.errors import HistoryError
from dream.history.archive import Archive, Listing, already_moved
from dream.history.entries import HIGHEST, BrokenRow, decode, is_ours, is_whole, outline
from dream.history.messages import KeptMessage, MessageFlaw, Messages
from dream.history.positions import IndexGone, Positions, Tail
from dream.history.rows import (
    Chain,
    Range,
    accepted,
    bisect,
    line_at,
    missing,
    settled_end,
)
from dream.history.writer import StalePosition, Writer, highest_given
from dream.models import Diagnostic, Entry, NewEntry, Report
from dream.workspace.files import explained, lines, lines_backwards, opened, read_bytes, reason, size_of
from dream.workspace.idle import is_free
from dream.workspace.index import NAME, Index

# All lines of the log, and among them the entries of some sessions: most lines are passed over unparsed.


@dataclass(frozen=True, slots=True)
class View:
    """The files as one reader sees them: history from `start` to `end`, and the archive before it."""

    folder: Path  # of the archive
    descriptor: int
    inode: int
    start: int
    end: int
    archive: Listing

    def parts(self, *, newest_first: bool = False) -> Iterator[tuple[str, int, int, int]]:
        """Yield name, descriptor, start and end of each file, open as long as nobody asks for the next."""
        files = [*self.archive.files, None]
        for file in reversed(files) if newest_first else files:
            if file is None:
                yield "history.jsonl", self.descriptor, self.start, self.end
            else:
                with opened(self.folder / file.name) as descriptor:
                    yield f"archive/{file.name}", descriptor, 0, size_of(descriptor)

    def lines(self) -> Iterator[bytes]:
        """Yield every line, those of the archive first."""
        for _, *part in self.parts():
            yield from (line for _, line in lines(*part))

    def lines_backwards(self) -> Iterator[bytes]:
        """Yield every line from the last to the first."""
        for _, *part in self.parts(newest_first=True):
            yield from (line for _, line in lines_backwards(*part))


_SESSION = re.compile(rb'"session(?:_key)?"\s*:\s*("(?:[^"\\]|\\.)*")')


def entries(found: Iterable[bytes], sessions: re.Pattern[str], zone: tzinfo | None) -> Iterator[Entry]:
    """Yield the entries among the lines `found` whose whole session key matches `sessions`; none of broken ones."""
    for line in found:
        if not any(_matches(key, sessions) for key in _SESSION.findall(line)):
            continue
        try:
            entry = decode(line, zone)
        except BrokenRow:
            continue
        if entry.session is not None and sessions.fullmatch(entry.session):
            yield entry


def _matches(quoted: bytes, sessions: re.Pattern[str]) -> bool:
    try:
        return sessions.fullmatch(orjson.loads(quoted)) is not None
    except orjson.JSONDecodeError:
        return True  # a line that is readable only with leniency


T = TypeVar("T")
ASKED_AGAIN = 3  # times, where the index goes while it is asked: it is counted anew then
MOST_REPORTS = 50  # diagnostics of one History; a file of rubbish needs no million of them


class History:
    """The log in the memory directory `directory`; caches and locks lie in `private`.

    `durable`: an append is on disk when it returns. `report` is told once of each line that is no entry;
    such lines are passed over and stay on disk. `zone` is that of naive times in nanobot's rows (None: the
    machine's). Threads and processes may share one log. `committed` tells up to where the last commit has dreamt.
    Every method raises HistoryError for what the system refuses.
    """

    def __init__(
        self,
        directory: Path,
        *,
        private: Path,
        durable: bool = True,
        report: Report | None = None,
        zone: tzinfo | None = None,
        committed: Callable[[], int] = lambda: 0,
    ) -> None:
        self.path = directory / "history.jsonl"
        self.archive_path = directory / "archive"
        self.private = private
        self._directory = directory
        self._zone = zone
        self._report = report
        self._reported: set[tuple[str, int]] = set()
        self.durable = durable
        self._archive = Archive(self.archive_path, private)
        self._committed = committed
        self._given = -1  # the highest cursor given out before the log was read first; -1 where that is not known

    @cached_property
    def messages(self) -> Messages:
        """The messages that history rests on, word for word."""
        return Messages(self._directory, durable=self.durable, report=self._report)

    @cached_property
    def index(self) -> Index:
        """The index of the workspace, which other caches share."""
        return Index(self.private)

    @cached_property
    def _positions(self) -> Positions:
        """What history adds up to: counted only for those who ask."""
        return Positions(self.index, self.archive_path)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(
            self._directory,
            self.private,
            self._archive,
            self._positions,
            durable=self.durable,
            flaw=self._flaw,
            committed=self._committed,
        )

    def append(self, new: Sequence[NewEntry], *, now: datetime, said: Sequence[KeptMessage] = ()) -> list[Entry]:
        """Append entries, all or none, with the next cursors; they are in history when this returns.

        `said` are the messages that they rest on, which are kept beside history.

        Raises StalePosition when a span begins before its session's position, and appends nothing then.
        """
        keep = (lambda: self.messages.add(said, now, lambda key: self._positions.tail(key)[0])) if said else None
        if said:
            new = [*new[:-1], replace(new[-1], kept=len(said))]
        try:
            return self._append(new, repeat(now.astimezone(UTC).replace(microsecond=0)), now, keep)
        except BaseException:
            self.messages.doubt()
            raise

    def after(self, cursor: int, *, limit_tokens: int | None = None) -> Iterator[Entry]:
        """Yield the entries above `cursor` in the order of the log, archived ones too.

        What stands before is not read. With `limit_tokens` it ends before the entry that would pass the
        limit, but the first one always comes.
        """
        left = limit_tokens
        for number, (_, entry) in enumerate(self.placed(cursor)):
            if left is not None:
                left -= entry.tokens
                if left < 0 and number:
                    return
            yield entry

    def placed(self, cursor: int) -> Iterator[tuple[int, Entry]]:
        """Yield the entries above `cursor` as `after` does, each with its place.

        That is where its line begins, in bytes from the oldest archive file on: a move to the archive leaves it so.
        """
        with explained("read", self.path, HistoryError), self._view() as view:
            yield from self._entries(view, cursor)

    def between(self, first: int, last: int) -> list[Entry]:
        """Return the entries whose cursors lie from `first` to `last`, both included, archived ones too."""
        with explained("read", self.path, HistoryError), self._view() as view:
            return [entry for _, entry in self._entries(view, first - 1, last) if entry.cursor <= last]

    def numbered(self, cursors: Mapping[int, int]) -> list[Entry]:
        """Return the entries of these cursors that there are, archived ones too, in the order asked for.

        Each is looked for at its place, as `placed` told it; one that isn't there any more, everywhere.
        """
        with explained("read", self.path, HistoryError), self._view() as view:
            found = (self._at(view, *one) or self._first(view, one[0]) for one in cursors.items())
            return [entry for entry in found if entry is not None]

    def last(self, count: int) -> list[Entry]:
        """Return the newest `count` entries, oldest first, whether archived or not; reads from the end."""
        return list(islice(self.backwards(), count))[::-1]

    def backwards(self) -> Iterator[Entry]:
        """Yield the entries from the newest to the oldest; reads only as far as it is asked."""
        with explained("read", self.path, HistoryError), self._view() as view:
            for name, descriptor, start, end in view.parts(newest_first=True):
                found = lines_backwards(descriptor, start, end)
                yield from (entry for _, entry in self._decoded(name, descriptor, found))

    def last_cursor(self) -> int:
        """Return the highest cursor ever given out; 0 when there was none."""
        with self._counted() as view:
            counted, given = self._positions.now, highest_given(self._directory, self._committed)
            return max(counted.highest, counted.lost, view.archive.last, given)

    def position(self, session: str) -> int:
        """Return how many messages of `session` are in history: the highest span end, archive included."""
        return self.tail(session)[0]

    def positions(self) -> dict[str, int]:
        """Return the position of every session that history knows."""
        return self._asked(Positions.positions)

    def tail(self, session: str) -> Tail:
        """Return the position of `session` and the digest of its messages up to there, "" where it is not known."""
        return self._asked(lambda known: known.tail(session))

    def tails(self, sessions: Iterable[str]) -> dict[str, Tail]:
        """Return what `tail` does for each of `sessions`; opens the log once."""
        keys = list(sessions)
        return self._asked(lambda known: {session: known.tail(session) for session in keys})

    def beginning_with(self, first: str) -> str | None:
        """Return the session whose first message has the digest `first`; None where there is none."""
        return self._asked(lambda known: known.beginning_with(first))

    def all_beginning_with(self, first: str) -> list[str]:
        """Return every session whose first message has the digest `first`, in the order of the log; reads all of it."""
        mark = f'"ids":"{first}'.encode()
        with explained("read", self.path, HistoryError), self._view() as view:
            rows = (outline(line) for line in view.lines() if mark in line and is_whole(line))
            found = (row.session for row in rows if row.session is not None and row.first == first)
            return list(dict.fromkeys(found))

    def has_branches(self, session: str) -> bool:
        """Return whether there are keys derived from this one, `<session>~<digest>`."""
        return self.beginning_with(f"{session}~") is not None

    def of(self, sessions: re.Pattern[str]) -> Iterator[Entry]:
        """Yield the entries of the sessions whose whole key matches, oldest first; other lines are hardly looked at."""
        with explained("read", self.path, HistoryError), self._view() as view:
            yield from entries(view.lines(), sessions, self._zone)

    def newest_unnamed(self) -> datetime | None:
        """Return when the newest entry was written that another program made and that names no session."""
        with explained("read", self.path, HistoryError), self._view() as view:
            for line in view.lines_backwards():
                if is_ours(line) or _SESSION.search(line):
                    continue
                with suppress(BrokenRow):
                    entry = decode(line, self._zone)
                    if entry.session is None and entry.span is None and entry.kind != "note":
                        return entry.at
        return None

    def of_backwards(self, session: str) -> Iterator[Entry]:
        """Yield the entries of `session` from the newest to the oldest, and end with its first message."""
        with explained("read", self.path, HistoryError), self._view() as view:
            found = entries(view.lines_backwards(), re.compile(re.escape(session)), self._zone)
            for entry in found:
                yield entry
                if entry.span and entry.span[0] == 0:
                    return

    def size(self) -> tuple[int, int]:
        """Return how many entries and tokens history.jsonl holds, without its archive."""
        with self._counted():
            return self._positions.now.entries, self._positions.now.tokens

    def archive(self, dreamt: int, budget_tokens: int, *, now: datetime) -> int:
        """Move the oldest entries up to cursor `dreamt` to the archive if history exceeds its budget.

        Goes a tenth below the budget; an undreamt entry never moves, nor any behind it. Returns how many moved.
        """
        with explained("archived", self.path, HistoryError), self._writer.lock:
            return self._writer.archive(dreamt, budget_tokens, now)

    def flaws(self) -> list[Diagnostic]:
        """Read every byte of the log and its archive, and say what is damaged, changed or gone; [] where nothing is.

        Gone is what a cursor was given out for (`.cursor`, `.dream_cursor` and the names of archive files say so too)
        and no line has any more. At most MOST_REPORTS are told.
        """
        from dream.history import repair  # only `doctor` reads every byte

        found: list[Diagnostic] = []
        # What was given out first: an append beside this writes to the log before it writes to `.cursor`.
        given, chain = highest_given(self._directory, self._committed), Chain()
        with explained("read", self.path, HistoryError), self._view() as view:
            for name, descriptor, start, end in view.parts():
                flaws = repair.flaws(descriptor, start, end, chain, self._lost)
                found += [
                    Diagnostic(f"memory/{name}", line_at(descriptor, flaw.offset), flaw.text)
                    for flaw in islice(flaws, MOST_REPORTS - len(found))
                ]
            if said := missing(chain.highest + 1, max(given, view.archive.last), self._lost()):
                found.append(Diagnostic("memory/history.jsonl", 0, f"{said} at its end"))
        return found[:MOST_REPORTS]

    def cut_short(self) -> Diagnostic | None:
        """Report an append that ended before its last byte and that nobody is writing; the next one sets it aside."""
        for _ in range(2):  # what is half there at the first look may be whole before the second
            torn = self._torn()
            try:
                if not torn or not is_free(self.private / "history.lock"):
                    return None
            except OSError:  # a disk that nobody can write to
                break
        return Diagnostic("memory/history.jsonl", 0, f"its last {torn} bytes are an append that was cut short")

    def accept_losses(self, *, now: datetime) -> None:
        """Take the log of another program as it is found: what is missing now is not named later.

        A log that has checksums is no other program's, and stays as it is.
        """
        with explained("read", self.path, HistoryError), self._writer.lock:
            if self.path.exists():
                with self._counted():
                    sealed = self._positions.now.chain.sealed
                if not sealed:
                    self._writer.accept(now)

    def repair(self, *, now: datetime) -> int:
        """Mend the log without loss; return how many lines were mended.

        What is no entry, is not as it was written, or repeats an earlier line, moves to archive/set-aside.jsonl; what
        stands out of order gets a new cursor at the end, so that the next dream reads it. What is gone is noted in
        archive/lost.jsonl. Reads the whole log.
        """
        with explained("repaired", self.path, HistoryError), self._writer.lock:
            return self._writer.repair(now)

    def message_flaws(self) -> list[MessageFlaw]:
        """Read every byte of the messages, and say what is damaged, doubled, gone or without its entry."""
        return list(self.messages.flaws(self._reached(), self._kept()))

    def repair_messages(self, *, now: datetime) -> None:
        """Set aside what doesn't belong among the messages, in archive/set-aside.jsonl."""
        reached = self._reached()
        with explained("repaired", self.messages.folder, HistoryError), self._writer.lock:
            self.messages.repair(now, reached, self._kept())

    def _kept(self) -> Counter[str]:
        """Return how many messages of each session were kept, as history says."""
        rows = {}
        with explained("read", self.path, HistoryError), self._view() as view:
            for line in view.lines():
                if b',"kept":' in line:
                    with suppress(BrokenRow):
                        entry = decode(line)
                        rows[entry.cursor] = entry.session or "", entry.kept
        kept = Counter[str]()
        for session, count in rows.values():
            kept[session] += count
        return kept

    def _reached(self) -> Callable[[str], int]:
        """Return how far each session is in history; where entries are lost, no message waits for its own."""
        known = self.positions()
        return (lambda _: HIGHEST) if self._lost() or not known else (lambda session: known.get(session, 0))

    @contextmanager
    def rewriting(self, *, now: datetime) -> Iterator[list[Path]]:
        """Hold the log for the block, its tail mended, and yield its files: the archive, oldest first, and the log."""
        with explained("rewritten", self.path, HistoryError), self._writer.lock:
            self._writer.ready(now)
            yield [*(self.archive_path / file.name for file in self._archive.listing().files), self.path]

    def import_notes(
        self, path: Path, *, now: datetime, session: str, later: str = "", day: date | None = None
    ) -> list[Entry]:
        """Append what the Markdown file `path` holds and history doesn't yet, as messages of `session`; the file stays.

        What comes when `session` is in history already goes under `later`, where that is given. `day` is that of what
        has no date. Returns what was imported now.
        """
        from dream.history import legacy  # on most nights nobody has written to them

        text = legacy.decoded(read_bytes(path) or b"")
        keys = [re.escape(key) for key in (session, later) if key]
        known = "\n\n".join(entry.content for entry in self.of(re.compile("|".join(keys))))
        key = later if known and later else session
        zone, done = self._zone or now.astimezone().tzinfo, self.position(key)
        found = [
            (replace(one, span=(done + place, done + place + 1)), at)
            for place, (one, at) in enumerate(
                pair for pair in legacy.entries(text, key, zone, day) if not legacy.is_known(pair[0].content, known)
            )
        ]
        try:
            return self._append([one for one, _ in found], (at for _, at in found), now)
        except StalePosition:  # another process has just done it
            return []

    def tell_of_index(self) -> None:
        """Report, once, that the index was damaged or another version's and has been built anew."""
        if self.index.damage:
            said = f"was unusable ({self.index.damage}) and has been built anew; nothing is lost"
            self.tell(f"{self.private.name}/{NAME}", said)
        self.index.damage = ""

    def tell(self, what: str, text: str) -> None:
        """Report something."""
        if self._report is not None:
            self._report(Diagnostic(what, 0, text))

    def close(self) -> None:
        """Give descriptors back; the next use opens them again."""
        if "_writer" in self.__dict__:
            self._writer.close()
        if "index" in self.__dict__:
            self.index.close()

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(
        self,
        new: Sequence[NewEntry],
        times: Iterable[datetime],
        now: datetime,
        first: Callable[[], None] | None = None,
    ) -> list[Entry]:
        if not new:
            return []
        try:
            with self._writer.lock:
                return self._writer.append(new, times, now, first)
        except OSError as fault:
            raise HistoryError(f"{self.path} cannot be appended to: {reason(fault)}; nothing was added.") from fault

    def _asked(self, ask: Callable[[Positions], T]) -> T:
        """Ask for what is known of sessions, up to the end of the log."""
        for _ in range(ASKED_AGAIN):
            with suppress(IndexGone), self._counted():
                return ask(self._positions)
        raise HistoryError(f"{self.private} holds an index that comes and goes; run the command again.")

    def _torn(self) -> int:
        """Return how many bytes stand behind the last whole append."""
        try:
            with opened(self.path) as descriptor:
                return size_of(descriptor) - settled_end(descriptor, 0, size_of(descriptor))
        except FileNotFoundError:
            return 0

    def _lost(self) -> list[Range]:
        return accepted(self.archive_path)

    @contextmanager
    def _view(self) -> Iterator[View]:
        if self._given < 0 and self._report is not None:
            self._given = highest_given(self._directory, self._committed)
        try:
            with opened(self.path) as descriptor:
                status = os.fstat(descriptor)
                archive = self._archive.listing()
                start = already_moved(descriptor, status.st_size, self.archive_path, archive)
                end = settled_end(descriptor, start, status.st_size)
                yield View(self.archive_path, descriptor, status.st_ino, start, end, archive)
        except FileNotFoundError:
            if self.path.exists():
                raise
            yield View(self.archive_path, -1, 0, 0, 0, self._archive.listing())

    @contextmanager
    def _counted(self) -> Iterator[View]:
        """Open a view with the index caught up with it."""
        with explained("read", self.path, HistoryError), self._view() as view, self._writer.guard:
            self._count(view)
            yield view

    def _count(self, view: View) -> None:
        known = self._positions
        known.catch_up(view.descriptor, view.inode, view.start, view.end, view.archive, self._flaw, self._lost)
        seen, given = known.now.chain.highest, max(self._given, view.archive.last)
        if seen < given and self._report is not None and (said := missing(seen + 1, given, self._lost())):
            self._flaw("history.jsonl", view.descriptor, view.end, said)

    def _entries(self, view: View, cursor: int, last: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Yield the entries above `cursor`, with their places; beyond `last` only as far as damaged order demands."""
        begins = 0
        for file in view.archive.files:
            if file.last > cursor and (last is None or file.first <= last):
                with opened(self.archive_path / file.name) as descriptor:
                    found = self._decoded(f"archive/{file.name}", descriptor, lines(descriptor, 0, size_of(descriptor)))
                    yield from ((begins + at, entry) for at, entry in found if entry.cursor > cursor)
            begins += file.size
        offset, ordered = self._offset(view, cursor)
        for at, entry in self._decoded("history.jsonl", view.descriptor, lines(view.descriptor, offset, view.end)):
            if last is not None and entry.cursor > last and ordered:
                return
            if entry.cursor > cursor:
                yield begins + at - view.start, entry

    def _first(self, view: View, cursor: int) -> Entry | None:
        _, entry = next(self._entries(view, cursor - 1, cursor), (0, None))
        return entry if entry is not None and entry.cursor == cursor else None

    def _at(self, view: View, cursor: int, place: int) -> Entry | None:
        """Return the entry of this cursor if its line begins at this place."""
        for file in view.archive.files:
            if place < file.size:
                with opened(self.archive_path / file.name) as descriptor:
                    return self._read_at(descriptor, place, file.size, cursor)
            place -= file.size
        return self._read_at(view.descriptor, view.start + place, view.end, cursor)

    def _read_at(self, descriptor: int, offset: int, end: int, cursor: int) -> Entry | None:
        _, line = next(lines(descriptor, offset, end), (0, b""))
        with suppress(BrokenRow):
            entry = decode(line, self._zone)
            return entry if entry.cursor == cursor else None
        return None

    def _offset(self, view: View, cursor: int) -> tuple[int, bool]:
        """Return where the first entry above `cursor` is to be looked for, and whether cursors rise from there.

        A bisection is right only where cursors rise. The index has seen every line and knows from where on
        they do; an entry that stands out of order is never stepped over.
        """
        with self._writer.guard:
            self._count(view)
            sums = self._positions.now
            before, ordered_from, covered = sums.before, sums.ordered_from, sums.covered
        if cursor < before:
            return view.start, False
        return bisect(view.descriptor, ordered_from, covered, cursor), True

    def _decoded(self, name: str, descriptor: int, found: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Entry]]:
        for offset, line in found:
            try:
                entry = decode(line, self._zone)
            except BrokenRow as fault:
                if line.strip():
                    self._flaw(name, descriptor, offset, str(fault))
                continue
            yield offset, entry

    def _flaw(self, name: str, descriptor: int, offset: int, why: str) -> None:
        """Report a line once."""
        if self._report is None or (name, offset) in self._reported or len(self._reported) >= MOST_REPORTS:
            return
        self._reported.add((name, offset))
        self._report(Diagnostic(f"memory/{name}", line_at(descriptor, offset), why))
