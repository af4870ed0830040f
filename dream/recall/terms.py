"""The terms that a text is found by: its words in one form, CJK by pairs, and the parts of identifiers; and its days.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING
from unicodedata import combining, normalize

from dream.text.words import KEPT_CHARS, NOT, is_cjk, listed, table, words

if TYPE_CHECKING:
    from dream.text import days

WORD = re.compile(r"\w+(?:'\w+)?")
OWN = 600  # characters of a message in which it is looked for
_PARTS = re.compile(r"[.,:/@'&+#_%-]+")
_CAMEL = re.compile(r"[a-z0-9](?=[A-Z])")
CHARS = 20_000  # characters of a message that are indexed: the rest of such a long one is a log
ENDS_ASKING, ASKS, TELLS_WHEN = 1, 2, 4
# What may be a day or a year; no port and no hash: the tables of days take 15 ms a language to read.
_DAY_OR_YEAR = re.compile(r"(?<![A-Za-z\d])(?:\d{1,2}|(?:19|20)\d\d)(?!\d)|\d[-/.]\d|[年月]")


def terms(text: str) -> list[str]:
    """Return the terms of `text` in its order, each as often as it occurs."""
    found: list[str] = []
    run = ""  # of CJK characters
    wide = not text.isascii()
    for word in words(text[:CHARS]):
        if wide and is_cjk(word):
            run += word
            continue
        if run:
            found += _pairs(run)
            run = ""
        if word != NOT:
            found += _whole_and_parts(folded(word) if wide else word)
    if run:
        found += _pairs(run)
    if _CAMEL.search(text):
        for name in _camel(text[:CHARS]):
            found += name
    return found


def folded(word: str) -> str:
    """Return a word without its accents: people leave them out."""
    return word if word.isascii() else "".join(c for c in normalize("NFD", word) if not combining(c))


def _pairs(run: str) -> Iterator[str]:
    """Yield the pairs of a run, and its characters: a word may be a single character, without spaces around it."""
    return chain((a + b for a, b in pairwise(run)), run)


@lru_cache(maxsize=32_768)
def _whole_and_parts(word: str) -> tuple[str, ...]:
    parts = [part for part in _PARTS.split(word) if part]
    return (word, *parts) if len(parts) > 1 else (word,)


def _camel(text: str) -> Iterator[list[str]]:
    """Yield the parts of names written like `parseHeader`."""
    for name in re.findall(r"\b[a-z]+[A-Z]\w+|\b(?:[A-Z][a-z0-9]+){2,}\b", text):
        yield _CAMEL.sub(r"\g<0> ", name).lower().split()


# Properties of a message, as bits.


def marks(text: str) -> int:
    """Return, as bits, whether a message asks, at its end or anywhere, and whether it gives a time."""
    some = text[:CHARS]
    asks = ASKS if "?" in some or "？" in some else 0
    asks |= ENDS_ASKING if asks and text[-3:].rstrip().endswith(("?", "？")) else 0
    return asks | (TELLS_WHEN if holds_any("tells_when", some) else 0)


@cache
def akin(term: str) -> frozenset[str]:
    """Return the terms that are spoken of together with one."""
    return frozenset(chain.from_iterable(row for row in _akin(term.isascii()) if term in row)) - {term}


@cache
def _akin(plain: bool) -> list[frozenset[str]]:
    """Return the rows of terms, without CJK where `plain`: the pattern of its words takes long to make."""
    return [frozenset(terms(row)) for row in table()["akin"].strip().split("\n") if row.isascii() == plain]


def ranges(query: str, today: date, *, tells: bool = False) -> tuple[list[list[days.Range]], int]:
    """Return the ranges of days that a query names, as `days.ranges` does, and what `days.orders` says of it."""
    if not (_DAY_OR_YEAR.search(query) or any(holds_any(row, query) for row in ("tells_when", "names_day", "orders"))):
        return [], 0
    from dream.text import days, tongues  # a hook at a prompt that finds nothing has no time for them

    def width(one: tuple[list[list[days.Range]], int]) -> int:
        """Return how many days the first range has: who knows the month knows more than who knows the year."""
        return (one[0][0][0][1] - one[0][0][0][0]).days if one[0] else days.LAST_DAY.toordinal()

    code = tongues.guess(query)
    codes = ("zh", "ja") if code in ("zh", "ja") else (code,) if code else days.spaced()
    found = [(days.ranges(query, today, one, tells=tells), days.orders(query, one)) for one in codes]
    if code in days.spaced() and width(found[0]) >= 364:  # a few words may be taken for another language's
        found += [
            (days.ranges(query, today, one, tells=tells), days.orders(query, one))
            for one in days.spaced()
            if one != code
        ]
    return min(found, key=width)[0], next((order for _, order in found if order), 0)


# Rows of the table of words, in any language: what a text holds of them.


def holds_any(row: str, text: str) -> bool:
    """Return whether a text holds one of the words of a row of the table of words."""
    plain, wide = _of(row)
    return not plain.isdisjoint(WORD.findall(text.lower())) or (not text.isascii() and wide.search(text) is not None)


@cache
def _of(row: str) -> tuple[frozenset[str], re.Pattern[str]]:
    wide = [word for word in listed(row) if is_cjk(word[0])]
    return listed(row).difference(wide), re.compile("|".join(wide))


# What somebody says of themselves, and what a question asks of one.


@cache
def _own(plain: bool) -> dict[str, re.Pattern[str]]:
    """Return the patterns, without those of CJK where `plain`: it takes long to make them."""
    rows = {name: [one for one in some if plain is not any(map(is_cjk, one))] for name, some in table()["own"].items()}
    return {name: re.compile("|".join(some)) for name, some in rows.items() if some}


def own_facts(text: str) -> list[str]:
    """Return which facts a message states about its speaker: home, job, name."""
    some = text[:OWN]
    if some.rstrip().endswith(("?", "？")) or not holds_any("speaks", some):
        return []
    some = _rest()[0].sub(" ", some)
    found = [name for name, pattern in _own(True).items() if pattern.search(some)]
    if not some.isascii() and any(map(is_cjk, some)):
        found += [name for name, pattern in _own(False).items() if pattern.search(some)]
    return found


def leaves(text: str, term: str) -> bool:
    """Return whether a text says that its speaker gave up what a term names: "switched from Zed to Helix"."""
    return any(text[one.end() :].lower().startswith(term) for one in _rest()[1].finditer(text))


@cache
def _rest() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(table()["supposes"]), re.compile(table()["leaves"], re.IGNORECASE)


def asked_fact(query: str) -> tuple[str, frozenset[str]] | None:
    """Return the one thing that a question asks of somebody, and the words that are left: who that is."""
    for name, row in table()["asked"].items() if len(query) <= KEPT_CHARS else ():
        some, found = query.casefold(), False
        for word in sorted((*row.split(), *table()["beside"].split()), key=len, reverse=True):
            if is_cjk(word) and word in some:
                found |= word in row.split()
                some = some.replace(word, " ")
        said = {word.removesuffix("'s").removesuffix("’s") for word in re.findall(r"[\w'’]+", some)}
        if found or said & {*row.split()}:
            return name, frozenset(said - {*row.split()} - {*table()["beside"].split()})
    return None
