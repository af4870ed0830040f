"""Name the one spoken to: "I made it for your daughter", said to Ben, is about Ben's daughter."""

from __future__ import annotations

import re

_YOU = re.compile(r"\b(?:you|you'\w+|your|yours|yourself|ya|y'all)\b", re.I)
_OBJECT = re.compile(
    r"\byou(?= (?:about|to|all|too|in|on|for|how|the|some|a|an|my|and|with|at|when|last|as)\b|\W*$|[,.;])", re.I
)
_SPEAKS_TO = re.compile(r"^(?:you|your|that|this|it|glad|thanks)\b", re.I)
_OWN_HALF = re.compile(
    r"^[^;]*?\byou\w*\b[^;]*?(?:, (?:so|and|but)|; (?:so|and|but)?) ?(?P<own>(?:I|I'\w+|we|we'\w+|my) .+)$", re.I
)
_HOLLOW = re.compile(
    r"\b(?:like|as) you (?:said|mentioned|suggested)\b,? ?|\b(?:you know|thanks? (?:to )?you|for you|with you|to you|of you)\b ?(?=$|[,.;])",
    re.I,
)
_TELLING = re.compile(
    r"^I (?:just |really |also )?(?:wanted|want|have|need|had|'ve got|gotta|should|must) to (?:tell|show|share with) you(?: about)? (?=my|the|this|our|how|what)",
    re.I,
)


def own_half(text: str) -> str:
    """Return what a speaker says of themselves after what they say to the other: "You sang so well, and I've joined too".

    The sentence as it is where it speaks to nobody, or of the speaker from its beginning.
    """
    if not _SPEAKS_TO.match(text):
        return text
    half = _OWN_HALF.search(text)
    return half["own"] if half and _YOU.search(half["own"]) is None else text


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
