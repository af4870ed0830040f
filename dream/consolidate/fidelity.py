"""The fidelity check: what users said exactly is in the summary, or is added to it as a short extractive tail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from dream.language.kinds import kind
from dream.language.tongue import guess
from dream.models import Kept, Message

# What a user says in passing: supposed, the weather, trouble that is over, what somebody else wrote. Pure.


# ruff: noqa: E501 - a row of words in a pattern stands on one line


_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)
_SUPPOSED = re.compile(
    r"^\W*(?:if\b.*\b(?:would|could|might|were)\b|if\b.*\w'd\b"
    r"|(?:just )?imagine\b|suppos(?:e|ing)\b|let'?s say\b|what if\b"
    r"|wenn\b.*\b(?:würde|hätte|wäre|könnte)\w*|stell dir vor\b|如果.*(?:就|会)|假如|假设|要是|もし)",
    re.IGNORECASE,
)
# The same in the middle of a sentence: "I mean if I won a million quid I'd …".
_SUPPOSED_LATER = re.compile(
    r"\bif (?:i|we|you|he|she|they)\b[^.!?]{0,80}\b(?:i|we|you|he|she|they)(?:['’]d| would| could| might)\b(?! like| prefer)"
    r"|\bif (?:i|we) (?:won|had|were|was|could|ever)\b|\bwenn ich\b[^.!?]{0,60}\b(?:würde|hätte|wäre|könnte)\b",
    re.IGNORECASE,
)
# Begins a sentence that takes back what was said just before it.
_TAKES_BACK = re.compile(
    r"^\W*(?:(?:oh|ah|er|uh|hm+|wait|ach|äh|ay) ?,? )*(?:no\b(?! (?:problem|worries|idea|one)\b)|sorry|wait\b|actually|correction|scratch that|i mean[t]?\b|make that"
    r"|nein|doch\b|quatsch|ich mein\w*|perdón|digo\b|mejor dicho|non\b|pardon|je veux dire)|^\W*(?:不对|不是|错了|更正|いや|違う|訂正)",
    re.IGNORECASE,
)
_WEATHER = re.compile(
    r"\b(?:sunny|rain(?:s|y|ing)?|drizzl\w+|snow(?:s|y|ing)?|cloudy|foggy|windy"
    r"|degrees (?:here|outside|today)|\d+ ?degrees here"
    r"|sonnig|regnet|schneit|bewölkt|\d+ Grad (?:hier|draußen|heute))\b"
    r"|下雨|下雪|毛毛雨|晴天|阴天|刮风|[今天里外]晴|天气|天気|雨です|晴れ",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:(?:works?|working|runs?|fine|up|back|okay?) again|works now|went away|(?:was )?gone (?:after|now)"
    r"|after a retry|resolved itself"
    r"|(?:geht|läuft|funktioniert) (?:jetzt |nun )?wieder)\b"
    r"|又好了|重试就好|又能用了|また動|直りました",
    re.IGNORECASE,
)
WEATHER_CHARS = 80  # of a sentence; a longer one tells more than the weather


def without_quotations(text: str) -> str:
    """Return a message without the lines that quote somebody else, as mail does: `> …`."""
    return _QUOTED.sub("", text)


def takes_back(rest: str) -> bool:
    """Say whether the `rest` of a message after a sentence takes that sentence back or puts another value for it."""
    return any(
        _TAKES_BACK.match(part) for part in re.split(r"(?<=[.!?…。！？])\s*|\n|\.\.\.|…|,\s", rest[:160]) if part
    )


def in_passing(sentence: str) -> bool:
    """Say whether a sentence tells nothing that holds: no tail brings it back into a summary that left it out."""
    if _SUPPOSED.match(sentence) or _SUPPOSED_LATER.search(sentence) or _OVER.search(sentence):
        return True
    return len(sentence) <= WEATHER_CHARS and _WEATHER.search(sentence) is not None


# The exact things that a text says: commands, addresses, paths, dates, times, numbers, names. Pure.


# ruff: noqa: E501 - a row of words in a pattern stands on one line


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_SUFFIXES = "py|js|ts|tsx|md|json|ya?ml|toml|sh|sql|csv|txt|go|rs|java|cpp|html|css|ini|cfg|conf|lock|pdf|ipynb|db|env"
# Tried in this order; what one has taken, the next does not see. The weight says how much a loss hurts.
_KINDS: tuple[tuple[str, int, re.Pattern[str]], ...] = (
    ("command", 4, re.compile(r"(?<!`)`([^`\n]{3,120})`(?!`)|^\s*\$ (\S[^\n]{2,120})$", re.MULTILINE)),
    (
        "address",
        4,
        re.compile(r"(https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}])|([\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{2,20})+)"),
    ),
    (
        "path",
        4,
        re.compile(
            r"(?<![\w/.~])((?:~|\.{1,2})?/[\w@+-][\w.@+-]*(?:/[\w.@+-]*[\w@+-])+)|\b([A-Z]:\\[^\s\"<>|]{2,200})"
            rf"|(?<![\w/.])([\w-]+(?:/[\w.-]+)*\.(?:{_SUFFIXES}))\b(?![/.]\w)"
        ),
    ),
    (
        "date",
        3,
        re.compile(
            rf"\b(\d{{4}}-\d\d-\d\d)\b|\b({_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)\b"
            rf"|\b(\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH})"
            r"|(\d{1,2}月\d{1,2}[日号號])",
            re.IGNORECASE,
        ),
    ),
    ("time", 2, re.compile(r"\b(\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\d{1,2} ?[ap]\.?m\b)", re.IGNORECASE)),
    ("number", 2, re.compile(r"(?<![A-Za-z0-9_.])(v?\d+(?:[.,]\d+)+|[$€£¥]\d+|\d+ ?[%€°]|\d{2,})(?![A-Za-z0-9]*\d)")),
    ("name", 1, re.compile(r"(?<=[a-z,;] )([A-Z][a-zà-öø-ÿ]{2,}(?: [A-Z][a-zà-öø-ÿ]+){0,3})\b")),
)
# Capitals that name nobody: days, which only count from the message's date, and what people begin with.
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz_")
_DAYS = ("monday", "tuesday", "tues", "wednesday", "thursday", "thurs", "friday", "saturday", "sunday")
_OPENERS = ("god", "okay", "thanks", "thank", "congrats", "good", "yes")
_NO_NAMES = frozenset({*_DAYS, *(day[:3] for day in _DAYS), *_OPENERS})
# What a text must hold for its kind to be looked for at all: most sentences have none of it.
_SIGNS = {
    "command": re.compile(r"[`$]"),
    "address": re.compile(r"[@:]"),
    "path": re.compile(r"[/\\]|\.\w"),
    "date": re.compile(r"\d"),
    "time": re.compile(r"\d"),
    "number": re.compile(r"\d"),
    "name": re.compile(r" [A-Z]"),
}
# "100% agree", "24/7", "110 %": said of how much one means it.
_IDIOM = re.compile(
    r"\b1[01]0 ?%(?: (?:agree|sure|with|on board|behind|yes|true|right|correct|einverstanden|sicher|d'accord|seguro|de acuerdo)|[,.!]?\s*$)|\b24/7\b|\b50[/-]50\b",
    re.IGNORECASE,
)
NAMES_SHARE = 0.15  # of words with a capital; above it the language writes other words so too,
NAMES_LEAST = 3  # unless there are only these few


@dataclass(frozen=True, slots=True)
class Exact:
    """One exact thing: its kind, its text, where it stands, and how much its loss hurts."""

    kind: str
    text: str
    start: int
    end: int
    weight: int

    def stands_in(self, text: str) -> bool:
        """Tell whether `text`, casefolded and with single blanks, says the same, also in another usual form."""
        if self.kind in ("command", "address", "path"):
            return " ".join(self.text.casefold().split()) in text
        own = self.text.casefold()
        if _stands(own, text, _LETTERS):
            return True
        if self.kind == "name":
            return _stands(own.split()[0], text, _LETTERS)
        if self.kind == "number":
            digits = re.sub(r"[^\d.,]", "", own).strip(".,")
            return any(_stands(form, text, _DIGITS) for form in {digits, digits.replace(",", "")})
        forms = _date_forms(own) if self.kind == "date" else _time_forms(own)
        return any(re.search(rf"(?<![a-z0-9_]){form}(?![a-z0-9_])", text) is not None for form in forms)


def _stands(part: str, text: str, joined: frozenset[str]) -> bool:
    """Tell whether `part` stands in `text` without a character of `joined` on either side."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if text[at - 1 : at] not in joined and text[end : end + 1] not in joined:
            return True
        at = text.find(part, at + 1)
    return False


def exact(text: str) -> list[Exact]:
    """Find the exact things in `text`, in their order; each place counts once."""
    found: list[Exact] = []
    for form, weight, pattern in _KINDS:
        if _SIGNS[form].search(text) is None or (form == "name" and _capitals(text) > NAMES_SHARE):
            continue
        taken = []
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            if form != "name" or match[group].split()[0].casefold() not in _NO_NAMES:
                if form == "number" and _IDIOM.search(text[max(0, match.start() - 12) : match.end() + 12]):
                    continue
                taken.append(Exact(form, match[group].strip(), *match.span(group), weight))
        found += taken
        for thing in taken:
            text = text[: thing.start] + "\0" * (thing.end - thing.start) + text[thing.end :]
    return sorted(found, key=lambda thing: thing.start)


def _capitals(text: str) -> float:
    """Return the share of words with a capital, not counting those that make one name with the word before."""
    words = re.findall(r"(?<=[a-zà-ÿ,;] )[^\W\d_]+", text)
    capital = sum(word[0].isupper() and word not in ("I", "I’m") for word in words)
    return capital / len(words) if capital > NAMES_LEAST else 0.0


def _date_forms(date: str) -> Iterator[str]:
    """Give the other ways to write a month and a day: `05-07`, `may 7`, `7 may`, `5月7日`."""
    numbers = [int(number) for number in re.findall(r"\d+", date)]
    name = re.search(r"[a-z]{3}", re.sub(r"\d+(?:st|nd|rd|th)|\bof\b", "", date))
    if name and name[0] in _MONTHS and numbers:
        month, day = _MONTHS.index(name[0]) + 1, numbers[-1]
    elif len(numbers) >= 2:
        month, day = numbers[-2], numbers[-1]
    else:
        return
    yield rf"(?:\d{{4}}-)?0?{month}[-/]0?{day}"
    if 1 <= month <= 12:
        yield rf"{_MONTHS[month - 1]}[a-z]*\.? {day}(?:st|nd|rd|th)?"
        yield rf"{day}(?:st|nd|rd|th)? (?:of )?{_MONTHS[month - 1]}[a-z]*"
    yield rf"(?:\d{{4}}年)?0?{month}月0?{day}[日号號]?"


def _time_forms(time: str) -> Iterator[str]:
    hour, minute, half = re.fullmatch(r"(\d+)(?::(\d\d))? ?([ap])?.*", time).groups(default="")  # type: ignore[union-attr]
    clock = (int(hour) % 12 + (12 if half == "p" else 0)) if half else int(hour)
    yield rf"0?{clock}:{minute or '00'}"
    if half:
        yield rf"{hour}{':' + minute if minute else '(?::00)?'} ?{half}\.?m\.?"


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
