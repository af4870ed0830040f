"""What search looks up: tables of its own in the workspace's index, which hold terms and places, never a text.

A search first takes in what is new: messages from where their file was left, entries from the last cursor. What no
longer fits what it was made of is built anew. Where the index can't be used (a workspace that may only be read),
the tables live in memory for as long as the search.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dream.errors import WorkspaceError
from dream.history import messages
from dream.history.messages import KeptMessage, Messages
from dream.recall.terms import marks, own_facts, terms
from dream.workspace import index
from dream.workspace.files import opened

if TYPE_CHECKING:
    from dream.history.history import History
    from dream.models import Entry
    from dream.recall.prompt import Kept

BATCH = 500  # documents indexed at a time, so that other processes don't wait long
MESSAGE, ENTRY = 0, 1  # kinds of documents
FIRST = (0, 1 << 40, 1 << 41)  # the number of the first document of each kind, and the end
PART = 1 << 15  # documents in a part: a document's place in its part takes two bytes
END = FIRST[-1]
POSTINGS = 100_000  # looked at for one query; of the terms beyond, the commonest, only the best documents are asked
SLACK = 8  # times as many documents as are wanted are looked at with their lengths
LONGEST = 255  # terms; a longer document counts as so long
LAST_DAY = (1 << 16) - 1  # the last day that can be stored
UNIX_DAY = date(1970, 1, 1).toordinal() - 1
HISTORY = "history"  # the name of the source that entries come from
LOG = "log"  # the document of the index that says what the log was when all of it was taken in
K1, B = 1.0, 0.5  # BM25
AGENTS = ("assistant", "tool", "system")  # who state nothing about themselves
# Prefixes of terms that are not words (session, agent, speaker, place); no word begins with these.
IN_SESSION, OF_SOURCE, BY_SPEAKER, OF_ONESELF, REREADS, IN_PLACE = "\1", "\2", "\3", "\4", "\5", "\6"

_DOC = "id, recall_doc.session, position, file, start, day, speaker, marks"
_BEGUN = "SELECT id FROM recall_session WHERE key >= ? AND key < ? || char(1114111) LIMIT 2"
Days = tuple[int | None, int | None]


class Found(NamedTuple):
    """A document that was found: a tuple, for hundreds are made for a query.

    `score` is BM25's, the higher the better; `held` are the terms asked for in it. A message stands at `position` of
    `session`, in the line of the messages' file `file` that begins at `start`; of an entry `position` is its cursor.
    `marks` tell what a message is, as `terms.marks` does.
    """

    number: int
    session: int | None
    position: int
    file: int
    start: int
    day: int | None
    speaker: str | None
    marks: int
    score: float = 0.0
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Document:
    """A document to index: a message or an entry, its position, its terms, and what else it can be found by."""

    kind: int
    key: str | None
    position: int
    file: int
    start: int
    day: int | None
    speaker: str | None
    marks: int
    terms: list[str]
    filed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """The next part of a source, which was read up to `before`; `last` is the end of the part's last line."""

    name: str
    before: int
    after: int
    last: bytes
    documents: Sequence[_Document]


@contextmanager
def caught_up(history: History) -> Iterator[SearchIndex]:
    """Open the index of a history for the block, updated with new messages and entries.

    If indexed text has changed since, the index is rebuilt.
    """
    opened = SearchIndex(history.index, history.messages)
    opened.catch_up(history)
    yield opened


class SearchIndex:
    """The tables for the history of one workspace, and its messages, or those that a hook at a prompt reads."""

    def __init__(self, base: index.Index, messages: Messages | Kept) -> None:
        self._messages = messages
        self._base = base

    def catch_up(self, history: History) -> None:
        """Take in what is new in history and messages; a log that is as it was the last time is not read."""
        log = _stamp(history)
        same = log is not None and self._base.document(LOG) == log
        following, known = _following(history), same
        while (part := _next(history, self._read(history, known=known), following, same=same)) is not None:
            known = True  # the log was compared at the first part
            if self._base.change(partial(_take_in, part=part)) is None:
                raise WorkspaceError("The index of search can't be made, neither on disk nor in memory.")
        if not same:
            self._base.keep(**{LOG: log})

    def _read(self, history: History, *, known: bool) -> Mapping[str, tuple[int, bytes]]:
        """Return how far each source was read, and how its last line ends; nothing if a source was changed."""
        found = {name: (read, last) for name, read, last in self._rows("SELECT name, read, last FROM recall_source")}
        if all((known and name == HISTORY) or _fits(history, name, *end) for name, end in found.items()):
            return found
        self._base.change(_empty)
        return {}

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds; nothing before anything was taken in."""
        if not self._base.rows("SELECT 1 FROM sqlite_master WHERE name = 'recall_term'"):
            return []
        return self._base.rows(query, *values) or []

    def counts(self, asked: Iterable[str]) -> dict[str, int]:
        """Return how many documents hold each of the terms; those that none does are left out."""
        some = list(asked)
        marks = ", ".join("?" * len(some))
        query = f"SELECT term, sum(length(docs)) / 2 FROM recall_term WHERE term IN ({marks}) GROUP BY term"
        return dict(self._rows(query, *some))

    def matches(
        self,
        weights: Mapping[str, float],
        kind: int,
        limit: int,
        days: Days = (None, None),
        within: Sequence[str] = (),
        among: Sequence[str] = (),
    ) -> list[Found]:
        """Return the documents of a kind that hold any of the terms, the best `limit` by BM25, best first.

        How often one holds a term doesn't count, only that it does. They lie between two days and are filed under all
        of `within`, and under any of `among`, if there are some.
        """
        terms = sorted(weights, key=lambda one: -weights[one])
        looked = self._places(terms, kind)
        held: dict[int, dict[int, int]] = {}  # for each part a bit set of the terms that its documents contain
        late: list[str] = []  # terms of which only the best documents are asked
        narrowed = bool(within or among) or days != (None, None)
        left = END if within or among else POSTINGS
        rest, least = sum(weights.values()), 0.0
        for at, term in enumerate(terms):
            left -= sum(map(len, looked[term].values()))
            if left < 0 and held:
                late.append(term)
                continue
            if rest <= least and not narrowed and sum(map(len, held.values())) >= SLACK * limit:
                _add_to(held, looked[term], 1 << at)  # who holds no term before this has more than enough above it
            else:
                for part, places in looked[term].items():
                    _add(held.setdefault(part, {}), places, 1 << at)
            rest, least = rest - weights[term], weights[term]
        for filed in self._places(within, kind).values():
            held = {part: _only(some, filed.get(part, ())) for part, some in held.items()}
        if among:
            filed_in = self._places(among, kind).values()
            held = {
                part: _only(some, [*chain(*(one.get(part, ()) for one in filed_in))]) for part, some in held.items()
            }
        sums = _SetWeights(terms, weights)
        best = heapq.nlargest(limit, self._normalised(held, kind, days, sums, sums.cut(held, limit)))
        found: list[tuple[float, int, frozenset[str]]] = []
        for score, number in best:
            part, place = divmod(number, PART)
            more = [term for term in late if _holds(looked[term].get(part, ()), place)]
            own = sums.terms(held[part][place]).union(more)
            found.append((score + sum(weights[term] for term in more), number, own))
        if late:
            found.sort(key=lambda one: one[:2], reverse=True)
        documents = {one.number: one for one in self.numbered(number for _, number, _ in found)}
        return [
            documents[number]._replace(score=score, held=own) for score, number, own in found if number in documents
        ]

    def holding(self, terms: Sequence[str]) -> dict[str, list[Found]]:
        """Return the messages that hold each of the terms, which have to be rare."""
        places = {
            term: [part * PART + place for part, some in parts.items() for place in some]
            for term, parts in self._places(terms, MESSAGE).items()
        }
        documents = {one.number: one for one in self.numbered({at for some in places.values() for at in some})}
        return {term: [documents[at] for at in some if at in documents] for term, some in places.items()}

    def _places(self, terms: Sequence[str], kind: int) -> dict[str, dict[int, Sequence[int]]]:
        """Return the positions, in each part, of the documents that contain each of the terms."""
        found: dict[str, dict[int, Sequence[int]]] = {term: {} for term in terms}
        marks = ", ".join("?" * len(terms))
        query = f"SELECT term, part, docs FROM recall_term WHERE term IN ({marks}) AND part >= ? AND part < ?"
        for term, part, docs in self._rows(query, *terms, *_parts(kind)) if terms else ():
            found[term][part] = array("H", docs)
        return found

    def _normalised(
        self, held: Mapping[int, Mapping[int, int]], kind: int, days: Days, sums: _SetWeights, cut: float
    ) -> list[tuple[float, int]]:
        """Return each document's score, set right for its length, and its number; only of those between two days."""
        mean = self._mean(kind)
        norms = [(K1 + 1) / (1 + K1 * (1 - B + B * length / mean)) for length in range(LONGEST + 1)]
        all_days = days == (None, None)
        first, last = (None if day is None else _packed(day) for day in days)
        inside = range(first or 1, (last or LAST_DAY) + 1)
        enough = {bits: score for bits, score in sums.known.items() if score >= cut or not all_days}
        found: list[tuple[float, int]] = []
        told = "NULL" if all_days else "days"
        query = f"SELECT part, lengths, {told} FROM recall_part WHERE part >= ? AND part < ?"
        for part, lengths, packed in self._rows(query, *_parts(kind)):
            base, some = part * PART, held.get(part, {})
            if packed is not None:
                day = array("H", packed)
                some = {at: bits for at, bits in some.items() if day[at] in inside}
            found += [(enough[bits] * norms[lengths[at]], base + at) for at, bits in some.items() if bits in enough]
        return found

    def _mean(self, kind: int) -> float:
        """Return how many terms a document has on an average, by the oldest part, for it moves slowly."""
        query = "SELECT lengths FROM recall_part WHERE part >= ? AND part < ? LIMIT 1"
        some = next((lengths for (lengths,) in self._rows(query, *_parts(kind))), b"")
        return max(1.0, sum(some) / max(1, len(some)))

    def said(self, found: Found) -> KeptMessage | None:
        """Return the message of a document."""
        path = self._messages.folder / f"{found.file // 12:04}-{found.file % 12 + 1:02}.jsonl"
        return self._messages.at(path, found.start)

    def near(self, places: Iterable[tuple[int | None, int, int]]) -> list[list[Found]]:
        """Return for each (session, first, last) the messages at these positions, both included, in order."""
        asked = [(at, *place) for at, place in enumerate(places)]
        found: list[list[Found]] = [[] for _ in asked]
        values = ", ".join("(?, ?, ?, ?)" for _ in asked)
        query = (
            f"WITH asked (at, session, first, last) AS (VALUES {values}) SELECT at, {_DOC} FROM asked CROSS JOIN"
            " recall_doc ON recall_doc.session = asked.session AND position BETWEEN first AND last AND id < ?"
            " ORDER BY position"
        )
        for at, *row in self._rows(query, *(value for one in asked for value in one), FIRST[ENTRY]) if asked else ():
            found[at].append(Found(*row))
        return found

    def between(self, session: str, first: int, last: int) -> list[Found]:
        """Return the messages of a session from position `first` to `last`, both included, in order.

        A beginning of its key that no other has names it too.
        """
        exact = self._rows("SELECT id FROM recall_session WHERE key = ?", session)
        rows = exact or self._rows(_BEGUN, session, session)
        if len(rows) > 1:
            return []
        return [one for some in self.near((number, first, last) for (number,) in rows) for one in some]

    def on_days(self, first: int, last: int, limit: int) -> list[Found]:
        """Return the newest messages of the days from `first` to `last`."""
        query = f"SELECT {_DOC} FROM recall_doc WHERE day BETWEEN ? AND ? AND id < ? ORDER BY day DESC, id DESC LIMIT ?"
        return [Found(*row) for row in self._rows(query, first, last, FIRST[ENTRY], limit)]

    def short(self, key: str, least: int) -> str:
        """Return the shortest beginning of a session's key that no other has, with `least` characters of its id."""
        for length in range(key.find(":") + 1 + least, len(key)):
            if len(self._rows(_BEGUN, key[:length], key[:length])) < 2:
                return key[:length]
        return key

    def has_messages(self, session: int) -> bool:
        """Return whether messages of a session are kept, by its number."""
        query = "SELECT 1 FROM recall_doc WHERE session = ? AND id < ? LIMIT 1"
        return bool(self._rows(query, session, FIRST[ENTRY]))

    def change(self, deed: Callable[[sqlite3.Connection], bool]) -> bool | None:
        """Do `deed` in one transaction; None where nothing was changed."""
        return self._base.change(deed)

    def numbered(self, numbers: Iterable[int]) -> list[Found]:
        """Return the documents of these numbers that there are."""
        asked = ", ".join(map(str, numbers))
        return [Found(*row) for row in self._rows(f"SELECT {_DOC} FROM recall_doc WHERE id IN ({asked})")]

    def without_vector(self, limit: int) -> list[Found]:
        """Return the first messages that have no vector."""
        query = (
            f"SELECT {_DOC} FROM recall_doc WHERE id >= (SELECT coalesce(max(doc), -1) + 1 FROM recall_digest)"
            " AND id < ? ORDER BY id LIMIT ?"
        )
        return [Found(*row) for row in self._rows(query, FIRST[ENTRY], limit)]

    def vectors(self, digests: Iterable[bytes]) -> list[bytes]:
        """Return those of the digests of texts that there are vectors of."""
        some = list(digests)
        marks = ", ".join("?" * len(some))
        return [row[0] for row in self._rows(f"SELECT digest FROM recall_vector WHERE digest IN ({marks})", *some)]

    def vectors_of(self, numbers: Iterable[int]) -> list[tuple[int, bytes]]:
        """Return the vectors of messages, by their numbers, of those that have one."""
        query = "SELECT doc, vector FROM recall_digest JOIN recall_vector USING (digest) WHERE doc IN ({})"
        return [(number, vector) for number, vector in self._rows(query.format(", ".join(map(str, numbers))))]

    def sketches(self) -> list[tuple[int, bytes]]:
        """Return the sketches of the messages' vectors, by their part."""
        return [(part, data) for part, data in self._rows("SELECT part, data FROM recall_sketch")]

    def model(self) -> str:
        """Name the model that the vectors are of; "" where there are none."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'recall_model'"):
            return ""
        return next((name for (name,) in self._rows("SELECT name FROM recall_model")), "")

    def size(self) -> int:
        """Return how many documents there are."""
        return sum(count for (count,) in self._rows("SELECT length(lengths) FROM recall_part"))


def _messages(kept: Messages, path: Path, before: int) -> _Part:
    """Read the next part of a file of messages."""
    year, _, month = path.stem.partition("-")
    file = int(year) * 12 + int(month) - 1
    after, last, documents = before, b"", list[_Document]()
    for start, line in islice(kept.raw(path, before), BATCH):
        after, last = start + len(line) + 1, line[-64:]
        said = messages.decode(line)
        if said is not None and said.text:
            day = said.at.toordinal() if said.at else None
            speaker = (said.name or said.role).casefold()
            own = [OF_ONESELF + fact for fact in own_facts(said.text)] if speaker not in AGENTS else []
            filed = (*_filed(said.session), IN_PLACE + said.place, BY_SPEAKER + said.role, BY_SPEAKER + speaker, *own)
            by = said.role if said.role == "tool" else speaker  # who says "bash" or "read" names no tool
            documents.append(
                _Document(
                    *(MESSAGE, said.session, said.position, file, start, day, by, marks(said.text)),
                    terms(said.text),
                    filed,
                )
            )
    return _Part(path.name, before, after, last, documents)


def _fits(history: History, name: str, read: int, last: bytes) -> bool:
    if name == HISTORY:
        return read <= history.last_cursor()
    return _ends_with(history.messages.folder / name, read, last)


def _stamp(history: History) -> list[int] | None:
    """Return a fingerprint of the log and its archive: inode, size in bytes and time in ns."""
    folder = history.path.parent / "archive"
    with suppress(OSError):
        status = history.path.stat()
        return [status.st_ino, status.st_size, status.st_mtime_ns, folder.stat().st_mtime_ns if folder.is_dir() else 0]
    return None


def _following(history: History) -> Callable[[int], list[Entry]]:
    """Return a function for the next entries above a cursor; called with the last one it gave, it reads on there."""
    at = -1
    found: Iterator[Entry] = iter(())

    def take(cursor: int) -> list[Entry]:
        nonlocal at, found
        if cursor != at:
            found = history.after(cursor)
        taken = list(islice(found, BATCH))
        at = taken[-1].cursor if taken else at
        return taken

    return take


def _next(
    history: History, read: Mapping[str, tuple[int, bytes]], following: Callable[[int], list[Entry]], *, same: bool
) -> _Part | None:
    for path in history.messages.paths():
        part = _messages(history.messages, path, read.get(path.name, (0, b""))[0])
        if part.after > part.before:
            return part
    if same and HISTORY in read:
        return None
    before = read.get(HISTORY, (0, b""))[0]
    entries = following(before)
    documents = [
        _Document(
            *(ENTRY, one.session, one.cursor, 0, 0, one.when.toordinal(), None, 0),
            terms(one.content),
            (*_filed(one.session), IN_PLACE + one.place, *(f"{REREADS}{cursor}" for cursor in one.rereads)),
        )
        for one in entries
        if (one.content or one.rereads) and not one.unconfirmed  # an empty one replaces others all the same
    ]
    return _Part(HISTORY, before, entries[-1].cursor, b"", documents) if entries else None


def _take_in(db: sqlite3.Connection, part: _Part) -> bool:
    """Write a part, unless somebody else has."""
    _make(db)
    known = db.execute("SELECT read FROM recall_source WHERE name = ?", (part.name,)).fetchone()
    if (known[0] if known else 0) != part.before:
        return True
    if part.documents:
        _file(db, part.documents)
    db.execute("INSERT OR REPLACE INTO recall_source VALUES (?, ?, ?)", (part.name, part.after, part.last))
    return True


def _file(db: sqlite3.Connection, documents: Sequence[_Document]) -> None:
    """Write documents, all of one kind, and where their terms are."""
    kind = documents[0].kind
    query = "SELECT max(id) FROM recall_doc WHERE id >= ? AND id < ?"
    newest = db.execute(query, FIRST[kind : kind + 2]).fetchone()[0]
    first = FIRST[kind] if newest is None else newest + 1
    rows: list[tuple[object, ...]] = []
    postings: dict[tuple[str, int], array[int]] = {}
    parts: dict[int, tuple[bytearray, array[int]]] = {}
    sessions = {key: _session(db, key) for key in dict.fromkeys(one.key for one in documents)}
    for number, one in enumerate(documents, first):
        part, place = divmod(number, PART)
        where = (one.position, one.file, one.start)
        rows.append((number, sessions[one.key], *where, one.day, one.speaker, one.marks))
        for term in {*one.terms, *one.filed}:
            postings.setdefault((term, part), array("H")).append(place)
        lengths, days = parts.setdefault(part, (bytearray(), array("H")))
        lengths.append(min(len(one.terms), LONGEST))
        days.append(0 if one.day is None else _packed(one.day))
    db.executemany("INSERT INTO recall_doc VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.executemany(
        "INSERT INTO recall_term VALUES (?, ?, ?) ON CONFLICT (term, part)"
        " DO UPDATE SET docs = CAST(docs || excluded.docs AS BLOB)",
        [(*key, postings[key].tobytes()) for key in sorted(postings)],
    )
    db.executemany(
        "INSERT INTO recall_part VALUES (?, ?, ?) ON CONFLICT (part) DO UPDATE SET"
        " lengths = CAST(lengths || excluded.lengths AS BLOB), days = CAST(days || excluded.days AS BLOB)",
        [(part, bytes(lengths), days.tobytes()) for part, (lengths, days) in parts.items()],
    )


def _session(db: sqlite3.Connection, key: str | None) -> int | None:
    if key is None:
        return None
    db.execute("INSERT OR IGNORE INTO recall_session (key) VALUES (?)", (key,))
    return int(db.execute("SELECT id FROM recall_session WHERE key = ?", (key,)).fetchone()[0])


def _make(db: sqlite3.Connection) -> None:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'recall_term'").fetchone():
        for statement in index.RECALL_TABLES:
            db.execute(statement)


def _empty(db: sqlite3.Connection) -> bool:
    for table in ("source", "session", "doc", "part", "term", "digest", "sketch"):
        db.execute(f"DELETE FROM recall_{table}")
    return True


def _filed(session: str | None) -> tuple[str, ...]:
    """Return the index terms of a session and of the agent that its key begins with."""
    return () if session is None else (IN_SESSION + session, OF_SOURCE + session.partition(":")[0])


def _parts(kind: int) -> tuple[int, int]:
    return FIRST[kind] // PART, FIRST[kind + 1] // PART


def _packed(day: int) -> int:
    """Return a day in two bytes, 0 for none."""
    return min(max(day - UNIX_DAY, 1), LAST_DAY)


class _SetWeights:
    """What each set of terms, as bits, weighs together."""

    def __init__(self, terms: Sequence[str], weights: Mapping[str, float]) -> None:
        self._names = terms
        self._weights = weights
        self._sets: dict[int, frozenset[str]] = {}
        self.known: dict[int, float] = {}

    def terms(self, bits: int) -> frozenset[str]:
        """Return the terms of a set."""
        if bits not in self._sets:
            self._sets[bits] = frozenset(name for at, name in enumerate(self._names) if bits >> at & 1)
        return self._sets[bits]

    def cut(self, held: Mapping[int, Mapping[int, int]], limit: int) -> float:
        """Weigh all that are held, and return what a document needs.

        There are enough above it, and who holds a very rare term has it.
        """
        counts = Counter[int]()
        for some in held.values():
            counts.update(some.values())
        for bits in counts:
            self.known[bits] = sum(self._weights[name] for at, name in enumerate(self._names) if bits >> at & 1)
        left, cut = SLACK * limit, 0.0
        for bits in sorted(counts, key=lambda one: -self.known[one]):
            cut = self.known[bits]
            left -= counts[bits]
            if left <= 0:
                break
        return min(cut, max(self._weights.values(), default=0.0))


def _add(held: dict[int, int], places: Sequence[int], bit: int) -> None:
    """Note that the documents at `places` hold one more term: in C, but for those that hold another too."""
    new = dict.fromkeys(places, bit)
    for at in held.keys() & new.keys():
        new[at] |= held[at]
    held.update(new)


def _add_to(held: Mapping[int, dict[int, int]], places: Mapping[int, Sequence[int]], bit: int) -> None:
    """Note which of the documents that are held already hold one more term."""
    for part, some in held.items():
        for at in some.keys() & places.get(part, ()):
            some[at] |= bit


def _only(held: Mapping[int, int], places: Sequence[int]) -> dict[int, int]:
    wanted = set(places)
    return {at: bits for at, bits in held.items() if at in wanted}


def _holds(places: Sequence[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def _ends_with(path: Path, read: int, last: bytes) -> bool:
    """Return whether the line that ends at `read` ends with `last`."""
    with suppress(OSError), opened(path) as descriptor:
        return os.pread(descriptor, len(last) + 1, max(0, read - len(last) - 1)) == last + b"\n"
    return False
