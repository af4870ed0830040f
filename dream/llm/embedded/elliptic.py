"""Put back the words that people leave out: "Trying to sell the boat" is "I'm trying to sell the boat"."""

from __future__ import annotations

import re

from dream.llm.embedded.lexicon import FEELING, PAST
from dream.llm.embedded.salience import happened

_ADVERB = r"(?:(?:still|just|also|currently|now|always|mostly|really|even|recently|lately|finally)\b,? )*"
_DOING = re.compile(rf"^(?P<adverb>{_ADVERB})(?P<verb>[A-Za-z]{{2,}}ing) (?P<rest>\S.*)$", re.I | re.S)
_NO_DEED = frozenset(
    "nothing something anything everything morning evening during according considering king ring spring exciting amazing interesting wishing "
    "sending rooting hanging loving having being seeing watching speaking regarding including depending judging".split()
)
# A verb that makes the -ing form its subject: "Dancing makes me happy".
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|can|could|will|would|should|may|might|must|does|do|did|\w+n't|that'?s|it'?s|"
    r"(?:make|give|help|bring|keep|feel|mean|take|sound|seem|remind|show|pay|work|teach|need|require|help|lift|ease|calm)s?"
    r"|made|gave|brought|felt|meant|took|taught|can't)\b",
    re.I,
)
_INFLECTED = re.compile(
    r"'s (?:an?|the|been|so|really|such|very|all)\b|\b\w+ly \w+s\b|\b(?!this)\w+s (?:me|my|us|our|you|your|them|it|everyone|people|\w+ly)\b"
    r"|, (?:we|i|you|it|they|he|she)\b|\blets? (?:me|us)\b",
    re.I,
)
_CLAUSE = re.compile(r"[;:—–]|\s-+\s|-+ |, (?:it|so|but|which|and (?:it|i|we))\b")
_VERB = re.compile(
    rf"{_FINITE.pattern}|\b(?:I|we|you|he|she|they|it|there|who)\b|'(?:s|m|re|ve|ll|d)\b|^\w+(?:ing|e)\b", re.I
)
_SURE = re.compile(
    r"(?:trying|hoping|planning|going|aiming|learning) to |working on |looking (?:for|into) |thinking (?:of|about) ",
    re.I,
)
_BEEN = re.compile(
    r"^been (?:(?:so|really|real|super|very|pretty|quite) )?(?:busy )?(?!being\b|amazing\b|exciting\b)\w+(?:ing|ed)\b",
    re.I,
)
_LABEL = re.compile(r"^(?:my|our) \w+'s \w+(?:,? (?:and|or) \w+)+$", re.I)
_DEED = re.compile(
    rf"^{_ADVERB}(?P<verb>(?!(?:was|were|had|did|made|said|cost|hit|kept|meant|felt)\b)[A-Za-z]{{3,}})"
    r" (?:an?|the|my|our|some|up|out|back|this|that|two|three|(?!during|evening|morning)\w+ing|(?P<where>to|in|on|at|from))\b",
    re.I,
)
_GOING = frozenset("started tried decided managed learned agreed moved switched signed".split())
_NEEDS = re.compile(r"^(?:need|want|wanted|needed|miss|missed) (?!to (?:know|see|hear)\b)\w", re.I)
_NEGATED = re.compile(
    r"^(?P<verb>don't|didn't|haven't) (?P<rest>(?:feel|know|think|want|get|see|believe|been|had)\b.*)$", re.I | re.S
)


def completed(text: str) -> str:
    """Return a sentence with the "I'm" or "I" that its speaker left out."""
    negated = _NEGATED.match(text)
    if negated:
        return f"I {negated['verb'].lower()} {negated['rest']}"
    if _BEEN.match(text):
        return f"I've {text[:1].lower()}{text[1:]}"
    if _NEEDS.match(text) or _did(text):
        return f"I {text[:1].lower()}{text[1:]}"
    doing = _DOING.match(text)
    if doing is None or doing["verb"].lower() in _NO_DEED | FEELING:
        return text
    clause = _CLAUSE.split(doing["rest"], maxsplit=1)[0]
    sure = _SURE.match(f"{doing['verb']} {doing['rest']}")
    if not sure and (_FINITE.search(clause) or _INFLECTED.search(clause)):
        return text
    return f"I'm {doing['adverb'].lower()}{doing['verb'].lower()} {doing['rest']}"


def _did(text: str) -> bool:
    """Say whether a sentence begins with what its speaker did: "Started rowing last week"."""
    match = _DEED.match(text)
    verb = match["verb"].lower() if match else ""
    if match is None or verb in FEELING:
        return False
    return verb in PAST or verb in _GOING or (verb.endswith("ed") and match["where"] is None)


def is_verbless(text: str) -> bool:
    """Say whether a short sentence has no verb: "Mostly birch and oak"."""
    return len(text.split()) <= 14 and _VERB.search(text) is None and not happened(text)


def is_label(text: str) -> bool:
    """Say whether a text only names things of something: "My boat's mast and sails"."""
    return _LABEL.match(text) is not None
