"""Understand "no, it's 250ms now": which earlier statement it corrects, and what that then says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dream.llm.embedded.cues import undated
from dream.llm.embedded.lexicon import MONTHS

_SHORT = 80  # characters; a longer sentence says itself what it is about
_CORRECTS = re.compile(
    r"^(?:(?:no|nope|actually|sorry|wait|correction|oops|hm+|well|not anymore|update)\b[\s,.:!-]*)+"
    r"(?:i meant\b|i mean\b|make (?:that|it)\b|it(?:'s| is| should be| was)|that(?:'s| is)|they(?:'re| are)|we(?:'re| are) at)?\s*"
    r"(?:now |actually |really |more like |about |around )*(?P<value>\S.{0,50}?)(?: now| instead| actually| these days)?[.!]*$"
    r"|^(?:it(?:'s| is)|that(?:'s| is)|make (?:it|that)) (?:now |actually )(?P<now>\S.{0,50}?)[.!]*$"
    r"|^(?:it(?:'s| is)|that(?:'s| is)) (?P<then>\S.{0,50}?) (?:now|instead|these days)[.!]*$"
    r"|^(?:(?:nein|doch|eigentlich|moment|quatsch|korrektur|entschuldigung|sorry)\b[\s,.:!-]*)+(?:(?:sind|ist|waren|war|wird|werden) es|es (?:sind|ist|waren|war|wird|werden)|wir haben|am|um)?\s*"
    r"(?:jetzt |doch |nur )?(?P<de>\S.{0,50}?)[.!]*$"
    r"|^(?:不|不对|错了|更正|其实|抱歉|等等)[，,。：:\s]*(?:现在|应该|已经)?(?:是|改成|改为|变成|换成)?(?P<zh>\S.{0,20}?)了?[。！]*$",
    re.I,
)
_NUMBER = re.compile(r"(?P<n>[$€£¥]?\d[\d.,:]*)\s?(?P<unit>%|[A-Za-z]+|[\u4e00-\u9fff]{1,2})?")
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{'|'.join(MONTHS)})\b|\b(?:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?\b|\d{{1,2}}月\d{{1,2}}[日号]",
    re.I,
)
_GONE = re.compile(
    r"\b(?:from|instead of|rather than|not|than)(?: on| the)? $|从$", re.I
)  # before a value that was given up
_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", re.I)


def corrected(sentence: str, earlier: Sequence[str]) -> tuple[str, str] | None:
    """Return the earlier statement that a sentence corrects, as it stood and as it is now; None if there is none.

    `earlier` are the statements before it, the latest last.
    """
    match = _CORRECTS.match(sentence) if len(sentence) <= _SHORT else None
    if match is None:
        return None
    value = next(text for text in match.groups() if text)
    for old in reversed(earlier):
        new = _substituted(old, value)
        if new is not None:
            return old, new
    return None


def _substituted(old: str, value: str) -> str | None:
    """Put a value in the place of the one of the same kind, where a statement has just one that holds."""
    for pattern in (_DATE, _NUMBER, _WEEKDAY):
        wanted = pattern.search(value)
        if wanted is None:
            continue
        same = [found for found in pattern.finditer(old, 0, len(undated(old))) if _unit(found) == _unit(wanted)]
        holds = same if len(same) == 1 else [found for found in same if not _GONE.search(old[: found.start()])]
        if len(holds) == 1 and holds[0][0].lower() != wanted[0].lower():
            return old[: holds[0].start()] + wanted[0] + old[holds[0].end() :]
        return None
    return None


def _unit(match: re.Match[str]) -> str:
    return (match.groupdict().get("unit") or "").lower()
