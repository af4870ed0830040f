"""Tell what a person would write down from what is only said: reactions, praise, encouragement, general wisdom.

The cues are grammar, no list of topics: who the sentence speaks of, whether it judges or tells, whether it is about
one thing or about all of its kind, and how many words of substance it has.
"""

from __future__ import annotations

import re

from dream.llm.embedded.dates import relative
from dream.llm.embedded.lexicon import COMMON, FEELING, STOP
from dream.llm.embedded.salience import happened
from dream.llm.embedded.words import content, has_cjk

_SELF = re.compile(r"\b(?:i|i'\w+|my|me|mine|myself)\b", re.I)
_RESOLVES = re.compile(
    r"^(?:i'll|i will|i'm (?:not )?(?:gonna|going to)|i am going to|i won't|i'd|i would|i(?! (?:stay|keep)))(?: (?:definitely|always|never|just|really|totally|also|surely|still))*"
    r" (?:keep|cherish|treasure|give up|give it|quit|stop|let (?:anything|anyone|nothing|this|it)|stay|remember|forget|(?:love|like|enjoy|adore|appreciate|admire) (?:this|that|those|these|your|how|it|to|seeing|hearing))\b",
    re.I,
)
_FRAGMENT = re.compile(
    r"^(?:for|by|with|about|of|to|from|than|like|as)\b(?!.* (?:I|we|they|he|she|it|(?-i:[A-Z])\w+) [a-z])[^,]{0,70}$|(?:like|might|would|just|also) (?:to know|to see|an?|love to)\b.*|.*\b(?:says?|said|reads|states)$",
    re.I,
)
_SUPPOSES = re.compile(
    r"^(?:if|imagine|suppose|supposing|say|what if|let'?s say)\b(?=.*\b(?:would|could|might|had|were)\b|.*'d\b)|^(?:如果|假如|要是|假设|もし|wenn ich .*(?:würde|hätte|wäre))",
    re.I,
)
_HERE = re.compile(r"^here(?:'s| is| are| comes?) ", re.I)
_IDIOM = re.compile(r"\b(?:feels?|felt|seems?|seemed) like (?:it was )?(?:just |only )*yesterday\b", re.I)
_SECOND = re.compile(r"\b(?:you|you'\w+|your|yours|yourself|ya|u|ur)\b", re.I)
_WE = re.compile(r"^(?:[^,]{0,40}, )?(?:we|our)\b", re.I)
_ALL_OF_US = re.compile(
    r"\b(?:we all|all of us|us all|we can|we should|we need|we must|we have to|we gotta|makes? us|gives? us|"
    r"reminds? us|reminding us|helps? us|let'?s|ourselves|one another|each other|everyone|anyone|somebody|someone)\b",
    re.I,
)
_EACH_OTHER = re.compile(r"\b(?:each other|one another|everyone|someone|let's)\b", re.I)
_NAMED = re.compile(r"(?<=[a-z,;:] )[\"'“]?[A-Z][\w'-]|\d")
_ONE = re.compile(
    r"^(?:the|a|an|his|her|their|this|that|these|those|one|both|some|another|two|three|four|five|six|seven|eight|nine|"
    r"ten)\b",
    re.I,
)
_JUDGES = re.compile(
    r"^(?:(?:the|that|this|these|those|all (?:the|those|these)|such|every|his|her|their|its|our)\b[^,;]{0,50}?|[A-Z]?[a-z]+(?: \w+){0,3}?)"
    r"(?:'s|'re|\b(?:is|are|was|were|must be|must have been|looks?|looked|sounds?|seems?|feels?|adds?|came out|turned out|can be|can|really|brings?|makes?|have such|has such))\b"
    r" (?P<rest>.{0,90})$",
    re.I,
)
_GUESSES = re.compile(
    r"^(?:bet|i bet|i'm sure|i'm certain|i can (?:imagine|see|feel|tell|totally|only)|must|hope|hopefully|wish|guess|imagine|no wonder|"
    r"what an? |how (?!many|much|long)\w+ |so \w+|such an? |too \w+|very \w+|not (?:bad|sure)|good|great|nice|lovely|happy|"
    r"glad|proud|sorry|true|congrats|amen|never mind|nothing (?:beats|like|better)|no (?:way|doubt|need|worries)|"
    r"as long as|time (?:flies|for)|looking forward|fingers crossed|here'?s to|life\b|that'?s (?:the|what|why|how|when|a|an|so)\b|"
    r"this is (?:so|such|what|why|how|amazing|awesome|great)|it'?s (?:all about|always|so|such|never|okay|ok|important|good|nice|great)\b)",
    re.I,
)
_ACTS = re.compile(r"\b(?:I|i'\w+|I'\w+|we|We)\b")
_TELLS_TO_DO = re.compile(
    r"^(?:just |always |never |simply |please )*(?:add|ask|be|believe|bring|call|check|choose|come|count|cut|do|don't|embrace|enjoy|explore|feel|"
    r"explain|find|focus|follow|gather|get|give|go|grab|have|hang|hold|imagine|keep|know|learn|leave|let|listen|look|make|mix|move|"
    r"pick|pour|practice|push|put|reach|read|remember|rest|save|say|send|set|share|show|spend|spill|start|suggest|review|help|provide|consider|stay|step|stick|"
    r"stop|surround|swing|take|talk|tell|think|throw|treat|trust|try|turn|use|visit|wait|watch|wear|work|write)(?: |$)",
    re.I,
)  # fmt: skip
_FEELS = re.compile(
    r"^(?:i|i'm|i am|i was|i've been|i feel|i felt)\b(?: (?:so|really|just|always|very|truly|totally|feeling|felt|am|was|"
    r"super|pretty|also|definitely|kinda|a bit|even|more|still|been))* (?P<state>\w+)\b",
    re.I,
)
_WILL_FEEL = re.compile(
    r"^i(?:'ll| will| should)(?: \w+ly| also| definitely)? (?P<how>be|feel|stay|remain) (?:so |more |very |really )?(?P<state>\w+)\b(?! (?:at|in) [A-Z])",
    re.I,
)
_DOING = re.compile(r"^i'm (?:still |just |also |really |now |currently )*(?!feeling\b|being\b)\w+ing\b", re.I)
_INTENSELY = frozenset("so such very really too pretty quite super truly totally more".split())
_SPIRITS = FEELING | frozenset(
    "proud happy glad grateful thankful excited patient persistent disciplined ready fine".split()
)
_SHORTEST = 3  # words
_DEEDS = frozenset(
    "moved started tried spent made used took found got gave kept talked worked working trying planning wanted want need "
    "love like loved liked enjoy enjoyed came saw heard met going start use work keep".split()
)
_MOODS = (FEELING | COMMON) - STOP - _DEEDS


def substance(text: str) -> int:
    """Count the words of a sentence that name something: no grammar, no commonplace, no feeling."""
    return sum(weight >= 0.9 for weight in content(text).values())


def names_something(text: str) -> bool:
    """Say whether a sentence holds a name, a number or a time."""
    return _NAMED.search(text) is not None or relative(text)


def instructs(text: str) -> bool:
    """Say whether a sentence is an imperative."""
    return _TELLS_TO_DO.match(text) is not None and not _ACTS.search(text)


def promises_mood(text: str) -> bool:
    """Say whether a sentence only says how its speaker will feel: "I'll stay motivated", "I'll be proud of it"."""
    match = _WILL_FEEL.match(text)
    if match is None or any(ch.isdigit() for ch in text):
        return False
    return match["how"].lower() == "feel" or match["state"].lower() in _SPIRITS


def is_hollow(text: str) -> bool:
    """Say whether a sentence supposes, guesses, commands, speaks to somebody or is a fragment."""
    opens = any(pattern.match(text) for pattern in (_SUPPOSES, _FRAGMENT, _GUESSES, _HERE))
    return opens or instructs(text) or any(pattern.search(text) for pattern in (_SECOND, _IDIOM))


def tells(text: str) -> bool:
    """Say whether a trimmed sentence, as it was said, is a statement that a person would write down."""
    if has_cjk(text) or _SUPPOSES.match(text):
        return not _SUPPOSES.match(text)
    mine, firm, weight = _SELF.search(text) is not None, names_something(text), substance(text)
    if len(text.split()) < _SHORTEST or (weight < 1 and not firm) or _FRAGMENT.match(text):
        return False
    if instructs(text) or _IDIOM.search(text) or _only_shows(text):
        return False
    if mine:
        return firm or _own(text, weight)
    if _SECOND.search(text):
        return False
    if _GUESSES.match(text) or _ALL_OF_US.search(
        _EACH_OTHER.sub("", text) if weight >= 3 and _WE.match(text) else text
    ):
        return False
    judged = None if _WE.match(text) else _JUDGES.match(text)
    if judged and not _NAMED.search(judged["rest"]) and _only_judges(judged["rest"]):
        return False
    return firm or _theirs(text, weight)


def _only_shows(text: str) -> bool:
    """Say whether a sentence holds something out and tells nothing of it: "Here's our new one"."""
    return _HERE.match(text) is not None and substance(text) < 2 and not (_ACTS.search(text) or relative(text))


def _theirs(text: str, weight: int) -> bool:
    """Judge a sentence without the speaker, a name or a number: of one thing or deed it tells, of all it is wisdom."""
    if _WE.match(text):
        return weight >= (1 if happened(text) else 2)
    return weight >= 2 and (happened(text) or _ONE.match(text) is not None)


def _own(text: str, weight: int) -> bool:
    """Judge what somebody says of themselves without a name or a number: a mood is nothing to write down."""
    if re.match(r"(?:i |so )?(?:bet|hope|can imagine|can see|can tell|guess|wish)\b|i'm sure\b", text, re.I):
        return False
    if weight < 3 and _RESOLVES.match(text):
        return False
    felt = _FEELS.match(text)
    if felt and felt["state"].lower() in _MOODS and not _DOING.match(text):
        return weight >= 2
    return weight >= (1 if happened(text) or text[:1] == "I" else 2)


def _only_judges(rest: str) -> bool:
    """Say whether a predicate holds a word of judgement and at most one of substance."""
    found = content(rest)
    plain = sum(weight >= 0.9 for weight in found.values())
    said = [word.lower().strip(".,!") for word in rest.split()]
    felt = sum(word in FEELING or word in COMMON or word in _INTENSELY or word.endswith("ly") for word in said)
    return plain == 0 or plain <= felt
