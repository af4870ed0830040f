"""Say whether a statement of the user's stands by itself and beyond the day: not "it looks like this", not "I'm tired today"."""

from __future__ import annotations

import re

_POINTS = re.compile(
    r"\b(?:(?:something |looks? |code |set up |set |structured |defined )like (?:this|that|so|these)|as follows|the following"
    r"|(?:see|shown|code|given|implementation|snippet|error) below|(?:is|are) (?:below|here)|here(?:'s| is| are) (?:what|how|my|the|a|some|an|our))\b"
    r"|\b(?:decided|did|said|fixed|tried|settled|discussed|mentioned|did|changed|solved|asked|meant|thought of) (?:that|this)\b(?! (?:the|we|i|he|she|they|it)\b)"
    r"|\b(?:this|that|these|those) (?:error|issue|problem|code|function|line|message|warning|behaviou?r|approach|one|way|question|bug|query|snippet|output)s?\b"
    r"|[:：]$",
    re.I,
)
_TODAY = re.compile(
    r"\b(?:is|are|am|i'm|it's|feels?|feeling|looks?|seems?|was)\b.*\b(?:today|tonight|right now|at the moment|this (?:morning|afternoon|evening))\b"
    r"|\b(?:today|right now|at the moment)\b.*\b(?:is|are|am|i'm|it's|feels?|feeling)\b"
    r"|^heute (?:ist|bin|war|geht|fühle|hab)\b|^(?:ich bin|mir ist|mir geht) .*\b(?:heute|gerade)\b"
    r"|^今[天日].{0,8}[累困忙烦热冷饿]|^今[天日].{0,6}(?:开心|高兴|心情|天气)|^今日は.{0,12}(?:です|だ)ね?$|^今日は.{0,6}(?:疲れ|暑|寒|雨|晴|曇|雪)",
    re.I,
)
_FIRM = re.compile(r"\d|(?<=[a-z,] )(?!I\b)[A-Z]")
_DIGIT = re.compile(r"\d")
_BROKEN = re.compile(
    r"^(?:the|my|our|all|some|two|three|a few)(?: \w+)? [\w-]+ (?:(?:still |just |all |now )?(?:fails?|crash(?:es|ed)?|hangs?|break|breaks|pass|passes|passed|failed|broke)"
    r"|(?:is|are|was|were) (?:still |just |now )?(?:failing|broken|stuck|stale|down|crashing|flaky|gone|green|red))(?: again| now)?$",
    re.I,
)


def stands(text: str) -> bool:
    """Say whether a trimmed statement, as it was said, means something next month without what stood around it."""
    if _POINTS.search(text) or _BROKEN.match(text):
        return False
    firm = _DIGIT if text.lower().startswith("heute ") else _FIRM  # German writes every noun with a capital
    return _TODAY.search(text) is None or firm.search(text) is not None
