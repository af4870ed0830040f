"""Say a sentence that begins with "it", "that" or "this" without pointing back, where it holds all that it needs."""

from __future__ import annotations

import re

from dream.llm.embedded.lexicon import STOP
from dream.llm.embedded.words import content

NAMES, LEAST = 0.9, 3  # weight of a word that names something; so many make a thing known by itself

_WHY = re.compile(r"^(?:and |so )?(?:that|this)(?:'s| is| was) (?:why|how|when|where) (?=(?:I|we|my|our)\b)", re.I)
# "It was great to meet them" tells how somebody found it, "it's hard sharing a room" too.
_FOUND = re.compile(
    r"^it(?P<when>'s| is| was|'s been| has been) (?:(?:just|really|so|very|such|super|always|also) )*(?P<how>(?!an?\b|the\b|my\b|our\b|about\b|been\b|only\b|time\b|like\b)[a-z]+(?: and [a-z]+)?) "
    r"(?P<what>(?:to [a-z]+|[a-z]+ing) (?!environment|place|time|people)\S.*)$",
    re.I,
)
# "It was so lively, I had to take a picture": what the speaker did stands alone.
_LATER = re.compile(
    r"^(?:it|that|this)(?:'s| is| was)\b[^,;]*?(?:,(?: and| so)?| and| so) (?P<rest>(?:I|we)(?:'\w+)? [a-z]+ \S.*)$",
    re.I,
)
# "It was a reading of poems by sailors" says that there was one.
_WAS_ONE = re.compile(r"^(?:it|that|this) was (?P<what>an? (?!while\b|lot\b|bit\b|good\b|great\b)\S.*)$", re.I)
_DETERMINES = re.compile(r"^(?:and |but |so )*(?P<this>this|that|these|those) (?P<noun>[a-z][a-z-]+)(?= \S)", re.I)
_POINTS = re.compile(
    r"^(?:and |but |so )*(?:it|that|this|these|those)\b(?! (?:week|weekend|month|year|summer|winter|spring|autumn|fall)\b)",
    re.I,
)
_NO_NOUN = frozenset(
    "week weekend month year morning afternoon evening night summer winter spring autumn fall time one ones way kind sort is was "
    "are were will would can could has had have may might must made makes make gave gives helped helps reminds reminded means "
    "meant feels felt looks looked sounds seems shows showed brings brought keeps kept taught inspired inspires happened "
    "happens led leads took takes went goes really also just always definitely totally never still only much many".split()
) | STOP  # fmt: skip


def unpointed(text: str) -> str:
    """Return a sentence as its speaker might have said it without what was said before."""
    if why := _WHY.match(text):
        return text[why.end() :][:1].upper() + text[why.end() + 1 :]
    if match := _FOUND.match(text):
        finds = "find" if match["when"].lower() in {"'s", " is"} else "found"
        return f"I {finds} it {match['how']} {match['what']}"
    if match := _LATER.match(text):
        return match["rest"]
    one = _WAS_ONE.match(text)
    if one and sum(weight >= NAMES for weight in content(one["what"]).values()) >= LEAST:
        return f"There was {one['what']}"
    match = _DETERMINES.match(text)
    if match and match["noun"].lower() not in _NO_NOUN and not match["noun"].endswith("ly"):
        return f"The {match['noun']}{text[match.end() :]}"
    return text


def points(text: str) -> bool:
    """Say whether a sentence still begins with what it points back to."""
    return _POINTS.match(text) is not None
