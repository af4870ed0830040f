"""Find what a user forbids the agent under a condition or for good: "When you touch the schema, don't drop columns"."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.dates import anchor
from dream.llm.embedded.words import content

# What is said to comfort or to pass by, and what is between people.
_NOT = r"(?!worry|hesitate|be\b|know\b|think\b|feel\b|like\b|want\b|mind\b|bother\b|forget\b|wait\b|get me\b|tell (?:me|him|her|them)\b|give up|stress|panic|miss\b|blame)"
_FORBID = rf"(?:please |pls )?(?:don'?t|do not|never|avoid) {_NOT}[a-z]+"
_WHEN = r"(?:when(?:ever)?|if|while|before|after|unless|once|until|as long as|in|for|with|on|inside|during|outside)"
_CONDITION_FIRST = re.compile(rf"^(?:{_WHEN}\b[^,;.?!]{{3,80}}), (?:then )?(?:{_FORBID}\b[^?]{{0,120}})$", re.I)
_CONDITION_LAST = re.compile(
    rf"^{_FORBID}\b[^,;?]{{2,80}} (?:when(?:ever)?|if|while|before|unless|until|without|during) [^?]{{3,80}}$", re.I
)
# "The staging box is shared, so don't restart it": what not to restart, the reason tells.
_BECAUSE = re.compile(
    rf"^(?:the|our|we|all|every|(?!No\b)[A-Z]\w+)\b(?!.*\b(?:I|my|me)\b)[^,;.?]{{8,100}}, so {_FORBID} (?:it|them|that|those|there)\b[^?]{{0,100}}$"
)
_HOURS = re.compile(
    rf"^{_FORBID}\b[^,;?]{{2,80}} (?:after|before|on|at|between) (?:\d|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|weekends?\b|night\b)[^?]*$",
    re.I,
)
_DUTY = re.compile(
    r"^(?:(?:when(?:ever)?|before|after|every time)\b[^,;.?!]{3,80}), (?:please )?(?:don'?t forget to|do not forget to|remember to|make sure (?:to|you)) (?:[a-z]+\b[^?]{2,100})$",
    re.I,
)
_MODAL = re.compile(
    r"^(?:you(?:'re| are) not (?:allowed|supposed) to|you (?:must|may|should|can|are) ?(?:not|never)|you (?:mustn't|shouldn't|can't)|i (?:don't|do not) want you to|i(?:'d| would) rather you didn't|"
    rf"under no circumstances(?: should you)?) (?:{_NOT}[a-z]+\b[^?]{{3,120}})$",
    re.I,
)
_NONE_IN = re.compile(
    r"^(?:please |and )?no (?:(?!need|problem|worries|idea|way)[a-z][\w -]{2,30}? (?:in|on|inside|within) (?:the |your |any |our )?[\w -]{3,40})(?: please)?$",
    re.I,
)
_ASK_FIRST = re.compile(
    r"^(?:please |always )?(?:ask|check with|consult)(?: (?:me|us))?(?: first)? before (?:you [a-z]+|[a-z]+ing)\b[^?]{3,100}$",
    re.I,
)
_OTHERS = re.compile(
    r"^(?:Wenn|Falls|Bevor|Solange|Sobald|Beim?) (?:du )?.{3,80}(?:, .*| )\b(?:nicht|keine?[nsrm]?|nie)\b|^Bitte (?:nicht|keine?[nsrm]?) (?!vergessen)"
    r"|^[^。？]{2,20}(?:时|的时候|之前|以前|前|里|中)，?(?:请|都|绝对|千万|也)*(?:不要|别|不得|不能|禁止)[^。？]{2,40}$"
    r"|^[^。？]{2,30}(?:とき|時|際|場合|前)(?:は|に|には)、?[^。？]{2,40}ないで(?:ください|下さい|ほしい)"
)
_PASSING = re.compile(
    r"\b(?:this (?:file|function|test|line|time|one|code|section|message|paragraph|email|page|commit|branch)|above|below|right now|yet|just now)\b|这个|这次|この",
    re.I,
)


_FORMS = (_CONDITION_FIRST, _CONDITION_LAST, _HOURS, _BECAUSE, _DUTY, _MODAL, _NONE_IN, _ASK_FIRST, _OTHERS)
_ANY_DAY = date(2000, 1, 1)  # seen from any day, a text that names no day as seen from one stays as it is
NAMES = 0.4  # weight of a word that is more than grammar


def prohibition(sentence: str) -> str:
    """Return what a sentence forbids, as it was said; '' where it forbids nothing that holds tomorrow."""
    text = re.sub(r"^(?:please |pls )", "", sentence.strip(" .!。！"), flags=re.I)
    if _PASSING.search(text) or anchor(text, _ANY_DAY) != text:
        return ""
    if not any(form.match(text) for form in _FORMS) or not any(weight >= NAMES for weight in content(text).values()):
        return ""
    return text
