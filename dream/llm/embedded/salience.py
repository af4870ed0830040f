"""How telling a sentence is by its form: plans, decisions, preferences, corrections before the rest."""

from __future__ import annotations

import re
from functools import lru_cache

from dream.llm.embedded.lexicon import PAST

_STRONG = re.compile(
    r"\b(?:decided|decision|chose|prefer(?:s|red)?|favou?rite|allergic|birthday|married|engaged|divorced|pregnant|born|"
    r"moved|moving|live in|lives in|grew up|work(?:s|ed)? (?:at|for|as)|job|quit|hired|promoted|fired|graduat\w+|degree|"
    r"deadline|scheduled|planning|plan to|going to|will|signed up|bought|adopted|started|joined|won|lost|finished|"
    r"launched|opened|accepted|rejected|named|called|instead of|no longer|switched|changed|increased|updated|now|"
    r"never|always|hate|love|dream|goal|hobby|known|since|years?|months?|visited|went|met)\b"
    r"|决定|选择|喜欢|偏好|讨厌|最爱|生日|结婚|搬|住在|工作|计划|打算|截止|改成|改为|换成|不再|过敏|毕业|出生|目标|叫",
    re.I,
)
_DATED = re.compile(
    r"\b(?:yesterday|tomorrow|today|tonight|last|next|ago|\d{1,2}(?:st|nd|rd|th)|20\d\d|19\d\d)\b|昨|明天|上周|下周|去年|今年|月\d",
    re.I,
)
_FEELING = re.compile(r"^(?:it|that|this|they|he|she|these|those)(?:'s|'re| )", re.I)
_OWN = re.compile(r"\b(?:i|i'\w+|my|me|mine|myself|we|we'\w+|our|us)\b|我|咱", re.I)
_NAMES = re.compile(r"(?<=[a-z,] )[A-Z][a-z]|\d")
_VAGUE = re.compile(
    r"\b(?:can't wait|so (?:proud|happy|glad|excited|grateful|thankful)|means (?:a lot|so much)|keep (?:going|it up|pushing)|"
    r"you(?:'re|'ve|r)?|we can|let's|together|believe in)\b",
    re.I,
)


_HAPPENS = re.compile(
    r"\b\w{2,}(?<!ne)ed\b|\b(?:"
    + "|".join(sorted(PAST))
    + r")\b|\b(?:will|going to|plan\w*|soon|now|recently|just|lately|currently)\b"
    r"|了|过|将|要|打算|计划|正在|刚",
    re.I,
)


_WAS = re.compile(r"\b(?:was|were|had|went|got|came|felt|gave|brought|made)\b", re.I)
_LONG_AGO = re.compile(
    r"\bwhen (?:i|we) (?:was|were) (?:young|little|small|kids|children|an? (?:kid|child|boy|girl|teen))|\bas a (?:kid|child|boy|girl|teen\w*)\b|"
    r"\b(?:growing|grew) up\b|\bused to\b|\bin (?:my|our) (?:childhood|youth|twenties|teens)\b|小时候",
    re.I,
)
_HAPPENED = re.compile(r"\b\w{2,}(?<!ne)ed\b|\b(?:" + "|".join(sorted(PAST)) + r")\b|了|过", re.I)


_OF_A_THING = re.compile(
    r"^(?:(?:the|our|every|each|for)\b(?! user\b)|we (?!(?:had|were|could|can|all|love|like|enjoy|always|never)\b)|[A-Z][\w.-]+ (?:is|are|runs?|listens?|lives?|uses?) (?:on|at|in|under|by)\b)"
    r"|是|在|由|用",
    re.I,
)


def stands(text: str) -> bool:
    """Say whether a line tells how a thing or a team is: "The tests run with make check"; not what somebody did."""
    return _OF_A_THING.match(text) is not None and _WAS.search(text) is None


@lru_cache(maxsize=16384)  # a line is compared with many others
def happened(text: str) -> bool:
    """Say whether a sentence has a verb in the past."""
    return _HAPPENED.search(text) is not None


def happens(text: str) -> bool:
    """Say whether a sentence tells of something at a time: what happened or will; else it is how things are or were."""
    return _HAPPENS.search(text) is not None and _LONG_AGO.search(text) is None


@lru_cache(maxsize=16384)
def salience(text: str) -> float:
    """Return a factor around 1 for a trimmed sentence, before it is rewritten."""
    factor = 1.0
    if _STRONG.search(text):
        factor *= 1.25
    if _DATED.search(text):
        factor *= 1.3
    if _FEELING.match(text):
        factor *= 0.75
    if _VAGUE.search(text):
        factor *= 0.7
    if not _OWN.search(text) and not _NAMES.search(text):
        factor *= 0.6
    return factor
