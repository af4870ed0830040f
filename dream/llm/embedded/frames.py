"""Compare two lines word by word: "Takes the train to work now" is "Takes the bus to work" with one part changed."""

from __future__ import annotations

import re

from dream.llm.embedded.amounts import CLOCK, NUMBER
from dream.llm.embedded.cues import OVER, found, says_changed, timeless
from dream.llm.embedded.lexicon import STOP
from dream.llm.embedded.things import VERB, VERB_DE, slot
from dream.llm.embedded.words import CJK, has_cjk, stem

_COUNTS = re.compile(r"\b(?:so far|in total|this (?:year|month|week)|up to now)\b", re.I)
_TOKEN = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_BY = frozenset("by on at in".split())
_ONE_AT_A_TIME = frozenset(map(stem, "drives lives weighs wears earns pays fährt wohnt wiegt verdient".split()))
_MANY = frozenset(
    map(stem, "likes loves hates knows speaks plays owns met visited bought read mag liebt spricht spielt".split())
)
_WORD_CJK = re.compile(r"[一-龥ァ-ヶA-Za-z0-9]")
MIDDLE = 4  # words, or 10 letters without spaces, that differ between two lines of one frame


def other_in_frame(new: str, old: str) -> bool:
    """Say whether `new` is `old` with one part changed, and says that it is now so: "Takes the train to work now"."""
    if found(OVER, new) or found(OVER, old) or not (says_changed(new) or (_COUNTS.search(new) and _COUNTS.search(old))):
        return False
    left, right = _TOKEN.findall(timeless(new)), _TOKEN.findall(timeless(old))
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    one, other = left[head : len(left) - tail], right[head : len(right) - tail]
    most = 10 if has_cjk(new) else MIDDLE
    if not one or not other or max(len(one), len(other)) > most or not _keeps_subject(new, left, head, tail):
        return False
    if _numeric(one) != _numeric(other) or (_numeric(one) and _counted(one) != _counted(other)):
        return False
    timed = all(CLOCK.search(" ".join(part)) for part in (one, other))
    return timed or _is_frame(left[:head], left[len(left) - tail :], new)


def other_words(left: str, right: str) -> bool:
    """Say whether two lines that are written without spaces differ in one part, which is a word in both."""
    one, other = _TOKEN.findall(left), _TOKEN.findall(right)
    head = _common(one, other)
    tail = _common(one[head:][::-1], other[head:][::-1])
    parts = ("".join(line[head : len(line) - tail]) for line in (one, other))
    return all(_WORD_CJK.search(part) for part in parts)


def _common(left: list[str], right: list[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next(
        (at for at, (one, other) in enumerate(pairs) if one.lower() != other.lower()), min(len(left), len(right))
    )


def _keeps_subject(line: str, tokens: list[str], head: int, tail: int) -> bool:
    """Say whether what differs is no part of whom or what the line is about."""
    if has_cjk(line):
        marks = [at for at, token in enumerate(tokens) if token in {"は", "が", "是"}]
        return head > marks[0] if marks else head + tail >= 2
    thing = slot(timeless(line))
    if thing is not None and not re.match(r"(?:We|Wir)\b", line):
        verb = next(
            (at for at, token in enumerate(tokens) if at and re.fullmatch(f"{VERB}|{VERB_DE}", token)), len(tokens)
        )
        return head > verb
    return head >= (2 if re.match(r"(?:We|Wir)\b", line) else 1)


def _numeric(part: list[str]) -> bool:
    return any(NUMBER.search(token) for token in part)


def _counted(part: list[str]) -> list[str]:
    return [token.lower().rstrip("s") for token in part if not NUMBER.search(token)]


def _is_frame(before: list[str], after: list[str], line: str) -> bool:
    """Say whether what both lines have in common is more than a verb that many things may stand after."""
    if has_cjk(line):
        return True
    verb = stem(before[1 if before[0] in {"We", "Wir"} and len(before) > 1 else 0].lower())
    rest = [token for token in (*before[1:], *after) if token.lower() not in STOP - {"each", "every"}]
    plain = [token for token in rest if stem(token.lower()) != verb]
    return bool(plain) or before[-1].lower() in _BY or (bool(after) and verb not in _MANY) or verb in _ONE_AT_A_TIME
