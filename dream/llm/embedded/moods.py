"""What people say to keep their spirits up: "I won't let anything stop me", "It'll be worth it". Nothing to write down."""

from __future__ import annotations

import re

_LEAD = r"^(?:(?:but|and|so|still|now|just|well),? )*"
_MOOD = re.compile(
    _LEAD
    + r"(?:i(?:'ll| will|'m not (?:gonna|going to)| won't| refuse to)(?: never| not)? (?:let (?:anything|anyone|nothing|it|this|that)\b|give up|quit\b|back down|stop (?:trying|believing|dreaming|until))"
    r"|i(?:'m| am)(?: so| really| just| always| here,?| super)* (?:looking forward to (?:it|more|seeing|enjoying|what)|rooting for|behind you|cheering|hanging in there|staying (?:positive|strong|hopeful))"
    r"|(?:it|this|that|tomorrow|tonight|everything)(?:'s| is|'ll be| will be|'s gonna be| is gonna be| is going to be)(?: so| really| all| totally| been)* (?:awesome|great|amazing|worth it|fun|fine|wild|crazy|(?:a|an|such an?) (?:\w+ )?(?:ride|night|time|journey|blast|process))\b"
    r"|(?:it'll|it will|hard work|it'll all|it all) pays? off|it'll be worth it|moments like (?:this|these|that)\b|we(?:'ll| will|'ve got this| can) (?:rock|make it|get through|crush|be fine|do (?:it|this))"
    r"|(?:really |you )?can't beat\b|not easy\b|(?:it |this )?sounds familiar$|life (?:can be|sure|is|has)\b|setbacks?\b|one step at a time)",
    re.I,
)
_FIRM = re.compile(r"\d|(?<=[a-z,;] )(?!I\b)[A-Z]\w|\"")


def is_mood(text: str) -> bool:
    """Say whether a trimmed sentence, as it was said, is only mood or encouragement, with no name and no number in it."""
    return _MOOD.match(text) is not None and _FIRM.search(text) is None
