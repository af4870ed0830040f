"""Cite, then verify: which messages each line of a summary rests on, who vouches for it, and the user's own sentence.

A model ends each line with the numbers of its messages, `{118}` or `{118,120}`. Code takes them off, checks that those
messages say what is hard in the line, mends a citation by matching where that is plain, and drops it where it isn't;
a model that doesn't cite gets the matching alone. Under a line that a wish, a rule or a correction makes stands what
the user said, `    > always table tests, please.`, so that whoever reads the line later can judge it by the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dream.language import cues
from dream.language.kinds import kind
from dream.language.words import content_words, coverage
from dream.models import Message
from dream.provenance.phrases import OWN_CHARS, bare, flat, in_one_line, own_sentence, signed, told_by
from dream.provenance.user import QUOTE, foreign, own, quotation

PLAIN = 0.5  # of a line's words that a message must hold for it to be plain that the line rests on it
BORNE = 0.15  # of a line's words that the messages it cites must hold between them
RULE = 0.3  # of belief that a sentence states one: "before" and "when" stand in many another
QUOTES = 0.4  # of a line: then it is the user's own words already
MOST_CITED = 12  # messages of one line
SHORT = 160  # characters of what a user said for themselves in a message that is shown as a whole
ANSWER = 160  # characters of what a user said right after a question: there the question is shown too

_CITED = re.compile(r"\s*(?:\{([\d\s,;–-]{1,80})\}|\[([\d\s,;–-]{1,80})\])\s*[.。]?\s*$")
_MARKED = re.compile(r"^\s*>[\s>]*")  # what only code may write before a line: the user's own words
_NUMBERS = re.compile(r"(\d{1,9})(?:\s*[–-]\s*(\d{1,9}))?")
_PATHLIKE = re.compile(r"[\w.~-]*/[\w./~-]+|[\w.+-]+@[\w.-]+|\b[\w-]+\.(?:[a-z]{2,5})\b", re.IGNORECASE)
_QUOTED = re.compile(r"[“„«「\"]([^“”„«»「」\"]{4,})[”“»」\"]")
# What a line says in brackets of how it was before: the message that changes it need not repeat that.
_EARLIER = re.compile(
    r"\s*[(（](?:avant|antes|before|earlier|previously|formerly|was|vorher|bisher|früher|zuvor|以前|之前|原来|变更前|変更前|前の)"
    r"[^()（）]{1,200}[)）]|[,(（]?\s*(?:instead of|rather than|statt|anstatt|au lieu d[eu]|en vez de|en lugar de"
    r"|而不是|代わりに)[^,;()（），；]{1,60}[)）]?|[(（][^()（）]{1,60}から(?:変更|[^()（）]{0,8}変え)[^()（）]{0,20}[)）]",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"((?:[^.!?。！？\n]|\.(?=\S)){4,160}[?？])\s*$")

Who = str  # u: the user themselves; a: the agent; t: a tool; p: text that the user pasted or quoted; ?: nobody known


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a summary: the messages that it rests on by their positions, and who vouches for it."""

    text: str
    messages: tuple[int, ...] = ()
    who: Who = "?"

    @property
    def rests(self) -> str:
        """Return how a history row writes it: `u118,120`."""
        return self.who + ",".join(map(str, self.messages))


def cited(content: str, messages: Mapping[int, Message]) -> list[Line]:
    """Return the lines of a summary of `messages`, by position, without their citations, which are verified."""
    return [_line(text, messages) for text in content.split("\n")]


def with_wishes(lines: Sequence[Line], messages: Mapping[int, Message]) -> list[Line]:
    """Return the lines with the user's own sentence under each that a wish, a rule or a correction makes."""
    shown: list[Line] = []
    for line in lines:
        shown.append(line)
        said = [(place, _said(line.text, messages[place])) for place in line.messages if line.who == "u"]
        telling = [(place, sentence) for place, sentence in said if sentence and _tells(line.text, sentence)]
        for place, sentence in telling or [pair for pair in said if 0 < len(pair[1]) <= SHORT]:
            if not _same(line.text, sentence):
                shown.append(Line(QUOTE + _asked(place, sentence, messages) + sentence, (place,), "u"))
    return shown


def without_citation(text: str) -> tuple[str, tuple[int, ...]]:
    """Part a line from the numbers of messages at its end."""
    match = _CITED.search(text)
    if match is None or match.start() == 0:
        return text, ()
    found: list[int] = []
    for first, last in _NUMBERS.findall(match[1] or match[2]):
        low, high = int(first), int(last or first)
        found += range(low, min(high, low + MOST_CITED) + 1)
    return text[: match.start()], tuple(dict.fromkeys(found))[:MOST_CITED]


def _line(text: str, messages: Mapping[int, Message]) -> Line:
    plain, numbers = without_citation(text)
    given = [place for place in numbers if place in messages]
    if not given and text.rstrip().endswith("]"):
        plain = text  # what stood in square brackets was none of our numbers
    plain = _MARKED.sub("- ", plain)
    if not content_words(plain):
        return Line(plain)
    if not given or not _borne_out(plain, [messages[place] for place in given]):
        given = _matching(plain, messages)
    return Line(plain, tuple(sorted(given)), _who(plain, [messages[place] for place in given], list(messages.values())))


def _borne_out(line: str, messages: Sequence[Message]) -> bool:
    """Return whether messages hold some of a line, and its paths, addresses, numbers that are no days, and negation."""
    text = "\n".join(message.content for message in messages)
    said, flat = content_words(text), text.casefold()
    line = _EARLIER.sub("", line)
    if not cues.says("wish", line) and _negates(line) and not _negates(text):
        return False  # of a wish, which stands beside the user's own words for it, that is judged with the rule
    wanted = content_words(bare(line))
    if len(wanted & said) < BORNE * len(wanted):
        return False
    if any(found[0].casefold() not in flat for found in _PATHLIKE.finditer(line)):
        return False
    return {word for word in wanted if word.isdecimal() and len(word) != 4 and word != "1"} <= said


def _negates(text: str) -> bool:
    return any(True in signs for signs in signed(text).values())


def _matching(line: str, messages: Mapping[int, Message]) -> list[int]:
    """Return the message that plainly says a line; the user's before another's, none where no message does."""
    scored = [
        (coverage(bare(line), message.content) + 0.1 * (message.role == "user"), -place)
        for place, message in messages.items()
        if message.content
    ]
    score, place = max(scored, default=(0.0, 0))
    return [-place] if score >= PLAIN + 0.1 else []


def _who(line: str, cited: Sequence[Message], others: Sequence[Message]) -> Who:
    """Return who vouches for a line that rests on the `cited` messages; `others` are all of the same talk."""
    users = [message for message in cited if message.role == "user"]
    if users:
        mine = " ".join(sentence for message in users for sentence in own(message.content, asks=True))
        theirs = "\n".join(foreign(message.content) for message in users)
        return "p" if coverage(bare(line), theirs) > coverage(bare(line), mine) else "u"
    said = " ".join(sentence for message in others if message.role == "user" for sentence in own(message.content))
    if not cited or coverage(bare(line), said) >= BORNE:
        return "?"
    return "a" if any(message.role == "assistant" for message in cited) else "t"


def _said(line: str, message: Message) -> str:
    """Return what the user said for themselves in a message of theirs, where it is a wish, a rule or a correction.

    Of a short message that is all of it: its parts bound and explain each other.
    """
    if message.role != "user":
        return ""
    mine = own(message.content)
    whole = "\n".join(mine)
    said = in_one_line(whole) if len(whole) <= SHORT else own_sentence(whole, line)
    before = mine[mine.index(said) - 1] if said in mine[1:] else ""
    if before and cues.begins("goes_on", said) and len(before) + len(said) < OWN_CHARS:
        said = f"{before} {said}"  # "And British spelling.": whether it holds for good, the one before tells
    standing = cues.says("standing", line) and cues.says("standing", said) and kind(said).shares["rule"] >= RULE
    wish = standing or cues.says("wish", line) or cues.says("changes", line) or _EARLIER.search(line) is not None
    return said if wish else ""


def _tells(line: str, said: str) -> bool:
    """Return whether what was said holds a telling word of a line."""
    wanted, telling = told_by(bare(line))
    return not wanted.isdisjoint(telling(said))


def _same(line: str, sentence: str) -> bool:
    """Return whether a line is the sentence or quotes from it, so that it need not stand there twice."""
    quotes = [found[1] for found in _QUOTED.finditer(quotation(line))]
    if any(quote in sentence for quote in quotes) and sum(map(len, quotes)) > QUOTES * len(quotation(line)):
        return True
    return flat(sentence).strip(" .。") == flat(bare(line)).strip(" .。")


def _asked(place: int, sentence: str, messages: Mapping[int, Message]) -> str:
    """Return the question that a short answer answers, as it stands before the answer."""
    before = messages.get(place - 1)
    if len(sentence) > ANSWER or before is None or before.role != "assistant":
        return ""
    question = _QUESTION.search(before.content[-OWN_CHARS:])
    return f"(asked: {' '.join(re.sub('[()]', ' ', question[1]).split())}) " if question else ""
