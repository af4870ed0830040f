"""Content words of a text, as stems with a weight: what a line can be recognised and ranked by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from dream.llm.embedded.lexicon import COMMON, FEELING, HARD_ZH, MONTHS, STOP, STOP_ZH, WEEKDAYS

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’./:@-][^\W_{CJK}]+)*", re.UNICODE)
FELT = 0.45  # the weight of a word of feeling beside 1 for a plain content word
_KANA = re.compile("[\u3040-\u30ff]")
_HAS_CJK = re.compile(f"[{CJK}]")
_CALENDAR = frozenset(word.lower() for word in (*MONTHS, *WEEKDAYS))


def has_cjk(text: str) -> bool:
    """Say whether a text holds Chinese, Japanese or Korean letters."""
    return _HAS_CJK.search(text) is not None


def has_kana(text: str) -> bool:
    """Say whether a text holds Japanese syllables."""
    return _KANA.search(text) is not None


def mostly_cjk(text: str) -> bool:
    """Say whether a text is written in Chinese, Japanese or Korean."""
    letters = sum(c.isalpha() for c in text)
    return letters > 0 and 3 * len(_HAS_CJK.findall(text)) > letters


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Reduce an English word lightly: plural, -ing and -ed."""
    for suffix, least in (("'s", 3), ("’s", 3), ("ies", 6), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if len(word) >= least and word.endswith(suffix) and not word.endswith("ss"):
            word = word[: -len(suffix)] + ("y" if suffix == "ies" else "")
            break
    if len(word) > 4 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def words(text: str) -> list[str]:
    """Split a text into words as they stand; a run of CJK letters is one word."""
    return _WORD.findall(text)


def _weight(word: str, lower: str, first: bool) -> float:
    if lower in _CALENDAR:
        return 0.4
    if any(c.isdigit() for c in word):
        return 0.4 if len(word) == 4 and word[:2] in {"19", "20"} else 1.0
    if lower in COMMON:
        return 0.15
    if lower in FEELING or (len(lower) > 5 and lower.endswith("ly")):
        return FELT
    if not first and word[:1].isupper():
        return 1.5
    return 1.0


@lru_cache(maxsize=16384)
def content(text: str) -> dict[str, float]:
    """Return the distinct content stems of a text with their weights; CJK counts as pairs of letters.

    The result is shared: nobody may change it.
    """
    found: dict[str, float] = {}
    for index, word in enumerate(words(text)):
        if _HAS_CJK.match(word):
            for pair in _pairs(word):
                found[pair] = 0.5
            continue
        lower = word.lower().replace("’", "'")
        if lower in STOP or (len(lower) < 2 and not lower.isdigit()):
            continue
        key = stem(lower)
        found[key] = max(found.get(key, 0.0), _weight(word, lower, index == 0))
    return found


def _pairs(run: str) -> Iterable[str]:
    for index in range(len(run) - 1):
        pair = run[index : index + 2]
        if not HARD_ZH & set(pair) and not set(pair) <= STOP_ZH:
            yield pair
    if len(run) == 1 and run not in STOP_ZH and run not in "年月日号":
        yield run


def overlap(left: dict[str, float], right: dict[str, float]) -> float:
    """Return the weight that both share as a part of the lighter one's, 0 to 1."""
    shared = sum(min(weight, right[key]) for key, weight in left.items() if key in right)
    least = min(sum(left.values()), sum(right.values()))
    return shared / least if least else 0.0


def likeness(left: dict[str, float], right: dict[str, float]) -> float:
    """Return the weight that both share as a part of all their weight, 0 to 1."""
    shared = sum(min(weight, right[key]) for key, weight in left.items() if key in right)
    whole = sum(left.values()) + sum(right.values()) - shared
    return shared / whole if whole else 0.0
