"""Reading again: the kept messages of old entries become new entries by the model that is set now.

Nothing old is edited. A new entry says in `rereads` whose place it takes; until it is appended, the old ones count. So
a reading that was stopped goes on with the entries that nothing has taken the place of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path

from dream.consolidate import cut
from dream.consolidate.cut import Item
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
    """What is to be read again: what was said since a day, in these places but not in those, by their ids.

    No place at all is all of them; "" is what was said nowhere in particular. `batch` is the id that its commits share.
    """

    since: date | None = None
    places: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    batch: str = ""

    def holds(self, entry: Entry) -> bool:
        """Return whether an entry is to be read again, by its day and place."""
        said = self.since is None or entry.when.date() >= self.since
        return said and entry.place not in self.without and (not self.places or entry.place in self.places)


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
        spans = [entry.span for entry in self.entries if entry.span is not None]
        return range(min(first for first, _ in spans), max(end for _, end in spans))


@dataclass(frozen=True, slots=True)
class Share:
    """What would be read again of one place, and what it comes to: sessions, messages, and about so many tokens."""

    place: str
    sessions: int
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Reread:
    """What one stretch came to. `left` says that the old entries stay: no model gave a usable summary."""

    entries: tuple[Entry, ...] = ()
    messages: int = 0
    left: bool = False
    usage: Usage = field(default_factory=Usage)


def noted(private: Path) -> Rereading | None:
    """Return the rereading that is under way; None where there is none."""
    row = read_note(private / NOTE)
    try:
        since = date.fromisoformat(row["since"]) if row["since"] else None
        return Rereading(since, tuple(row["places"]), tuple(row["without"]), str(row["batch"]))
    except (KeyError, TypeError, ValueError):
        return None


def note(private: Path, wanted: Rereading) -> None:
    """Note what is being read again, for the next night to go on with."""
    row = asdict(wanted) | {"since": wanted.since.isoformat() if wanted.since else ""}
    write_note(private / NOTE, row)


def over(private: Path) -> None:
    """Note that nothing is being read again any more."""
    (private / NOTE).unlink(missing_ok=True)


def stretches(history: History, wanted: Rereading, most: int = CHUNK_TOKENS) -> Iterator[Stretch]:
    """Yield what is to be read again, session after session, each stretch of about `most` tokens.

    An entry whose messages are not all there any more is left as it is.
    """
    done = history.reread()
    groups: dict[str, list[list[int]]] = {}  # the cursors of what was appended together, which is read again together
    last: dict[str, datetime | None] = {}  # when the group was appended that the next entry may belong to
    for entry in history.after(0):
        if entry.session is not None and entry.span is not None and not entry.rereads:
            if last.get(entry.session) != entry.at:
                groups.setdefault(entry.session, []).append([])
            groups[entry.session][-1].append(entry.cursor)
            last[entry.session] = None if entry.kept else entry.at
    for session, cursors in groups.items():
        yield from _joined(_of_session(history, session, cursors, wanted, done), most)


def _of_session(
    history: History, session: str, groups: Iterable[Sequence[int]], wanted: Rereading, done: Set[int]
) -> Iterator[Stretch]:
    for group in groups:
        entries = tuple(history.numbered(group))
        if done.isdisjoint(group) and entries and all(map(wanted.holds, entries)):
            stretch = Stretch(session, entries[0].place, entries, {})
            kept = history.messages.of(session, stretch.span, entries[-1].at)
            if _is_whole(entries, kept):
                yield replace(stretch, messages={one.position: _message(one) for one in kept})


def _is_whole(entries: Sequence[Entry], kept: Sequence[KeptMessage]) -> bool:
    """Return whether all messages of the entries are there, as far as history says how many there were."""
    cited = {position for entry in entries for line in entry.lines for position in line.cites}
    there = {one.position for one in kept}
    return bool(kept) and cited <= there and len(there) >= sum(entry.kept for entry in entries)


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
    found: Iterable[Stretch],
    model: Model,
    settings: Settings,
    *,
    now: datetime,
    folder: Path | None = None,
    report: Report | None = None,
    before: Callable[[str], None] = lambda session: None,
) -> Iterator[Reread]:
    """Summarise each stretch anew and append what comes of it, whole or not at all; yield what it came to.

    `before` is called with the session before each stretch. Raises SpendingLimit and ModelInaccessible: then the
    stretch stays as it was.
    """
    patience = Patience()
    for stretch in found:
        before(stretch.session)
        yield _read(history, stretch, model, settings, now, folder, report, patience)


def _read(
    history: History,
    stretch: Stretch,
    model: Model,
    settings: Settings,
    now: datetime,
    folder: Path | None,
    report: Report | None,
    patience: Patience,
) -> Reread:
    summariser = Summariser(
        stretch.session,
        model,
        settings,
        folder=folder,
        patience=patience,
        stuck=Stuck(history.private),
        report=None,
        can_wait=True,
        people=cache(lambda: speakers(list(stretch.messages.values()))),
        now=now,
    )
    items = [_item(summariser, stretch, position) for position in stretch.span]
    groups = [group for chunk in cut.chunks(items, summariser.budget) for group in summariser.batches(chunk)]
    new = [entry for group in groups for entry in group.entries]
    usage = sum((group.usage for group in groups), Usage())
    cursors = tuple(entry.cursor for entry in stretch.entries)
    if any(entry.kind == "raw" for entry in new):
        if report is not None:
            report(Diagnostic(stretch.session, 0, "is left as it was read before: no model gave a usable summary"))
        return Reread(left=True, usage=usage)
    known = [replace(entry, place=stretch.place, rereads=cursors, ids="", prefix="") for entry in new]
    return Reread(tuple(history.append(known, now=now)), len(stretch.messages), usage=usage)


def _item(summariser: Summariser, stretch: Stretch, position: int) -> Item:
    return summariser.item(position, stretch.messages.get(position, Message("user", "")))
