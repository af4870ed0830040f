"""Understand "no, it's 250ms now": which earlier statement it corrects, and what that then says."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SHORT = 80  # characters; a longer sentence says itself what it is about
_CORRECTS = re.compile(
    r"^(?:(?:no|nope|actually|sorry|wait|correction|oops|hm+|well|not anymore|update)\b[\s,.:!-]*)+"
    r"(?:i meant\b|i mean\b|make (?:that|it)\b|it(?:'s| is| should be| was)|that(?:'s| is)|they(?:'re| are)|we(?:'re| are) at)?\s*"
    r"(?:now |actually |really |more like |about |around )*(?P<value>\S.{0,50}?)(?: now| instead| actually| these days)?[.!]*$"
    r"|^(?:it(?:'s| is)|that(?:'s| is)|make (?:it|that)) (?:now |actually )(?P<now>\S.{0,50}?)[.!]*$"
    r"|^(?:it(?:'s| is)|that(?:'s| is)) (?P<then>\S.{0,50}?) (?:now|instead|these days)[.!]*$"
    r"|^(?:不|不对|错了|更正|其实|抱歉|等等)[，,。：:\s]*(?:现在|应该|已经)?(?:是|改成|改为|变成|换成)?(?P<zh>\S.{0,20}?)了?[。！]*$",
    re.I,
)
_NUMBER = re.compile(r"(?P<n>[$€£¥]?\d[\d.,:]*)\s?(?P<unit>%|[A-Za-z]+|[\u4e00-\u9fff]{1,2})?")
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
    """Put a value in the place of the one of the same kind, where a statement has just one."""
    wanted = _NUMBER.search(value)
    if wanted:
        same = [m for m in _NUMBER.finditer(old) if (m["unit"] or "").lower() == (wanted["unit"] or "").lower()]
        if len(same) == 1 and same[0][0] != wanted[0]:
            return old[: same[0].start()] + wanted[0] + old[same[0].end() :]
        return None
    day, was = _WEEKDAY.search(value), _WEEKDAY.findall(old)
    if day and len(was) == 1 and was[0].lower() != day[0].lower():
        return old.replace(was[0], day[0], 1)
    return None
