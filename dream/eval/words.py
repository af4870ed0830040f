"""The metric: which of a gold answer's content words stand in a text, and whether the whole answer does. Pure.

It is that of the issue's reference figures, to the letter: lower case, commas and ASCII punctuation dropped, articles
and stop words dropped, a light stem. A run of CJK characters counts by its pairs, for it has no blanks between words.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

CHARS = 4  # a token, in every figure of a size

_ARTICLES = frozenset(("a", "an", "the", "and"))
_STOP = frozenset(
    """
    of to in on for with is was were are be at by it its her his their she he they that this from as or not no yes
    """.split()  # noqa: SIM905 - a list of words is read better than a list of strings
)
_BLANKS = str.maketrans(dict.fromkeys(string.punctuation, " "))
_WIDE = re.compile(r"[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+")  # CJK punctuation
_CJK = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힯]+")


@dataclass(frozen=True, slots=True)
class Text:
    """A text made ready to be asked: its stemmed words, and its words in order."""

    stems: frozenset[str]
    flat: str
    chars: int

    @property
    def tokens(self) -> float:
        return self.chars / CHARS


@dataclass(frozen=True, slots=True)
class Found:
    """How much of an answer stands in a text: the share of its content words, and whether it does as a whole."""

    recall: float
    whole: bool


def ready(text: str) -> Text:
    """Make `text` ready for `find`."""
    return Text(frozenset(_stem(word) for word in words(text)), f" {' '.join(words(text))} ", len(text))


def find(answer: str, text: Text) -> Found:
    """Look for `answer` in `text`."""
    gold = content(answer)
    recall = sum(word in text.stems for word in gold) / max(1, len(gold))
    return Found(recall, f" {' '.join(words(answer))} " in text.flat)


def content(text: str) -> frozenset[str]:
    """Return the stemmed content words of `text`."""
    return frozenset(_stem(word) for word in words(text)) - _STOP


@lru_cache(maxsize=8_192)
def words(text: str) -> tuple[str, ...]:
    """Return the words of `text` in order."""
    plain = text.lower().replace(",", "").translate(_BLANKS)
    plain = _CJK.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", _WIDE.sub(" ", plain))
    return tuple(word for word in plain.split() if word not in _ARTICLES)


def cut(text: str, tokens: int | None) -> str:
    """Cut `text` to its first `tokens`, at a line."""
    if tokens is None or len(text) <= CHARS * tokens:
        return text
    return text[: CHARS * tokens].rsplit("\n", 1)[0]


def mean(values: Iterable[float]) -> float | None:
    """Return the mean in per cent; None of nothing."""
    found = list(values)
    return 100 * sum(found) / len(found) if found else None


def _pairs(run: str) -> list[str]:
    return [one + other for one, other in pairwise(run)] or [run]


def _stem(word: str) -> str:
    for suffix in ("ing", "ed", "es", "s"):
        if len(word) > 4 and word.endswith(suffix):
            return word[: -len(suffix)]
    return word
