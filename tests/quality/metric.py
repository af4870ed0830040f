"""The metric: which of a gold answer's content words a text contains, and whether it contains the whole answer. Pure.

It is exactly the one behind the reference figures: lower case, commas and ASCII punctuation dropped, articles
and stop words dropped, a light stem. A run of CJK characters counts by its pairs, for it has no blanks between words.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from dream.text.tokens import estimate

_ARTICLES = frozenset(("a", "an", "the", "and"))
_STOP = frozenset(
    """
    of to in on for with is was were are be at by it its her his their she he they that this from as or not no yes
    """.split()
)
_BLANKS = str.maketrans(dict.fromkeys(string.punctuation, " "))
_WIDE = re.compile(r"[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+")  # CJK punctuation
_CJK = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힯]+")


@dataclass(frozen=True, slots=True)
class Stemmed:
    """A text prepared for matching: its stemmed words, and its words in order."""

    stems: frozenset[str]
    flat: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of an answer a text contains: the share of its content words, and whether all of it is there."""

    recall: float
    whole: bool


def ready(text: str) -> Stemmed:
    """Make `text` ready for `find`."""
    return Stemmed(frozenset(_stem(word) for word in words(text)), f" {' '.join(words(text))} ", estimate(text))


def find(answer: str, text: Stemmed) -> Overlap:
    """Look for `answer` in `text`."""
    gold = content(answer)
    recall = sum(word in text.stems for word in gold) / max(1, len(gold))
    return Overlap(recall, f" {' '.join(words(answer))} " in text.flat)


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
    if tokens is None or estimate(text) <= tokens:
        return text
    lines = text.split("\n")
    return "\n".join(lines[: _fitting(tokens, lambda number: lines[:number], len(lines))])


def last(text: str, tokens: int) -> str:
    """Return the end of `text`, at most `tokens` of it, beginning at a line."""
    lines = text.split("\n")
    number = _fitting(tokens, lambda number: lines[len(lines) - number :], len(lines))
    return "\n".join(lines[len(lines) - number :])


def _fitting(tokens: int, lines: Callable[[int], list[str]], most: int) -> int:
    """Return how many lines are at most `tokens`."""
    return bisect_right(range(1, most + 1), tokens, key=lambda number: estimate("\n".join(lines(number))))


def mean(values: Iterable[float]) -> float | None:
    """Return the mean in per cent; None if there are no values."""
    found = list(values)
    return 100 * sum(found) / len(found) if found else None


def _pairs(run: str) -> list[str]:
    return [one + other for one, other in pairwise(run)] or [run]


def _stem(word: str) -> str:
    for suffix in ("ing", "ed", "es", "s"):
        if len(word) > 4 and word.endswith(suffix):
            return word[: -len(suffix)]
    return word


# Values in sentences: which one was replaced by a new one. Pure.
#
# A value is a text with a number in it: `52 sources`, `78%`, `April 22 at 11 AM`. Its like are the texts of the same
# shape, with other numbers: `45 sources`, `65%`, `April 21 at 3 PM`.


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_UNIT_WORDS = 3  # between a number and what it counts: `8 conditional probability problems`
# Of a question's content words that a line must share. Of BEAM's ten clean cases this finds the old value in the
# original turns of nine, and in one of another conversation's; without it in nine and two, at 0.4 in seven and one.
ABOUT = 0.33
_ASKING = frozenset("what when where which who how many much my i do does did have has".split())
_HALF = re.compile(r"\b[ap]m\b", re.IGNORECASE)


def stands(value: str, text: str) -> bool:
    """Return whether `value` stands in `text` as a whole, whatever the punctuation."""
    return f" {' '.join(words(value))} " in f" {' '.join(words(text))} "


def named(value: str, answer: str) -> str:
    """Return `value` with what it counts, where it is a bare number: `12` of `12 problems` is `12 problems`."""
    if not _NUMBER.fullmatch(value.strip()):
        return value
    return answer if answer.startswith(value) and len(answer) < 60 else value


def replaced(new: str, shown: str, before: str, after: str, hint: str) -> str | None:
    """Return the value of `before` that `new` replaced; None where the case is not clean.

    Clean: `new` stands in `after` and not in `before`, and a value like it, but another, stands in `before`.
    `hint` is the dataset's own sentence about the old value: what it names comes first, its last value at that.
    """
    if not stands(new, after) or stands(shown, before):
        return None
    told = [one for one in like(shown, hint) if stands(_first(one), before)]
    found = told or like(shown, before)
    others = [one for one in found if words(one) != words(shown)]
    return others[-1] if others else None


def like(value: str, text: str) -> list[str]:
    """Find the texts of the same shape as `value` in `text`, in their order."""
    pattern = _shape(value)
    return [match[0].strip() for match in pattern.finditer(text)] if pattern else []


def near(value: str, line: str, about: str) -> bool:
    """Return whether `line` says `value` about something: two content words of the question `about` stand there too,
    and `ABOUT` of them all; always, where `about` is empty.
    """
    if not says(value, line):
        return False
    asked = content(about) - content(value) - _ASKING
    shared = len(asked & content(line))
    return shared >= max(min(2, len(asked)), ABOUT * len(asked))


def says(value: str, line: str) -> bool:
    """Return whether `value` stands in `line`: whole, or its first number with what it counts near it."""
    if stands(value, line):
        return True
    unit = _unit(value)
    return unit is not None and any(_first(one) == _first(value) for one in like(value, line))


def _shape(value: str) -> re.Pattern[str] | None:
    """Make a pattern of `value` with any number for its numbers, and with words between a number and its unit."""
    if not _NUMBER.search(value):
        return None
    unit = _unit(value)
    if unit is not None:
        last = re.escape(unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit)
        between = rf"(?:[\s/-]+(?!\d)[\w'-]+){{0,{_UNIT_WORDS - 1}}}?[\s/-]+"
        return re.compile(rf"(?<![\d.,]){_NUMBER.pattern}(?:{between})?{last}\w*", re.IGNORECASE)
    parts = [_HALF.sub(lambda _: "[ap]m", re.escape(part)) for part in _NUMBER.split(value)]
    return re.compile(rf"(?<![\d.,]){_NUMBER.pattern}".join(parts), re.IGNORECASE)


def _unit(value: str) -> str | None:
    """Return the last word of what `value` counts, if it is a number and then words."""
    match = re.fullmatch(rf"{_NUMBER.pattern}((?:\s+[^\W\d]+)+)", value.strip())
    return match[1].split()[-1] if match else None


def _first(value: str) -> str:
    match = _NUMBER.search(value)
    return match[0] if match and _unit(value) else value
