"""What a sentence states, also where it asks: "I secured 3 interviews, is that good?" states the first half."""

from __future__ import annotations

import re

from dream.llm.embedded.noise import is_question

_ASKING = (
    r"(?:what|how|why|where|who|whom|whose|when|which|can|could|would|will|should|do|does|did|is|are|was|were|am|have|has|any|"
    r"shall|may)"
)
_PRONOUN = r"(?:i|you|we|it|that|this|there|they|he|she|the|my|your|some|any|one)"
_TURN = re.compile(
    rf"(?:,|;|-|\.|…)\s*(?:and |but |so |or |then )?(?:"
    rf"(?:can|could|would|will|should|do|does|did|is|are|was|were|am|have|has|shall|may) {_PRONOUN}\b"
    rf"|(?:what|how|why|where|who|whose|which (?:one|of|would|is|are))\b|when (?:is|are|should|do|can)\b"
    rf"|any (?:tips|advice|ideas?|suggestions?|thoughts)\b|(?:right|ok|okay|you know)\b[,? ]|please\b|maybe\b|"
    rf"i(?:'m| am) (?:not sure|looking for|wondering|curious|hoping|trying)\b|i (?:want|need|would like|wonder|wanna)\b|i'd like\b)"
    rf"|\s(?:can|could|would) you (?:please )?(?:help|give|show|tell|suggest|explain|provide|recommend|review|check|create)\b",
    re.I,
)
_GIVEN = re.compile(
    r"\b(?:the fact that|given that|considering(?: the fact)?(?: that)?|since|because|now that|especially since|even though|"
    r"knowing that|seeing as)\s+(?P<fact>(?:i|we|my|our|it|he|she|they|the)\b[^?]{12,200}?)"
    r"(?=,? (?:to |how |what |can |could |should |would |is |are |do |and (?:how|what|should|is)\b)|[?.]|$)",
    re.I,
)
_TASK = re.compile(
    r"^i(?:'m| am) (?:currently |now |still )?(?:trying|looking|working|planning|going|hoping|struggling|having (?:trouble|issues)|"
    r"getting|stuck|not sure|unsure|wondering|curious|confused)\b|^i (?:need|want|would like|keep getting|get) |^i'd like ",
    re.I,
)
_VALUE = re.compile(
    r"\d|\b(?:prefer|decided|chose|chosen|choose|using|use|deadline|moved|switched|instead|never|always)\b|[a-z] [A-Z]"
)


def stated(sentence: str) -> list[str]:
    """Return the statements in a sentence; a plain question states nothing."""
    asks = is_question(sentence)
    turn = _TURN.search(sentence, 12) if asks or len(sentence) > 160 else None
    if not asks and turn is None:
        return [sentence] if _worth(sentence) else []
    found = [match["fact"] for match in _GIVEN.finditer(sentence)]
    head = sentence[: turn.start()] if turn else "" if asks else sentence
    if head and not re.match(rf"(?:and |but |so |or |hmm,? |hey,? )?{_ASKING}\b(?! of)", head, re.I):
        found = [head, *(fact for fact in found if fact not in head)]
        rest = sentence[turn.start() :] if turn else ""
        found += [
            part
            for part in re.split(r"[,;]\s+(?=(?:and|but|so)?\s*(?:i|my|we|our)\b)", rest)[1:]
            if not is_question(part)
        ]
    return [part.strip(" ,;-") for part in found if _worth(part)]


def _worth(part: str) -> bool:
    """A task at hand is passing unless it names something that lasts."""
    return not _TASK.match(part.strip()) or _VALUE.search(part) is not None
