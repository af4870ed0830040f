"""What a prompt brings to mind: for a hook that asks at each one, so quick, short, and silent on what memory is not of.

Only what a search needs is imported and the index is read as it stands: a person waits. Whatever is new since it was
written is taken in afterwards, in the background.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from dream.door import contents
from dream.history import messages
from dream.recall import CALL, Hit, is_told, spoken
from dream.recall.search import RARE, Search, Wanted
from dream.recall.search_index import ENTRY, SearchIndex, caught_up
from dream.recall.terms import terms
from dream.text.sentences import sentences
from dream.text.tokens import estimate
from dream.text.words import content_words, table
from dream.workspace import index
from dream.workspace.context import with_recalled

if TYPE_CHECKING:
    from dream.history.messages import KeptMessage

TOKENS = 300
# Of what the terms of a prompt weigh, the share that the best hit's score must reach; a name that nothing holds counts
# NAME times more. Chosen on the five development conversations of LoCoMo.
ABOUT = 0.6
NAME = 3.0
LEAST = 1.3  # of what a term weighs that nothing holds: the score of a hit that says more than a word or two of it
CHARS = 1_000  # of a prompt that are looked at
HITS = 20
LOOKED = 3  # of them, in which a word must stand that is not plain
EXCERPT = 90  # characters of a message, as long as the sentence that says it best is no longer,
FULLER = 3  # and times as many of the best hit
SAYING = 3  # words that a message needs which holds none of the prompt's, beside plain ones
ID_CHARS = 8  # of a session's id, at least: a citation opens by its beginning

ENTRIES = 8  # entries of history that are looked at: notes, and what is older than the messages
STAMP = "prompt"  # the document of the index that says what it was made of
FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z]\w*")  # not where a sentence begins
_EXACT = re.compile(r"(?=.*[\d/_.])\w.{2,}\w")  # a number, a path, an identifier


class Kept:
    """What is kept of the workspace at `root`, to be read as a history is; nothing is written."""

    def __init__(self, root: Path) -> None:
        self.root = root
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
        """Return whether the index was made of what is kept now, or is being made of it."""
        return bool(self.index.document(STAMP) == self._stamp())

    def take_in(self) -> None:
        """Take what is new into the index; one process does."""
        from dream.workspace.workspace import Workspace

        history = Workspace.open(self.root).history
        self.index.keep(**{STAMP: self._stamp()})
        with caught_up(history):
            pass

    def _stamp(self) -> list[list[object]]:
        """Return each file's name, its size in bytes and its time in ns."""
        found: list[list[object]] = []
        for path in (*sorted(self.folder.glob("????-??.jsonl")), self.log):
            with suppress(FileNotFoundError):
                status = path.stat()
                found.append([path.name, status.st_size, status.st_mtime_ns])
        return found

    @cached_property
    def known(self) -> list[frozenset[str]]:
        """The words of each line of the memory files."""
        texts = (_bytes(self.root / name).decode("utf-8", "replace") for name in FILES)
        return [words for text in texts for line in text.splitlines() if (words := content_words(line))]

    @cached_property
    def _rows(self) -> bytes:
        return _bytes(self.log)

    def entry(self, cursor: int) -> tuple[str, str | None, datetime | None]:
        """Return the content, session and time of an entry; nothing of one that is in the archive."""
        line = re.search(rb'^\{"cursor": ?%d,.*' % cursor, self._rows, re.MULTILINE)
        try:
            row = orjson.loads(line[0] if line else b"{}")
            return str(row["content"]), row.get("session"), datetime.fromisoformat(row["timestamp"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return "", None, None


def recalled(kept: Kept, prompt: str, *, session: str = "", tokens: int = TOKENS) -> str:
    """Return what earlier conversations say of `prompt` and the memory files don't, as a marked block.

    Empty where nothing that is kept is about it, or the files hold the best of it. Of the running `session`, and of its
    sub-agents, nothing is told: it stands in the prompt.
    """
    asked = _FENCED.sub(" ", prompt)[:CHARS]
    found = SearchIndex(kept.index, kept)
    search = Search(found, Wanted(asked, kinds=["message"]), many=RARE)  # of a foreign prompt most hold the common ones
    hits = sorted((*search.hits(HITS), *_entries(kept, found, search)), key=lambda hit: -hit.score)
    heard = [hit for hit in hits if not (session and session in (hit.session or ""))]
    fresh = [hit for hit in heard if _says_something(hit, search) and not _is_known(hit, kept.known)]
    if not fresh or fresh[0] is not heard[0] or not _is_about(fresh, search, found, asked):
        return ""
    block, shown = "", dict[Hit, str]()
    for hit in fresh:
        longer = shown | {hit: _excerpt(hit.text, search.weights, EXCERPT if shown else FULLER * EXCERPT)}
        text = with_recalled("", _laid_out(longer, found))
        if estimate(text) <= tokens:
            block, shown = text, longer
    return block


def _entries(kept: Kept, found: SearchIndex, search: Search) -> Iterator[Hit]:
    """Yield what history says beyond the messages: notes, and sessions whose messages are not kept."""
    for one in found.matches(search.weights, ENTRY, ENTRIES):
        if one.session is not None and found.has_messages(one.session):
            continue
        content, session, when = kept.entry(one.position)
        if content:
            text, score = search.best_line(content)
            yield Hit("history", text, when, session, None, f"history:{one.position}", score)


def _says_something(hit: Hit, search: Search) -> bool:
    """Return whether a hit holds a word of the prompt, or says more than thanks: beside an answer stands many a one."""
    held = set(terms(spoken(hit.text)))
    return bool(held & search.weights.keys()) or len(held - _plain()) >= SAYING


def _is_known(hit: Hit, known: Sequence[frozenset[str]]) -> bool:
    """Return whether one line of memory, which the session was given, says what a hit does."""
    words = content_words(hit.text)
    return any(is_told(words, line) for line in known)


def _is_about(hits: Sequence[Hit], search: Search, found: SearchIndex, prompt: str) -> bool:
    """Return whether the best hit says much of what a prompt asks, or the prompt names something as it stands there."""
    exact = [term for term in search.rare if _EXACT.fullmatch(term)]
    if any(term in terms(hit.text) for term in exact for hit in hits):
        return True
    telling = search.weights.keys() - _plain()
    if hits[0].score < LEAST * search.rarest or not any(telling.intersection(terms(hit.text)) for hit in hits[:LOOKED]):
        return False
    names = set(terms(" ".join(_NAME.findall(prompt))))
    missing = search.rarest * sum(NAME if term in names else 1.0 for term in search.unheld)
    return hits[0].score >= ABOUT * (sum(search.weights.values()) + missing)


@cache
def _plain() -> frozenset[str]:
    """Return the words that stand in prompts of every kind, and say nothing of what they are about."""
    return frozenset(terms(table()["plain"]))


def _laid_out(shown: Mapping[Hit, str], found: SearchIndex) -> list[str]:
    """Return lines that show hits, those of a session together, in its order."""
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
    """Return a text in one line; of one longer than `room` the sentence that says most of what is wanted, and what fits
    beside.
    """
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
    cut = shown[: 2 * room]
    return ("… " if first else "") + cut + (" …" if last + 1 < len(pieces) or len(cut) < len(shown) else "")


def _bytes(path: Path) -> bytes:
    try:
        return contents(path)
    except OSError:
        return b""
