"""History: memory/history.jsonl, append-only, one entry a line, and what was moved from it to memory/archive/.

What is in the log is read whole, of the archive the files whose names say that they hold what is asked for. Reading
takes no lock: a reader opens the log first and lists the archive then, so that a move in between shows it entries twice
(which it notices) and never not at all.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from functools import cache, cached_property
from itertools import islice, repeat
from pathlib import Path
from types import TracebackType

import orjson

from dream.errors import HistoryError
from dream.history.archive import Archived, already_moved, archived, chain_of, highest
from dream.history.chain import Chain, CursorRange, accepted, flaws, line_at, missing, outlined, settled_end
from dream.history.entries import HIGHEST, BrokenRow, cursor_at_once, decode, is_ours, is_whole
from dream.history.messages import KeptMessage, MessageFlaw, Messages
from dream.history.sessions import SessionTails, Tail
from dream.history.writer import StalePosition, Writer, highest_given
from dream.models import Diagnostic, Entry, NewEntry, Report
from dream.workspace.files import explained, lines, lines_backwards, opened, read_bytes, reason, size_of
from dream.workspace.index import Index
from dream.workspace.lock import is_free

_SESSION = re.compile(rb'"session(?:_key)?"\s*:\s*("(?:[^"\\]|\\.)*")')
LARGE = 1 << 24  # bytes: a log that another program wrote and that was not archived yet; it is measured, not read
MOST_REPORTS = 50  # most diagnostics of one History: an unreadable file would give millions


# The log and its archive as lines, and the entries of some sessions among them: most lines are not parsed.


@dataclass(frozen=True, slots=True)
class View:
    """The files as one reader sees them: history from `start` to `end`, and the archive before it."""

    folder: Path  # of the archive
    descriptor: int
    inode: int
    start: int
    end: int
    archive: Sequence[Archived]

    def parts(
        self, wanted: Callable[[Archived], bool] = lambda file: True, *, newest_first: bool = False
    ) -> Iterator[tuple[str, int, int, int]]:
        """Yield name, descriptor, start and end of each file; a file is closed when the next one is asked for.

        Of the archive only those that are `wanted`.
        """
        files = [*filter(wanted, self.archive), None]
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


def entries(found: Iterable[bytes], sessions: re.Pattern[str], zone: tzinfo | None) -> Iterator[Entry]:
    """Yield the entries among the lines `found` whose whole session key matches; broken lines are skipped."""
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


def _counted(descriptor: int, start: int, end: int, above: int) -> tuple[int, int]:
    """Return how many entries above a cursor, and tokens, these bytes of the log hold; of LARGE ones an estimate."""
    if end - start <= LARGE:
        rows = (row for _, _, row in outlined(descriptor, start, end))
        tokens = [row.tokens for row in rows if not isinstance(row, BrokenRow) and row.cursor > above]
        return len(tokens), sum(tokens)
    of_all = os.pread(descriptor, LARGE, start).count(b"\n") * (end - start) // LARGE
    newest = next(filter(None, (cursor_at_once(line) for _, line in lines_backwards(descriptor, start, end))), 0)
    entries = min(of_all, max(0, newest - above))
    return entries, (end - start) // 4 * entries // max(of_all, 1)


class History:
    """The log in the memory directory `directory`; caches and locks lie in `private`.

    `durable`: an append is on disk when it returns. `report` gets one diagnostic for each line that is no entry;
    such lines are skipped and stay on disk. `zone` is that of naive times in nanobot's rows (None: the
    machine's). Threads and processes may share one log. `committed` returns the cursor
    of the last entry dreamt as the last commit has it, `machine` the id of this machine, and `group_of` the group chat
    that the session key of another program's row tells, "" for none.
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
        machine: Callable[[], str] = lambda: "",
        group_of: Callable[[str], str] = lambda session: "",
    ) -> None:
        self.path = directory / "history.jsonl"
        self.archive_path = directory / "archive"
        self.private = private
        self._directory = directory
        self._zone = zone
        self._report = report
        self._group_of = group_of
        self._reported: set[tuple[str, int]] = set()
        self.durable = durable
        self._committed = committed
        self._machine = machine

    @cached_property
    def messages(self) -> Messages:
        """The messages that history rests on, word for word."""
        return Messages(self._directory, durable=self.durable, report=self._report)

    @cached_property
    def index(self) -> Index:
        """The index of the workspace, which other caches share."""
        return Index(self.private)

    @cached_property
    def _sessions(self) -> SessionTails:
        """The positions of the sessions; loaded at first use."""
        return SessionTails(self.index, self.archive_path, self.tell)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(
            self._directory,
            self.private,
            durable=self.durable,
            flaw=self._flaw,
            committed=self._committed,
            machine=self._machine,
        )

    def append(self, new: Sequence[NewEntry], *, now: datetime, said: Sequence[KeptMessage] = ()) -> list[Entry]:
        """Append entries, all or none, with the next cursors; they are in history when this returns.

        `said` are the messages that they summarise, which are kept beside history.

        Raises StalePosition when a span begins before its session's position, and appends nothing then.
        """
        if said:
            kept = Counter(one.session for one in said)
            new = [replace(one, kept=kept.pop(one.session or "", 0)) for one in reversed(new)][::-1]
        return self._append(new, repeat(now.astimezone(UTC).replace(microsecond=0)), now, said)

    def after(self, cursor: int, *, limit_tokens: int | None = None) -> Iterator[Entry]:
        """Yield the entries above `cursor` in the order of the log, archived ones too.

        Earlier lines are not read. With `limit_tokens` it ends before the entry that would pass the
        limit, but the first one always comes.
        """
        left = limit_tokens
        for number, entry in enumerate(self._entries(range(cursor + 1, HIGHEST))):
            if left is not None:
                left -= entry.tokens
                if left < 0 and number:
                    return
            yield entry

    def between(self, first: int, last: int) -> list[Entry]:
        """Return the entries whose cursors lie from `first` to `last`, both included, archived ones too."""
        return list(self._entries(range(first, last + 1)))

    def numbered(self, cursors: Sequence[int]) -> list[Entry]:
        """Return the entries of these cursors that there are, archived ones too, in the order asked for."""
        found: dict[int, Entry] = {}
        for entry in self._entries(sorted(cursors)):
            found.setdefault(entry.cursor, entry)
        return [found[cursor] for cursor in cursors if cursor in found]

    def rereads(self) -> dict[int, tuple[int, ...]]:
        """Return, for each entry that was made by rereading, the cursors of the entries that it replaced."""
        return {entry.cursor: entry.rereads for entry in self.after(0) if entry.rereads}

    def last(self, count: int) -> list[Entry]:
        """Return the newest `count` entries, oldest first, whether archived or not; reads from the end."""
        return list(islice(self.backwards(), count))[::-1]

    def backwards(self) -> Iterator[Entry]:
        """Yield the entries from the newest to the oldest; reads only as far as it is asked."""
        with explained("read", self.path, HistoryError), self._view() as view:
            for name, descriptor, start, end in view.parts(newest_first=True):
                found = lines_backwards(descriptor, start, end)
                yield from self._decoded(name, descriptor, found)

    def holds(self, cursor: int) -> bool:
        """Return whether there is an entry with this cursor; reads from the end, near which the last one dreamt is."""
        with explained("read", self.path, HistoryError), self._view() as view:
            found = (cursor_at_once(line) for line in view.lines_backwards())
            if next((one for one in found if 0 < one <= cursor), 0) == cursor:
                return True
        return bool(self.between(cursor, cursor))  # cursors that don't rise, or another program's lines

    def last_cursor(self) -> int:
        """Return the highest cursor ever given out, also to a line that is damaged since; 0 when there was none."""
        with explained("read", self.path, HistoryError), self._view() as view:
            last = max(highest(view.archive), highest_given(self._directory, self._committed))
            found = lines_backwards(view.descriptor, max(view.start, view.end - LARGE), view.end)
            for _, line in found:
                if (cursor := cursor_at_once(line)) > last and (is_ours(line) or is_whole(line)):
                    last = cursor
            return last

    def position(self, session: str) -> int:
        """Return how many messages of `session` are in history: the highest span end, archive included."""
        return self.tail(session)[0]

    def positions(self) -> dict[str, int]:
        """Return the position of every session that history knows."""
        with explained("read", self.path, HistoryError), self._view() as view:
            return self._sessions.positions(view)

    def tail(self, session: str) -> Tail:
        """Return the position of `session` and the digest of its messages up to there, "" where it is not known."""
        return self.tails([session])[session]

    def tails(self, sessions: Iterable[str]) -> dict[str, Tail]:
        """Return the `tail` of each of `sessions`; opens the log once."""
        with explained("read", self.path, HistoryError), self._view() as view:
            return self._sessions.tails(view, sessions)

    def holders(self, digests: Iterable[str]) -> dict[str, str]:
        """Return for each of `digests` whose message history holds the session that it is in."""
        asked = list(digests)
        if not asked:
            return {}
        with explained("read", self.path, HistoryError), self._view() as view:
            return self._sessions.holders(view, asked)

    def of(self, sessions: re.Pattern[str]) -> Iterator[Entry]:
        """Yield the entries of the sessions whose whole key matches, oldest first; other lines are not parsed."""
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
        """Yield the entries of `session` from the newest to the oldest, and end with its first message.

        One that was made by rereading doesn't end it: it follows entries of later messages.
        """
        if not self.position(session):  # else all of the archive would be read for nothing
            return
        with explained("read", self.path, HistoryError), self._view() as view:
            found = entries(view.lines_backwards(), re.compile(re.escape(session)), self._zone)
            for entry in found:
                yield entry
                if entry.span and entry.span[0] == 0 and not entry.rereads:
                    return

    def size(self) -> tuple[int, int]:
        """Return how many entries and tokens history.jsonl holds, without its archive; of a LARGE one an estimate."""
        with explained("read", self.path, HistoryError), self._view() as view:
            return _counted(view.descriptor, view.start, view.end, 0)

    def backlog(self, cursor: int) -> tuple[int, int]:
        """Return how many entries and tokens follow `cursor`, archived ones too; of a LARGE log an estimate."""
        with explained("read", self.path, HistoryError), self._view() as view:
            parts = view.parts(lambda file: file.last > cursor)
            counts = [_counted(descriptor, start, end, cursor) for _, descriptor, start, end in parts]
            return sum(entries for entries, _ in counts), sum(tokens for _, tokens in counts)

    def archive(self, dreamt: int, budget_tokens: int, *, now: datetime) -> int:
        """Move the oldest entries up to cursor `dreamt` to the archive if history exceeds its budget.

        Goes a tenth below the budget; an undreamt entry never moves, nor any behind it. Returns how many moved.
        """
        with explained("archived", self.path, HistoryError), self._writer.lock:
            if not self.path.exists():
                return 0
            if (size := self.path.stat().st_size) > LARGE:
                said = f"has {size // 1_000_000:,} MB; what was dreamt of it moves to memory/archive/, once"
                self.tell("memory/history.jsonl", said)
            return self._writer.archive(dreamt, budget_tokens, now)

    def flaws(self, *, archive: bool = True) -> list[Diagnostic]:
        """Read every byte of the log and its archive, and return what is damaged, changed or missing; [] if nothing is.

        An entry is missing when its cursor was given out, as `.cursor`, `.dream_cursor` and the names of archive files
        tell, and no line has it. At most MOST_REPORTS flaws are returned. Without `archive` only the log is read, and
        of the archive the file names are checked; a LARGE log is not read either.
        """
        found: list[Diagnostic] = []
        # What was given out first: an append beside this writes to the log before it writes to `.cursor`.
        given, chain = highest_given(self._directory, self._committed), Chain()
        with explained("read", self.path, HistoryError), self._view() as view:
            if not archive:
                if view.end > LARGE:
                    return []
                chain, gaps = chain_of(self.archive_path, view.archive, self._lost)
                found += [Diagnostic("memory/archive", 0, said) for said in gaps]
            for name, descriptor, start, end in view.parts(lambda _: archive):
                flawed = flaws(descriptor, start, end, chain, self._lost)
                found += [
                    Diagnostic(f"memory/{name}", line_at(descriptor, flaw.offset), flaw.text)
                    for flaw in islice(flawed, MOST_REPORTS - len(found))
                ]
            if said := missing(chain.highest + 1, max(given, highest(view.archive)), self._lost()):
                found.append(Diagnostic("memory/history.jsonl", 0, f"{said} at its end"))
        return [*self._cut_short(), *found[:MOST_REPORTS]]

    def _cut_short(self) -> Iterator[Diagnostic]:
        """Report an incomplete append, unless a process is still writing it; the next append sets it aside."""
        for _ in range(2):  # an append that is incomplete at the first check may be complete at the second
            torn = self._torn()
            try:
                if not torn or not is_free(self.private / "history.lock"):
                    return
            except OSError:  # a disk that nobody can write to
                break
        yield Diagnostic("memory/history.jsonl", 0, f"its last {torn} bytes are an append that was cut short")

    def accept_losses(self, *, now: datetime) -> None:
        """Accept the log of another program as it is: entries missing now are not reported later.

        A log with checksums is our own, and is not changed.
        """
        with explained("read", self.path, HistoryError), self._writer.lock:
            if self.path.exists():
                self._writer.accept(now, sealed=False)

    def repair(self, *, now: datetime) -> int:
        """Repair the log without loss; return how many lines were repaired.

        Lines that are no entry, were changed, or repeat an earlier line move to archive/set-aside.jsonl. Entries out of
        order get a new cursor at the end of the log, so that the next dream reads them. Missing entries are noted in
        archive/lost.jsonl. Reads the whole log.
        """
        with explained("repaired", self.path, HistoryError), self._writer.lock:
            self.index.remove()
            return self._writer.repair(now)

    def message_flaws(self) -> list[MessageFlaw]:
        """Read every byte of the messages, and return what is damaged, duplicate, missing or without its entry."""
        return list(self.messages.flaws(self._reached(), self._kept()))

    def repair_messages(self, *, now: datetime) -> None:
        """Move invalid lines from the messages to archive/set-aside.jsonl."""
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
        """Return a function from a session to its position in history, without limit where entries were lost."""
        known = self.positions()
        return (lambda _: HIGHEST) if self._lost() or not known else (lambda session: known.get(session, 0))

    @contextmanager
    def rewriting(self, *, now: datetime) -> Iterator[list[Path]]:
        """Lock the log for the block, repair its tail, and yield its files: the archive, oldest first, and the log."""
        with explained("rewritten", self.path, HistoryError), self._writer.lock:
            self._writer.ready(now)
            yield [*(self.archive_path / file.name for file in archived(self.archive_path)), self.path]

    def import_notes(
        self, path: Path, *, now: datetime, session: str, later: str = "", day: date | None = None
    ) -> list[Entry]:
        """Append what the Markdown file `path` holds and history doesn't yet, as messages of `session`; the file stays.

        What was added to the file after its first import goes under `later`, where that is given. `day` is the date of
        entries that have none. Returns what was imported now.
        """
        from dream.history import legacy  # on most nights they have not changed

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

    def tell(self, what: str, text: str) -> None:
        """Report `text` about the file `what`."""
        if self._report is not None:
            self._report(Diagnostic(what, 0, text))

    def close(self) -> None:
        """Close all descriptors; the next use opens them again."""
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
        said: Sequence[KeptMessage] = (),
    ) -> list[Entry]:
        if not new:
            return []

        def first(size: int) -> None:
            self._refuse_stale(new, size)
            if said:
                self.messages.add(said, now, lambda key: self._tail_at(size, key)[0])

        try:
            with self._writer.lock:
                return self._writer.append(new, times, now, first, self._sessions.appended)
        except BaseException as fault:
            self.messages.reset()
            self._sessions.reset()
            if isinstance(fault, OSError):
                raise HistoryError(f"{self.path} cannot be appended to: {reason(fault)}; nothing was added.") from fault
            raise

    def _refuse_stale(self, new: Iterable[NewEntry], size: int) -> None:
        for one in new:
            if one.span is not None and one.session is not None and not one.rereads:
                position, _ = self._tail_at(size, one.session)
                if one.span[0] < position:
                    raise StalePosition(
                        f"Session {one.session} is in history up to message {position}; "
                        f"messages {one.span[0]} to {one.span[1] - 1} were not added again."
                    )

    def _tail_at(self, size: int, session: str) -> Tail:
        """Return the tail of a session; the caller holds the lock of the log, which has `size` bytes."""
        writer = self._writer
        view = View(self.archive_path, writer.descriptor, writer.inode, 0, size, writer.archived)
        return self._sessions.tails(view, [session])[session]

    def _torn(self) -> int:
        """Return how many bytes follow the last complete append."""
        try:
            with opened(self.path) as descriptor:
                return size_of(descriptor) - settled_end(descriptor, 0, size_of(descriptor))
        except FileNotFoundError:
            return 0

    def _lost(self) -> list[CursorRange]:
        return accepted(self.archive_path)

    @contextmanager
    def _view(self) -> Iterator[View]:
        if not self.path.exists():  # once it is there, it is only ever replaced
            yield View(self.archive_path, -1, 0, 0, 0, archived(self.archive_path))
            return
        with opened(self.path) as descriptor:
            status = os.fstat(descriptor)
            archive = archived(self.archive_path)
            start = already_moved(descriptor, status.st_size, self.archive_path, archive)
            end = settled_end(descriptor, start, status.st_size)
            yield View(self.archive_path, descriptor, status.st_ino, start, end, archive)

    def _entries(self, cursors: Sequence[int]) -> Iterator[Entry]:
        """Yield the entries of these cursors, which rise, in the order of the log; no other line is parsed."""
        wanted: Collection[int] = cursors if isinstance(cursors, range) else set(cursors)

        def holds_some(file: Archived) -> bool:
            at = bisect_left(cursors, file.first)
            return at < len(cursors) and cursors[at] <= file.last

        with explained("read", self.path, HistoryError), self._view() as view:
            for name, descriptor, start, end in view.parts(holds_some):
                found = (
                    (offset, line)
                    for offset, line in lines(descriptor, start, end)
                    if not (cursor := cursor_at_once(line)) or cursor in wanted
                )
                for entry in self._decoded(name, descriptor, found):
                    if entry.cursor in wanted:
                        yield entry

    def _decoded(self, name: str, descriptor: int, found: Iterable[tuple[int, bytes]]) -> Iterator[Entry]:
        group_of = cache(self._group_of)
        for offset, line in found:
            try:
                entry = decode(line, self._zone)
            except BrokenRow as fault:
                if line.strip():
                    self._flaw(name, descriptor, offset, str(fault))
                continue
            if entry.session and not entry.place and entry.span is None:
                entry = replace(entry, place=group_of(entry.session))
            yield entry

    def _flaw(self, name: str, descriptor: int, offset: int, why: str) -> None:
        """Report a line once."""
        if self._report is None or (name, offset) in self._reported or len(self._reported) >= MOST_REPORTS:
            return
        self._reported.add((name, offset))
        self._report(Diagnostic(f"memory/{name}", line_at(descriptor, offset), why))
