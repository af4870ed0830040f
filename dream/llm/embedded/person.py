"""Rewrite a sentence in the first person as a statement about its speaker."""

from __future__ import annotations

import re

from dream.llm.embedded.lexicon import THIRD, UNINFLECTED
from dream.llm.embedded.words import mostly_cjk

_INTERJECTION = re.compile(
    r"^(?:(?:oh|wow|yeah|yes|yep|yup|no|nope|nah|hey|hi|hello|well|so|and|but|also|plus|btw|by the way|haha\w*|lol|hmm+|um+|uh|wh?oa+|oops|whoops|oof|phew|ah ha ha|ha ha|ooh+|sorry|do|i do|"
    r"ah+|aw+|ok|okay|sure|thanks(?: (?:so much|a lot|a bunch|again|for \w+(?: \w+){0,2}))?|thank you(?: so much)?|great|awesome|cool|"
    r"nice|totally|definitely|absolutely|exactly|of course|for sure|honestly|anyway|anyways|actually|yay|man|true|right|"
    r"agreed|indeed|congrats|congratulations|good question|guess what|speaking of which|in fact|as for me|"
    r"to be honest|i (?:totally |completely |100% )?agree|considering(?: that| the fact that)?(?= i\b)|(?:especially )?since(?= i\b)|given that|especially since|"
    r"remember that|please remember(?: that)?|remember,?|note that|fyi|quick (?:one|note|question|update)|that works|just so you know|you know|"
    r"嗯|哦|对|对了|是的|好的|其实|那个|话说|顺便说一下|记住)"
    r"(?:,? (?:[A-Z][a-z]+))?\s*(?:[,.!:;，。！：…-]+\s*|(?<=and)\s+|(?<=but)\s+|(?<=so)\s+|(?<=also)\s+|(?<=plus)\s+"
    r"|(?<=since)\s+(?=i\b)|(?<=considering)\s+|(?<=that)\s+|(?<=which)\s+|(?<=Actually)\s+|(?<=actually)\s+|(?<=记住)|(?<=其实)))+",
    re.I,
)
_VOCATIVE = re.compile(r", ([A-Z][a-z]{1,14})(?=[.!]+$)")
_MATRIX = re.compile(
    r"^(?:i(?:'m| am) (?:just |so |really |kinda |kind of |a bit |pretty |sort of |also )*(?:worried|concerned|afraid|curious|"
    r"thinking|wondering|sure|glad|happy|pleased|excited|proud|aware)(?: (?:that|about the fact that))(?= )"
    r"|i (?:think|guess|believe|feel like|mean|suppose|just wanted to (?:say|mention)|wanted to (?:tell you|let you know|say)|"
    r"should (?:mention|add|say)|must say|have to say|realized|noticed|forgot to mention)(?: that)?(?=,? (?:i|my|we|our|the|it)\b)"
    r"|(?:just )?(?:to )?let you know(?: that)?|keep in mind that|it(?:'s| is) (?:worth|important) (?:noting|to note) that"
    r"|as (?:i|you know)[^,]{0,20},),?\s+",
    re.I,
)
_TAIL = re.compile(
    r"(?:,? (?:you know|too|though|as well|lol|haha|btw|by the way|right now|at the moment|actually))+(?=[.!]*$)|[\s:;,!.~]+$",
    re.I,
)
_LEAD = re.compile(r"^I(?P<short>'m|'ve|'ll|'d)?\s+(?P<rest>\S.*)$", re.S)
_ADJUNCT = re.compile(
    r"^(?P<lead>(?:(?:on|in|since|at|after|before|during|for|the (?:week|weekend|day|month|year|night|morning|evening|last|next|other|\w+day)|when|while|recently|lately|back in|over)\b[^,]{3,60}?"
    r"|[^,:;]{0,20}\b\d{4}|recently|lately)),? (?P<claim>I(?:'m|'ve|'d|'ll)? [a-z].*)$",
    re.I | re.S,
)
_AFTER = re.compile(r"\b(and|or|but|then)(,?) I(?:'m|'ve|'d|'ll)? (?=[a-z])(?!am\b|was\b|have\b|do\b)")
_INNER: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\bI am\b|\bI'm\b", "they are"), (r"\bI was\b", "they were"), (r"\bI've\b", "they have"), (r"\bI'd\b", "they would"),
        (r"\bI'll\b", "they will"), (r"\b[Ii]\b(?!['.])", "they"), (r"\bmy\b", "their"), (r"\bMy\b", "Their"), (r"\bme\b", "them"),
        (r"\bmine\b", "theirs"), (r"\bmyself\b", "themselves"),
    )
]  # fmt: skip
_HAD = re.compile(r"^(?:been|had|gone|done|\w+ed)\b")


def trimmed(sentence: str, names: frozenset[str] = frozenset()) -> str:
    """Take off interjections, forms of address and lead-ins that carry nothing.

    `names` are those of the people who talk, who may be addressed by the beginning of one.
    """
    before = None
    text = sentence.strip().strip('"“”*_~ ').strip()
    while before != text:
        before = text
        text = _MATRIX.sub("", _INTERJECTION.sub("", text)).lstrip(" ,.;:!-–—…，。！")
    called = _VOCATIVE.search(text)
    if called and any(name.startswith(called[1][:3]) for name in names):
        text = text[: called.start()] + text[called.end() :]
    return _TAIL.sub("", text).rstrip(" .!。！,，;；")


def third(text: str, name: str) -> str:
    """Rewrite a trimmed sentence about its speaker; `name` is empty for a user without a name.

    "I went to Oslo" is "Ann went to Oslo", or "Went to Oslo" where the speaker has no name.
    """
    if mostly_cjk(text):
        return _third_zh(text, name)
    text = re.sub(r"^i(?=['\s])", "I", text)
    text = re.sub(r"^(?:Gonna|gonna)\b", "I'm going to", text)
    text = re.sub(r"^(?:Got|Been)\b", lambda match: "I " + match[0].lower() if match[0] == "Got" else "I've been", text)
    match = _LEAD.match(text)
    begins = None if match else _ADJUNCT.match(text)
    if begins:
        lead, claim = begins["lead"], third(begins["claim"], name)
        return f"{lead[:1].upper()}{lead[1:]}, {claim if name else claim[:1].lower() + claim[1:]}"
    if match is None:
        body = _inner(text)
        return f"{name}: {body}" if name else body[:1].upper() + body[1:]
    predicate = _inner(_AFTER.sub(r"\1\2 ", _predicate(match["short"] or "", match["rest"])))
    return f"{name} {predicate}" if name else predicate[:1].upper() + predicate[1:]


def _inner(text: str) -> str:
    for pattern, new in _INNER:
        text = pattern.sub(new, text)
    return text


def _predicate(short: str, rest: str) -> str:
    if short:
        word = "had" if short == "'d" and _HAD.match(rest) else THIRD[short] if short != "'d" else "would"
        return f"{word} {rest}"
    words = rest.split(" ")
    at = 2 if rest.startswith("no longer ") and len(words) > 2 else 0
    adverbs = UNINFLECTED - {
        "was",
        "were",
        "had",
        "did",
        "can",
        "could",
        "will",
        "would",
        "should",
        "used",
        "put",
        "set",
    }
    while at < len(words) - 1 and (words[at].endswith("ly") or (words[at] in _ADVERBS and words[at] in adverbs)):
        at += 1
    before, words[at] = words[at], _inflected(words[at])
    if words[at] == before or " to " in rest:
        return " ".join(words)
    return _ALSO.sub(lambda match: match[1] + _inflected(match[2]), " ".join(words))


_ADVERBS = frozenset(
    "never always just also already really finally recently actually still only even usually often once currently "
    "definitely totally truly absolutely probably not soon then now first".split()
)
_ALSO = re.compile(
    r"(\b(?:and|but) (?:also |still |really )?)(work|live|love|like|have|want|need|use|prefer|enjoy|hate|play|study|speak|own|run|go|teach)\b"
)
_ES = re.compile(r"(?:s|x|z|ch|sh|o)$")


def _inflected(verb: str) -> str:
    """Put a verb that follows "I" into the third person; a past or modal form stays."""
    core = verb.rstrip(",.;:")
    lower = core.lower()
    if lower in THIRD:
        return THIRD[lower] + verb[len(core) :]
    if lower in UNINFLECTED or re.search(r"[^e]ed$|n't$|^[^a-z]", lower) or not lower.isalpha():
        return verb
    if lower.endswith("eed") and lower not in {"need", "feed", "succeed", "proceed", "exceed"}:
        return verb
    if re.search(r"[^aeiou]y$", lower):
        return core[:-1] + "ies" + verb[len(core) :]
    return core + ("es" if _ES.search(lower) else "s") + verb[len(core) :]


def _third_zh(text: str, name: str) -> str:
    text = re.sub(r"^我(?!们)", "", text)
    text = (
        re.sub(r"我(?!们)", "自己", text)
        if name == ""
        else text.replace("我们", "\0").replace("我", name).replace("\0", "我们")
    )
    return f"{name}：{text}" if name and not text.startswith(name) else text
