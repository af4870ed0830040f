"""The terms that a text is found by: its words in one form, CJK by pairs, and the parts of identifiers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from dream.language.words import NOT, is_cjk, words

_PARTS = re.compile(r"[.,:/@'&+#_%-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
CHARS = 20_000  # of a message that are looked at: the rest is a log that nobody asks for by its words


def terms(text: str) -> list[str]:
    """Return the terms of `text` in its order, each as often as it stands there."""
    found: list[str] = []
    run = ""  # of CJK characters
    for word in words(text[:CHARS]):
        if is_cjk(word):
            run += word
            continue
        if run:
            found += _pairs(run)
            run = ""
        if word != NOT:
            found += _whole_and_parts(word)
    if run:
        found += _pairs(run)
    for name in _camel(text[:CHARS]):
        found += name
    return found


def _pairs(run: str) -> Iterator[str]:
    return (a + b for a, b in pairwise(run)) if len(run) > 1 else iter((run,))


@lru_cache(maxsize=32_768)
def _whole_and_parts(word: str) -> tuple[str, ...]:
    parts = [part for part in _PARTS.split(word) if part]
    return (word, *parts) if len(parts) > 1 else (word,)


def _camel(text: str) -> Iterator[list[str]]:
    """Yield the parts of names written like `parseHeader`."""
    for name in re.findall(r"\b[a-z]+[A-Z]\w+|\b(?:[A-Z][a-z0-9]+){2,}\b", text):
        yield [part.lower() for part in _CAMEL.split(name)]
