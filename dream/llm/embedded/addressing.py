"""Name the one spoken to: "I made it for your daughter", said to Ben, is about Ben's daughter."""

from __future__ import annotations

import re

_YOU = re.compile(r"\b(?:you|you'\w+|your|yours|yourself|ya|y'all)\b", re.I)
_OBJECT = re.compile(
    r"\byou(?= (?:about|to|all|too|in|on|for|how|the|some|a|an|my|and|with|at|when|last|as)\b|\W*$|[,.;])", re.I
)
_HOLLOW = re.compile(
    r"\b(?:like|as) you (?:said|mentioned|suggested)\b,? ?|\b(?:you know|thanks? (?:to )?you|for you|with you|to you|of you)\b ?(?=$|[,.;])",
    re.I,
)
_TELLING = re.compile(
    r"^I (?:just |really |also )?(?:wanted|want|have|need|had|'ve got|gotta|should|must) to (?:tell|show|share with) you(?: about)? (?=my|the|this|our|how|what)",
    re.I,
)


def addressed(text: str, other: str) -> str:
    """Put the other's name for "you"; '' for a sentence in which the other does something, or has no name."""
    if _YOU.search(text) is None:
        return text
    text = _HOLLOW.sub("", _TELLING.sub("I told you about ", text)).rstrip(" ,;")
    if _YOU.search(text) and not other:
        return ""
    text = re.sub(r"\byour\b", f"{other}'s", text, flags=re.I)
    text = _OBJECT.sub(other, text)
    return "" if _YOU.search(text) else text
