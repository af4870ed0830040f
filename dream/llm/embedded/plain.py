"""The short plain facts that people tell of themselves and their plans: "I'm vegan", "The launch is next Friday"."""

from __future__ import annotations

import re

from dream.llm.embedded.dates import relative
from dream.llm.embedded.lexicon import COMMON, FEELING, MONTHS, STOP, WEEKDAYS
from dream.llm.embedded.words import content

_NATION = (
    r"[A-Z][a-z]+(?:ish|ese|ian|ean|ican|i)|German|French|Dutch|Greek|Czech|Thai|Swiss|Jewish|Muslim|Catholic|Hindu"
)
# A state that lasts is told by the word's form, or is one of the few that have none.
_LASTS = re.compile(
    rf"(?:{_NATION})|[a-z]+-(?:handed|free|blind|intolerant|employed)|[a-z]+(?:arian|etic|exic|istic|ingual|matic|leptic)|"
    r"(?:colou?r ?blind|lactose intolerant|vegan|celiac|coeliac|blind|deaf|gay|lesbian|bisexual|trans|atheist|religious|"
    r"married|single|divorced|widowed|engaged|retired|unemployed|pregnant|halal|kosher)"
)
_AM = re.compile(r"^I(?:'m| am) (?:now |also |actually )?(?P<noun>an? )?(?P<what>[\w-]+(?: [\w-]+)?)$")
_DAY = re.compile(rf"\b(?:{'|'.join((*WEEKDAYS, *MONTHS))})\b|\b\d{{4}}-\d\d-\d\d\b")
_SET = re.compile(
    r"^(?:the|our|my) (?P<thing>[\w' -]{2,50}?) (?:is|are|starts?|begins?|ends?|takes place|happens|is due|was moved to)"
    r"(?: on| in| at| by| for| set for| scheduled for| planned for)? (?P<when>.{3,40})$",
    re.I,
)


def is_plain(text: str) -> bool:
    """Say whether a trimmed sentence, as a user said it, is short but a fact: who they are, or when something is."""
    am = _AM.match(text)
    if am:
        words = am["what"].lower().split()
        if am["noun"]:
            return not any(word in COMMON or word in FEELING or word in STOP for word in words)
        return _LASTS.fullmatch(am["what"]) is not None
    when = _SET.match(text)
    return when is not None and bool(content(when["thing"])) and _is_day(when["when"])


def _is_day(text: str) -> bool:
    return len(text.split()) <= 5 and (relative(text) or _DAY.search(text) is not None)
