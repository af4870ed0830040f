"""Keep the advice that somebody was asked for: "Any tips?" – "Water it weekly" is that Ann advises Ben to water it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dream.llm.embedded.noise import is_question
from dream.llm.embedded.telling import instructs, substance

_ASKS = re.compile(
    r"\b(?:advice|tips?|suggest\w*|recommend\w*|pointers|how (?:do|should|can|would|could) (?:i|we|you|one)|"
    r"what (?:should|would|could|can) (?:i|we|you))\b",
    re.I,
)
_LEAD = re.compile(r"^(?:just |also |please |simply |and |then |first,? |so )+", re.I)
_REMIND = re.compile(
    r"^(?:don't|do not|never) forget to |^(?:always )?(?:remember to|make sure(?: that)?(?: you| to)|be sure to|try to) ",
    re.I,
)
_DEED = re.compile(
    r"^(?!\w+(?:s|ing|ed|ly)\b|(?:for|with|in|on|at|of|to|by|from|as|not|all|both|what|than) )[A-Z]?[a-z]{2,} (?:your|yourself|the|an?|some|more|less|plenty)\b",
    re.I,
)
_NOT = re.compile(r"^(?:don't|do not) ", re.I)
_YOU = (
    (re.compile(r"\byou're\b", re.I), "they are"), (re.compile(r"\byou've\b", re.I), "they have"),
    (re.compile(r"\byou'll\b", re.I), "they will"), (re.compile(r"\byour\b", re.I), "their"),
    (re.compile(r"\byourself\b", re.I), "themselves"),
    (re.compile(r"\byou(?= (?:about|to|all|too|in|on|for|how|with|at|and|or|as|from|through|a|the)\b|\W*$)", re.I), "them"),
    (re.compile(r"\byou\b", re.I), "they"),
)  # fmt: skip


def asked_for(asked: Iterable[str]) -> bool:
    """Say whether what was said before asks for advice."""
    return any(is_question(sentence) and _ASKS.search(sentence) for sentence in asked)


def advised(text: str) -> str:
    """Return the deed that a trimmed sentence advises, `to water it weekly`; '' for no advice of substance."""
    text = _LEAD.sub("", text)
    deed = _REMIND.sub("", text)
    if deed == text and not (instructs(text) or _DEED.match(text)):
        return ""
    if substance(deed) < 1:
        return ""
    deed = _NOT.sub("not to ", deed[:1].lower() + deed[1:])
    for pattern, new in _YOU:
        deed = pattern.sub(new, deed)
    return deed if deed.startswith("not to ") else f"to {deed}"
