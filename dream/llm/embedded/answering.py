"""Tell an answer that says nothing alone with what it answers: the thing in it, or the whole question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dream.llm.embedded.elliptic import is_verbless
from dream.llm.embedded.noise import is_question, is_thin
from dream.llm.embedded.referring import hangs, leans, referred
from dream.llm.embedded.telling import names_something, substance, tells
from dream.llm.embedded.trimming import trimmed
from dream.llm.embedded.words import content

_TAG = re.compile(r", (?:right|huh|alright|ok|okay|eh|yeah|no|(?:is|are|do|does|did|was|were|has|have)n't \w+)$", re.I)
_OPEN = re.compile(r"\b(?:wh\w+|how)\b", re.I)
_SHOWN = re.compile(r"^(?:that|this|those|these) [a-z]+(?: [a-z]+)? (?:is|are|was|were|looks?|seems?)\b", re.I)
LONGEST = 90  # characters of a question that goes along; of its answer 120


def needs_question(text: str) -> bool:
    """Say whether a sentence may say nothing without the question before it."""
    short = len(text.split()) <= 4 and not re.match(r"I\b|i'", text)
    return is_thin(text) or leans(text) or hangs(text) or short or is_verbless(text)


def belongs(text: str) -> bool:
    """Say whether a sentence that leans on the one before tells more of it."""
    return substance(text) >= 1 or names_something(text)


def answered(text: str, asked: Sequence[str], names: frozenset[str]) -> tuple[str, str] | None:
    """Return the question that a sentence answers, and the sentence; '' for the question where it stands alone now.

    None where the sentence answers nothing, or the two together are nothing to write down. `asked` are the sentences
    before it, of which the last question counts.
    """
    question = next((sentence for sentence in reversed(asked) if is_question(sentence)), "")
    question = trimmed(question, names).rstrip("?？ ")
    if not question or not content(text) or text in names:
        return None
    leaning = leans(text)
    if not (leaning or hangs(text)) and not _OPEN.search(question):
        return None
    if leaning and (named := referred(text, [question])) and tells(named):
        return "", named
    if substance(question) < 1 or len(question) > LONGEST or len(text) > 120 or _TAG.search(question):
        return None
    if not belongs(text) or _SHOWN.match(text) or (leaning and not tells(f"The thing {text.partition(' ')[2]}")):
        return None
    return f"{question[:1].upper()}{question[1:]}?", text
