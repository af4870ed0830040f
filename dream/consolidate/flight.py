"""Several sessions' model calls in flight; their entries land in history in the order of the sessions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dream.consolidate import identity
from dream.consolidate.cut import Item
from dream.consolidate.summariser import EntryGroup, Summariser
from dream.errors import SpendingLimit
from dream.history import messages
from dream.history.messages import KeptMessage
from dream.history.writer import StalePosition
from dream.models import Entry, Message, NewEntry
from dream.reports import Fidelity, Usage

AHEAD = 2  # chunks that are read ahead for each call in flight, so that a slow one holds up none of the others


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What was appended: entries, how many message positions they complete, how many are raw, and the bill.

    `kept` counts the exact things that users said, and how many of them are in the summaries.
    """

    session: str
    entries: tuple[Entry, ...] = ()
    messages: int = 0
    raw: int = 0
    usage: Usage = field(default_factory=Usage)
    kept: Fidelity = field(default_factory=Fidelity)

    def __add__(self, other: Consolidated) -> Consolidated:
        return Consolidated(
            self.session,
            self.entries + other.entries,
            self.messages + other.messages,
            self.raw + other.raw,
            self.usage + other.usage,
            self.kept + other.kept,
        )


@dataclass(slots=True)
class Reached:
    """How far a session is in history while its entries are made, one after the other.

    `prefix` is the digest of its messages up to `position`; `known` is False where nobody can know it. `read` are the
    messages that were read and whose entries have not landed yet, by position.
    """

    key: str
    position: int
    prefix: str = ""
    known: bool = False
    read: dict[int, Message] = field(default_factory=dict)

    def said(self, entries: Sequence[NewEntry]) -> list[KeptMessage]:
        """Take out the messages that `entries` complete."""
        end = max((entry.span[1] for entry in entries if entry.span is not None), default=0)
        done = sorted(at for at in self.read if at < end)
        return [messages.of(self.key, at, self.read.pop(at)) for at in done]

    def identified(self, entries: tuple[NewEntry, ...]) -> list[NewEntry]:
        """Return `entries`, which follow on this place, with the digest of all up to their end where ids are known."""
        prefix, known, found = self.prefix, self.known, []
        for entry in entries:
            known = known and (bool(entry.ids) or entry.span is None or entry.span[0] == entry.span[1])
            prefix = identity.extended(prefix, entry.ids) if known else ""
            kept = entry.ids if known else ""
            found.append(replace(entry, ids=kept, prefix=prefix if kept else ""))
        return found

    def moved(self, entries: tuple[Entry, ...]) -> int:
        """Move on to where `entries` end; return how many messages that completes."""
        before = self.position
        for entry in entries:
            if entry.span is not None and entry.span[1] > self.position:
                self.position, self.prefix, self.known = entry.span[1], entry.prefix, bool(entry.prefix)
        return self.position - before


@dataclass(frozen=True, slots=True)
class Talk:
    """A session to consolidate: its messages, which can be read again, and what to call when all are in history."""

    key: str
    messages: Iterable[Message]
    done: Callable[[], None] = lambda: None


@dataclass(slots=True)
class OpenTalk:
    """A talk under way: its chunks in order, and whether it has to stop."""

    talk: Talk
    place: Reached
    summariser: Summariser
    chunks: Iterator[list[Item]]
    flying: int = 0
    read: bool = False
    failed: bool = False

    def answered(self, chunk: list[Item]) -> tuple[list[EntryGroup], SpendingLimit | None]:
        """Ask for what stands for `chunk`; at a spending bound, for as much of it as there was money for."""
        batches: list[EntryGroup] = []
        try:
            batches.extend(self.summariser.batches(chunk))
        except SpendingLimit as error:
            return batches, error
        return batches, None

    def over(self) -> None:
        """Call the talk's `done` when all of it has landed."""
        if self.read and not self.flying and not self.failed:
            self.talk.done()


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Open a pool, and wait in the end for what is under way; but who is interrupted waits for nothing."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="dream-consolidate")
    waits = True
    try:
        yield pool
    except (KeyboardInterrupt, GeneratorExit):
        waits = False
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=not waits)


class Flight:
    """One run over many talks with up to `parallel` calls at a time; `before` is called before each of them.

    When `before` or a call raises SpendingLimit, nothing new is begun, what is under way lands, and then it is raised.
    `begin` a talk: None when nothing of it is new. `append` a batch: raises StalePosition when another process was
    quicker; such a talk is consolidated `alone` in the end, from its beginning, one call after the other.
    """

    def __init__(
        self,
        parallel: int,
        *,
        before: Callable[[str], None],
        begin: Callable[[Talk], OpenTalk | None],
        append: Callable[[Reached, EntryGroup], Consolidated],
        alone: Callable[[Talk], Iterator[Consolidated]],
    ) -> None:
        self._parallel = parallel
        self._before, self._begin, self._append, self._alone = before, begin, append, alone
        self._flying: deque[tuple[OpenTalk, Future[tuple[list[EntryGroup], SpendingLimit | None]]]] = deque()
        self._again: list[Talk] = []
        self._stop: SpendingLimit | None = None

    def over(self, talks: Iterable[Talk]) -> Iterator[Consolidated]:
        """Consolidate `talks`; yield what was appended, in their order."""
        with _pool(self._parallel) as pool:
            try:
                for talk in talks:
                    yield from self._take_off(talk, pool)
                    if self._stop:
                        break
            except SpendingLimit as error:
                self._stop = self._stop or error
            while self._flying:
                yield from self._landed()
        if self._stop:
            raise self._stop
        for talk in self._again:
            yield from self._alone(talk)
            talk.done()

    def _take_off(self, talk: Talk, pool: ThreadPoolExecutor) -> Iterator[Consolidated]:
        own = identity.base(talk.key)
        while any(identity.base(line.talk.key) == own for line, _ in self._flying):
            yield from self._landed()  # what is new of it depends on what the other file of this key leaves
        line = self._begin(talk)
        if line is None:
            talk.done()
            return
        for chunk in line.chunks:
            self._before(talk.key)
            while len(self._flying) >= AHEAD * self._parallel:
                yield from self._landed()
            if line.failed or self._stop:
                return
            line.flying += 1
            self._flying.append((line, pool.submit(line.answered, chunk)))
        line.read = True
        line.over()

    def _landed(self) -> Iterator[Consolidated]:
        line, future = self._flying.popleft()
        batches, error = future.result()
        line.flying -= 1
        for batch in batches if not line.failed else ():
            try:
                yield self._append(line.place, batch)
            except StalePosition:
                line.failed = True
                self._again.append(line.talk)
                return
        if error is not None:
            line.failed = True
            self._stop = self._stop or error
        line.over()
