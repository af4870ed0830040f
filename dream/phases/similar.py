"""How alike two statements are, judged by their content words: no model, no network, any language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

# Words that carry no fact. Negations are left out on purpose: "likes" and "does not like" differ.
STOP_WORDS = frozenset(
    """
    a an the and or of to in on at for with from by as is are was were be been being has have had do does did will
    would can could should may might it its this that these those there he she they them his her their him i me my
    we us our you your user users user's s also about into than then now very just so
    """.split()  # noqa: SIM905 - a list of words is read better than a list of strings
)
NEGATIONS = frozenset(
    "no not never without dont doesnt isnt arent wasnt werent cannot cant wont 不 没 别 未".split()  # noqa: SIM905 - as above
)

_WORD = re.compile(r"[^\W_]+(?:[.,:/@'’-][^\W_]+)*")
_CJK = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힯]")
_SUFFIXES = ("ing", "ed", "es", "s")


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """Return the content words of `text`: lower case, lightly stemmed; CJK text as pairs of characters."""
    words: set[str] = set()
    for match in _WORD.finditer(text.replace("’", "'")):
        word = match.group().lower()
        if _CJK.search(word):
            words.update(_pairs(word))
        elif (plain := word.replace("'", "")) not in STOP_WORDS and word not in STOP_WORDS:
            words.add(_stem(plain))
    return frozenset(words)


def coverage(fact: str, text: str) -> float:
    """Return the share, 0 to 1, of the content words of `fact` that stand in `text`."""
    wanted = content_words(fact)
    return len(wanted & content_words(text)) / len(wanted) if wanted else 0.0


def same_fact(one: str, other: str, *, threshold: float = 0.8) -> bool:
    """Tell whether two lines state the same: the same numbers and negations, and nearly the same content words."""
    first, second = content_words(one), content_words(other)
    if not first or not second or _marks(first) != _marks(second):
        return first == second and one.strip() == other.strip()
    return len(first & second) / min(len(first), len(second)) >= threshold and (
        len(first & second) / max(len(first), len(second)) >= threshold - 0.2
    )


def states(line: str, fact: str) -> bool:
    """Tell whether `line` already says `fact`: nearly all of its content words, all of its numbers and negations."""
    wanted, words = content_words(fact), content_words(line)
    if not wanted:
        return False
    return (
        _marks(wanted) <= _marks(words)
        and _negated(wanted) == _negated(words)
        and (len(wanted & words) / len(wanted) >= 0.8)
    )


def nearest(fact: str, lines: Iterable[str]) -> tuple[float, str | None]:
    """Return the line that covers most of the content words of `fact` and how much, 0 to 1; (0, None) for none."""
    best: tuple[float, str | None] = (0.0, None)
    wanted = content_words(fact)
    if not wanted:
        return best
    for line in lines:
        words = content_words(line)
        if not words:
            continue
        # Of two lines that cover the same, the one with the fewer other words is nearer.
        score = len(wanted & words) / len(wanted) - 0.01 * len(words - wanted) / len(words)
        if score > best[0]:
            best = (score, line)
    return best


def _marks(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if word in NEGATIONS or any(ch.isdigit() for ch in word))


def _negated(words: frozenset[str]) -> bool:
    return not words.isdisjoint(NEGATIONS)


def _pairs(word: str) -> set[str]:
    characters = [ch for ch in word if _CJK.match(ch)]
    pairs = {a + b for a, b in pairwise(characters)}
    other = "".join(ch if not _CJK.match(ch) else " " for ch in word).split()
    negations = {ch for ch in characters if ch in NEGATIONS}
    return (pairs or set(characters)) | set(other) | negations


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if len(word) > 4 and word.endswith(suffix) and not any(ch.isdigit() for ch in word):
            return word[: -len(suffix)]
    return word
