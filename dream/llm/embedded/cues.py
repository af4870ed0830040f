"""The words by which people say that something changed, and the day in brackets at the end of a line."""

from __future__ import annotations

import re
from functools import lru_cache

SUFFIX = re.compile(r"\s*[（(][^()（）]{0,40}(?:\d{4}|\d月)[^()（）]{0,20}[)）]$")
CUE = re.compile(
    r"\b(?:now|actually|instead|no longer|not anymore|these days|nowadays|from now on|changed?|switch(?:ed|ing)?|moved?|moving|relocated|updat\w+|new|"
    r"increas\w+|decreas\w+|reduced|lowered|dropped|fell|rose|passed|crossed|surpassed|promoted|rais\w+|mov(?:e|es|ing) to|grew|grown|improv\w+|extend\w+|shift\w+|slipped|postpon\w+|reschedul\w+|rebooked|push\w+|"
    r"delay\w+|correct\w+|revis\w+|adjust\w+|reach\w+|recently|total|latest|upgrad\w+|downgraded|bump\w+|brought|down to|up to|rather than|migrated|renamed|replaced|scrap(?:ped)? that|was wrong)\b"
    r"|\b(?:jetzt|nun|inzwischen|mittlerweile|neuerdings|ab sofort|nicht mehr|statt|verschoben|erhöht|gesenkt|gestiegen|gesunken|geändert|gewechselt|umgestiegen|umgezogen|gezogen|verlegt|neue[rsn]?)\b|\bkein\w* \w+ mehr\b"
    r"|其实|改成|改为|改到|改[喝吃用学玩看]|换成|换到|换了|搬到|搬去|现在|如今|目前|不再|更新|推迟|提前|增加到|减少到|涨到|升到|降到|变成|新的|今は|今では|現在|変わ|変え|変更|延期|移行|切り替え|増え|上が|下が|減り|減っ|引っ越|になり",
    re.I,
)
NOW = re.compile(r"\bnow\b|\binstead of\b|\bno longer\b|\b(?:jetzt|nun)\b|现在|改成|改到|改为|不再|変わ|今は|今では")
_AT_PRESENT = re.compile(
    r",? ?\b(?:now|these days|nowadays|currently|from now on|actually|so far|already|again|instead|jetzt|nun|inzwischen|mittlerweile|ab sofort)\b(?! that)|现在|如今|目前|已经|了$|今は|今では|現在は?|今(?=\d)",
    re.I,
)
# What is told as over, or as not yet so, says nothing of how things are.
OVER = re.compile(
    r"\b(?:used to|formerly|previously|back then|at the time|in (?:19|20)\d\d|when (?:i|they|we) (?:was|were))\b|\bfrüher\b|以前|曾经|かつて|昔",
    re.I,
)


@lru_cache(maxsize=16384)
def undated(line: str) -> str:
    """Return a line without the date that it was said on."""
    return SUFFIX.sub("", line)


@lru_cache(maxsize=16384)
def found(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Search a line, which is compared with many others, only once."""
    return pattern.search(text)


def says_changed(line: str) -> bool:
    """Say whether a line tells that something is other than it was."""
    return found(CUE, line) is not None


def timeless(text: str) -> str:
    """Return a line without the words that say that it is so now."""
    return _AT_PRESENT.sub("", text).strip(" ,")
