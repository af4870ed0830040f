"""What a prompt brings to mind: for a hook that asks at each one, so quick, short, and silent on what memory is not of.

Only what a search needs is imported and the index is read as it stands: a person waits. Whatever is new since it was
written is taken in afterwards, in the background.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import orjson

from dream.door import contents
from dream.history import messages
from dream.recall import CALL, TWICE, Hit, no_longer, of_message, spoken, window
from dream.recall.context import with_recalled
from dream.recall.later import is_unjudged, may_be_shown, pointer, told_later, without_pointer
from dream.recall.search import EVERYTHING, RARE, Search, Wanted, plain, says
from dream.recall.search_index import ENTRY, SearchIndex, caught_up
from dream.recall.settled import HeldUntil, known_by, settled
from dream.recall.terms import ENDS_ASKING, marks, terms
from dream.text.sentences import sentences
from dream.text.tokens import estimate
from dream.text.words import content_words, is_hard
from dream.workspace import index
from dream.workspace.places import Scope

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.history.messages import KeptMessage
    from dream.recall.then import Then

TOKENS = 300
# Of what the terms of a prompt weigh, the share that the best hit's score must reach; a name that nothing holds counts
# NAME times more. Chosen on the five development conversations of LoCoMo.
ABOUT = 0.63
NAME = 3.0
LEAST = 1.3  # of what a term weighs that nothing holds: the score of a hit that says more than a word or two of it
YOUNG = (
    100  # entries and messages: in a memory of so many a term that nothing holds counts half, for much was not said yet
)
CHARS = 1_000  # of a prompt that are looked at
HITS = 20
LOOKED = 3  # of them, of which one must contain a word of the prompt that is not plain
EXCERPT = 90  # characters of a message, as long as the sentence that says it best is no longer,
FULLER = 3  # and times as many of the best hit
SAYING = 3  # words, other than plain ones, that a message needs if it shares none with the prompt
ID_CHARS = 8  # least characters of a session's id: a citation opens by its beginning

ENTRIES = 8  # entries of history that are searched: notes, and entries older than the messages
STAMP = "prompt"  # the document of the index that says what it was built from
GIVEN = "given"  # and that with the memory that a session begins with, at most so many tokens:
SESSION_TOKENS = 4_000  # a twentieth of a small window of today, and all of the three files for most people
FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z]\w*")  # not where a sentence begins
_EXACT = re.compile(r"(?=.*[\d/_.])\w.{2,}\w")  # a number, a path, an identifier


Content = tuple[str, str | None, datetime | None, str]  # of an entry: its text, its session, its time, and its place


class Kept:
    """The kept messages of the workspace at `root`, with a history's reading methods; writes nothing."""

    def __init__(self, root: Path, scope: Scope = EVERYTHING) -> None:
        self.root = root
        self.scope = scope
        self.index = index.Index(root / ".dream")
        self.folder = root / "memory" / messages.FOLDER
        self.log = root / "memory" / "history.jsonl"

    def at(self, path: Path, offset: int) -> KeptMessage | None:
        """Return the message whose line begins at `offset`; None where none does any more, and for a tool's output."""
        with suppress(OSError):
            said = messages.message_at(path, offset)
            return said if said is None or said.role != "tool" else None
        return None

    def is_indexed(self) -> bool:
        """Return whether the index was built from the present messages, or is being built from them."""
        return bool(self.index.document(STAMP) == self._stamp())

    def take_in(self, workspace: Workspace) -> None:
        """Add new messages, and the memory that a session is given, to the index; only one process at a time does."""
        self.index.keep(**{STAMP: self._stamp(), GIVEN: _numbered(workspace.context(SESSION_TOKENS))})
        settled(workspace)
        with caught_up(workspace.history):
            pass

    def _stamp(self) -> list[list[object]]:
        """Return each file's name, its size in bytes and its time in ns."""
        found: list[list[object]] = []
        memory = (self.root / name for name in FILES)
        for path in (*sorted(self.folder.glob("????-??.jsonl")), self.log, *memory):
            with suppress(FileNotFoundError):
                status = path.stat()
                found.append([path.name, status.st_size, status.st_mtime_ns])
        return found

    @cached_property
    def known(self) -> list[frozenset[int]]:
        """The words, as numbers, of each line of memory that the session was given; of all lines if unknown."""
        given = self.index.document(GIVEN) if self.is_indexed() else None
        own = self.scope.place.files if self.scope.place else ()
        shown = {
            name: self.scope.text(name, _bytes(self.root / name).decode("utf-8", "replace")) for name in (*FILES, *own)
        }
        if not isinstance(given, dict):
            given = None
        rows = ((name, line) for name, text in shown.items() for line in text.splitlines())
        found = (
            _numbers(line) if given is None or name in own else given.get(str(crc32(line.encode())), ())
            for name, line in rows
        )
        return [frozenset(words) for words in found if words]

    @cached_property
    def _rows(self) -> bytes:
        return _bytes(self.log)

    def entry(self, cursor: int) -> Content:
        """Return the content, session and time of an entry; nothing of one that is in the archive."""
        line = re.search(rb'^\{"cursor": ?%d,.*' % cursor, self._rows, re.MULTILINE)
        try:
            row = orjson.loads(line[0] if line else b"{}")
            place = str(row.get("place") or "")
            return str(row["content"]), row.get("session"), datetime.fromisoformat(row["timestamp"]), place
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return "", None, None, ""


def recalled(kept: Kept, prompt: str, *, session: str = "", tokens: int = TOKENS) -> str:
    """Return what earlier conversations say of `prompt` and the memory files don't, as a marked block.

    Empty where nothing that is kept is about it, or the memory that the session was given says all of it. Of the
    running `session`, and of its sub-agents, nothing is told: it stands in the prompt.
    """
    found = SearchIndex(kept.index, kept)
    told = lines(
        found,
        kept.entry,
        prompt,
        kept.known,
        tokens,
        session=session,
        scope=kept.scope,
        ended=known_by(kept.index),
    )
    return with_recalled("", told)


def lines(  # noqa: PLR0913 - what is asked, of what, and beside what
    found: SearchIndex,
    entry: Callable[[int], Content],
    prompt: str,
    known: Sequence[frozenset[int]],
    tokens: int,
    *,
    session: str = "",
    count: Callable[[str], int] = estimate,
    as_of: Then | None = None,
    scope: Scope = EVERYTHING,
    ended: HeldUntil | None = None,
    may: Callable[[KeptMessage], bool] | None = None,
) -> list[str]:
    """Return the hits for `prompt` that no `known` line repeats, cited, in at most `tokens` including the mark.

    Behind what the user said stands what they said later of the same, if `may` tells that this may be shown.
    """
    asked = _FENCED.sub(" ", prompt)[:CHARS]
    wanted = Wanted(asked, kinds=["message"], as_of=as_of, scope=scope)
    # Most messages have the common words of a prompt in their language, so only its rare words count.
    search = Search(found, wanted, many=RARE, ended=ended)
    hits = search.hits(HITS)
    for one in _entries(entry, found, search, scope):
        hits.insert(next((at for at, hit in enumerate(hits) if hit.score < one.score), len(hits)), one)
    heard = [hit for hit in hits if not (session and session in (hit.session or ""))]
    telling = [hit for hit in heard if _says_something(hit, search) and not _is_known(hit, known)]
    beside = {
        hit: [one for one in _beside(found, hit) if scope.holds(one.place) and not _is_known(one, known)]
        for hit in telling
    }
    fresh = [hit for hit in telling if beside[hit] or not marks(hit.text) & ENDS_ASKING]
    if not fresh or not _is_about(fresh, search, found, asked):
        return []
    said = {hit.text: hit.when.date() for hit in fresh if hit.when and hit.speaker in (None, "user") and not hit.until}
    later = told_later(found, said, may) if may else {}
    shown, text = dict[Hit, str](), list[str]()
    for hit in fresh:
        longer = dict(shown)
        for one in (hit, *beside[hit]):
            room = FULLER * EXCERPT if one == hit and (not shown or tokens > TOKENS) else EXCERPT
            after = pointer(later[one.text], one.text) if one.text in later else no_longer(one)
            longer.setdefault(one, _excerpt(one.text, search.weights, room) + after)
        laid = _laid_out(longer, found)
        if count(with_recalled("", laid)) <= tokens:
            shown, text = longer, laid
    return text


def in_context(
    workspace: Workspace,
    query: str,
    known: str,
    room: int,
    count: Callable[[str], int],
    as_of: Then | None = None,
    scope: Scope = EVERYTHING,
) -> list[str]:
    """Return the lines about `query` for a context that already has the memory `known`; at most `room` tokens.

    Indexes new messages first.
    """

    def entry(cursor: int) -> Content:
        found = workspace.history.between(cursor, cursor)
        there = bool(found) and (as_of is None or as_of.has(found[0].when))
        return (found[0].content, found[0].session, found[0].when, found[0].place) if there else ("", None, None, "")

    told = [frozenset(words) for line in known.splitlines() if (words := _numbers(line))]
    with caught_up(workspace.history) as index:
        ended, may = settled(workspace), may_be_shown(workspace, scope, as_of) if is_unjudged(workspace) else None
        return lines(index, entry, query, told, room, count=count, as_of=as_of, scope=scope, ended=ended, may=may)


def _beside(found: SearchIndex, hit: Hit) -> Iterator[Hit]:
    """Yield the question that a message answers, or the answer to one that asks."""
    if hit.kind != "message" or hit.session is None:
        return
    at = int(hit.cite.rpartition("#")[2])
    asks = marks(hit.text) & ENDS_ASKING
    for one in found.between(hit.session, at + 1, at + 1) if asks else found.between(hit.session, at - 1, at - 1):
        said = found.said(one) if asks or one.marks & ENDS_ASKING else None
        if said is not None:
            yield of_message(said)


def _entries(entry: Callable[[int], Content], found: SearchIndex, search: Search, scope: Scope) -> Iterator[Hit]:
    """Yield the hits in history that are not in the messages: notes, and sessions without kept messages."""
    for one in found.matches(search.weights, ENTRY, ENTRIES):
        if one.session is not None and found.has_messages(one.session):
            continue
        content, session, when, place = entry(one.position)
        if content and scope.holds(place):
            text, score = search.best_line(content)
            yield Hit("history", text, when, session, None, f"history:{one.position}", score)


def _says_something(hit: Hit, search: Search) -> bool:
    """Return whether a hit has a word of the prompt, or says more than thanks."""
    return not search.weights.keys().isdisjoint(terms(spoken(hit.text))) or says(hit.text, SAYING)


def _is_known(hit: Hit, known: Sequence[frozenset[int]]) -> bool:
    """Return whether a line of memory that the session was given repeats a hit."""
    words = {crc32(word.encode()): word for word in content_words(hit.text)}
    hard = {number for number, word in words.items() if is_hard(word)}
    return any(len(words.keys() & line) >= TWICE * len(words) and hard <= line for line in known)


def _is_about(hits: Sequence[Hit], search: Search, found: SearchIndex, prompt: str) -> bool:
    """Return whether the best hit covers much of the prompt, or the prompt names something exactly as the hit does."""
    exact = [term for term in search.rare if _EXACT.fullmatch(term)]
    if any(term in terms(hit.text) for term in exact for hit in hits):
        return True
    telling = search.weights.keys() - plain()
    if not any(telling.intersection(terms(hit.text)) for hit in hits[:LOOKED]):
        return False
    names = set(terms(" ".join(_NAME.findall(prompt))))
    size = found.size()
    young = size / (size + YOUNG)
    missing = search.rarest * sum(NAME - 1 + young if term in names else young for term in search.unheld)
    least = max(LEAST * search.rarest * young, ABOUT * (sum(search.weights.values()) + missing))
    return max(hit.score for hit in hits) >= least


def _laid_out(shown: Mapping[Hit, str], found: SearchIndex) -> list[str]:
    """Return the lines that show the hits, grouped by session, in the session's order."""
    lines = [f"- [{hit.cite}] {text}" for hit, text in shown.items() if hit.kind == "history"]
    by_session: dict[str, dict[int, Hit]] = {}
    for hit in shown:
        session, _, position = hit.cite.rpartition("#")
        if hit.kind == "message":
            by_session.setdefault(session, {})[int(position)] = hit
    for session, hits in by_session.items():
        when = next(iter(hits.values())).when
        lines.append((f"{when:%-d %B %Y}, " if when else "") + found.short(session, ID_CHARS))
        lines += [f"- #{position} {hits[position].speaker}: {shown[hits[position]]}" for position in sorted(hits)]
    return lines


def _excerpt(text: str, wanted: Collection[str], room: int) -> str:
    """Return a text in one line; if it is longer than `room`, its most relevant sentence and the text around it."""
    pieces = [one.text for one in sentences(text) if not one.text.startswith(CALL)]
    if sum(map(len, pieces)) <= room:
        return " ".join(pieces)
    best = max(range(len(pieces)), key=lambda n: len(set(terms(pieces[n])) & set(wanted)))
    first = last = best
    while last + 1 < len(pieces) and sum(map(len, pieces[first : last + 2])) <= room:
        last += 1
    while first and sum(map(len, pieces[first - 1 : last + 1])) <= room:
        first -= 1
    shown = " ".join(pieces[first : last + 1])
    cut = window(shown, re.compile("|".join(map(re.escape, wanted)) or r"(?!)", re.IGNORECASE), 2 * room)
    return ("… " if first else "") + cut + (" …" if last + 1 < len(pieces) else "")


def _numbered(text: str) -> dict[str, list[int]]:
    """Return the words of each line as numbers, keyed by the line's number: the index holds no text."""
    return {str(crc32(without_pointer(line).encode())): _numbers(line) for line in text.splitlines()}


def _numbers(line: str) -> list[int]:
    return [crc32(word.encode()) for word in content_words(line)]


def _bytes(path: Path) -> bytes:
    try:
        return contents(path)
    except OSError:
        return b""
