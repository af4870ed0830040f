"""The fidelity check: what users said exactly is in the summary, or is added to it as a short extractive tail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from dream.consolidate.exact import Exact, exact
from dream.consolidate.passing import in_passing, takes_back, without_quotations
from dream.language.kinds import kind
from dream.language.tongue import guess
from dream.models import Kept, Message

TAIL_CHARS = 400  # of all lines that are added: a help for the summary, not a second one
TAIL_SHARE = 0.15  # of the summary, above this floor:
TAIL_LEAST = 160  # characters; a line or two
POOR = 1 / 3  # of what was said exactly; a summary that keeps less is none to trust
POOR_CHARS = 1_200  # of the tail of such a summary: what the users said themselves stands in for it
QUOTE_CHARS = 120  # of one quotation
KEPT = 0.5  # of belief that a sentence is worth a line
NAMED_WORDS = 5  # of a sentence; in a shorter one a name only addresses somebody
PASTED_CHARS = 2_000  # a longer message holds pasted material, whose every number is nobody's fact

_SENTENCE = re.compile(r"[^\n.!?。！？]+(?:[.!?](?=\w)[^\n.!?。！？]*)*[.!?。！？]*")
# What takes back something said earlier; the earlier words about the same thing must not come back as a fact.
_CORRECTS = re.compile(
    r"\b(?:actually|instead|no longer|not anymore|any more|changed|change (?:it|that|to)|switch(?:ed|ing)?|moved"
    r"|correction|sorry|make (?:that|it)|i mean|i meant|rather than|from now on|updated?|cancel(?:l?ed)?"
    r"|nein|eigentlich|doch|stattdessen|nicht mehr)\b"
    r"|其实|其實|不再|改成|改为|改為|更正|取消|不是",
    re.IGNORECASE,
)
_COMMON = frozenset(  # long enough to look telling, and telling nothing
    (
        *("about", "would", "could", "should", "there", "their", "these", "those", "which", "really", "think"),
        *("going", "thing", "things", "still", "right", "after", "before", "using", "being", "where", "while"),
        *("because", "every", "maybe", "never", "always", "again", "other", "actually", "instead", "longer"),
        *("eigentlich", "stattdessen", "jetzt", "sorry", "correction"),
    )
)
_WORD = re.compile(r"[^\W\d_]{5,}|[\u3400-\u9fff]{2}")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)

_Stated = tuple[int, str, list[Exact]]  # a message's place, one sentence of it, and the exact things in that


@dataclass(frozen=True, slots=True)
class _Quote:
    """A sentence of a user that holds exact things which the summary lacks."""

    number: int
    line: str
    missing: tuple[Exact, ...]

    @property
    def worth(self) -> float:
        return sum(thing.weight for thing in self.missing) / (20 + len(self.line))


def completed(text: str, messages: Sequence[Message], zone: tzinfo) -> tuple[str, Kept]:
    """Return the summary `text` with a tail for the exact things of user `messages` that it lacks, and the measure.

    The tail holds the users' own words, one quotation a line. It is short, `TAIL_CHARS` at most, but where the
    summary keeps less than `POOR` of what was said exactly: there it may be `POOR_CHARS` long.
    """
    shown = _flat(text)
    stated = list(_sentences(messages))
    said = {(thing.kind, thing.text.casefold()): thing for _, _, things in stated for thing in things}
    missing = {name for name, thing in said.items() if not thing.stands_in(shown)}
    poor = len(said) - len(missing) < POOR * len(said)
    room = POOR_CHARS if poor else min(TAIL_CHARS, max(TAIL_LEAST, int(len(text) * TAIL_SHARE)))
    tail = _tail(messages, stated, missing, room, zone)
    whole = "\n".join([text, *tail])
    shown = _flat(whole)
    still = sum(1 for name in missing if not said[name].stands_in(shown))
    return whole, Kept(len(said), len(said) - len(missing), len(said) - still)


def _tail(
    messages: Sequence[Message], stated: Sequence[_Stated], missing: set[tuple[str, str]], room: int, zone: tzinfo
) -> list[str]:
    quotes = []
    corrected = _corrected(messages) if missing else {}
    for number, (place, sentence, things) in enumerate(stated):
        lost = tuple(thing for thing in things if (thing.kind, thing.text.casefold()) in missing)
        if lost and _is_kept(sentence) and not any(corrected.get(word, -1) > place for word in _words(sentence)):
            quotes.append(_Quote(number, _line(messages[place], sentence, lost, zone), lost))
    chosen: list[_Quote] = []
    for quote in sorted(quotes, key=lambda quote: (-quote.worth, quote.number)):
        names = {(thing.kind, thing.text.casefold()) for thing in quote.missing}
        if names & missing and len(quote.line) < room:
            missing = missing - names
            room -= len(quote.line) + 1
            chosen.append(quote)
    return [quote.line for quote in sorted(chosen, key=lambda quote: quote.number)]


def _is_kept(sentence: str) -> bool:
    """Return whether a sentence states something that is meant: no joke, question, order of the moment, quotation."""
    code = guess(sentence)
    if "[REDACTED" in sentence:
        return False
    return not code or kind(sentence, "", code).kept >= KEPT


def _sentences(messages: Sequence[Message]) -> Iterator[_Stated]:
    """Yield what users stated themselves, not in passing: the message's place, the sentence, the exact things in it."""
    speakers = tuple((message.name or "?").casefold()[:3] for message in messages)
    for place, message in enumerate(messages):
        if message.role != "user" or len(message.content) > PASTED_CHARS:
            continue
        said = without_quotations(_FENCED.sub("\n", message.content))
        for match in _SENTENCE.finditer(said):
            sentence = match[0].strip()
            idle = sentence.endswith(("?", "？")) or in_passing(sentence) or takes_back(said[match.end() :])
            things = [] if idle else exact(sentence)
            things = [thing for thing in things if thing.kind != "name" or _names(thing, sentence, speakers)]
            if things:
                yield place, sentence, things


def _corrected(messages: Sequence[Message]) -> dict[str, int]:
    """Return, for each word of a user message that corrects something, the place of the last such message.

    One that only gives another value ("no, make that 60 ms") corrects what the user said before it.
    """
    found: dict[str, int] = {}
    before = ""
    for place, message in enumerate(messages):
        if message.role != "user" or len(message.content) > PASTED_CHARS:
            continue
        if _CORRECTS.search(message.content):
            words = _words(message.content) or _words(before)
            found |= dict.fromkeys(words, place)
        before = message.content
    return found


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _COMMON


def _names(thing: Exact, sentence: str, speakers: Sequence[str]) -> bool:
    """Tell whether a name stands for somebody else: not for a speaker, also in a short form, and in no mere call."""
    return len(sentence.split()) >= NAMED_WORDS and not thing.text.casefold().startswith(tuple(speakers))


def _line(message: Message, sentence: str, things: Sequence[Exact], zone: tzinfo) -> str:
    day = f"{message.at.astimezone(zone):%Y-%m-%d} " if message.at else ""
    return f"- {day}{message.name or message.role}: “{_around(sentence, things)}”"


def _around(sentence: str, things: Sequence[Exact]) -> str:
    """Cut `sentence` to the words round its exact things, if it is long."""
    if len(sentence) <= QUOTE_CHARS:
        return " ".join(sentence.split())
    middle = (things[0].start + min(things[-1].end, things[0].start + QUOTE_CHARS)) // 2
    start = max(0, min(middle - QUOTE_CHARS // 2, len(sentence) - QUOTE_CHARS))
    end = min(len(sentence), start + QUOTE_CHARS)
    start, end = min(start, things[0].start), max(end, things[0].end)
    while 0 < start < things[0].start and not sentence[start - 1].isspace():
        start += 1
    while things[0].end < end < len(sentence) and not sentence[end].isspace():
        end -= 1
    shown = " ".join(sentence[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(sentence) else "")


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
