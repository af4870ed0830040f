"""What people hold and how they live, told without an event: "Baking calms me", "I never travel without a map".

Less than what happened, and the first to go where there is no room; more than a mood, which names nothing. What
somebody thinks of the world at large is small talk.
"""

from __future__ import annotations

import re

from dream.llm.embedded.elliptic import is_verbless
from dream.llm.embedded.telling import is_hollow
from dream.llm.embedded.words import content

OWN = 0.7  # of what a sentence of something that happened counts
LEAST = 4  # words
CARRIED = 1.4  # weight of the words of a sentence about its speaker; a word of feeling carries half as much as a name

_OWN = re.compile(r"\b(?:i|i'\w+|my|me|mine|myself)\b|^(?:[^,]{0,40}, )?(?:we|we'\w+|our)\b", re.I)
_GUESS = re.compile(r"^(?:i )?(?:bet|hope|guess|wish|suppose|imagine|can (?:imagine|see|tell)|appreciate)\b", re.I)


def view(text: str) -> float:
    """Return what a sentence that tells of no event counts beside one that does; 0 where it is nothing to keep."""
    if len(text.split()) < LEAST or is_hollow(text) or is_verbless(text) or _GUESS.match(text):
        return 0.0
    return OWN if _OWN.search(text) and sum(content(text).values()) >= CARRIED else 0.0
