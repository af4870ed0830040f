"""Form: does memory read like memory? Counted by signs that a person would stumble over; no model judges style.

A sign is no proof. But a memory that gains retention and signs has become a heap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dream.eval.remembered import Remembered
from dream.eval.words import mean, words
from dream.trace import facts

_YEAR = re.compile(r"\b(?:19|20)\d{2}\b|\d{4}年")
_MARK = re.compile(r"^\s*[-*]\s+")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")  # speaks to whoever was asked
_SPEAKER = re.compile(r"^[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?: ")
SIGNS: dict[str, re.Pattern[str]] = {
    "speaks to somebody (you, your)": re.compile(r"\b(?:you|your|you're|you've)\b|[你您]", re.IGNORECASE),
    "begins with what it refers back to (it, that, this)": re.compile(r"(?:it|that|this|those|these)\b", re.IGNORECASE),
    "begins in the middle of a sentence": re.compile(r"[a-z]|的|[,;.)]"),
    "is a quotation": re.compile(r".*[“「]"),
    "asks or exclaims": re.compile(r".*[?!？！](?:\s*\([^()]*\))?$"),
}
_ANYWHERE = "speaks to somebody (you, your)"


@dataclass(frozen=True, slots=True)
class Form:
    """Of all lines of memory: words a line, shares in per cent with a year and with three or more statements, signs."""

    lines: int
    words: float
    dated: float
    crowded: float
    signs: dict[str, float]
    examples: dict[str, str]


def measure(remembered: Sequence[Remembered]) -> Form:
    """Look at every line that stands in memory at the end."""
    lines = [_MARK.sub("", line) for one in remembered for text in one.files.values() for line in facts(text)]
    signs = {name: [line for line in lines if _shows(name, line)] for name in SIGNS}
    return Form(
        lines=len(lines),
        words=(mean(len(words(line)) for line in lines) or 0.0) / 100,
        dated=_share(lines, (_YEAR.search(line) for line in lines)),
        crowded=_share(lines, (line.count("; ") >= 2 for line in lines)),
        signs={name: _share(lines, found) for name, found in signs.items()},
        examples={name: min(found, key=len) for name, found in signs.items() if found},
    )


def _shows(name: str, line: str) -> bool:
    said = _SPEAKER.sub("", _QUOTED.sub("", line) if name == _ANYWHERE else line)
    found = SIGNS[name].search(said) if name == _ANYWHERE else SIGNS[name].match(said)
    return found is not None


def _share(lines: Sequence[str], found: Iterable[object]) -> float:
    return 100 * sum(map(bool, found)) / max(1, len(lines))
