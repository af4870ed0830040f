"""What the user said: which lines of a summary, and which rules, a message of theirs bears out or takes back.

A line counts as the user's when one passage of one user message holds all of its words, in their order and with the
same negations. What users paste or report (code, quotations, forwarded mail, "the page says …") is not their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from dream.models import Message
from dream.provenance.line import bare
from dream.provenance.message import own
from dream.wording import NOT, without_said_on, words

PASSAGE = 5  # clauses in a row that a line may take its words from
TAKEN_BACK = 0.75  # of a rule's words that a clause which ends it must hold
SHARE = 0.5  # of a passage's words that the line must hold: a half sentence may mean the opposite

# Words that end a rule. A negation does too, but so does a word against a rule that holds one.
_ENDS = frozenset(words("stop instead forget drop cancel remove delete"))

_CLAUSE = re.compile(r"[.!?。！？;；\n]+(?=\s|$|[^\x00-\x7f])|[,，、]\s*|\s[-–—]\s|(?<=[。！？；，])")
# What makes a wish a standing one, a polite one or one to somebody: a rule says the same without it.
_SOFT = re.compile(
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|by default|at all times|every time"
    r"|each time|whenever you can"
    r"|make sure (?:to|that)|be sure to|remember (?:to|that)|(?:can|could|would|will) you"
    r"|i(?:'d| would)? (?:want|like|need|prefer|expect)"
    r"(?: it if)?(?: you)?(?: to)?|you (?:should|must|need to|have to)|let's)\b"
    r"|(?:以后|今后|从现在(?:起|开始)|记住|记得|麻烦你?|总是|始终|一律|一直|永远|务必|必须|都要|请)",
    re.IGNORECASE,
)
_SOFT_WORDS = frozenset(
    "please pls alway always agent assistant ai bot claude kindly hey hi hello thank thanks ok okay must should".split()  # noqa: SIM905
)

# What somebody only imagines is nothing they said of themselves; "if I ask, I'd like you to …" is a wish.
_SUPPOSED = re.compile(
    r"\b(?:if|imagine|suppose)\b[^.!?\n]*?\bi\b[^.!?\n]*?\b(?:i|we)(?:'d|\u2019d| would| could| might)\b"
    r"(?! (?:like|want|prefer|love|need|expect))[^.!?\n]*"
    r"|(?:如果|假如|要是)我[^。！？\n]*?我(?:会|就)[^。！？\n]*",
    re.IGNORECASE,
)

Passage = tuple[tuple[str, ...], ...]  # the words of some clauses that follow each other


def by_user(content: str, messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the lines of a summary that user `messages` bear out.

    Where several users talk, none of them is known to be the owner of the memory, and no line counts.
    """
    passages = said_by_user(messages)
    if not passages:
        return ()
    return tuple(
        number for number, line in enumerate(content.split("\n"), start=1) if line.strip() and covered(line, passages)
    )


def said_by_user(messages: Sequence[Message]) -> list[Passage]:
    """Return what the user said of their own, by sentence, each as the words of its clauses."""
    users = [message for message in messages if message.role == "user"]
    if len({message.name for message in users if message.name}) > 1:
        return []
    return [passage for message in users for passage in passages(own(message.content))]


def own_lines(lines: Iterable[str]) -> list[Passage]:
    """Return the passages in `lines` of entries that are the user's own."""
    return [passage for line in lines for passage in passages([bare(line)])]


def taken_back(rule: str, said: Iterable[Passage]) -> bool:
    """Tell whether a clause of what the user said takes `rule` back: it holds most of it, and a word that ends it."""
    wanted = set(_words(bare(without_said_on(rule)))) - {NOT}
    for passage in said:
        for clause in passage:
            ends = NOT in clause or not _ENDS.isdisjoint(clause)
            if wanted and ends and len(wanted & set(clause)) >= TAKEN_BACK * len(wanted):
                return True
    return False


def covered(line: str, said: Iterable[Passage]) -> bool:
    """Tell whether one passage of what the user said holds all that `line` says."""
    forms = _forms(line)
    return any(_borne_out(form, passage) for passage in said for form in forms)


def passages(texts: Iterable[str]) -> list[Passage]:
    """Cut texts into passages, a few clauses of words each."""
    found = []
    for text in texts:
        clauses = tuple(tokens for clause in _CLAUSE.split(_SUPPOSED.sub("", text)) if (tokens := _words(clause)))
        if clauses:
            found.append(clauses)
    return found


def _forms(line: str) -> list[tuple[str, ...]]:
    """Return the words of a line, as it stands and without who said it; empty ones prove nothing."""
    plain = without_said_on(line)
    forms = dict.fromkeys((_words(plain), _words(bare(plain))))
    return [form for form in forms if form]


@lru_cache(maxsize=16384)
def _words(text: str) -> tuple[str, ...]:
    found = words(_SOFT.sub(" ", without_said_on(text)))
    return tuple(word for word in found if word not in _SOFT_WORDS and not word.startswith("@"))


def _borne_out(line: tuple[str, ...], passage: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether a run of clauses holds the words of `line`, in order, with no negation left over."""
    if not set(line) <= {word for clause in passage for word in clause}:
        return False
    for start in range(len(passage)):
        said: tuple[str, ...] = ()
        for clause in passage[start : start + PASSAGE]:
            said += clause
            if len(line) >= SHARE * len(said) and line.count(NOT) == said.count(NOT) and _in_order(line, said):
                return True
    return False


def _in_order(line: Sequence[str], said: Sequence[str]) -> bool:
    if len(line) <= 2 and NOT not in line:
        return True  # "answers short" and "short answers"
    rest = iter(said)
    return all(word in rest for word in line)
