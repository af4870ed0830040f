"""A floor under summaries: what users said that is worth keeping, whether a summary bears it out, and what is added.

Worth keeping is what the small model of `language.kinds` takes for a rule, a decision, a fact and the like, and what
was said exactly. Where a summary bears out too little of it, the sentences themselves go in; else only those that hold
exact things which it lacks, and rules of which it says nothing. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import cache

from dream.embedded.kinds import kind
from dream.embedded.own_words import is_supposed, own_words, trimmed, without_names
from dream.embedded.tongue import Tongue, tongue
from dream.models import Message
from dream.provenance import cues
from dream.provenance.voice import without_pasted
from dream.reports import Fidelity
from dream.text import days
from dream.text.days import spaced, spelled
from dream.text.sentences import Sentence, quoted_share, sentences
from dream.text.tongues import guess, main, plain
from dream.text.words import NOT, content_words, coverage, forget, is_hard, table

# ruff: noqa: E501 - a row of words in a pattern stands on one line

MEANT = 0.5  # of belief that a sentence is worth a line
MEANT_ALONE = 0.75  # of the same, where nothing exact stands in it
SURE = 0.9  # of the same, for one sentence to count without others
RULE = 0.7  # of belief that it is a rule
HARD = 3  # weight of an exact thing that is told also of a sentence that may not be meant: a path, a date; not a name
BORNE = 0.3  # of a sentence's words: a summary that has them says it in its own
POOR = 1 / 3  # of what is worth keeping; a summary that bears out less is none to trust
POOR_CHARS = 1_200  # of what is added to such a summary: the users' own words stand in for it
TAIL_CHARS = 400  # of what is added to any other: a help for the summary, not a second one
TAIL_SHARE = 0.15  # of the summary, above this floor:
TAIL_LEAST = 280  # characters; a line or two
PASTED_CHARS = 2_000  # a longer message holds pasted material, whose every number is nobody's fact
EVENT_WORDS = 3  # that carry something; fewer tell no event: "We got this!"
QUOTED = 0.55  # of a sentence: more of it is somebody else's
NAMED_WORDS = 5  # of a sentence; in a shorter one a name only addresses somebody
CONTEXT = 400  # characters of the message before, which a sentence may answer
CORRECTED = 0.5  # of a sentence's words that a later correction must hold
WEATHER_CHARS = 80  # of a sentence; a longer one tells more than the weather
FORGET_CHARS = 120  # at the beginning of what is said next, where it says that this is to be forgotten
RESTS = 160  # characters after a sentence in which its speaker may take it back

_PART = re.compile(r"(?<=[.!?…。！？])\s*|\n|\.\.\.|…|,\s")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a user's that is worth keeping: where it was said, in which language, and what is exact in it.

    `rule`: it says what the agent is to do from now on. `sure`: it is believed to state something even by itself.
    """

    place: int
    text: str
    code: str
    things: tuple[Exact, ...]
    rule: bool
    sure: bool


@dataclass(frozen=True, slots=True)
class Check:
    """How a summary stands to the claims: which it does not bear out, and which exact things it lacks."""

    claims: Sequence[Claim]
    unsaid: Sequence[Claim]
    missing: frozenset[tuple[str, str]]

    @property
    def poor(self) -> bool:
        """Return whether too little is borne out for the summary to be trusted."""
        if len(self.unsaid) == 1 and not (self.unsaid[0].things or self.unsaid[0].sure):
            return False
        return len(self.claims) - len(self.unsaid) < POOR * len(self.claims)


def claims(messages: Mapping[int, Message]) -> list[Claim]:
    """Return what the users of a talk state for themselves and have not taken back, in order."""
    said = [(place, message) for place, message in messages.items() if message.content]
    talk = main((message.content for _, message in said if message.role == "user"), "")
    names = frozenset(message.name for _, message in said if message.name)
    found: list[Claim] = []
    for at, (place, message) in enumerate(said):
        mine = without_pasted(message.content)
        if message.role != "user" or len(mine) > PASTED_CHARS:
            continue
        next_of_theirs = (one for _, one in said[at + 1 :] if one.role == "user" and one.name == message.name)
        if re.search(forget(), next((one.content[:FORGET_CHARS] for one in next_of_theirs), "")):
            continue
        text = mine
        if forgotten := list(re.finditer(forget(), text)):
            text = text[forgotten[-1].end() :]
        code = guess(message.content, talk)
        before = said[at - 1][1].content[-CONTEXT:] if at else ""
        after = next((one.content for _, one in said[at + 1 :] if one.role == "user"), "")
        for one in _claimed(text, tongue(code or talk), after):
            if (claim := _claim(place, one.text, code, before, names)) is not None:
                found.append(claim)
            before = ""
    return list(_uncorrected(found))


def check(text: str, stated: Sequence[Claim]) -> Check:
    """Hold a summary against the claims."""
    summary = shown(text)
    missing = frozenset(thing.key for claim in stated for thing in claim.things if not summary.holds(thing))
    code = guess(text[:2_000])
    translated = code if code and len(text.split("\n")) > POOR * len(stated) else ""
    return Check(stated, [one for one in stated if not _is_borne_out(one, text, translated, missing)], missing)


def tail(text: str, found: Check, messages: Mapping[int, Message], zone: tzinfo) -> list[str]:
    """Return the lines that belong under the summary `text`: claims in the users' own words, cited, in order."""
    room = POOR_CHARS if found.poor else min(TAIL_CHARS, max(TAIL_LEAST, int(len(text) * TAIL_SHARE)))
    missing = set(found.missing)
    unsaid = [one for one in found.unsaid if found.poor or (one.rule and one.sure)]
    chosen: dict[int, str] = {}
    for number, one in sorted(enumerate(found.claims), key=lambda pair: -_worth(pair[1], missing)):
        certain = found.poor or one.sure or one.rule
        lacks = {thing.key for thing in one.things if certain or thing.weight >= HARD} & missing
        line = _quoted(one, messages[one.place], zone) if lacks or one in unsaid else ""
        if line and len(line) < room:
            missing -= lacks
            room -= len(line) + 1
            chosen[number] = line
    return [chosen[number] for number in sorted(chosen)]


def _quoted(claim: Claim, message: Message, zone: tzinfo) -> str:
    """Return the line that quotes a claim: `- Mei: “…” (18 November 2026) {4}`."""
    day = f" ({spelled(message.at.astimezone(zone).date(), claim.code)})" if message.at else ""
    return f"- {message.name or message.role}: “{claim.text}”{day} {{{claim.place}}}"


def kept(before: Check, after: Check) -> Fidelity:
    """Count the exact things that were said, and those of them in the summary before and after its tail."""
    said = len({thing.key for claim in before.claims for thing in claim.things})
    return Fidelity(said, said - len(before.missing), said - len(after.missing))


def _claimed(text: str, known: Tongue, after: str) -> Iterator[Sentence]:
    """Yield the sentences that a user claims themselves: nothing asked, pasted, supposed, past or taken back."""
    mine = own_words(text, known)
    for one in sentences(mine):
        said = one.text
        if said.endswith(("?", "？", ":", "：")) or "[REDACTED" in said or quoted_share(said) > QUOTED:
            continue
        if _in_passing(said) or _takes_back(mine[one.end :]) or _is_replaced(said, after, known.code):
            continue
        yield one


def _claim(place: int, text: str, code: str, before: str, names: Collection[str]) -> Claim | None:
    """Return the claim that a sentence makes; None where it states nothing that is meant."""
    if tongue(code).has("secret", plain(text)) and any(character.isdigit() for character in text):
        return None  # what no rule needs, and nobody wants quoted
    things = tuple(thing for thing in exact(text, code) if thing.kind != "name" or _is_another(thing, text, names))
    if not code:  # the small model does not know the language
        return Claim(place, text, code, things, rule=False, sure=False) if things else None
    said = trimmed(without_names(text, names), tongue(code))
    guessed = kind(said, before, code)
    if guessed.kept < (MEANT if things else MEANT_ALONE):
        return None
    words = content_words(said) - {NOT}
    if not things and len(words) < (EVENT_WORDS if guessed.label == "event" else 1):
        return None
    rule = guessed.shares["rule"] >= RULE and tongue(code).has("standing", plain(said))
    return Claim(place, text, code, things, rule, guessed.kept >= SURE)


def _is_another(name: Exact, sentence: str, speakers: Collection[str]) -> bool:
    """Return whether a name stands for somebody else: not for a speaker, also in a short form, and in no mere call."""
    if len(sentence.split()) < NAMED_WORDS:
        return False
    return not name.text.casefold().startswith(tuple(speaker.casefold()[:3] for speaker in speakers))


def _is_borne_out(claim: Claim, text: str, translated: str, missing: Collection[tuple[str, str]]) -> bool:
    """Return whether a summary says a claim: in its words, or by what stands exactly in it.

    One that is `translated` into another language can only be held to the latter.
    """
    held = sum(1 for thing in claim.things if thing.key not in missing)
    if claim.things and 2 * held >= len(claim.things):
        return True
    if translated and claim.code and translated != claim.code:
        return not claim.things
    return coverage(claim.text, text) >= BORNE


def _worth(claim: Claim, missing: Collection[tuple[str, str]]) -> float:
    """Return how much the loss of a claim hurts for the room that it takes."""
    lost = sum(thing.weight for thing in claim.things if thing.key in missing)
    return (lost + 4 * claim.rule + claim.sure) / (20 + len(claim.text))


def _in_passing(sentence: str) -> bool:
    """Return whether a sentence tells nothing that holds: what is supposed, trouble that is over, the weather."""
    if is_supposed(sentence) or cues.says("would", sentence) or cues.says("over", sentence):
        return True
    return len(sentence) <= WEATHER_CHARS and cues.says("weather", sentence)


def _takes_back(rest: str) -> bool:
    """Return whether the `rest` of a message takes back the sentence before it, or puts another value for it."""
    return any(cues.begins("takes_back", part) for part in _PART.split(rest[:RESTS]) if part)


def _is_replaced(sentence: str, after: str, code: str) -> bool:
    """Return whether the user's next message begins by giving another value: "no, make that 60 ms"."""
    if not cues.begins("takes_back", after):
        return False
    given = {thing.kind for thing in exact(after[:RESTS], code)}
    return any(thing.kind in given for thing in exact(sentence, code))


def _uncorrected(found: Sequence[Claim]) -> Iterator[Claim]:
    """Yield the claims that no later one changes: it says so, and holds half of the words."""
    changed: dict[str, int] = {}  # by each word, the place of the last claim with it that changes something
    standing: list[Claim] = []
    for claim in reversed(found):
        words = [word for word in content_words(claim.text) if not is_hard(word)]
        later = Counter(place for word in words if (place := changed.get(word, -1)) > claim.place)
        if max(later.values(), default=0) < max(1.0, CORRECTED * len(words)):
            standing.append(claim)
        if tongue(claim.code).has("change", plain(claim.text)):
            changed = dict.fromkeys(words, claim.place) | changed
    return reversed(standing)


# Exact things that people say: titles, commands, addresses, paths, dates, times, spans of time, numbers, names. Pure.

# ruff: noqa: E501 - a row of words in a pattern stands on one line

_SUFFIXES = "py|js|ts|tsx|md|json|ya?ml|toml|sh|sql|csv|txt|go|rs|java|cpp|html|css|ini|cfg|conf|lock|pdf|ipynb|db|env"
_NAME = r"[A-ZÀ-Þ][a-zà-öø-ÿ]{2,}"
_BETWEEN_DASHES = re.compile(
    rf"[-–—] ?({_NAME}(?: {_NAME}){{0,2}})(?= ?[-–—]|[,.!]|$)|[—―]{{2}}([^\s—―，。、]{{1,8}})[—―]{{2}}"
)
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
        "title",
        2,
        re.compile(
            r"[“\"„]([A-ZÀ-Þ0-9][^“”\"„\n.!?]{1,60})[”\"“]|«\s?([A-ZÀ-Þ0-9][^«»\n.!?]{1,60}?)\s?»"
            r"|《([^《》\n]{1,30})》|『([^『』\n]{1,30})』|「([^「」\n]{1,20})」"
        ),
    ),
    (
        "time",
        2,
        re.compile(r"(?<![A-Za-z\d.])(\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\d{1,2} ?[ap]\.?m\b)(?!\d)", re.IGNORECASE),
    ),
    (
        "number",
        2,
        re.compile(
            r"(?<![A-Za-z0-9_.])([$€£¥]\d+(?:[.,]\d+)*|v?\d+(?:[.,]\d+)+(?: ?[%€°円元])?|\d+ ?[%€°円元]|\d{2,})(?![A-Za-z0-9]*\d)"
        ),
    ),
    ("name", 1, _BETWEEN_DASHES),
    ("name", 1, re.compile(rf"(?<=[a-zà-öø-ÿ,;] )({_NAME}(?: [A-ZÀ-Þ][a-zà-öø-ÿ]+){{0,3}})\b")),
)
# "100% agree", "24/7", "1000 Dank": numbers that say how much one means it.
_IDIOM = re.compile(
    r"(?<![\d.,])1[01]0 ?%(?= ?(?:agree|sure|with (?:you|u|him|her)|on board|behind|yes|true|right|correct|einverstanden|sicher|deiner|d['’]accord|sûre?s?|seguro|de acuerdo|同意|支持|赞成|确定|賛成|同感|本気)|[,.!]?\s*$)"
    r"|\b24h?/(?:24|7)\b|\b7[dj]?/7\b|\b50[/-]50\b|\b20/20\b|\b0?8/15\b|\b10/10\b|(?:24/7|24時間365日)"
    r"|\b1[.,]?000 ?(?:times|thanks|thx|mal|dank|fois|mercis?|veces|gracias|recuerdos)\b",
    re.IGNORECASE,
)
_HAN_DIGITS = "一二三四五六七八九十"
_TWO = str.maketrans("两兩", "二二")
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz_")
NAMES_SHARE = 0.15  # of words with a capital; above it the language writes other words so too,
NAMES_LEAST = 3  # unless there are only these few
_ANY_DAY = date(2026, 1, 1)  # a day and a month are found without their year too


@dataclass(frozen=True, slots=True)
class Exact:
    """One exact thing: its kind, its text, where it stands, how much its loss hurts, and the day that a date names."""

    kind: str
    text: str
    start: int
    end: int
    weight: int
    day: tuple[int, int] = (0, 0)

    @property
    def key(self) -> tuple[str, str]:
        """What it is the same thing by."""
        return self.kind, self.text.casefold()


@dataclass(frozen=True, slots=True)
class SummaryText:
    """What a summary says, ready to be looked up: casefolded with single blanks, and the days that it names."""

    text: str
    days: frozenset[tuple[int, int]]

    def holds(self, thing: Exact) -> bool:
        """Return whether the summary says the same, also in another usual form."""
        own = " ".join(thing.text.casefold().split())
        if thing.kind in ("command", "address", "path", "title"):
            return own in self.text
        if thing.kind == "date":
            return thing.day in self.days
        if thing.kind == "name":
            return _stands(own.split()[0], self.text, _LETTERS) or (not own.isascii() and own in self.text)
        if thing.kind == "span":
            return any(_stands(form, self.text, _LETTERS) for form in _amounts(own))
        if thing.kind == "time":
            return any(re.search(rf"(?<![a-z0-9_]){form}(?![a-z0-9_])", self.text) for form in _time_forms(own))
        digits = re.sub(r"[^\d.,]", "", own).strip(".,")
        return any(_stands(form, self.text, _DIGITS) for form in {own, digits, re.sub(r"[.,](?=\d{3}\b)", "", digits)})


def shown(text: str) -> SummaryText:
    """Return what the summary `text` says, ready to be looked up."""
    codes = {guess(text[:2_000]) or "en", "en"}
    named = frozenset((day.first.month, day.first.day) for code in codes for day in days.found(text, _ANY_DAY, code))
    return SummaryText(" ".join(text.casefold().split()), named)


def exact(text: str, code: str = "") -> list[Exact]:
    """Find the exact things in `text`, which is in the language `code`, in their order; each place counts once."""
    code = code or guess(text) or "en"
    text = _IDIOM.sub(lambda found: "\0" * len(found[0]), text)
    found: list[Exact] = []
    for form, weight, pattern in _KINDS:
        if form == "time":  # whose hours, and whose numbers, may be a date's or a span's
            text = _without_dates(text, code, found)
            text = _take("span", 2, _spans(code), text, found, code)
        text = _take(form, weight, pattern, text, found, code)
    return sorted(found, key=lambda thing: thing.start)


def _take(form: str, weight: int, pattern: re.Pattern[str], text: str, found: list[Exact], code: str) -> str:
    """Add the things of one kind to `found`; return `text` without them."""
    for match in list(pattern.finditer(text)):
        group = match.lastindex or 0
        if form == "name" and not _is_name(match, group, text, code):
            continue
        start, end = match.span(group)
        found.append(Exact(form, match[group].strip(), start, end, weight))
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


@cache
def _no_names() -> frozenset[str]:
    """Return capitals that name nobody: days, which only count from the message's date, and what people begin with."""
    weekdays = [day.lower() for day in days.names("en").weekdays]
    return frozenset({*weekdays, *(day[:3] for day in weekdays), *cues.words("opens")})


def _is_name(match: re.Match[str], group: int, text: str, code: str) -> bool:
    """Return whether a capital names somebody: between dashes it does, elsewhere where the text has few others."""
    name = match[group]
    if name.split()[0].casefold() in _no_names():
        return False
    if match.re is _BETWEEN_DASHES:
        return True
    if code == "de":  # every noun has a capital there
        return " " in name
    words: list[str] = re.findall(r"(?<=[a-zà-ÿ,;] )[^\W\d_]+", text)  # of a name that is two words, the first
    capitals = sum(1 for word in words if word[0].isupper() and word not in ("I", "I’m"))
    return capitals <= max(NAMES_LEAST, NAMES_SHARE * len(words))


def _without_dates(text: str, code: str, found: list[Exact]) -> str:
    """Add the dates in `text` to `found`; return it without them."""
    if not any(character.isdigit() for character in text):
        return text
    for day in days.found(text, _ANY_DAY, code):
        said = text[day.start : day.end]
        if day.first == day.last and (day.whole or _is_dated(said, day)):
            found.append(Exact("date", said, day.start, day.end, 3, (day.first.month, day.first.day)))
            text = text[: day.start] + "\0" * len(said) + text[day.end :]
    return text


def _is_dated(said: str, day: days.Day) -> bool:
    """Return whether a day is told by its number: not "3 days ago", which counts from the day of the talk."""
    return re.search(rf"(?<!\d)0?{day.first.day}(?!\d)", said) is not None and not re.search(table()["counts"], said)


@cache
def _spans(code: str) -> re.Pattern[str]:
    known = days.names(code)
    before, units, after = known.units
    if known.wide:
        return re.compile(rf"(?<![第\d/年月])((?:\d{{1,3}}|[{_HAN_DIGITS[1:]}两兩百]+) ?(?:{units}){after})(?!\d)")
    numbers = "|".join(known.numbers[1:])  # "one day" tells no span
    return re.compile(rf"(?<![\w/.,$€£])({before}(?:\d{{1,3}}|{numbers})[ -](?:{units}){after})(?!\w)", re.IGNORECASE)


def _amounts(span: str) -> Iterator[str]:
    """Yield the number of a span of time as it stands there, in digits, and as an English word."""
    for code in spaced():
        for number, word in enumerate(days.names(code).numbers, 1):
            if re.search(rf"(?<!\w)(?:{word}|{number})(?!\w)", span):
                yield from (word, str(number), days.names("en").numbers[number - 1])
    for number in re.findall(rf"\d+|[{_HAN_DIGITS}两兩]+", span):
        yield number
        if (at := _HAN_DIGITS.find(number.translate(_TWO))) >= 0:
            yield str(at + 1)


def _stands(part: str, text: str, joined: frozenset[str]) -> bool:
    """Return whether `part` stands in `text` without a character of `joined` on either side."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if text[at - 1 : at] not in joined and text[end : end + 1] not in joined:
            return True
        at = text.find(part, at + 1)
    return False


def _time_forms(time: str) -> Iterator[str]:
    """Yield patterns of the usual ways to write a time: `7pm`, `7:00 p.m.`, `19:00`."""
    hour, minute, half = re.fullmatch(r"(\d+)(?::(\d\d))? ?([ap])?.*", time).groups(default="")  # type: ignore[union-attr]
    clock = (int(hour) % 12 + (12 if half == "p" else 0)) if half else int(hour)
    yield re.escape(time)
    yield rf"0?{clock}:{minute or '00'}"
    if half:
        yield rf"{hour}{':' + minute if minute else '(?::00)?'} ?{half}\.?m\.?"
