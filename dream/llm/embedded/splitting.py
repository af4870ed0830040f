"""Cut a sentence into the facts in it, so that each can change alone: "I'm Ada and I live in Oslo" is two.

Only between halves that each say something by themselves; a reason or a condition stays with what it belongs to.
"""

from __future__ import annotations

import re

from dream.llm.embedded.german import facts_in_de, is_german
from dream.llm.embedded.lexicon import BELONGING

_STATE = r"(?:live|work|study|teach|play|speak|own|drive|use|prefer|like|love|hate|enjoy|run|have|write|collect|drink|eat|cook)"
_VERB = (
    r"(?:is|isn't|are|aren't|has|hasn't|does|doesn't|will|won't|can|can't|was|were|owns?|plays?|lives?|works?|likes?|hates?|goes|"
    r"loves?|prefers?|wants?|needs?|uses?|runs?|studies|teaches|speaks?|drinks?|eats?|does|handles|leads|manages|reviews)"
)
_NAMED = re.compile(
    r"^(?:(?:my name(?:'s| is)|i'm called|people call me) (?P<name>(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?)"
    r"|I(?:'m| am) (?P<am>(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?))"
    r"(?:(?:,? and|,)(?: I(?:'m| am))? (?P<what>(?:an? |from |\d)[^?]*)|(?:,? and|,|;| -) (?P<rest>(?:I|I'm|I've|we|we're|my|our)\b[^?]*))$",
    re.I,
)
_NAMED_ZH = re.compile(r"^(我叫[^，,。]{2,8})[，,](\S.*)$")
_MINE = r"(?:I(?:'m|'ve)?|[Ww]e(?:'re|'ve)?)(?! (?:think|guess|hope|mean|feel|believe|bet|know)\b)"
_JOINT = re.compile(
    rf"(?:,? (?:and|but)|;|,) (?=(?:{_MINE} [a-z]|(?:[Mm]y|[Oo]ur) (?:[\w-]+ ){{1,3}}{_VERB}\b|[A-Z][a-z]+ {_VERB}\b))"
)
_WISH = re.compile(r"(?:, (?:and |so |but )?|; )(?=(?:please |always |never |do not |don't )(?:\w+))", re.I)
_SAME = re.compile(
    rf"^(?P<lead>I(?:'m| am| {_STATE})\b.*?),? and (?:I )?(?:also )?(?P<rest>{_STATE} (?!it\b|them\b|that\b).+)$"
)
_HANGS = re.compile(
    r"^(?:if|when|while|because|since|after|before|although|though|unless|until|once|so|as|where|let|say|suppose|imagine)\b"
    r"|\b(?:if|because|unless|whether|so that|said|says|told|think|heard|know)\b[^,;]*$"
    r"|\b(?:no longer|any ?more|instead|used to|stopped)\b",
    re.I,
)
_WHOLE = re.compile(rf"(?:^|\b)(?:{_VERB}|I'm|I've|we're|we've|\w+ed|\w+s|went|got|had|met|{_STATE})\b", re.I)
SHORTEST = 3  # words of a part


def facts_in(sentence: str) -> list[str]:
    """Return the statements that a trimmed sentence of the user's makes, each complete in itself."""
    if sentence.startswith("我叫") and (named := _NAMED_ZH.match(sentence)):
        return [named[1], named[2] if named[2].startswith("我") else f"我{named[2]}"]
    if is_german(sentence):
        return facts_in_de(sentence)
    named = _NAMED.match(sentence)
    if named:
        rest = named["rest"] or f"I'm {named['what']}"
        belongs = (named["am"] or "").lower() in BELONGING
        first = f"I'm {named['am']}" if belongs else f"My name is {named['name'] or named['am']}"
        return [first, *facts_in(rest[:1].upper() + rest[1:])]
    parts = [""]
    at = 0
    for joint in _JOINT.finditer(sentence):
        left, right = sentence[at : joint.start()], sentence[joint.end() :]
        if _stands(left) and _stands(right) and not _HANGS.search(left):
            parts += [left]
            at = joint.end()
    parts += [sentence[at:]]
    wishes = [part for whole in parts if whole for part in _WISH.split(whole)]
    found = [part for whole in wishes for part in _of_one_subject(whole)]
    return [part[:1].upper() + part[1:] for part in found] if len(found) > 1 else [sentence]


def _stands(part: str) -> bool:
    return len(part.split()) >= SHORTEST and _WHOLE.search(part) is not None


def _of_one_subject(sentence: str) -> list[str]:
    match = _SAME.match(sentence)
    if match is None or _HANGS.search(match["lead"]) or len(match["lead"].split()) < SHORTEST:
        return [sentence]
    return [match["lead"], f"I {match['rest']}"]
