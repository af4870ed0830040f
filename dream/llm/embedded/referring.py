"""Find what a sentence leans on: "it", "they", "that" stand for something that was said before."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dream.llm.embedded.lexicon import COMMON, FEELING, STOP
from dream.llm.embedded.words import content

_LEANS = re.compile(
    r"^(?:and |but |so |also |plus,? |then |because |since |even |especially |which |overall,? )*"
    r"(?:(?:it|it's|it'll|it'd|they|they're|they've|they'd|they'll|that|that's|this|these|those|he|he's|he'd|she|she's|she'd|them)"
    r"(?= (?!(?:\w+ (?:is|are|was|were|has)|\w+(?: \w+)? (?:i|we))\b)|$)|(?:its|their|his|her) "
    r"|(?:really |definitely |totally |just |always )*(?:reminds?|reminded|makes?|made|brings?|brought|helps?|helped|gives?|"
    r"gave|keeps?|kept|feels|means?|meant|shows?|showed|taught|inspired|inspires) (?:me|us|you|it|back)\b)",
    re.I,
)
_EXPLETIVE = re.compile(
    r"^it(?:'s| is| was|'d be|'ll be| would be| will be| has been|'s been)(?: [\w']+){1,4}? (?:to [a-z]+|that \w+ \w+|how|when|[a-z]+ing)\b",
    re.I,
)
_HANGS = re.compile(
    r"^(?:[\w']+ ){0,4}?(?:it|them|this|those|these|that one|one|the same)"
    r"(?= (?:and|but|so|after|before|to|for|with|in|on|at|'?cause|because|when|as|since|doing|all|up|out|too|from)\b|[,;]|$|'s )",
    re.I,
)
_DETERMINED = re.compile(
    r"\b(?:your|that|this|those|these)\s+((?:[a-z][\w'-]*\s+)?[a-z][\w'-]*)(?=\s+(?:is|are|was|were|looks?|means?)\b|\s*[?.!,;]|'s\b|$)",
    re.I,
)
_ENDS = re.compile(r"^[^,;]*\b(?:for|with|about) (?:that|this)$", re.I)
_INSIDE = re.compile(r"\b(?:and|but|because|since|so|when|if|which)\b", re.I)  # what "that" is may stand before these
_WISH = re.compile(r"^(?:I(?:'d| would) (?:\w+ )?(?:like|love|prefer)|I (?:\w+ )?(?:want|wish|hope))\b", re.I)
_PRONOUN = re.compile(r"^(?P<pronoun>it|they|these|those)(?P<short>'(?:s|re|ve|ll|d))?(?= )", re.I)
_PICTURE = re.compile(
    r"^here(?:'s| is) (?:a|another|one) (?:pic|picture|photo|snapshot|shot) (?P<of>(?:of (?:my|our|me|us|the|a)|from|we took|I took)\b.*\w.*)$",
    re.I,
)
_REMINDS = re.compile(
    r"^(?:it|this|that)(?: really| always| totally| so)? reminds me of (?=(?:when|the time|the day) (?:i|we|my)\b"
    r"|(?:the|an?|my|our) [^,;]*\b(?:i|we|my|our) (?:'d |used to )?\w+)",
    re.I,
)
_REFERS = re.compile(r"\b(?:it|they|them|this|that|those|these|he|she|him|her|his|their|there)\b", re.I)
_SHOWN = re.compile(
    r"^here(?:'s| is| are) (?P<thing>(?:a|an|the|some|my|our|one of)\b[^,;]*?) (?:that |which )?(?P<who>I|we)(?P<short>'\w+)? (?P<deed>(?:\w+ly |just |also )?\w+"
    r"(?: (?:into|up|out|on|for|at|with))?)(?P<rest>(?: .*)?)$",
    re.I,
)


def shown(text: str) -> str:
    """Turn "Here's a bowl I made yesterday" into "I made a bowl yesterday", "It reminds me of the boat I had" into
    "I remember the boat I had"."""
    if _REMINDS.match(text):
        return _REMINDS.sub("I remember ", text)
    picture = _PICTURE.match(text)
    if picture and sum(weight >= 0.9 for weight in content(picture["of"]).values()) >= 2:
        return f"I shared a picture {picture['of']}"
    match = _SHOWN.match(text)
    if match is None or re.search(r"\b(?:peek|look|glimpse)\b", match["thing"]):
        return text
    if re.search(r"\b(?:when|where|while)$", match["thing"]):  # a picture of what it shows
        return f"{match['who']}{match['short'] or ''} {match['deed']}{match['rest']}"
    return f"{match['who']}{match['short'] or ''} {match['deed']} {match['thing']}{match['rest']}"


def leans(text: str) -> bool:
    """Say whether a sentence's subject is a pronoun for what was said before it."""
    return _LEANS.match(text) is not None and _EXPLETIVE.match(text) is None


def hangs(text: str) -> bool:
    """Say whether a sentence's object is a pronoun for what was said before it: "I painted it for him"."""
    return _HANGS.match(text) is not None


def hangs_at_end(text: str) -> bool:
    """Say whether a sentence ends with a pronoun for the whole of what was said before it: "I'd use Pandoc for that"."""
    return _ENDS.match(text) is not None and _INSIDE.search(text) is None


def is_wish(text: str) -> bool:
    """Say whether a sentence is what its speaker would like."""
    return _WISH.match(text) is not None


def refers(question: str) -> bool:
    """Say whether a question is about what was spoken of before: "What were they so stoked about?"."""
    return _REFERS.search(question) is not None


def referred(text: str, heard: Iterable[str]) -> str:
    """Put the thing that was spoken of for the pronoun that a sentence hangs on; '' where it is not clear.

    `heard` are the sentences before, the nearest first.
    """
    match = _PRONOUN.match(text)
    if match is None:
        return ""
    thing = referent(heard, match["pronoun"].lower() in {"they", "these", "those"})
    has = re.match(r" (?:been|got|become|made|had|helped|given|taken|\w+ed (?:me|us))\b", text[match.end() :])
    short = {"'s": " has" if has else " is", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would"}.get(
        (match["short"] or "").lower(), ""
    )
    return thing + short + text[match.end() :] if thing else ""


def referent(asked: Iterable[str], plural: bool) -> str:
    """Return what the sentence before speaks of, `the necklace`, where it names just one thing of that number; or ''."""
    for sentence in asked:
        things = list(dict.fromkeys(m[1].lower() for m in _DETERMINED.finditer(sentence)))
        fit = [thing for thing in things if _is_thing(thing) and (_plural(thing) == plural)]
        if fit:
            return f"the {fit[-1]}" if len(fit) == 1 else ""
    return ""


def _is_thing(phrase: str) -> bool:
    words = phrase.split()
    last = words[-1]
    vague = any(word in COMMON or word in FEELING or word in STOP for word in words)
    return not vague and not last.endswith(("ing", "ed", "ly")) and len(last) > 2


def _plural(phrase: str) -> bool:
    return phrase.endswith("s") and not phrase.endswith(("ss", "us", "is"))
