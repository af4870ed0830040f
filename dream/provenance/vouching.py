"""Who vouches for a line of a summary: which messages it rests on, who of several people speaks, and who said it first.

Cite, then verify: a model ends each line with the numbers of its messages, `{118}` or `{118,120}`. Code takes them
off, checks that those messages say what is hard in the line, mends a citation by matching where that is plain, and
drops it where it isn't; a model that doesn't cite gets the matching alone. Under a wish, a rule or a correction stands
what the user said, `    > always table tests, please.`, so that a later reader can judge the line by the message.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from dream.language import cues
from dream.language.kinds import kind
from dream.language.sentences import own_words, quoted_share, sentences, trimmed
from dream.language.tongue import guess, tongue
from dream.language.words import content_words, coverage, listed, marks, without_said_on
from dream.models import Message
from dream.provenance.phrases import OWN_CHARS, bare, flat, in_one_line, own_sentence, signed, told_by
from dream.provenance.user import (
    QUOTE,
    Passage,
    covered,
    foreign,
    letters,
    names_user,
    own,
    passages,
    quotation,
    quotations,
    typed,
    without_report,
)

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
_BEFORE: tuple[cues.Cue, ...] = ("was_before", "in_place_of")
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
                shown.append(Line(QUOTE + _question(place, sentence, messages) + sentence, (place,), "u"))
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
    line = _earlier().sub("", line)
    if not cues.says("wish", line) and _negates(line) and not _negates(text):
        return False  # of a wish, which stands beside the user's own words for it, that is judged with the rule
    wanted = content_words(bare(line))
    if len(wanted & said) < BORNE * len(wanted):
        return False
    if any(found[0].casefold() not in flat for found in _PATHLIKE.finditer(line)):
        return False
    return {word for word in wanted if word.isdecimal() and len(word) != 4 and word != "1"} <= said


@cache
def _earlier() -> re.Pattern[str]:
    """Return what finds how it was before, said in brackets: the message that changes it need not repeat that."""
    was, instead = ("|".join(cues.rows(cue)) for cue in _BEFORE)
    return re.compile(
        rf"\s*[(（](?:{was})[^()（）]{{1,200}}[)）]|[,(（]?\s*(?:{instead})[^,;()（），；]{{1,60}}[)）]?"
        r"|[(（][^()（）]{1,60}から(?:変更|[^()（）]{0,8}変え)[^()（）]{0,20}[)）]",
        re.IGNORECASE,
    )


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
    wish = standing or cues.says("wish", line) or cues.says("changes", line) or _earlier().search(line) is not None
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


def _question(place: int, sentence: str, messages: Mapping[int, Message]) -> str:
    """Return the question that a short answer answers, as it stands before the answer."""
    before = messages.get(place - 1)
    if len(sentence) > ANSWER or before is None or before.role != "assistant":
        return ""
    question = _QUESTION.search(before.content[-OWN_CHARS:])
    return f"(asked: {' '.join(re.sub('[()]', ' ', question[1]).split())}) " if question else ""


# Who of several people speaks: the name that a message has, else the one that it begins with, `Caroline: …`.


AGENTS = frozenset("assistant agent ai bot claude gpt chatgpt model system tool user human me".split())
MOST = 0.8  # of a role's messages that begin with a name: then names stand there
_LIST_MARK = re.compile(r"\s*(?:[-*•]\s+)?")
_PREFIX = re.compile(r"(?P<name>[A-ZÀ-Þ][\w’'-]{1,24}(?: [A-ZÀ-Þ][\w’'.-]{0,24})?|[぀-ヿ㐀-鿿]{2,6})(?:: +|：\s*)(?=\S)")


def speakers(messages: Sequence[Message]) -> frozenset[str]:
    """Return the names of the users who talk."""
    return frozenset(message.name for message in speaking(messages) if message.role == "user" and message.name)


def is_owner(name: str, owners: Sequence[str]) -> bool:
    """Return whether the messages of `name` count as the user's by the setting `owners`; one without a name does."""
    return not name or "*" in owners or _known_as(name) in map(_known_as, owners)


def have_shared_rules(owners: Sequence[str]) -> bool:
    """Return whether several people have a say by the setting `owners`, so that a rule has to tell whose it is."""
    return "*" in owners or len(set(map(_known_as, owners))) > 1


def _known_as(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def speaking(messages: Sequence[Message]) -> list[Message]:
    """Return messages each with its speaker's name, and without the lines in them that another one is made to say.

    A name that a text begins with counts only where the message has none: anybody can type a name.
    """
    rows = [(one.role, "" if one.role == "user" else one.name or "assistant", one.content) for one in messages]
    known = {one.name for one in messages if one.role == "user" and one.name}
    begun = {} if known else prefixed(rows)
    shown = [
        replace(one, name=begun[at]["name"], content=one.content[begun[at].end() :]) if at in begun else one
        for at, one in enumerate(messages)
    ]
    names = known | {match["name"] for at, match in begun.items() if messages[at].role == "user"}
    return [_without_others(one, names) if one.role == "user" else one for one in shown] if len(names) > 1 else shown


def prefixed(rows: Sequence[tuple[str, str, str]]) -> dict[int, re.Match[str]]:
    """Return, of messages as (role, name, text), the speakers that they begin with, where two or more people do so."""
    found = {at: match for at, row in enumerate(rows) if (match := _speaker(*row[1:]))}
    roles = set()
    for role in ("user", "assistant"):
        own = [at for at, row in enumerate(rows) if row[0] == role and row[2].strip()]
        if sum(at in found for at in own) >= max(2, MOST * len(own)):
            roles.add(role)
    found = {at: match for at, match in found.items() if rows[at][0] in roles}
    return found if len({match["name"] for match in found.values()}) > 1 else {}


def without_speaker(line: str, name: str) -> str:
    """Return a line without the `name` of the one who says it at its beginning."""
    return re.sub(rf"^(\s*(?:[-*•>]\s+)?){re.escape(name)}\s*[:：]\s*", r"\1", line) if name else line


def unnamed(line: str, names: Iterable[str]) -> str:
    """Return a rule without the one of `names` at its beginning whose it is; with "*" among them, without any name."""
    rest = next((rest for name in names if (rest := without_speaker(line, name)) != line), line)
    mark = _LIST_MARK.match(line)
    found = _PREFIX.match(line, mark.end() if mark else 0) if rest == line and "*" in names else None
    return line[: found.start()] + line[found.end() :] if found else rest


def _speaker(name: str, text: str) -> re.Match[str] | None:
    if name and name.lower() not in AGENTS:
        return None
    match = _PREFIX.match(text)
    return match if match and match["name"].lower() not in listed("labels") | AGENTS else None


def _without_others(message: Message, names: Set[str]) -> Message:
    others = "|".join(re.escape(name) for name in sorted(names - {message.name}))
    return replace(message, content=re.sub(rf"(?mi)^\s*(?:{others})\s*[:：].*$", "", message.content))


# Which of them said a line of a summary: it is theirs word for word, or a passage of theirs holds all of it.


TOGETHER = 3  # sentences in a row that one line quotes
MOSTLY = 0.55  # of a sentence that is quoted itself: then it is somebody else's


def by_speaker(content: str, messages: Sequence[Message]) -> list[frozenset[str]]:
    """Return for each line of a summary the names of the users who said it, "" for one whom nobody names."""
    said: dict[str, list[Message]] = {}
    for message in speaking(messages):
        if message.role == "user":
            said.setdefault(message.name or "", []).append(message)
    found: list[set[str]] = [set() for _ in content.split("\n")]
    asked = _asked(messages)
    for name, theirs in said.items():
        passages = said_by_user(theirs)
        quoted = {sentence for message in theirs for sentence in _verbatim(message.content)}
        for line, names in zip(content.split("\n"), found, strict=True):
            plain = without_speaker(quotation(line, asked), name)
            if line.strip() and (letters(plain) in quoted or covered(plain, passages)):
                names.add(name)
    return list(map(frozenset, found))


def said_by_user(messages: Sequence[Message]) -> list[Passage]:
    """Return what users said of their own, by sentence, each as the words of its clauses."""
    return [passage for message in messages if message.role == "user" for passage in passages(own(message.content))]


def _asked(messages: Sequence[Message]) -> str:
    return letters("".join(message.content for message in messages if message.role in ("user", "assistant")))


@lru_cache(maxsize=1024)
def _verbatim(text: str) -> frozenset[str]:
    """Return the sentences of a message that its user typed, alone and two or three together, without their fillers."""
    known = tongue(guess(text[:2_000]) or "en")
    mine = letters(" ".join(own(text)))
    said = [sentence.text for sentence in sentences(own_words(text, known)) if quoted_share(sentence.text) < MOSTLY]
    said = [sentence for sentence in said if letters(sentence) in mine]
    found = set()
    for start in range(len(said)):
        for end in range(start + 1, min(len(said), start + TOGETHER) + 1):
            whole = " ".join(said[start:end])
            found |= {letters(whole), letters(trimmed(whole, known))}
    return frozenset(found - {""})


# What others said: which lines of a summary only a tool's output, or what a user pasted, bears out.


MOSTLY_OTHERS = 0.6  # of a line's words that others must have said for it to be theirs,
NOT_OURS = 0.3  # and how many more of them than user and agent


def by_others(content: str, messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the lines that only a tool's output, or what a user pasted, bears out.

    What the agent said counts with the user's words here: most of what a tool finds is worth keeping, once the agent
    has made something of it.
    """
    by_us = [_of_ours(message) for message in messages]
    if all(mine == message.content for mine, message in zip(by_us, messages, strict=True)):
        return ()
    ours: set[str] = set()
    theirs: set[str] = set()
    for mine, message in zip(by_us, messages, strict=True):
        said = content_words(message.content)
        theirs |= said
        ours |= said if mine == message.content else content_words(mine)
    if theirs == ours:
        return ()
    return tuple(n for n, line in enumerate(content.split("\n"), start=1) if _is_of_others(line, ours, theirs))


def _is_of_others(line: str, ours: Set[str], theirs: Set[str]) -> bool:
    """Return whether the words of a line are mostly `theirs`, and few of them `ours`."""
    told = content_words(without_report(without_said_on(line)))
    by_them, by_us = len(told & theirs), len(told & ours)
    if not told or by_them < MOSTLY_OTHERS * len(told) or by_them - by_us < NOT_OURS * len(told):
        return False
    return not names_user(line, ours)


def _of_ours(message: Message) -> str:
    """Return the part of a message that the user or the agent said."""
    if message.role == "user":
        return typed(message.content)
    return message.content if message.role == "assistant" else ""


# Second-hand: which lines of a summary a tool's output or a pasted text said first, before user or agent did.
#
# What a page, a log or a forwarded mail states may be true or not; nobody in the conversation vouches for it, also
# where the agent repeats it. Such a line becomes memory only with its source in it.


Foreign = Literal["tool", "paste", "agent"]  # who said it first, where nobody vouches for it; an agent by a note

WINDOW = 40  # words that one passage may have: in a longer one any line would find its words
_CUT = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_JOINED = re.compile(r"[._/=:-]+")  # `staging.port=80` says what "the staging port is 80" says


def sources(content: str, messages: Sequence[Message]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers, from 1, of the lines that a tool's output said first, and of those that pasted text did.

    What the user typed themselves anywhere in `messages` is theirs, whoever else says it.
    """
    texts = [part for message in messages for part in _parts(message)]
    if not any(source and text.strip() for source, text in texts):  # mostly so: no word need be read
        return (), ()
    typed_words: set[str] = set()
    for message in messages:
        if message.role == "user":
            typed_words |= content_words(typed(message.content))
    said = [(source, words) for source, text in texts for words in _windows(text)]
    found: dict[Foreign, list[int]] = {"tool": [], "paste": []}
    for number, line in enumerate(content.split("\n"), start=1):
        plain = without_said_on(line)
        told = content_words(without_report(plain))
        told = told if len(told) > 1 else content_words(plain)  # what looked like a speaker may be a name: "Port: 80"
        if len(told) < 2 or len(told & typed_words) >= MOSTLY_OTHERS * len(told) or names_user(line, typed_words):
            continue
        first = next((source for source, words in said if len(told & words) >= MOSTLY_OTHERS * len(told)), None)
        if first is not None:
            found[first].append(number)
    return tuple(found["tool"]), tuple(found["paste"])


def marked(line: str, source: Foreign) -> str:
    """Return `line` with its source named at its end, before the day on which it was said."""
    plain = without_said_on(line)
    day = line[len(plain) :].strip()
    known = marks()[source]
    mark = known.get(guess(plain), known["en"])
    return f"{plain.rstrip(' .。')}{mark}{' ' + day if day else ''}"


def _parts(message: Message) -> Iterator[tuple[Foreign | None, str]]:
    """Yield who said it (None: the agent) and what; of the user only what was pasted."""
    if message.role == "user":
        kept = {line.strip() for line in typed(message.content).split("\n")}
        rest = [line for line in message.content.split("\n") if line.strip() not in kept]
        yield "paste", "\n".join([*rest, *quotations(message.content)])
    elif message.role in ("tool", "assistant"):
        yield ("tool" if message.role == "tool" else None), message.content


def _windows(text: str) -> Iterator[frozenset[str]]:
    """Yield the words of `text`, a sentence or two at a time."""
    before: frozenset[str] = frozenset()
    for sentence in filter(None, _CUT.split(text)):
        for piece in _pieces(sentence.split()):
            words = content_words(piece)
            if _JOINED.search(piece):
                words |= content_words(_JOINED.sub(" ", piece))
            if words:
                yield before | words
                before = words


def _pieces(words: Sequence[str]) -> Iterable[str]:
    return (" ".join(words[start : start + WINDOW]) for start in range(0, len(words), WINDOW))
