"""Of what a line states a value, and which: "The API timeout of Heron is 300 ms" states 300 ms of Heron's API timeout.

Two lines that state values of one thing can be told from two that state values of two by the words that name it:
the noun is the same, and neither has a name or an adjective that the other one contradicts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from dream.llm.embedded.german import is_german
from dream.llm.embedded.lexicon import STOP
from dream.llm.embedded.words import CJK, has_cjk, has_kana, stem

_ADVERB = r"(?:now|currently|also|still|just|recently|already|actually|always|usually|today|again|jetzt|nun|inzwischen|mittlerweile|aktuell)"
VERB = (
    r"(?:is|are|was|were|has|have|had|will|would|can|does|do|did|gets?|got|listens?|runs?|starts?|begins?|ends?|opens?|closes?|takes?|costs?|needs?|uses?|lives?|weighs?|stands?|"
    r"expires?|lasts?|leaves?|arrives?|comes?|goes|went|moves?|moved|slipped|shifted|grew|rose|fell|dropped|increased|decreased|improved|reached|"
    r"meets?|pays?|earns?|measures?|serves?|stores?|supports?|allows?|holds?|covers?|counts?|changed|became|happens?|works?|reads?|sends?|plays?)"
)
VERB_DE = r"(?:ist|sind|war|waren|hat|haben|beträgt|betragen|wurde|wurden|wird|werden|läuft|laufen|liegt|liegen|heißt|kostet|kosten|dauert|beginnt|endet|startet|steht|braucht|lautet|wohnt|arbeitet)"
_PHRASE = r"(?P<thing>(?:[Tt]he user's|[Tt]heir|[Oo]ur|[Tt]he|[Mm]y|[Aa]n?|[A-Z][\w.-]*'s|[A-Z][\w.-]*)(?: (?:[\w'/.&-]+)){0,8}?)"
_STATES = re.compile(rf"^{_PHRASE}(?: {_ADVERB})* (?P<verb>{VERB})(?: {_ADVERB})* (?P<rest>.+)$")
_STATES_DE = re.compile(
    rf"^(?P<thing>(?:D(?:er|ie|as)|Unsere?|[A-ZÄÖÜ])[\wäöüß.-]*(?: [\wäöüßÄÖÜ.-]+){{0,6}}?) (?P<verb>{VERB_DE})(?: {_ADVERB})* (?P<rest>.+)$"
)
_STATES_CJK = re.compile(
    rf"^(?:我们把|我们的|用户的|把)?(?P<thing>[{CJK}A-Za-z0-9 .+#-]{{1,20}}?)(?:现在|已经|目前|如今)?"
    r"(?P<verb>换成|改成|改为|改到|改在|变成|增加到|减少到|涨到|升到|降到|推迟到|提前到|移到|是|为)了?(?P<rest>.+?)了?$"
)
_STATES_JA = re.compile(r"^(?P<thing>[^はがを、。]{1,20})(?P<verb>は|が|を)(?:今は|現在は?|、)?(?P<rest>.+)$")
_CHANGES = re.compile(
    r"^(?:(?:We|They|[A-Z]\w+)(?:'ve| have| has)? |Has |Have )?(?:just |recently |now |also |finally )*"
    r"(?P<verb>[Rr]aised|[Ii]ncreased|[Ll]owered|[Rr]educed|[Dd]ecreased|[Cc]hanged|[Ss]et|[Cc]ut|[Bb]umped|[Uu]pped|[Uu]pdated|[Uu]pgraded|[Ee]xtended|[Mm]oved|[Pp]ushed|[Pp]ostponed|[Rr]escheduled|[Rr]ebooked|[Ss]hifted|[Ss]witched|[Mm]igrated|[Rr]enamed|[Aa]djusted|[Ii]mproved|[Oo]ptimi[sz]ed|[Bb]rought|[Ss]caled|[Cc]orrected|[Dd]elayed)"
    r" (?P<thing>(?:the|our|their|his|her|an?|[A-Z][\w.-]*'s|[A-Z][\w.-]*)(?: [\w'/.&-]+){0,7}?|(?<=hanged )[a-z]+s|(?<=witched )[a-z]+s)(?: (?:up|down|back|out|over))?(?: from (?P<was>[^,;]+?))? to (?P<rest>.+)$"
)
_CHOICE = re.compile(
    r"^(?:(?:We|They|[A-Z]\w+)(?:'ve|'re| have| has)? |Has |Is )?(?:now |also )?(?:[Dd]ecided (?:to use|on)|[Uu]ses?|[Cc]hose|[Cc]hosen|[Ss]ettled on|[Gg]o(?:es|ing)? with|[Ww]ent with|[Pp]icked) "
    r"(?P<rest>[A-Z][\w.+#-]*(?: [A-Z0-9][\w.+#-]*)*) for (?P<thing>(?:the|our|their|my) [\w -]{2,40}?)(?: now)?$"
)
_HIRED = re.compile(
    r"^(?:We have|We've got|We got|Has|Have|Got)(?: got)? an? new (?P<thing>[a-z]+(?: [a-z]+)?)(?:,| called| named|:) (?P<rest>[A-Z].*)$"
)
# "Is on the free plan", "Upgraded to the Pro plan".
_KIND = re.compile(
    r"^(?:(?:Is|We're|We are|Was) (?:still |now )?on|(?:We |Has |Have )?(?:[Uu]pgraded|[Dd]owngraded|[Ss]witched|[Mm]oved|[Cc]hanged) to) (?:the|an?) (?P<rest>[\w-]+) (?P<thing>[a-z]+)(?: now)?$"
)
# "The old bike" is another than the new one, and the first job than the one of now.
_ORDER = frozenset("old first second third last former previous final".split())
_PARTICLES = frozenset("back home out away here there".split())
# Which way something goes tells it apart: the flight to Rome is not the one from Rome.
_WAYS = frozenset("to from before after with without".split())
_DETERMINERS = frozenset(
    "the user's user our their my his her a an new current latest total overall own average der die das des dem den unser unsere neue neuer neues von vom zur zum im of for with to in on at from by about and".split()
)
_PREPOSITION = re.compile(
    r" (?:of|for|with|to|in|on|at|from|by|about|von|vom|für|mit|zur|zum|im|in|an|am|auf|bei|des|der) "
)


# A line about the user begins with its verb; what a preposition or a conjunction begins or holds is no one thing.
_NO_THING = re.compile(
    r"^(?:On|In|At|Since|From|By|For|With|After|Before|During|Until|When|While|If|Because|As|To|Has|Have|Is|Was|Are|Were|Had|Does|Doesn't|There|It|This|That|What|No|Not|Never|Always|We|They|He|She|Everyone|Now)\b"
    r"|^[A-Z][a-z]+s (?:the|an?|that|their|to|in|on|at|as|for|with|about|from|it|his|her|our|how|what|\d)\b"
    r"|^(?:Am|Im|In|Auf|Bei|Seit|Ab|Bis|Mit|Nach|Vor|Wenn|Weil|Wir|Es|Ist|Hat) "
)
_DER_DIE_DAS = re.compile(r"D(?:er|ie|as) ")
_INSIDE = re.compile(r"\b(?:that|which|who|and|or|but|und|oder|dass?)\b")


@dataclass(frozen=True, slots=True)
class Slot:
    """A thing of which a line states a value: its noun, the words and names that tell it from others, and the value."""

    noun: str
    marks: frozenset[str]
    names: frozenset[str]
    value: str
    order: frozenset[str] = frozenset()

    def same(self, other: Slot) -> bool:
        """Say whether both are one thing, as far as one can see: the one that says more of it says nothing else."""
        if self.noun != other.noun or self.order != other.order:
            return False
        marked = self.marks <= other.marks or other.marks <= self.marks
        return marked and (self.names <= other.names or other.names <= self.names)


_ACTS = (_CHOICE, _HIRED, _KIND, _CHANGES)


@lru_cache(maxsize=16384)
def slot(line: str) -> Slot | None:
    """Return of what a line, without the day it was said on, states a value; None where it states none of a thing."""
    if has_cjk(line):
        match = _STATES_JA.match(line) if has_kana(line) else _STATES_CJK.match(line)
        return _cjk(match) if match else None
    german = is_german(line) or _DER_DIE_DAS.match(line) is not None
    acts = None if german else next((match for form in _ACTS if (match := form.match(line))), None)
    match = acts or (_STATES_DE if german else _STATES).match(line)
    if match is None or (acts is None and _NO_THING.match(line)) or _INSIDE.search(match["thing"]):
        return None
    return _named(match["thing"], match["rest"], german=german)


def _named(thing: str, value: str, *, german: bool) -> Slot | None:
    """Take a noun phrase apart: an English noun is the last word before a preposition, a German one the first."""
    words = [word.removesuffix("'s") for word in thing.split()]
    told = [word for word in words if word.lower() not in _DETERMINERS and word.lower() not in STOP]
    if not told:
        return None
    front = _PREPOSITION.split(f" {thing} ", maxsplit=1)[0].split()
    nouns = [
        word
        for word in front
        if word in told and word not in _PARTICLES and (german or word[:1].islower() or word.isupper())
    ]
    noun = nouns[0 if german else -1] if nouns else told[-1]
    others = [word for word in told if word != noun]
    names = {word.lower() for word in others if _is_name(word)}
    return Slot(
        stem(noun.lower()),
        frozenset(stem(word.lower()) for word in others if not _is_name(word)) | _WAYS & set(words),
        frozenset(names),
        value,
        _ORDER & {word.lower() for word in words},
    )


def _is_name(word: str) -> bool:
    return word[:1].isdigit() or (word[:1].isupper() and not word.isupper())


def _cjk(match: re.Match[str]) -> Slot:
    thing = re.sub(r"^(?:用户的|我们的|ユーザーの)", "", match["thing"].strip())
    parts = [part for part in re.split("[的の]", thing) if part]
    return Slot(parts[-1] if parts else thing, frozenset(), frozenset(parts[:-1]), match["rest"])
