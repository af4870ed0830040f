"""The Consolidator: messages that have grown old become history, once each, whatever happens in between."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from dream.consolidate import cut
from dream.consolidate.cut import Item
from dream.consolidate.fidelity import Kept
from dream.consolidate.summariser import Batch, Summariser
from dream.llm.model import Model
from dream.models import Diagnostic, Entry, Message, Report, Usage
from dream.settings import Settings
from dream.store.history import History, StalePosition


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
        summariser = Summariser(self._model, self._settings, self._folder, self._report)
        items = (summariser.item(place, message) for place, message in numbered)
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
