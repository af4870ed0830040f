"""Keep that a statement takes an earlier one back, when the words that say so are cut off: "Scrap that, we use Redis"."""

from __future__ import annotations

import re

from dream.llm.embedded.cues import says_changed
from dream.llm.embedded.german import is_german
from dream.llm.embedded.naming import own_name
from dream.llm.embedded.words import has_cjk

_LEAD = r"^(?:(?:no|nope|oh|oops|sorry|wait|well|ok|okay|hm+|nein|moment|ach)\b[\s,.:!-]*)*"
_TAKES_BACK = re.compile(
    _LEAD
    + r"(?:scrap that|forget that|correction|small correction|i was wrong|i made a mistake|my mistake|that was wrong|i misspoke|change of plans?|korrektur|ich habe mich (?:vertan|geirrt))\b",
    re.I,
)
_SET_RIGHT = re.compile(r"^(?:no|nope|oops|sorry|wait|actually|nein|eigentlich|correction|korrektur)\b", re.I)


def as_changed(fact: str, sentence: str) -> str:
    """Return a fact with "now", where its sentence takes back what was said before and the fact doesn't say so."""
    name = own_name(fact)
    if has_cjk(fact) or says_changed(fact) or not (_SET_RIGHT if name else _TAKES_BACK).match(sentence.strip()):
        return fact
    if name and ", not " in fact:
        return fact
    return f"{fact} jetzt" if is_german(fact) else f"{fact} now"
