"""Name again what the sentence before introduced: "It runs on FastAPI", after "I work on Crumb, a recipe manager"."""

from __future__ import annotations

import re

from dream.llm.embedded.lexicon import BELONGING, COMMON, FEELING, STOP

_IT = re.compile(r"^it(?P<short>'(?:s|ll|d))?(?= )", re.I)
_HAS = re.compile(r" (?:been|got|become|made|had|helped|given|taken|\w+ed (?:me|us))\b")
_SHORT = {"'s": " is", "'ll": " will", "'d": " would"}
_INTRODUCES = re.compile(
    r"\b(?:called|named) (?P<called>[A-Z][\w-]+)\b|\b(?:on|at|for|to|with|built|build|run|use|own) (?P<named>[A-Z][\w-]+), an? [a-z]"
)
_SUBJECT = re.compile(
    r"(?:my|our|the) (?:[a-z][\w-]* ){0,2}?[\w-]+(?= (?:is|was|has|will|runs?|starts?|takes|needs|costs|comes)\b)", re.I
)
_ONE = re.compile(
    r"(?P<who>(?!(?:The|This|That|It|My|Our|We|You|They|He|She|On|In|At|If|When|There|Here)\b)[A-Z][a-z]+|[Mm]y (?:\w+ )?(?:mother|mom|mum|father|dad|sister|brother|son|daughter|wife|husband|partner|boss|"
    r"friend|colleague|neighbou?r|aunt|uncle|cousin|grandm\w+|grandfather|doctor|teacher|dog|cat))(?='s| (?:is|was|has|will|[a-z]+s)\b)"
)
_GREETS = r"(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|greetings)(?: (?:there|all|everyone|everybody|again|\w+))?"
_PRESENTS = re.compile(
    rf"^(?:(?P<greeting>{_GREETS})[,.!:;…\s-]+)?I(?:'m| am) (?P<name>(?-i:[A-Z][a-z])[\w'-]*(?: (?-i:[A-Z])[\w'-]+)?)"
    r"(?P<meets>(?:,| -|!|\.) (?:so )?(?:nice|pleased|glad|happy|good|great) to meet [^.!]*)?[.!]*$",
    re.I,
)
_GREETING = re.compile(rf"^{_GREETS}[.!,…\s]*$", re.I)
_HE = re.compile(r"^(?:he|she)(?P<short>'s|'ll|'d)?(?= )|\bhim\b|\bher\b(?= (?:an?|the|about|for|to|with)\b|$)", re.I)


def introduced(text: str, before: str) -> str:
    """Return `text` with what the sentence `before` introduces for its pronoun; '' where it is not clear."""
    match = _IT.match(text)
    if match is None:
        return _person_for(text, before)
    named = _INTRODUCES.search(before)
    subject = _SUBJECT.match(before)
    thing = named["called"] or named["named"] if named else subject[0] if subject else ""
    rest = text[match.end() :]
    has = match["short"] == "'s" and _HAS.match(rest)
    short = " has" if has else _SHORT.get((match["short"] or "").lower(), "")
    return thing[:1].upper() + thing[1:] + short + rest if thing else ""


def presented(sentence: str, before: str) -> str:
    """Return "My name is Lena" for "Hi, I'm Lena", or for "I'm Lena" after the greeting `before`; or ''."""
    match = _PRESENTS.match(sentence.strip())
    if match is None or not (match["greeting"] or match["meets"] or _GREETING.match(before.strip())):
        return ""
    first = match["name"].split()[0].lower()
    return "" if first in STOP | COMMON | FEELING | BELONGING else f"My name is {match['name']}"


def _person_for(text: str, before: str) -> str:
    """Put the one that the sentence before is about for the first "he", "she" or "him" of this one."""
    about, pronoun = _ONE.match(before), _HE.search(text)
    if about is None or pronoun is None or re.search(r"[A-Z]", text[1 : pronoun.start()].replace("I", "")):
        return ""
    who = about["who"][:1].upper() + about["who"][1:] if pronoun.start() == 0 else about["who"]
    short = _SHORT.get(pronoun["short"] or "", "")
    return text[: pronoun.start()] + who + short + text[pronoun.end() :]
