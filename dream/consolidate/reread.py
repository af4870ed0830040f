"""Reading again: the kept messages of old entries become new entries by the model that is set now.

Nothing old is edited. A new entry lists in `rereads` the entries that it replaces; until it is appended, they count.
What was read again can be read again once more: the newest reading of a message counts, and is what is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path

from dream.consolidate import cut
from dream.consolidate.summariser import CHUNK_TOKENS, Patience, Stuck, Summariser
from dream.history.history import History
from dream.history.messages import KeptMessage
from dream.llm import Model
from dream.models import Diagnostic, Entry, Message, Report
from dream.provenance.speakers import speakers
from dream.reports import Usage
from dream.settings import Settings
from dream.text.tokens import estimate
from dream.workspace.files import read_note, write_note

NOTE = "reread.json"  # in .dream/, while a rereading is under way


@dataclass(frozen=True, slots=True)
class Rereading:
    """What is to be read again: messages since a day, in these places but not in those, by their ids.

    Without `places` it is all of them; "" stands for messages of no place. `model` is the one that it was started with:
    entries that it wrote are left out, unless `again`. `upto` is the last cursor of history when it was started, 0
    before that: what is appended later is no part of it. `batch` is the id that the commits of its dreams share.
    """

    since: date | None = None
    places: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    model: str = ""
    again: bool = False
    upto: int = 0
    batch: str = ""

    def wants(self, entries: Sequence[Entry]) -> bool:
        """Return whether entries that were appended together are to be read again."""
        return all(map(self._covers, entries)) and (self.again or not all(map(self._is_own, entries)))

    def continues(self, other: Rereading) -> bool:
        """Return whether this rereading, which is under way, is the one that is asked for."""
        scope = (self.since, self.places, self.without, self.model)
        return scope == (other.since, other.places, other.without, other.model) and self.again >= other.again

    def _covers(self, entry: Entry) -> bool:
        said = self.since is None or entry.when.date() >= self.since
        placed = entry.place not in self.without and (not self.places or entry.place in self.places)
        return said and placed and not 0 < self.upto < entry.cursor

    def _is_own(self, entry: Entry) -> bool:
        """Return whether the model wrote an entry, or no model was needed because it is empty."""
        return entry.model == self.model if entry.model else entry.kind == "nothing"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries of one session that follow each other and are read again as one, with their messages."""

    session: str
    place: str
    entries: tuple[Entry, ...]
    messages: Mapping[int, Message]

    @property
    def span(self) -> range:
        """The positions of its messages."""
        return _span(self.entries)


@dataclass(frozen=True, slots=True)
class Share:
    """What would be read again of one place: sessions, messages, and an estimate of their tokens."""

    place: str
    sessions: int
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Reread:
    """The result of one stretch of `session`. `left` says that its old entries stay: no summary was usable."""

    session: str
    entries: tuple[Entry, ...] = ()
    messages: int = 0
    left: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class _Appended:
    """The cursors of entries that were appended together, which are read again together.

    `kept` counts the messages that were kept with them, or with the entries that they replaced.
    """

    first: int  # position of its first message in the session
    mark: tuple[datetime, tuple[int, ...]]  # when it was appended, and what it replaced
    cursors: list[int]
    kept: int
    is_whole: bool = False  # the next entry belongs to another append


def noted(private: Path) -> Rereading | None:
    """Return the rereading that is under way; None if there is none."""
    row = read_note(private / NOTE)
    try:
        return Rereading(
            date.fromisoformat(row["since"]) if row["since"] else None,
            tuple(row["places"]),
            tuple(row["without"]),
            str(row.get("model", "")),
            bool(row.get("again", False)),
            int(row.get("upto", 0)),
            str(row["batch"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def note(private: Path, wanted: Rereading) -> None:
    """Record the rereading, so that the next night can continue it."""
    row = asdict(wanted) | {"since": wanted.since.isoformat() if wanted.since else ""}
    write_note(private / NOTE, row)


def over(private: Path) -> None:
    """Record that no rereading is under way."""
    (private / NOTE).unlink(missing_ok=True)


def stretches(history: History, wanted: Rereading, most: int = CHUNK_TOKENS) -> Iterator[Stretch]:
    """Yield what is to be read again, session after session, each stretch of about `most` tokens.

    An entry with a message that is no longer in memory/messages/ is left as it is.
    """
    for session, readings in _newest(history).items():
        yield from _joined(_of_session(history, session, readings, wanted), most)


def _newest(history: History) -> dict[str, list[_Appended]]:
    """Return the newest reading of every message: for each session, in the order of its messages."""
    found: dict[str, list[_Appended]] = {}
    kept: dict[int, int] = {}  # cursor → how many messages were kept with it, or with what it replaced
    replaced: set[int] = set()
    for entry in history.after(0):
        replaced.update(entry.rereads)
        if entry.session is None or entry.span is None:
            continue
        readings, mark = found.setdefault(entry.session, []), (entry.at, entry.rereads)
        if not readings or readings[-1].is_whole or readings[-1].mark != mark:
            count = sum(kept.pop(cursor, 0) for cursor in entry.rereads)
            readings.append(_Appended(entry.span[0], mark, [], count))
        last = readings[-1]
        last.cursors.append(entry.cursor)
        last.kept += entry.kept
        last.is_whole = bool(entry.kept)
        kept[entry.cursor] = entry.kept if len(last.cursors) > 1 else last.kept
    return {
        session: sorted((one for one in readings if replaced.isdisjoint(one.cursors)), key=lambda one: one.first)
        for session, readings in found.items()
    }


def _of_session(history: History, session: str, readings: Iterable[_Appended], wanted: Rereading) -> Iterator[Stretch]:
    for reading in readings:
        entries = tuple(history.numbered(reading.cursors))
        if entries and wanted.wants(entries):
            before = bool(entries[0].rereads)
            kept = history.messages.of(session, _span(entries), entries[-1].at, before=before)
            if _is_whole(entries, kept, reading.kept):
                yield Stretch(session, entries[0].place, entries, {one.position: _message(one) for one in kept})


def _span(entries: Iterable[Entry]) -> range:
    spans = [entry.span for entry in entries if entry.span is not None]
    return range(min(first for first, _ in spans), max(end for _, end in spans))


def _is_whole(entries: Sequence[Entry], kept: Sequence[KeptMessage], count: int) -> bool:
    """Return whether all messages of the entries are there, of which history says that there were `count`."""
    cited = {position for entry in entries for line in entry.lines for position in line.cites}
    there = {one.position for one in kept}
    return bool(kept) and cited <= there and len(there) >= count


def _message(kept: KeptMessage) -> Message:
    role = kept.role if kept.role in ("user", "assistant", "tool") else "user"
    return Message(role, kept.text, kept.at, kept.name, ran=kept.ran)  # type: ignore[arg-type]


def _joined(found: Iterable[Stretch], most: int) -> Iterator[Stretch]:
    """Join stretches that follow each other in one place, up to `most` tokens: many nights wrote little each."""
    last: Stretch | None = None
    for one in found:
        if last is not None and (
            last.span.stop == one.span.start and last.place == one.place and _tokens(last) + _tokens(one) <= most
        ):
            last = replace(last, entries=last.entries + one.entries, messages={**last.messages, **one.messages})
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _tokens(stretch: Stretch) -> int:
    return sum(estimate(message.content) for message in stretch.messages.values())


def shares(found: Iterable[Stretch]) -> list[Share]:
    """Add up, by place, what would be read again."""
    by_place: dict[str, list[tuple[str, int, int]]] = {}
    for one in found:
        by_place.setdefault(one.place, []).append((one.session, len(one.messages), _tokens(one)))
    return [
        Share(place, len({key for key, _, _ in rows}), sum(count for _, count, _ in rows), sum(row[2] for row in rows))
        for place, rows in by_place.items()
    ]


def read_again(
    history: History,
    wanted: Rereading,
    model: Model,
    settings: Settings,
    *,
    now: datetime,
    folder: Path | None = None,
    report: Report | None = None,
    before: Callable[[str], None] = lambda session: None,
) -> Iterator[Reread]:
    """Summarise each stretch anew and append the new entries, all of a stretch or none; yield what it came to.

    `before` is called with the session before each stretch. Raises SpendingLimit and ModelInaccessible: then the
    stretch stays as it was.
    """
    patience, stuck = Patience(), Stuck(history.private)
    for stretch in stretches(history, wanted):
        before(stretch.session)
        summariser = Summariser(
            stretch.session,
            model,
            settings,
            folder=folder,
            patience=patience,
            stuck=stuck,
            report=None,
            can_wait=True,
            people=cache(partial(_people, stretch)),
            now=now,
        )
        one = _read(history, stretch, summariser, wanted.batch, now)
        if one.left and report is not None:
            report(Diagnostic(stretch.session, 0, "keeps its old entries: no model gave a usable summary"))
        yield one


def _people(stretch: Stretch) -> frozenset[str]:
    return speakers(list(stretch.messages.values()))


def _read(history: History, stretch: Stretch, summariser: Summariser, batch: str, now: datetime) -> Reread:
    items = [summariser.item(at, stretch.messages.get(at, Message("user", ""))) for at in stretch.span]
    groups = [group for chunk in cut.chunks(items, summariser.budget) for group in summariser.batches(chunk)]
    new = [entry for group in groups for entry in group.entries]
    usage = sum((group.usage for group in groups), Usage())
    if any(entry.kind == "raw" for entry in new):
        return Reread(stretch.session, left=True, usage=usage)
    cursors = tuple(entry.cursor for entry in stretch.entries)
    known = [replace(entry, place=stretch.place, rereads=cursors, batch=batch, ids="", prefix="") for entry in new]
    return Reread(stretch.session, tuple(history.append(known, now=now)), len(stretch.messages), usage=usage)
