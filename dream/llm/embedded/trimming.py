"""Take off a sentence what carries nothing: interjections, forms of address, lead-ins, tags."""

from __future__ import annotations

import re

_INTERJECTION = re.compile(
    r"^(?:(?:oh|wow|yeah|yes|yep|yup|no|nope|nah|hey|hi|hello|well|so|and|but|also|plus|btw|by the way|haha\w*|lol|hmm+|um+|uh|wh?oa+|correction|small correction|scrap that|forget that|i was wrong|i made a mistake|my mistake|that was wrong|i misspoke|korrektur|ha(?:,? ha)*|更正(?:一下)?|wo+a+h+|(?:thankfully|luckily|fortunately|unfortunately|sadly|hopefully)(?=,)|since we (?:last |)(?:chatted|spoke|talked|met|caught up)(?: last)?(?=,)|(?:since )?(?:our|the) last (?:chat|talk|conversation)(?=,)|oops|whoops|oof|phew|ah ha ha|ha ha|ooh+|sorry|do|i do|"
    r"ah+|aw+|ok|okay|sure|thanks(?: (?:so much|a lot|a bunch|again|for \w+(?: \w+){0,2}))?|thank you(?: so much)?|great|awesome|cool|"
    r"nice|totally|definitely|absolutely|exactly|of course|for sure|honestly|anyway|anyways|actually|yay|man|true|right|"
    r"agreed|indeed|congrats|congratulations|good question|guess what|speaking of which|in fact|as for me|"
    r"to be honest|i (?:totally |completely |100% )?agree|considering(?: that| the fact that)?(?= i\b)|(?:especially )?since(?= i\b)|given that|especially since|"
    r"remember that|please remember(?: that)?|remember,?|note that|fyi|quick (?:one|note|question|update)|that works|(?:small )?change of plans?|just so you know|you know|"
    r"hallo|guten (?:morgen|tag|abend)|你好|您好|大家好|嗨|嗯|哦|对|对了|是的|好的|其实|那个|话说|顺便说一下|记住)"
    r"(?:,? (?:[A-Z][a-z]+))?\s*(?:[,.!:;，。！：…-]+\s*|(?<=and)\s+|(?<=but)\s+|(?<=so)\s+|(?<=also)\s+|(?<=plus)\s+"
    r"|(?<=since)\s+(?=i\b)|(?<=considering)\s+|(?<=that)\s+|(?<=which)\s+|(?<=Actually)\s+|(?<=actually)\s+|(?<=remember)\s+(?=(?:i|i'm|i've|my|we|our)\b)|(?<=记住)|(?<=其实)))+",
    re.I,
)
_VOCATIVE = re.compile(r", ([A-Z][a-z]{1,14})(?=[.!]+$)")
_MATRIX = re.compile(
    r"^(?:i(?:'m| am) (?:just |so |really |kinda |kind of |a bit |pretty |sort of |also )*(?:worried|concerned|afraid|curious|"
    r"thinking|wondering|sure|glad|happy|pleased|excited|proud|aware)(?: (?:that|about the fact that))(?= )"
    r"|i know(?: that)?(?= (?:i|i'\w+|my|we|we'\w+|our)\b)"
    r"|i (?:think|guess|believe|feel like|mean|suppose|just wanted to (?:say|mention))|(?:i )?(?:just )?want(?:ed)? to (?:tell you|let you know|say)(?: that)?(?=,? (?:i|i'\w+|my|we|we'\w+|our)\b)|(?:i )?(?:just )?want(?:ed)? to (?:tell you|let you know|say)|i (?:"
    r"should (?:mention|add|say)|must say|have to say|realized|noticed|forgot to mention)(?: that)?(?=,? (?:i|my|we|our|the|it)\b)"
    r"|(?:it|that) (?:just |really |sure )?(?:feels|felt|seems|looks) like(?= (?:[\w']+ ){0,3}(?:i|i'\w+|my|we|we'\w+|our)\b)"
    r"|(?:that|this|which)(?:'s| is) why(?= (?:i|i'\w+|my|we|we'\w+|our)\b)|just(?= (?:yesterday|today|last|this (?:morning|week|month|year))\b)"
    r"|(?:just )?(?:to )?let you know(?: that)?|keep in mind that|it(?:'s| is) (?:worth|important) (?:noting|to note) that"
    r"|as (?:i|you know)[^,]{0,20},),?\s+",
    re.I,
)
_TAIL = re.compile(
    r"(?:,? (?:you know|too|though|as well|lol|haha|yay|phew|btw|by the way|right now|at the moment|actually))+(?=[.!]*$)|[\s:;,!.~]+$",
    re.I,
)

_PADDING = re.compile(
    r"\b(?<!not )(?<!n't )(?<!that )(?<!it )(?:(?:just|really|actually|totally|definitely|honestly|literally|basically|truly|simply|super|kinda|sorta)\b"
    r"(?! (?:like|as|in|under|over|about|because|before|after|now|then|yesterday|last|this|for|enough|not|a\b|one|the)\b) )+(?=[a-z])",
    re.I,
)


def trimmed(sentence: str, names: frozenset[str] = frozenset()) -> str:
    """Take off interjections, forms of address and lead-ins that carry nothing.

    `names` are those of the people who talk, who may be addressed by the beginning of one.
    """
    before = None
    text = sentence.strip().strip("*_~ ").strip()
    if text[:1] in '"“' and (len(text) < 2 or not re.search(r"[\"”]", text[1:]) or text[-1] in '"”'):
        text = text.strip('"“” ')
    while before != text:
        before = text
        text = _MATRIX.sub("", _INTERJECTION.sub("", text)).lstrip(" ,.;:!-–—…，。！")
    text = _called(text, names)
    called = _VOCATIVE.search(text)
    if called and any(name.startswith(called[1][:3]) for name in names):
        text = text[: called.start()] + text[called.end() :]
    return _TAIL.sub("", text).rstrip(" .!。！,，;；")


def terse(text: str) -> str:
    """Take out of a sentence the adverbs that only lend it weight: "I just really love it" is "I love it"."""
    return _PADDING.sub("", text)


def _called(text: str, names: frozenset[str]) -> str:
    """Take off the name of the one spoken to: "Ann, the bakery opened"."""
    first, comma, rest = text.partition(",")
    if comma and first.isalpha() and any(name.startswith(first[:3]) for name in names if first[:1].isupper()):
        return rest.lstrip()
    return text
