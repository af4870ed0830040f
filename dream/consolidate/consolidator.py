"""The Consolidator: messages that have grown old become history, once each, whatever happens in between."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Self

from dream.consolidate import cut
from dream.consolidate.background import Background
from dream.consolidate.cut import Item
from dream.consolidate.fidelity import Kept
from dream.consolidate.patience import Patience
from dream.consolidate.session import Session
from dream.consolidate.summariser import Batch, Summariser
from dream.llm.model import Model
from dream.models import Diagnostic, Entry, Message, Report, Usage
from dream.settings import Settings
from dream.store.history import History, StalePosition
from dream.transcripts import parts

SUMMARY_SHARE = 0.25  # of a session's budget, at the most, is given to its own summaries


@dataclasses.dataclass(frozen=True, slots=True)
class Consolidated:
    """What was appended: entries, how many message positions they complete, how many are raw, and the bill.

    `kept` counts the exact things that users said, and how many of them are in the summaries.
    """

    session: str
    entries: tuple[Entry, ...] = ()
    messages: int = 0
    raw: int = 0
    usage: Usage = dataclasses.field(default_factory=Usage)
    kept: Kept = dataclasses.field(default_factory=Kept)

    def __add__(self, other: Consolidated) -> Consolidated:
        return Consolidated(
            self.session,
            self.entries + other.entries,
            self.messages + other.messages,
            self.raw + other.raw,
            self.usage + other.usage,
            self.kept + other.kept,
        )


class Consolidator:
    """Summarises sessions into `history` with `model`.

    `prompts_folder` may hold a `consolidate.md` that replaces the shipped one. `report` is told whenever
    messages had to be kept as they were said, and why.
    """

    def __init__(
        self,
        history: History,
        model: Model,
        settings: Settings,
        *,
        prompts_folder: Path | None = None,
        report: Report | None = None,
    ) -> None:
        self._history = history
        self._model = model
        self._settings = settings
        self._folder = prompts_folder
        self._report = report
        self._patience = Patience()
        self._background: Background[Consolidated | None] = Background()

    def consolidate(self, key: str, messages: Iterable[Message], *, now: datetime) -> Consolidated:
        """Consolidate all of session `key` that history does not hold yet; `messages` are read once, from its first.

        Every entry is on disk when this returns or raises. Raises SpendingLimit before the call that
        would pass a bound, and HistoryError.
        """
        return sum(self.steps(key, messages, now=now), Consolidated(key))

    def steps(self, key: str, messages: Iterable[Message], *, now: datetime) -> Iterator[Consolidated]:
        """Do as `consolidate` does, and yield what was appended after each model call."""
        start = self._history.position(key)
        yield from self._run(key, self._new(key, enumerate(messages), start), start, now)

    def maybe_consolidate(
        self, session: Session, *, now: datetime | None = None, other_tokens: int = 0
    ) -> Consolidated | None:
        """Consolidate the oldest messages of `session` if its prompt has reached the budget; None if it has not.

        To be called when a turn is over. `other_tokens` are those of the prompt that are not the session's:
        system prompt, memory, tools. Messages that are added meanwhile stay as they are. Raises as
        `consolidate` does, and first of all what went wrong in the background.
        """
        self._background.raise_error(session.key)
        return self._given_up_if_due(session, now, other_tokens)

    def archive(self, session: Session, *, now: datetime | None = None) -> Consolidated:
        """Consolidate all of `session`: what `/new` does. It is in history when this returns."""
        self._background.raise_error(session.key)
        with session.consolidating:
            return self._given_up(session, None, now)

    def in_background(
        self, session: Session, *, now: datetime | None = None, other_tokens: int = 0
    ) -> Future[Consolidated | None]:
        """Do as `maybe_consolidate` does in a thread, off the reply's path; `asyncio.wrap_future` awaits it.

        One at a time for a session: while one is under way, its future is returned. An error is raised by
        the next call for this session, or by `close`.
        """
        return self._background.start(session.key, lambda: self._given_up_if_due(session, now, other_tokens))

    def close(self) -> None:
        """Wait for what is in the background, and raise what went wrong there."""
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
        free = settings.session_tokens - settings.session_completion_tokens - settings.session_safety_tokens
        summaries = session.summary()
        counted = self._model.count(summaries) if summaries else 0
        fixed = opening + other_tokens + min(counted, int(free * SUMMARY_SHARE))
        if fixed + sum(item.tokens for item in items) < free:
            return None
        size = cut.live_cut(items, free - fixed, int(free * settings.session_target_ratio) - fixed)
        return items[size - 1].position + 1 if size else None

    def _given_up(self, session: Session, end: int | None, now: datetime | None) -> Consolidated:
        chars = self._settings.tool_result_chars
        old = [(at, _shortened(message, chars)) for at, message in session.waiting() if end is None or at < end]
        start = old[0][0] if old else 0
        steps = self._run(session.key, old, start, now or datetime.now(UTC))
        return sum(steps, Consolidated(session.key))

    def _new(self, key: str, numbered: Iterable[tuple[int, Message]], start: int) -> Iterator[tuple[int, Message]]:
        """Leave out what history holds already; say so when the session has become shorter than that."""
        position = -1
        for position, message in numbered:
            if position >= start:
                yield position, message
        if position + 1 < start and self._report:
            text = f"history holds {start} messages of this session, but only {position + 1} were given; none is read"
            self._report(Diagnostic(key, 0, text))

    def _run(
        self, key: str, numbered: Iterable[tuple[int, Message]], position: int, now: datetime
    ) -> Iterator[Consolidated]:
        new = iter(numbered)
        first = next(new, None)
        if first is None:
            return  # before a tokenizer is loaded for nothing
        summariser = Summariser(
            self._model, self._settings, folder=self._folder, report=self._report, patience=self._patience, now=now
        )
        items = (summariser.item(place, message) for place, message in chain([first], new))
        for chunk in cut.chunks(items, summariser.budget):
            for done in self._chunk(key, chunk, summariser, position, now):
                yield done
                position = _end(done, position)

    def _chunk(
        self, key: str, chunk: list[Item], summariser: Summariser, position: int, now: datetime
    ) -> Iterator[Consolidated]:
        """Append what stands for `chunk`; where another process was quicker, only for what it left."""
        while left := [item for item in chunk if item.position >= position]:
            try:
                for batch in summariser.batches(key, left):
                    done = self._append(key, batch, position, now)
                    position = _end(done, position)
                    yield done
            except StalePosition:
                moved = self._history.position(key)
                if moved <= position:
                    raise
                position = moved

    def _append(self, key: str, batch: Batch, position: int, now: datetime) -> Consolidated:
        entries = tuple(self._history.append(batch.entries, now=now))
        end = max((entry.span[1] for entry in entries if entry.span), default=position)
        raw = sum(entry.kind == "raw" for entry in entries)
        return Consolidated(key, entries, end - position, raw, batch.usage, batch.kept)


def _end(done: Consolidated, position: int) -> int:
    return max((entry.span[1] for entry in done.entries if entry.span), default=position)


def _shortened(message: Message, chars: int) -> Message:
    """Cut a tool's result in its middle, as the readers of transcripts do."""
    if message.role != "tool":
        return message
    return dataclasses.replace(message, content=parts.cut(message.content, chars))
