"""What a user said later of the same thing: two texts of which a clause of each names mostly the same.

It claims nothing about which of them is true: that is judged by whoever reads both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dream.errors import SettingsError
from dream.history.messages import KeptMessage
from dream.memory import like
from dream.recall import spoken, window, words_of
from dream.recall.search_index import Found, SearchIndex, caught_up
from dream.recall.terms import ENDS_ASKING, OWN, terms
from dream.text.words import is_cjk, is_hard, listed, table, without_said_on, words

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.models import MemoryFile
    from dream.recall.then import Then
    from dream.workspace.places import Scope

NAMES = 20  # documents: a word in no more of them names something, and isn't one that all sentences are made of
SAME = 0.5  # share of the shorter clause's names that the other clause has to hold
READ = 8  # later messages that are read for one line
LATER = 2  # of them that a line quotes
SHOWN = 90  # characters of a later message that a line quotes
POINTER = " (later: "  # how the quotation behind a line begins
_CLAUSE = re.compile(r"(?<!\d)[.,:;]|[.,:;](?!\d)|[!?\n，。；：！？、]|(?<=[぀-鿿]) | (?=[぀-鿿])")

Clauses = Sequence[frozenset[str]]


def tell_the_same(new: str, old: str, beside: Collection[str] = ()) -> bool:
    """Return whether a clause of each text names mostly the same, and not only what is in `beside`."""
    return any(_shared(names, new, beside) for names in names_of(old))


def _shared(names: frozenset[str], text: str, beside: Collection[str]) -> int:
    """Return how many of a clause's names the clause of a text shares that shares most of them; 0 where too few."""
    both = ((names & others, min(_size(names), _size(others))) for others in names_of(text))
    return max((len(one) for one, least in both if len(one) >= SAME * least and one.difference(beside)), default=0)


def _size(names: frozenset[str]) -> int:
    """Return how many words a clause's names are: Chinese and Japanese ones are pairs of characters that overlap."""
    pairs = sum(map(is_cjk, names))
    return len(names) - pairs + (pairs + 1) // 2


def told_later(
    index: SearchIndex, lines: Mapping[str, date], may: Callable[[KeptMessage], bool]
) -> dict[str, list[KeptMessage]]:
    """Return what the user said of the same after the day of each line: for each of its clauses the likest message.

    Of messages that are equally like it is the newest. A line and a message are paired by a word that few messages
    hold; `may` tells whether a message may be shown. The newest messages of a line come first.
    """
    named = {name for line in lines for names in names_of(line) for name in names}
    holding = index.holding([name for name, count in index.counts(named).items() if count <= NAMES])
    common, found = named - holding.keys(), dict[str, list[KeptMessage]]()
    for line, day in lines.items():
        best = dict[int, KeptMessage]()
        for names in names_of(line):
            rare = names & holding.keys()
            shared = Counter(one for name in rare for one in holding[name] if _is_later(one, day))
            likest = sorted(shared, key=lambda one: (shared[one], one.day or 0, one.number), reverse=True)[:READ]
            read = [(one, said) for one in likest if (said := index.said(one)) is not None and may(said)]
            alike = [(_shared(names, said.text, common), one.day or 0, one.number, said) for one, said in read]
            share, _, number, said = max(alike, key=lambda one: one[:3], default=(0, 0, 0, None))
            if share and said is not None:
                best[number] = said
        if best:
            found[line] = [best[number] for number in sorted(best, reverse=True)[:LATER]]
    return found


def _is_later(found: Found, day: date) -> bool:
    return day.toordinal() < (found.day or 0) and found.speaker == "user" and not found.marks & ENDS_ASKING


def with_later(
    workspace: Workspace,
    texts: Mapping[MemoryFile, str],
    scope: Scope,
    room: int,
    count: Callable[[str], int],
    then: Then | None = None,
) -> dict[MemoryFile, str]:
    """Return memory's texts with, behind each dated line, what the user said later of the same, as a quotation.

    In at most `room` tokens, the newest first. Rules have none, and nothing has where a model that understands
    dreams: it saw the line with the message.
    """
    facts = [row for file, text in texts.items() if like(file) != "SOUL.md" for row in text.splitlines()]
    days = {row: day for row in facts if (day := day_of(row))}
    if not days or not is_unjudged(workspace):
        return dict(texts)
    with caught_up(workspace.history) as index:
        found = told_later(index, days, may_be_shown(workspace, scope, then))
    shown = dict[str, str]()
    for row, later in sorted(found.items(), key=lambda one: _said_at(one[1][0]), reverse=True):
        quoted = pointer(later, row)
        room -= count(quoted)
        if room >= 0:
            shown[row] = row + quoted
    return {file: "\n".join(shown.get(row, row) for row in text.split("\n")) for file, text in texts.items()}


def is_unjudged(workspace: Workspace) -> bool:
    """Return whether the small default dreams here, which does not judge what a message changes."""
    from dream.settings import EMBEDDED  # a hook at a prompt has no time for it

    with suppress(SettingsError):
        return workspace.settings(using=()).model_for("phase1") == EMBEDDED
    return False


def may_be_shown(workspace: Workspace, scope: Scope, then: Then | None) -> Callable[[KeptMessage], bool]:
    """Return what tells whether a user's message may be shown: in its place, at that time, and not taken back."""
    from dream.recall.search import is_taken_back, taken_back

    rejected = taken_back(workspace)

    def may(said: KeptMessage) -> bool:
        there = said.role == "user" and scope.holds(said.place) and (then is None or then.has(said.at))
        return there and not is_taken_back(said.text, rejected)

    return may


def pointer(later: Sequence[KeptMessage], line: str) -> str:
    """Return the quotations of later messages behind a line."""
    quoted = (
        f"“{window(spoken(one.text), words_of(line), SHOWN)}”{f', {one.at:%-d %B %Y}' if one.at else ''}"
        for one in later
    )
    return f"{POINTER}{'; '.join(quoted)})"


def _said_at(said: KeptMessage) -> datetime:
    return said.at or datetime.min.replace(tzinfo=UTC)


def without_pointer(line: str) -> str:
    """Return a line as its file has it."""
    return line.partition(POINTER)[0]


def day_of(line: str) -> date | None:
    """Return the day in brackets at the end of a line of memory, on which it was said."""
    told = words(line[len(without_said_on(line)) :])
    year = next((word[1:] for word in told if re.fullmatch(r"@\d{4}", word)), None)
    day = next((word[1:] for word in told if re.fullmatch(r"@\d\d-\d\d", word)), None)
    try:
        return date.fromisoformat(f"{year}-{day}") if year and day else None
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def names_of(text: str) -> Clauses:
    """Return for each clause of a text the words that may name what it is about: no numbers, days or small words."""
    clauses = (_names(clause) for clause in _CLAUSE.split(without_said_on(text[:OWN])))
    return [names for names in clauses if names]


def _names(clause: str) -> frozenset[str]:
    found = {term for term in terms(clause) if not is_hard(term) and not (len(term) == 1 and is_cjk(term))}
    return frozenset(found - _small())


@cache
def _small() -> frozenset[str]:
    """Return the small words of all languages, and those that tell a time or a change."""
    from dream.recall.search import plain

    rows = (listed(row) for row in ("tells_when", "names_day", "tells_change"))
    listed_words = (*(word for row in rows for word in row), *" ".join(table()["function"].values()).split())
    return plain() | {term for word in listed_words for term in terms(word)}
