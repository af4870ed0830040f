"""The Consolidator: messages that have grown old become history, once each, whatever happens in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Generic, Self, TypeVar

from dream.consolidate import cut, identity
from dream.consolidate.prepare import known_lines, prepare
from dream.consolidate.session import Session
from dream.consolidate.summariser import EntryGroup, Patience, Stuck, Summariser
from dream.consolidate.talk import Consolidated, Reached, Talk
from dream.history.history import History
from dream.history.writer import StalePosition
from dream.llm import Model
from dream.models import Diagnostic, Message, Report
from dream.provenance.speakers import is_owner, speakers
from dream.settings import Settings
from dream.transcripts import parts
from dream.workspace.places import Places

ANSWER, MISSED = 8, 64  # parts of a live window: one is kept free for the answer, one for what the estimate misses
TOOL_CHARS = 2_000  # characters of a tool's result; the readers of transcripts cut it to the same length
NAMED = 80  # characters at the beginning of a message that may name its speaker
ITS_OWN = "its memory is given there alone; if one of them is you, name yourself in `owners` before it is read"
SUMMARY_SHARE = 0.25  # largest share of a session's budget for its own summaries

T = TypeVar("T")


class Background(Generic[T]):
    """Background work that does not delay a reply: one task at a time for each key, and no error is lost.

    Its thread is started when it is first needed; the interpreter waits for it at its exit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._futures: dict[str, Future[T]] = {}

    def start(self, key: str, work: Callable[[], T]) -> Future[T]:
        """Start `work`, or return the future of the running task of `key`; raises the error of the key's last task."""
        with self._lock:
            under_way = self._futures.get(key)
            if under_way is not None and not under_way.done():
                return under_way
            self._raise(key)
            self._pool = self._pool or ThreadPoolExecutor(max_workers=1, thread_name_prefix="dream")
            self._futures[key] = self._pool.submit(work)
            return self._futures[key]

    def raise_error(self, key: str) -> None:
        """Raise the error of the finished task of `key`, once."""
        with self._lock:
            future = self._futures.get(key)
            if future is not None and future.done():
                self._raise(key)

    def close(self) -> None:
        """Wait for all work, then raise the first error that no caller has received."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        with self._lock:
            for key in list(self._futures):
                self._raise(key)

    def _raise(self, key: str) -> None:
        future = self._futures.pop(key, None)
        error = future.exception() if future is not None else None
        if error is not None:
            raise error


class Consolidator:
    """Summarises sessions into `history` with `model`.

    `prompts_folder` may hold a `consolidate.md` that replaces the shipped one. `report` receives a diagnostic, with
    the reason, when messages are kept word for word. `places` knows where messages were said; without it, no
    message has a place.
    """

    def __init__(
        self,
        history: History,
        model: Model,
        settings: Settings,
        *,
        prompts_folder: Path | None = None,
        report: Report | None = None,
        places: Places | None = None,
    ) -> None:
        self._history = history
        self._places = places
        self._model = model
        self._settings = settings
        self._folder = prompts_folder
        self._report = report
        self._patience = Patience()
        self._stuck = Stuck(history.private)
        self._background: Background[Consolidated | None] = Background()

    def consolidate(self, key: str, messages: Iterable[Message], *, now: datetime) -> Consolidated:
        """Consolidate all of session `key` that history does not hold yet; `messages` are all, from its first.

        What history holds is known by the messages' identities, so a session that was started anew, rewritten or
        cut loses nothing and is archived once. `messages` may be read again; an iterator is held in memory.
        Every entry is on disk when this returns or raises. Raises SpendingLimit before the call that
        would pass a bound, ModelInaccessible where the key, the model's name or the account is at fault (the
        messages wait in their transcript, as long as that lasts), and HistoryError.
        """
        messages = list(messages) if isinstance(messages, Iterator) else messages
        return sum(self.steps(Talk(key, messages), now=now), Consolidated(key))

    def steps(self, talk: Talk, *, now: datetime) -> Iterator[Consolidated]:
        """Do as `consolidate` does with a talk, and yield the appended entries after each model call."""
        while True:
            begun = self._new(talk)
            if begun is None:
                return
            place, numbered = begun
            try:
                yield from self._summarised(talk, place, numbered, now, can_wait=True)
            except StalePosition:
                if self._history.position(place.key) <= place.position:
                    raise
            else:
                return

    def sessions(
        self,
        talks: Iterable[Talk],
        *,
        now: datetime,
        before: Callable[[str], None] = lambda key: None,
    ) -> Iterator[Consolidated]:
        """Consolidate many sessions, one after the other; yield what was appended.

        `before` is called with the key before each model call and may raise SpendingLimit to stop there. When the next
        of `talks` is asked for, all of the one before it is in history.
        """
        for talk in talks:
            steps = self.steps(talk, now=now)
            before(talk.key)
            for done in steps:
                yield done
                before(talk.key)

    def maybe_consolidate(
        self, session: Session, *, now: datetime | None = None, other_tokens: int = 0
    ) -> Consolidated | None:
        """Consolidate the oldest messages of `session` if its prompt has reached the budget; None if it has not.

        To be called when a turn is over. `other_tokens` are those of the prompt that are not the session's:
        system prompt, memory, tools. Messages that are added meanwhile stay as they are. Raises SpendingLimit and
        HistoryError, and first of all what went wrong in the background; whatever is wrong with the model, a live
        session can't wait, and goes in as it was said.
        """
        self._background.raise_error(session.key)
        return self._given_up_if_due(session, now, other_tokens)

    def archive(self, session: Session, *, now: datetime | None = None, can_wait: bool = False) -> Consolidated:
        """Consolidate all of `session`: what `/new` does. It is in history when this returns.

        With `can_wait` the caller can try again later: it raises ModelInaccessible instead of keeping the messages as
        they are.
        """
        self._background.raise_error(session.key)
        with session.consolidating:
            return self._given_up(session, None, now, can_wait=can_wait)

    def in_background(
        self, session: Session, *, now: datetime | None = None, other_tokens: int = 0
    ) -> Future[Consolidated | None]:
        """Do as `maybe_consolidate` does in a thread, off the reply's path; `asyncio.wrap_future` awaits it.

        One at a time for a session: while one is under way, its future is returned. An error is raised by
        the next call for this session, or by `close`.
        """
        return self._background.start(session.key, lambda: self._given_up_if_due(session, now, other_tokens))

    def close(self) -> None:
        """Wait for the background tasks, and raise their first error."""
        self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _given_up_if_due(self, session: Session, now: datetime | None, other_tokens: int) -> Consolidated | None:
        with session.consolidating:
            end = self._end_of_old(session, other_tokens)
            return None if end is None else self._given_up(session, end, now)

    def _end_of_old(self, session: Session, other_tokens: int) -> int | None:
        """Return the position up to which the prompt must be given up, or None while it is within the budget."""
        settings = self._settings
        opening, items = session.items(self._model.name, self._model.count)
        free = settings.session_tokens - settings.session_tokens // ANSWER - settings.session_tokens // MISSED
        summaries = session.summary()
        counted = self._model.count(summaries) if summaries else 0
        fixed = opening + other_tokens + min(counted, int(free * SUMMARY_SHARE))
        if fixed + sum(item.tokens for item in items) < free:
            return None
        size = cut.live_cut(items, free - fixed, free // 2 - fixed)
        return items[size - 1].position + 1 if size else None

    def _given_up(
        self, session: Session, end: int | None, now: datetime | None, *, can_wait: bool = False
    ) -> Consolidated:
        now, done = now or datetime.now(UTC), Consolidated(session.key)
        while True:
            told = session.waiting()
            waiting = [message for _, message in told]
            old = [(at, _live(message)) for at, message in told if end is None or at < end]
            if not old:
                return done
            place = Reached(session.key, old[0][0])
            try:
                for step in self._summarised(Talk(session.key, waiting), place, iter(old), now, can_wait=can_wait):
                    done += step
            except StalePosition:  # another process consolidated first; we take the rest
                if self._history.position(session.key) <= place.position:
                    raise
            else:
                session.settle()
                return done

    def _new(self, talk: Talk) -> tuple[Reached, identity.Numbered] | None:
        """Return the new messages of a talk; None if there are none."""
        plan = identity.plan(self._history, talk.key, talk.messages)
        if plan.remark and self._report:
            self._report(Diagnostic(talk.key, 0, plan.remark))
        first = next(plan.numbered, None)
        if first is None:
            return None  # return early, without loading a tokenizer
        place = Reached(plan.key, plan.start, plan.prefix, plan.known)
        return place, identity.without_summarised(self._history, talk.key, chain([first], plan.numbered))

    def _summarised(
        self, talk: Talk, place: Reached, numbered: identity.Numbered, now: datetime, *, can_wait: bool
    ) -> Iterator[Consolidated]:
        people = cache(partial(self._people, talk, place.key))
        summariser = Summariser(
            place.key,
            self._model,
            self._settings,
            folder=self._folder,
            report=self._report,
            patience=self._patience,
            stuck=self._stuck,
            can_wait=can_wait,
            known=known_lines(self._history.path.parent.parent, self._folder),
            people=people,
            now=now,
        )
        group_of = cache(lambda: self._group(talk, place.key, people()))
        for where, group in groupby(self._placed(place.key, numbered, group_of), key=itemgetter(0)):
            items = (self._read(place, summariser.item(at, message)) for _, (at, message) in group)
            for chunk in cut.chunks(items, summariser.budget):
                for batch in summariser.batches(chunk):
                    yield self._append(place, batch, where, now)

    def _placed(
        self, key: str, numbered: identity.Numbered, group_of: Callable[[], str]
    ) -> Iterator[tuple[str, tuple[int, Message]]]:
        """Yield each message with the id of its place, which changes with the user's message that begins a turn.

        `group_of` returns the group chat that a session without a project is. A message of a place that the user
        excluded keeps its number, without its text.
        """
        where, barred, opener = "", False, None
        for begun, (at, message) in with_opener(numbered):
            if self._places is not None and begun is not opener:
                opener, barred = begun, self._places.is_never(begun, key)
                if barred:
                    where = ""
                elif begun.cwd or begun.chat:
                    where = self._places.of(begun)
                else:
                    where = self._places.of_session(key) or group_of() or where
            yield where, (at, replace(message, content="", whole="", ran=None) if barred else message)

    def _people(self, talk: Talk, key: str) -> frozenset[str]:
        """Return the names of the users who talk in a session, by what history holds of it and by all its messages."""
        told = {line.by for entry in self._history.of_backwards(key) for line in entry.lines}
        unread = [replace(prepare(_bare(one), ()), content=one.content[:NAMED]) for one in talk.messages]
        return speakers(unread) | told - {""}

    def _group(self, talk: Talk, key: str, people: frozenset[str]) -> str:
        """Return the id of the group chat that a session is in which several people write, none of them an owner.

        "" for any other session, and for one of a project.
        """
        if self._places is None or len(people) < 2 or any(is_owner(one, self._settings.owners) for one in people):
            return ""
        programs = {prepare(_bare(one), ()).name for one in talk.messages if one.automated}
        if len(people - programs) < 2 or any(one.cwd or one.chat for one in talk.messages):
            return ""
        found = self._places.group(key)
        if self._report and (place := self._places.named(found)):
            told = f"{', '.join(sorted(people - programs))} write here, so it is the group {place.name}: {ITS_OWN}"
            self._report(Diagnostic(key, 0, told))
        return found

    def _read(self, place: Reached, item: cut.Item) -> cut.Item:
        if item.message.content:
            place.read[item.position] = item.message
        return item

    def _append(self, place: Reached, batch: EntryGroup, where: str, now: datetime) -> Consolidated:
        new = [replace(entry, place=where) for entry in place.identified(batch.entries)]
        entries = tuple(self._history.append(new, now=now, said=[replace(one, place=where) for one in place.said(new)]))
        raw = sum(entry.kind == "raw" for entry in entries)
        return Consolidated(place.key, entries, place.moved(entries), raw, batch.usage, batch.kept)


def with_opener(numbered: identity.Numbered) -> Iterator[tuple[Message, tuple[int, Message]]]:
    """Yield each message of a session with the one that opens its turn: a place changes there and nowhere else.

    A call and its result keep one place.
    """
    opener: Message | None = None
    asked: set[str] = set()  # the agent's last calls that have no result yet
    for at, message in numbered:
        if opener is None or (message.role == "user" and not asked):
            opener = message
        asked = set(message.calls) if message.role == "assistant" else asked - {message.answers or ""}
        yield opener, (at, message)


def _bare(message: Message) -> Message:
    return replace(message, content="", whole="")


def _live(message: Message) -> Message:
    """Cut a tool's result in its middle, as the readers of transcripts do; a live session counts by position alone."""
    if message.role != "tool" or len(message.content) <= TOOL_CHARS:
        return replace(message, id=None)
    content, whole = parts.cut(message.content, TOOL_CHARS), message.whole or message.content
    return replace(message, content=content, whole=whole, id=None)
