"""What a sentence states, also where it asks: "I secured 3 interviews, is that good?" states the first half."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dream.llm.embedded.noise import is_question
from dream.llm.embedded.salience import happened

_AUX = r"(?:can|could|would|will|should|do|does|did|is|are|was|were|am|have|has|shall|may)"
_PRONOUN = r"(?:i|you|we|it|that|this|there|they|he|she|the|my|your|some|any|one|these|those)"
_ASKS = re.compile(
    rf"^(?:and |but |so |or |then |hmm,? |hey,? |also |just |maybe )*(?:{_AUX} {_PRONOUN}\b"
    rf"|(?:what|how|why|where|who|whose|which (?:one|of|would|is|are))\b|when (?:is|are|should|do|can)\b"
    rf"|any (?:tips|advice|ideas?|suggestions?|thoughts)\b|(?:right|ok|okay|you know|please|thanks?|maybe)\b)",
    re.I,
)
_BREAK = re.compile(
    rf"(?:\s*[,;…]|\s[-–—]|\.)\s+(?=(?:and |but |so |or |then |also |because )?(?:(?:i|i'm|i've|i'd|i'll|my|we|we've|we're|our)\b"
    rf"|{_AUX} {_PRONOUN}\b|(?:what|how|why|where|who|whose|any (?:tips|advice|ideas?)|please|maybe|right|you know)\b"
    rf"|which (?:one|of|would|is|are)\b|when (?:is|are|should|do|can)\b|(?:considering|given that|especially since)\b))"
    rf"|\s+(?=and i(?:'m|'ve)? (?:noticed|just|already|recently|have|need|want|decided|prefer|also)\b)"
    rf"|\s+(?=(?:can|could|would) you (?:please )?(?:help|give|show|tell|suggest|explain|provide|recommend|review|check|create)\b)",
    re.I,
)
_GIVEN = re.compile(
    r"\b(?:the fact that|given that|considering(?: the fact)?(?: that)?|since|because|now that|even though|"
    r"knowing that|seeing as)\s+(?P<fact>(?!my preference)(?:i|we|i've|i'm|my|our|it|he|she|they)\b[^?]{12,200}?)"
    r"(?=,? (?:to (?:further|improve|help|make|ensure|get|better)|how |what |can |could |should |would |is that|do |and (?:how|what|should)\b)|[?]|\.(?!\d)|$)",
    re.I,
)
# "Considering my preference for X" says that the user prefers X.
_PREFERENCE = re.compile(
    r"\b(?:my|since I have a|with a) (?:strong |stated |general |usual |clear )?preference for (?P<what>[^,;?]{4,140}?)(?=,|;|\?|\.(?!\d)|$)",
    re.I,
)
_TASK = re.compile(
    r"^(?:and |but |so |now |also |or )*(?:i(?:'m| am) (?:also |currently |now |still |really |just |kinda |kind of |sorta |a bit |pretty "
    r"|feeling )*(?:trying|looking|hoping|struggling|having|getting|stuck|not (?:sure|really|quite)|unsure|wondering|curious|confused|"
    r"nervous|stressed|concerned|worried|overwhelmed|interested in (?:knowing|learning))\b"
    r"|i (?:also |really |just |still |kinda )*(?:need|want|would like|wanna|don't (?:know|understand)|have(?:n't)? (?:no idea|a question|trouble)|"
    r"keep getting|get) |i'd (?:also |really )?(?:like|love) )",
    re.I,
)
_REASON = re.compile(r"(?:especially |and |so )?(?:considering|given|with|after|due to|because of)\b(?! that)", re.I)
_NOUN = r"(?P<noun>(?:my|our|the|their) (?:(?!to |(?<!with )(?<!of )(?<!for )(?<!in )(?:my|our|the|their) )[\w'/.-]+ ){0,9}?[\w'/.-]+)"
_VALUE = r"(?:[$€£]?\d|(?:January|February|March|April|May|June|July|August|September|October|November|December) \d|(?:two|three|four|five|six|seven|eight|nine|ten)\b)"
_OF = re.compile(
    rf"{_NOUN} (?P<joint>of|to|from|at|on|by) (?P<value>(?:about |around |over |under |only )?{_VALUE}(?:[^,;?]|,(?= ?\d)){{0,60}}?)(?=,(?! ?\d)|;|\?|$| (?:but|and|to|with|by|for|so|in|because|might)\b)"
)
_DETOUR = re.compile(r"\b(?:by|with|without|using)\b")  # the value is of what stands behind it
_GROWN = re.compile(r"[^,;?]*? from \S+ to [^\s,;?]+")
_WHICH = re.compile(
    rf"{_NOUN}, which (?P<rest>(?:has|have|is|was|are|were|had|now|recently|currently)\b[^,;?]{{3,120}})"
)
WANTED = 0.7  # how much of a statement it is that somebody wants or tries something
_WANTS = re.compile(
    r"^.{0,12}?\bi(?:'m|'d| am| would| want| wanna| need|'ve)?\b(?: \w+){0,3}? (?:want|wanna|trying|looking|hoping|like|love|interested|need)\b",
    re.I,
)
_BARE = re.compile(
    r"\b(?:reached|at|hit|achieved|got|completed|finished|done|to)\b (?:about |around |over |nearly )?(?P<number>\d[\d.,]*(?P<sign>%?))"
    r"(?=$|,| (?:so far|now|already|after|by|since|but|and)\b)",
    re.I,
)
_COUNTED = re.compile(
    r"\d[\d.,]*(?P<sign>%?) (?P<noun>(?!of\b|on\b|in\b)[a-z]+(?: (?!on\b|in\b|for\b|by\b|to\b|with\b|and\b|of\b)[a-z]+){0,2})"
)
_STAYS = re.compile(
    r"\b(?:prefer|decided|chose|chosen|choose|deadline|moved|switched|instead|goal|aiming|target\w*|never|always)\b"
    r"|\b(?:keep|stay|limit|cap|fit|remain)\b[^,;?]{0,60}\b(?:under|below|within|at most|less than|no more than|up to) [$€£]?\d",
    re.I,
)
_LASTS = re.compile(
    r"\d|\b(?:prefer|decided|chose|chosen|choose|using|deadline|moved|switched|instead|goal|aiming|target\w*|never|always)\b|[a-z] [A-Z]"
)
_RANGE = re.compile(
    r"\b(?:between|from|by|on|since) (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}"
    r"(?:,? \d{4})?(?: (?:and|to|until) (?:[A-Z][a-z]+ )?\d{1,2}(?:,? \d{4})?)?"
)


def stated(sentence: str, *, run_on: bool = False) -> list[tuple[str, float]]:
    """Return the statements in a sentence, each with a factor below 1 for a task at hand.

    A plain question states nothing. `run_on` also cuts a sentence that doesn't ask: people who write to
    an agent put the task, the facts and the question into one.
    """
    asks = is_question(sentence)
    if not asks and not (run_on and len(sentence) > 80):
        return [(sentence, _factor(sentence, run_on=run_on))]
    clauses = _BREAK.split(sentence)
    found: list[tuple[str, float]] = []
    for index, clause in enumerate(clauses):
        asking = _ASKS.match(clause) is not None or (asks and index == len(clauses) - 1 and index == 0)
        if not asking and not is_question(clause) and not _PREFERENCE.match(clause):
            counted = _counted(clause, clauses[:index])
            found += _values(counted) or [(counted, _factor(counted, run_on=run_on))]
    for match in _GIVEN.finditer(sentence):
        if not any(match["fact"] in text for text, _ in found):
            found.append((_ranged(match["fact"], sentence), 1.1))
    found += [(f"I prefer {match['what']}", 1.2) for match in _PREFERENCE.finditer(sentence)]
    if asks and not found and (which := _WHICH.search(sentence)):
        found.append((f"{which['noun']} {which['rest']}", 1.2))
    return [(text.strip(" ,;-"), factor) for text, factor in found if factor]


def _values(clause: str) -> list[tuple[str, float]]:
    """Return the values that a task names: "trying to meet the deadline of April 5" → "the deadline is April 5"."""
    if not _TASK.match(clause):
        which = _WHICH.search(clause)
        if which is not None and _REASON.match(clause):
            return [(f"{which['noun']} {which['rest']}", 1.2)]
        return [(clause, 1.0)] if which is None or len(clause) < 160 else [(f"{which['noun']} {which['rest']}", 1.2)]
    found = [(f"{match['noun']} {match['rest']}", 1.2) for match in _WHICH.finditer(clause)]
    return found + [(value, 1.2) for match in _OF.finditer(clause) if (value := _valued(match))]


def _valued(match: re.Match[str]) -> str:
    """Return what has the value or comes to it, "my score improved from 60% to 70%"; '' where it only had it, or is of another thing."""
    noun = match["noun"]
    moves = happened(noun.rpartition(" ")[2])
    if _DETOUR.search(noun):
        return ""
    if moves and match["joint"] == "from":
        grown = _GROWN.match(match.string[match.start("noun") :])
        return grown[0] if grown else ""
    return f"{noun} {match['joint'] if moves else 'is'} {match['value']}"


def _ranged(fact: str, sentence: str) -> str:
    """Give a fact the period that its sentence names elsewhere."""
    span = _RANGE.search(sentence)
    return f"{fact} {span[0]}" if span and span[0] not in fact else fact


def _counted(clause: str, before: Sequence[str]) -> str:
    """Name what a bare number counts: after "achieve 100% test coverage", "reached 65%" is of test coverage."""
    bare = _BARE.search(clause)
    if bare is None:
        return clause
    counted = (match for other in reversed(before) for match in _COUNTED.finditer(other))
    noun = next((match["noun"] for match in counted if match["sign"] == (bare["sign"] or "")), "")
    return f"{clause[: bare.end('number')]} {noun}{clause[bare.end('number') :]}" if noun else clause


def _factor(part: str, *, run_on: bool) -> float:
    """A task that is put to an agent is passing unless it names something that lasts; what people want is not."""
    task = _TASK.match(part.strip())
    if not task:
        return 1.0
    if run_on:
        return 0.45 if _STAYS.search(part) else 0.0
    return 0.45 if _STAYS.search(part) or _LASTS.search(part) else WANTED if _WANTS.match(part) else 0.0
