"""What people hold and how they live, told without an event: "Baking calms me", "Good boots matter more than a map".

Less than what happened, and the first to go where there is no room; more than a mood, which names nothing.
"""

from __future__ import annotations

import re

from dream.llm.embedded.elliptic import is_verbless
from dream.llm.embedded.telling import is_hollow, substance
from dream.llm.embedded.words import content

OWN = 0.7  # of what a sentence of something that happened counts: one about its speaker
OPINION = 0.5  # and one about the world
LEAST = 4  # words
CARRIED = 1.4  # weight of the words of a sentence about its speaker; a word of feeling carries half as much as a name

_OWN = re.compile(r"\b(?:i|i'\w+|my|me|mine|myself)\b|^(?:[^,]{0,40}, )?(?:we|we'\w+|our)\b", re.I)
_GUESS = re.compile(r"^(?:i )?(?:bet|hope|guess|wish|suppose|imagine|can (?:imagine|see|tell)|appreciate)\b", re.I)
# "That bowl is gorgeous", "It's great to see": praise of what the other has just shown or said.
_PRAISE = re.compile(r"^(?:that|this|these|those|it|it's|what|so|how)\b|\b(?:looks?|sounds?|seems?|such)\b", re.I)
_COMMAND = re.compile(
    r"^(?!\w+(?:s|ing|ed|ly)\b)[A-Z]?[a-z]{2,} (?:your|yourself|the|an?|some|those|these|that|any|all) ", re.I
)
_NO_DEED = re.compile(
    r"^(?:having|being|all|both|some|most|many|every|each|no|one|not|even|with|by|for|in|on|at|to|of|when|while)\b",
    re.I,
)
_TOGETHER = re.compile(r"\b(?:together|each other|one another|us|we|let's|everyone|anyone|anything|everything)\b", re.I)


def view(text: str) -> float:
    """Return what a sentence that tells of no event counts beside one that does; 0 where it is nothing to keep."""
    if len(text.split()) < LEAST or is_hollow(text) or is_verbless(text) or _GUESS.match(text):
        return 0.0
    if _OWN.search(text):
        return OWN if sum(content(text).values()) >= CARRIED else 0.0
    if _PRAISE.search(text) or _TOGETHER.search(text) or (_COMMAND.match(text) and not _NO_DEED.match(text)):
        return 0.0
    return OPINION if substance(text) >= 2 else 0.0
