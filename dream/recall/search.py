"""Search: what memory, history and messages say of a query, best first, each with a citation that can be opened.

Any of the words counts, not all. A message is judged with the turns around it and the session it stands in, for an
answer seldom repeats the words of its question; BM25 is Robertson's, by one inverse document frequency for all kinds,
so that their scores can be compared. The weights were chosen on LoCoMo's five development conversations.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Literal

from dream.errors import UsageError
from dream.language.text import mend_surrogates
from dream.language.words import content_words, without_said_on, words
from dream.recall.index import ENTRY, MESSAGE, Found, Index
from dream.recall.terms import CHARS, terms

if TYPE_CHECKING:
    from dream.history.messages import KeptMessage
    from dream.models import Entry
    from dream.workspace.workspace import Workspace

HitKind = Literal["memory", "history", "message"]
KINDS: tuple[HitKind, ...] = ("memory", "history", "message")

K1, B = 1.0, 0.5  # BM25
CANDIDATES = 400  # documents that are looked at closely
NEAR = 80  # of them, those whose neighbours are
AROUND = {-2: 0.2, -1: 0.5, 1: 0.33, 2: 0.15}  # what a neighbour's score adds, by its distance
SESSION, NEXT = 0.4, 0.65  # what the session's best messages add, each less than the one before
NAMED = 4.0  # what it adds that the speaker is named in the query
BESIDE = 0.4  # of the best score, that a message needs which holds none of the words itself
MEMORY = 2.0  # what a line of memory counts beside a message: somebody thought it worth keeping
RARE = 5  # documents in which an exact word stands that must be among the first FIRST hits
FIRST = 5
LISTED = 300  # characters of a hit's text in a list
RECALLED = 30  # hits that are looked at for a context
HEADING = 16  # tokens above them
TWICE = 0.8  # of a hit's words that stand in one before it: then it is told already
LONGEST = 80  # characters of a citation that an error repeats
QUERY = 64  # terms of a query that are looked for, its rarest
COMMON = 0.25  # of all documents that hold a term: it tells nothing where others do
ROLES = {"user", "assistant", "system", "tool"}  # no names: nobody is named by them

ASKING = frozenset(  # what asks, and tells nothing itself
    ["when", "where", "how", "why", "tell", "remember", "know", "long", "many", "much", "time", "do", "did"]
)

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_MEMORY_CITE = re.compile(r"(?:memory/)?(?P<file>[\w.-]+\.md|archive/[\w.-]+\.md):(?P<line>\d+)")
_ENTRY_CITE = re.compile(r"history:(?P<cursor>\d+)")
_MESSAGE_CITE = re.compile(r"(?P<session>.+)#(?P<position>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found. `cite` opens it: `USER.md:12`, `history:42`, `claude-code:6f1e#118`."""

    kind: HitKind
    text: str
    when: datetime | None
    session: str | None
    speaker: str | None
    cite: str
    score: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for: the terms of a query, and what a hit must be of. Days are included."""

    query: str
    kinds: Collection[HitKind] = KINDS
    since: date | None = None
    until: date | None = None
    session: str | None = None
    source: str | None = None
    speaker: str | None = None

    def has_day(self, day: date | None) -> bool:
        """Return whether a day lies between the two; one that nobody knows does where none is asked for."""
        if day is None:
            return self.since is None and self.until is None
        return (self.since is None or day >= self.since) and (self.until is None or day <= self.until)

    def has_session(self, key: str | None) -> bool:
        """Return whether a session is asked for, itself or by the agent that its key begins with."""
        if self.session is not None and key != self.session:
            return False
        return self.source is None or (key is not None and key.partition(":")[0] == self.source)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a memory file."""

    cite: str
    text: str
    terms: Counter[str]


class Search:
    """One search of a workspace: the index, what the query's terms weigh, and the lines of memory as they stand."""

    def __init__(self, workspace: Workspace, index: Index, wanted: Wanted) -> None:
        self._workspace = workspace
        self._index = index
        self._wanted = wanted
        asked = dict.fromkeys(terms(mend_surrogates(wanted.query[:CHARS])))
        self._asked = [term for term in asked if term not in ASKING] or list(asked)
        self._lines = list(_memory_lines(workspace)) if "memory" in wanted.kinds else []
        self.unheld: frozenset[str] = frozenset()  # terms of the query that stand nowhere
        self.rarest = 0.0  # what one of them would weigh
        self.weights = self._weighed()

    def hits(self, limit: int) -> list[Hit]:
        """Return the best hits, each thing once, those with an exact rare word among the first."""
        found = [*self._memory(), *self._history(), *self._messages(limit)]
        found.sort(key=lambda hit: -hit.score)
        return _once(self._promoted(found), limit)

    def _weighed(self) -> dict[str, float]:
        """Weigh the query's terms by how few documents hold them; those that many do only where no others are."""
        held = Counter(term for line in self._lines for term in set(line.terms) & set(self._asked))
        size = self._index.size() + len(self._lines)
        most = int(max(RARE, COMMON * size))
        counts = {term: self._index.holding(term, most + 1) + held[term] for term in self._asked}
        weights = {term: math.log(1 + (size - count + 0.5) / (count + 0.5)) for term, count in counts.items() if count}
        self.unheld = frozenset(term for term, count in counts.items() if not count)
        self.rarest = math.log(2 * size + 2)
        telling = {term: weight for term, weight in weights.items() if counts[term] <= most}
        best = sorted(telling or weights, key=lambda term: -weights[term])[:QUERY]
        return {term: weights[term] for term in best}

    def _memory(self) -> Iterator[Hit]:
        if self._wanted.session or self._wanted.speaker or self._wanted.source:
            return
        mean = sum(line.terms.total() for line in self._lines) / max(1, len(self._lines))
        for line in self._lines:
            score = self._score(line.terms, mean)
            day = _day_of(line.text)
            if score and self._wanted.has_day(day):
                yield Hit("memory", line.text, _midnight(day), None, None, line.cite, MEMORY * score)

    def _score(self, held: Mapping[str, int], mean: float) -> float:
        length = sum(held.values()) / max(1.0, mean)
        return sum(
            weight * held[term] * (K1 + 1) / (held[term] + K1 * (1 - B + B * length))
            for term, weight in self.weights.items()
            if held.get(term)
        )

    def _history(self) -> Iterator[Hit]:
        """Yield the best line of each entry that holds some of the words."""
        if "history" not in self._wanted.kinds or self._wanted.speaker:
            return
        for found in self._index.matches(list(self.weights), ENTRY, CANDIDATES // 10, self._bounds()):
            for entry in self._workspace.history.between(found.position, found.position):
                if self._wanted.has_session(entry.session):
                    yield self._entry(entry)

    def _entry(self, entry: Entry) -> Hit:
        text, score = self.best_line(entry.content)
        return replace(_of_history(entry), text=text, score=score)

    def best_line(self, content: str) -> tuple[str, float]:
        """Return the line of an entry that says most of the query, and its score."""
        rows = [(row, Counter(terms(row))) for row in content.splitlines() if row.strip()]
        mean = sum(held.total() for _, held in rows) / max(1, len(rows))
        text, score = max(((row, self._score(held, mean)) for row, held in rows), key=lambda one: one[1])
        return _BULLET.sub("", text), score

    def _messages(self, limit: int) -> Iterator[Hit]:
        """Yield the best messages, more than `limit`, for some of them may be told already."""
        if "message" not in self._wanted.kinds:
            return
        found = self._index.matches(list(self.weights), MESSAGE, CANDIDATES, self._bounds())
        own = {one.number for one in found}
        scores = self._judged(found)
        least = BESIDE * max(scores.values(), default=0.0)
        left = 3 * limit
        for place in sorted(scores, key=lambda place: -scores[place]):
            if place.number not in own and scores[place] < least:
                continue
            said = self._said(place)
            if said is None or (said.role == "tool" and place.number not in own):
                continue
            yield Hit("message", said.text, said.at, said.session, said.name or said.role, cite(said), scores[place])
            left -= 1
            if not left:
                return

    def _judged(self, found: Sequence[Found]) -> dict[Found, float]:
        """Score messages and those beside them by their words, their neighbours', their session and their speaker."""
        places = {one.number: one for one in found}
        scores = {one.number: one.score for one in found}
        for one in found[:NEAR]:
            for other in self._index.near(one.session, one.position, max(AROUND)):
                if other.number != one.number and self._inside(other):
                    share = AROUND[one.position - other.position]
                    places.setdefault(other.number, other)
                    scores[other.number] = scores.get(other.number, 0.0) + share * one.score
        sessions = _sessions(found)
        named = set(re.findall(r"\w+", self._wanted.query[:CHARS].casefold())) - ROLES
        return {
            place: scores[number]
            + SESSION * sessions.get(place.session, 0.0)
            + (NAMED if place.speaker and place.speaker.split()[0] in named else 0.0)
            for number, place in places.items()
        }

    def _bounds(self) -> tuple[int | None, int | None]:
        since, until = self._wanted.since, self._wanted.until
        return since.toordinal() if since else None, until.toordinal() if until else None

    def _inside(self, found: Found) -> bool:
        return self._wanted.has_day(date.fromordinal(found.day) if found.day else None)

    def _said(self, found: Found) -> KeptMessage | None:
        """Return the message of a document, where it is one that is asked for."""
        said = self._index.said(found)
        if said is None or not self._wanted.has_session(said.session):
            return None
        asked = self._wanted.speaker
        if asked is not None and asked.casefold() not in (said.role, (said.name or "").casefold()):
            return None
        return said

    def _promoted(self, found: list[Hit]) -> list[Hit]:
        """Let each exact word that next to nothing else holds be among the first hits."""
        rare = [term for term in self.weights if 0 < self._index.holding(term, RARE + 1) <= RARE]
        first = list(found[:FIRST])
        for term in rare:
            if any(term in terms(hit.text) for hit in first):
                continue
            best = next((hit for hit in found[FIRST:] if term in terms(hit.text)), None)
            if best is not None:
                first = [*first[: FIRST - 1], best]
        return [*first, *(hit for hit in found if hit not in first)]


def search(workspace: Workspace, wanted: Wanted, limit: int = 10) -> list[Hit]:
    """Find what a workspace says of a query, best first; what is new is taken in before. No hit is an empty list."""
    index = Index(workspace.history)
    try:
        index.catch_up()
        return Search(workspace, index, wanted).hits(limit)
    finally:
        index.close()


def get(workspace: Workspace, citation: str, *, around: int = 0) -> list[Hit]:
    """Open a citation, with `around` neighbours on each side, in their order.

    Raises UsageError where it is none, or where what it names is not there.
    """
    citation = mend_surrogates(citation)
    shown = citation if len(citation) <= LONGEST else f"{citation[:LONGEST]}…"
    if match := _ENTRY_CITE.fullmatch(citation):
        cursor = int(match["cursor"])
        entries = workspace.history.between(cursor - around, cursor + around)
        if any(entry.cursor == cursor for entry in entries):
            return [_of_history(entry) for entry in entries]
    elif match := _MEMORY_CITE.fullmatch(citation):
        lines = _file_lines(workspace, match["file"])
        at = int(match["line"])
        if 1 <= at <= len(lines):
            name = match["file"]
            near = range(max(1, at - around), min(len(lines), at + around) + 1)
            return [Hit("memory", lines[n - 1], None, None, None, f"{name}:{n}", 0.0) for n in near]
    elif match := _MESSAGE_CITE.fullmatch(citation):
        session, at = match["session"], int(match["position"])
        found = talk(workspace, session, at - around, at + around)
        if any(hit.cite.startswith(session) and hit.cite.endswith(f"#{at}") for hit in found):
            return found
        raise UsageError(f"No message is kept at {shown}; `dream why` may know the entry that it went into.")
    else:
        raise UsageError(f"{shown!r} is no citation; they look like USER.md:12, history:42 or claude-code:6f1e#118.")
    raise UsageError(f"Nothing stands at {shown} (any more).")


def recalled(workspace: Workspace, query: str, known: str, room: int, count: Callable[[str], int]) -> list[str]:
    """Return what earlier conversations say of `query` and `known` doesn't, a cited line each, within `room` tokens."""
    shown: list[str] = []
    held = content_words(known)
    for hit in search(workspace, Wanted(query, ("history", "message")), RECALLED):
        text = " ".join(hit.text.split())
        words = content_words(text)
        if not words or len(words & held) >= TWICE * len(words):
            continue
        line = told(hit, text)
        if sum(count(f"{one}\n") for one in (*shown, line)) + HEADING <= room:
            shown.append(line)
    return shown


def told(hit: Hit, text: str) -> str:
    """Return a hit as one line of a list: who said `text`, its own or a part of it, when, and the citation."""
    when = f" ({hit.when:%-d %B %Y})" if hit.when and without_said_on(text) == text else ""
    return f"- {hit.speaker + ': ' if hit.speaker else ''}{text}{when} [{hit.cite}]"


def excerpt(text: str, query: str) -> str:
    """Return as much of a long text as a list shows, from just before the first word of the query that is in it."""
    if len(text) <= LISTED:
        return text
    found = words_of(query).search(text)
    start = max(0, found.start() - LISTED // 3) if found else 0
    end = start + LISTED
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def words_of(query: str) -> re.Pattern[str]:
    """Return what finds the words of a query in a text, from their beginning."""
    found = [re.escape(word) for word in re.findall(r"[^\W_]{3,}", query)[:QUERY]]
    return re.compile(rf"\b(?:{'|'.join(found)})" if found else r"(?!)", re.IGNORECASE)


def cite(said: KeptMessage) -> str:
    """Return the citation of a message."""
    return f"{said.session}#{said.position}"


def _of_history(entry: Entry) -> Hit:
    who = "agent" if entry.by_agent else None
    return Hit("history", entry.content, entry.when, entry.session, who, f"history:{entry.cursor}", 0.0)


def talk(workspace: Workspace, session: str, first: int, last: int) -> list[Hit]:
    """Return the messages of a session that are kept, from position `first` to `last`, both included, in order."""
    index = Index(workspace.history)
    try:
        index.catch_up()
        found = [said for one in index.between(session, first, last) if (said := index.said(one)) is not None]
    finally:
        index.close()
    return [Hit("message", said.text, said.at, said.session, said.name or said.role, cite(said), 0.0) for said in found]


def _memory_lines(workspace: Workspace) -> Iterator[_Line]:
    from dream.models import MEMORY_FILES  # a hook that asks at each prompt has no time for it

    names = [*(name.removeprefix("memory/") for name in MEMORY_FILES), *_archived(workspace)]
    for name in names:
        for number, line in enumerate(_file_lines(workspace, name), 1):
            if line.strip() and not line.startswith("#"):
                yield _Line(f"{name}:{number}", _BULLET.sub("", line).strip(), Counter(terms(line)))


def _archived(workspace: Workspace) -> list[str]:
    folder = workspace.memory / "archive"
    return [f"archive/{path.name}" for path in sorted(folder.glob("*.md"))] if folder.is_dir() else []


def _file_lines(workspace: Workspace, name: str) -> list[str]:
    from dream.models import MEMORY_FILES
    from dream.workspace.files import read_bytes

    whole = next((file for file in MEMORY_FILES if file.removeprefix("memory/") == name), None)
    if whole is not None:
        return workspace.read_file(whole).splitlines()
    path = workspace.memory / name
    if name not in _archived(workspace):
        return []
    return (read_bytes(path) or b"").decode("utf-8", "replace").splitlines()


def _sessions(found: Sequence[Found]) -> dict[int | None, float]:
    scores: dict[int | None, list[float]] = {}
    for one in found:  # best first
        scores.setdefault(one.session, []).append(one.score)
    return {key: sum(score * NEXT**n for n, score in enumerate(some)) for key, some in scores.items()}


def _once(found: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the first `limit` hits, without those that only say what one before them does."""
    shown: list[Hit] = []
    told: list[frozenset[str]] = []
    for hit in found:
        words = content_words(hit.text)
        if words and any(len(words & other) >= TWICE * len(words) for other in told):
            continue
        told.append(words)
        shown.append(replace(hit, score=round(hit.score, 3)))
        if len(shown) == limit:
            break
    return shown


def _day_of(line: str) -> date | None:
    """Return the day in brackets at the end of a line of memory, on which it was said."""
    told = words(line[len(without_said_on(line)) :])
    year = next((word[1:] for word in told if re.fullmatch(r"@\d{4}", word)), None)
    day = next((word[1:] for word in told if re.fullmatch(r"@\d\d-\d\d", word)), None)
    try:
        return date.fromisoformat(f"{year}-{day}") if year and day else None
    except ValueError:
        return None


def _midnight(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), UTC) if day else None
