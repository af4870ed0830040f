"""What a user says in passing: supposed, the weather, trouble that is over, what somebody else wrote. Pure."""

# ruff: noqa: E501 - a row of words in a pattern stands on one line
from __future__ import annotations

import re

_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)
_SUPPOSED = re.compile(
    r"^\W*(?:if\b.*\b(?:would|could|might|were)\b|if\b.*\w'd\b"
    r"|(?:just )?imagine\b|suppos(?:e|ing)\b|let'?s say\b|what if\b"
    r"|wenn\b.*\b(?:würde|hätte|wäre|könnte)\w*|stell dir vor\b|如果.*(?:就|会)|假如|假设|要是|もし)",
    re.IGNORECASE,
)
# The same in the middle of a sentence: "I mean if I won a million quid I'd …".
_SUPPOSED_LATER = re.compile(
    r"\bif (?:i|we|you|he|she|they)\b[^.!?]{0,80}\b(?:i|we|you|he|she|they)(?:['’]d| would| could| might)\b(?! like| prefer)"
    r"|\bif (?:i|we) (?:won|had|were|was|could|ever)\b|\bwenn ich\b[^.!?]{0,60}\b(?:würde|hätte|wäre|könnte)\b",
    re.IGNORECASE,
)
# Begins a sentence that takes back what was said just before it.
_TAKES_BACK = re.compile(
    r"^\W*(?:(?:oh|ah|er|uh|hm+|wait|ach|äh|ay) ?,? )*(?:no\b(?! (?:problem|worries|idea|one)\b)|sorry|wait\b|actually|correction|scratch that|i mean[t]?\b|make that"
    r"|nein|doch\b|quatsch|ich mein\w*|perdón|digo\b|mejor dicho|non\b|pardon|je veux dire)|^\W*(?:不对|不是|错了|更正|いや|違う|訂正)",
    re.IGNORECASE,
)
_WEATHER = re.compile(
    r"\b(?:sunny|rain(?:s|y|ing)?|drizzl\w+|snow(?:s|y|ing)?|cloudy|foggy|windy"
    r"|degrees (?:here|outside|today)|\d+ ?degrees here"
    r"|sonnig|regnet|schneit|bewölkt|\d+ Grad (?:hier|draußen|heute))\b"
    r"|下雨|下雪|毛毛雨|晴天|阴天|刮风|[今天里外]晴|天气|天気|雨です|晴れ",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:(?:works?|working|runs?|fine|up|back|okay?) again|works now|went away|(?:was )?gone (?:after|now)"
    r"|after a retry|resolved itself"
    r"|(?:geht|läuft|funktioniert) (?:jetzt |nun )?wieder)\b"
    r"|又好了|重试就好|又能用了|また動|直りました",
    re.IGNORECASE,
)
WEATHER_CHARS = 80  # of a sentence; a longer one tells more than the weather


def without_quotations(text: str) -> str:
    """Return a message without the lines that quote somebody else, as mail does: `> …`."""
    return _QUOTED.sub("", text)


def takes_back(rest: str) -> bool:
    """Say whether the `rest` of a message after a sentence takes that sentence back or puts another value for it."""
    return any(
        _TAKES_BACK.match(part) for part in re.split(r"(?<=[.!?…。！？])\s*|\n|\.\.\.|…|,\s", rest[:160]) if part
    )


def in_passing(sentence: str) -> bool:
    """Say whether a sentence tells nothing that holds: no tail brings it back into a summary that left it out."""
    if _SUPPOSED.match(sentence) or _SUPPOSED_LATER.search(sentence) or _OVER.search(sentence):
        return True
    return len(sentence) <= WEATHER_CHARS and _WEATHER.search(sentence) is not None
