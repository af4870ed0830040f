"""What the user said: which lines of a summary, and which rules, a message of theirs bears out or takes back.

A line counts as the user's when one passage of one user message holds all of its words, in their order and with the
same negations. What users paste or report (code, quotations, forwarded mail, "the page says …") is not their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from dream.language import quoting
from dream.language.kinds import LABELS
from dream.language.sentences import quoted_share, sentences, trimmed
from dream.language.tongue import guess, tongue
from dream.models import Message
from dream.provenance.line import DAY_NOTE, bare
from dream.provenance.message import own
from dream.wording import NOT, without_said_on, words

PASSAGE = 5  # clauses in a row that a line may take its words from
TAKEN_BACK = 0.75  # of a rule's words that a clause which ends it must hold
SHARE = 0.5  # of a passage's words that the line must hold: a half sentence may mean the opposite

# Words that end a rule. A negation does too, but so does a word against a rule that holds one.
_ENDS = frozenset(words("stop instead forget drop cancel remove delete"))

TOGETHER = 3  # sentences in a row that one line quotes
MOSTLY = 0.55  # of a sentence that is quoted itself: then it is somebody else's
_SIGNS = re.compile(r"[\W_]+")
_KIND = re.compile(rf"^(\s*(?:[-*•]\s+)?)\[(?:{'|'.join(LABELS)})\] ")
_BRACKET = re.compile(r"^\s*(?:[-*•]\s+)?\[([^\[\]]{1,200})\] ")
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
    users = _of_one(messages)
    if not users:
        return ()
    passages = said_by_user(users)
    quoted = {sentence for message in users for sentence in _verbatim(message.content)}
    asked = _asked(messages)
    return tuple(
        number
        for number, line in enumerate(content.split("\n"), start=1)
        if line.strip() and (_flat(quotation(line, asked)) in quoted or covered(quotation(line, asked), passages))
    )


def said_by_user(messages: Sequence[Message]) -> list[Passage]:
    """Return what the user said of their own, by sentence, each as the words of its clauses."""
    return [passage for message in _of_one(messages) for passage in passages(own(message.content))]


def _of_one(messages: Sequence[Message]) -> list[Message]:
    """Return the user's messages; none where several users talk."""
    users = [message for message in messages if message.role == "user"]
    return [] if len({message.name for message in users if message.name}) > 1 else users


def quotation(line: str, asked: str = "") -> str:
    """Return a line without what stands round the words that it quotes: its kind and days in brackets, its day.

    A bracket at its beginning goes where it stands in `asked`, what the agent said before.
    """
    text = DAY_NOTE.sub("", without_said_on(line))
    text = _KIND.sub("", text)
    found = _BRACKET.match(text)
    return text[found.end() :] if found and _flat(found[1]) in asked else text


def _asked(messages: Sequence[Message]) -> str:
    return _flat("".join(message.content for message in messages if message.role in ("user", "assistant")))


@lru_cache(maxsize=1024)
def _verbatim(text: str) -> frozenset[str]:
    """Return the sentences of a message that its user typed, alone and two or three together, without their fillers."""
    known = tongue(guess(text[:2_000]) or "en")
    mine = _flat(" ".join(own(text)))
    said = [sentence.text for sentence in sentences(quoting.own(text, known)) if quoted_share(sentence.text) < MOSTLY]
    said = [sentence for sentence in said if _flat(sentence) in mine]
    found = set()
    for start in range(len(said)):
        for end in range(start + 1, min(len(said), start + TOGETHER) + 1):
            whole = " ".join(said[start:end])
            found |= {_flat(whole), _flat(trimmed(whole, known))}
    return frozenset(found - {""})


@lru_cache(maxsize=4096)
def _flat(text: str) -> str:
    return _SIGNS.sub("", text.casefold())


def own_lines(lines: Iterable[str]) -> list[Passage]:
    """Return the passages in `lines` of entries that are the user's own."""
    return [passage for line in lines for passage in passages([bare(quotation(line))])]


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
    plain = quotation(line)
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
