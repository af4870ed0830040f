"""The messages that support a line of a summary, and hence its speaker; an entry stores both for each line.

Cite, then check: the model ends each line with the numbers of its messages, `{118}` or `{118,120}`, and may quote the
user's own words below a wish, a rule or a correction, after `>`. Code removes both from the text. A citation is valid
if the messages exist and one of them contains a word of the line; else the one message that clearly says the line
replaces it. The voice is that of the cited text which shares most words with the line: the user's own words, what they
pasted, a tool's output, or the agent's answer if no person said any of it before. A line that runs of the agent's own
bear out has the voice of the tool.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from dream.models import EntryLine, Message, Voice
from dream.provenance.commands import bear_out
from dream.provenance.copied import OwnText, copied, folded, points_at
from dream.provenance.voice import CUT, own_text, typed_text
from dream.text.words import content_words, without_said_on

PLAIN = 0.6  # share of a line's words that a message must contain to replace an invalid citation
MOST_CITED = 12  # messages that one line may cite
WISH = "User wants to forget: "  # the form of a request to forget, as the summary prompt asks for it

_CITED = re.compile(r"\s*(?:\{([\d\s,;–-]{1,80})\}|\[([\d\s,;–-]{1,80})\])\s*[.。]?\s*$")
_NUMBERS = re.compile(r"(\d{1,9})(?:\s*[–-]\s*(\d{1,9}))?")
_PATHLIKE = re.compile(r"[\w.~-]*/[\w./~-]+|[\w.+-]+@[\w.-]+|\b[\w-]+\.(?:[a-z]{2,5})\b", re.IGNORECASE)
_QUOTE = re.compile(r"^\s*(?:[-*•]\s+)?>\s*(.*)$")
_JOINED = re.compile(r"[._/=:-]+")
_DIGITS = re.compile(r"\d+")
_MARKED = re.compile(r"^\s*>[\s>]*")

_RANK: tuple[Voice | None, ...] = (
    "user",
    "other",
    "tool",
    None,
    "pasted",
    "agent",
)  # of two that say as much, the first


def cited(
    content: str, messages: Mapping[int, Message], people: Collection[str] = frozenset()
) -> list[tuple[str, EntryLine]]:
    """Return the lines of a summary of `messages`, by position, each with its source.

    `people` are the names of the users in the session; if there are several, each one's words count as their own only.
    """
    found: list[tuple[str, EntryLine]] = []
    for text in content.split("\n"):
        quote = _QUOTE.match(text)
        above = _quoting(*found[-1], quote[1], messages, people) if quote is not None and found else None
        if above is not None:
            found[-1] = (found[-1][0], above)
        elif (
            quote is None or not found or not (found[-1][1].voice == "user" or _is_in(quote[1], found[-1][1], messages))
        ):
            found.append(_line(_MARKED.sub("- ", text), messages, people))
    return found


def _is_in(words: str, line: EntryLine, messages: Mapping[int, Message]) -> bool:
    """Return whether a quote occurs in a message that its line cites, whoever said it."""
    return any(points_at(words, messages[place].content) for place in line.cites)


def said_words(text: str) -> frozenset[str]:
    """Return the content words of a text; `staging.port=80` has the same as "the staging port is 80"."""
    words = content_words(text)
    return words | content_words(_JOINED.sub(" ", text)) if _JOINED.search(text) else words


def of_messages(texts: Iterable[str], place: int, message: Message, people: Collection[str]) -> list[EntryLine]:
    """Return the source of each line of a message that is kept verbatim; pasted lines have no speaker."""
    voice, by = _spoken(message, people)
    if voice not in ("user", "other"):
        return [EntryLine((place,), voice) for _ in texts]
    forms = typed_text(message.content), own_text(message.content, facts=True)
    rows = zip(message.content.split("\n"), *(form.split("\n") for form in forms), strict=True)
    whose: dict[str, Voice | None]
    whose = {row.strip(): voice if _says(own) else None if _says(typed) else "pasted" for row, typed, own in rows}
    return [EntryLine((place,), whose.get(text.strip(), voice), by=by) for text in texts]


def without_citation(text: str) -> tuple[str, tuple[int, ...]]:
    """Separate a line from the message numbers at its end."""
    match = _CITED.search(text)
    if match is None or match.start() == 0:
        return text, ()
    found: list[int] = []
    for first, last in _NUMBERS.findall(match[1] or match[2]):
        low, high = int(first), int(last or first)
        found += range(low, min(high, low + MOST_CITED) + 1)
    return text[: match.start()], tuple(dict.fromkeys(found))[:MOST_CITED]


def _line(text: str, messages: Mapping[int, Message], people: Collection[str]) -> tuple[str, EntryLine]:
    plain, numbers = without_citation(text)
    given = [place for place in numbers if place in messages]
    if not given and text.rstrip().endswith("]"):
        plain = text  # the square brackets did not contain message numbers
    words = content_words(without_said_on(plain))
    if not words:
        return plain, EntryLine()
    shown, given = _with_runs(plain, given, messages)
    holding = [place for place in given if words & said_words(messages[place].content)]
    exact = _holds_exactly(plain, [messages[place].content for place in holding])
    places = (
        given
        if shown or (holding and exact)
        else _matching(plain, messages) or holding or _with_answered(given, messages, words)
    )
    said: dict[Voice | None, dict[str, frozenset[str]]] = {}
    for place in sorted(places or messages):
        for voice, by, part in _parts(messages[place], people):
            shares = words & said_words(part)
            if voice == "agent" and any(any(said.get(person, {}).values()) for person in ("user", "other")):
                continue  # it only confirms what a person said before
            said.setdefault(voice, {})[by] = said.get(voice, {}).get(by, frozenset()) | shares
    shared = [(len(frozenset().union(*found.values())), -_RANK.index(voice), voice) for voice, found in said.items()]
    number, _, most = max(shared, key=lambda one: one[:2], default=(0, 0, None))
    if most == "agent" and (answer := _answer(words, given, messages, people)):
        return plain, EntryLine(tuple(sorted({*places, *given})), answer[0], by=answer[1])
    by = max(said.get(most, {"": frozenset()}).items(), key=lambda one: len(one[1]))[0]
    voice = "tool" if shown and most not in ("user", "other") else most
    return plain, EntryLine(tuple(sorted(places)), voice if number or places else None, by=by)


def _with_runs(line: str, given: list[int], messages: Mapping[int, Message]) -> tuple[bool, list[int]]:
    """Return whether runs of the agent's that a line cites bear it out, and the messages that support it then.

    Citing a call includes its result, and citing a result includes its call.
    """
    made = {call for place in given for call in messages[place].calls}
    results = [place for place, one in messages.items() if one.ran and (place in given or one.answers in made)]
    if not bear_out(line, [ran for place in sorted(results) if (ran := messages[place].ran)]):
        return False, given
    answered = {messages[place].answers for place in results} - {None}
    calling = [place for place, one in messages.items() if not answered.isdisjoint(one.calls)]
    return True, list(dict.fromkeys([*given, *results, *calling]))


def _answer(
    words: frozenset[str], given: Collection[int], messages: Mapping[int, Message], people: Collection[str]
) -> tuple[Voice, str] | None:
    """Return the person who answers the agent: the author of the last cited message, if the agent's is before it.

    The line states their answer ("Shall I plan a newsletter?" "God no"), though most of its words are the agent's. If
    the agent may have one of these words from a tool's output or a pasted text, nobody knows whose they are.
    """
    last = max(given, default=-1)
    if last - 1 not in given or messages[last - 1].role != "assistant":
        return None
    words &= said_words(messages[last - 1].content)
    before = (one for place, one in messages.items() if place < last)
    if any(words & said_words(part) for one in before for part in _not_spoken(one)):
        return None
    voice, by = _spoken(messages[last], people)
    return (voice, by) if voice in ("user", "other") and _says(own_text(messages[last].content)) else None


def _not_spoken(message: Message) -> list[str]:
    """Return the texts of a message that nobody in the conversation wrote: a tool's output, what is pasted."""
    return [part for voice, _, part in _parts(message, ()) if voice in ("tool", "pasted")]


def _with_answered(given: list[int], messages: Mapping[int, Message], words: frozenset[str]) -> list[int]:
    """Return the cited positions, which share no word with the line, with the messages that a short "ok" answers.

    A message is short if it has fewer words than the line: a longer one may say it in other words.
    """
    if not given or any(len(folded(messages[place].content)) >= len(words) for place in given):
        return given
    before = [(len(words & said_words(one.content)), place) for place, one in messages.items() if place < max(given)]
    number, place = max(before, default=(0, 0))
    return [*given, place] if number else given


def _holds_exactly(line: str, texts: Iterable[str]) -> bool:
    """Return whether texts contain the paths, addresses and numbers of a line; a year may come from its date."""
    text = "\n".join(texts)
    flat, said = text.casefold(), set(_DIGITS.findall(text))  # "21h" says 21
    numbers = {word for word in content_words(without_said_on(line)) if word.isdecimal() and len(word) not in (1, 4)}
    return numbers <= said and all(found[0].casefold() in flat for found in _PATHLIKE.finditer(line))


def _matching(line: str, messages: Mapping[int, Message]) -> list[int]:
    """Return the message that clearly says a line, preferring the user's; none if no message does."""
    words = content_words(without_said_on(line))
    scored = [(len(words & said_words(one.content)), one.role == "user", -place) for place, one in messages.items()]
    shared, _, place = max(scored, default=(0, False, 0))
    return [-place] if shared >= PLAIN * len(words) else []


def _parts(message: Message, people: Collection[str]) -> list[tuple[Voice | None, str, str]]:
    """Return the parts of a message by speaker: voice, name, text. A supposition has no voice."""
    voice, by = _spoken(message, people)
    if voice not in ("user", "other"):
        return [(voice, by, message.content)]
    typed, mine = typed_text(message.content), own_text(message.content, facts=True)
    supposed = "".join(" " if own != CUT else sign for sign, own in zip(typed, mine, strict=True))
    pasted = "".join(" " if own != CUT else sign for sign, own in zip(message.content, typed, strict=True))
    parts: list[tuple[Voice | None, str, str]] = [(voice, by, mine), (None, by, supposed), ("pasted", by, pasted)]
    return [part for part in parts if _says(part[2])]


def _says(text: str) -> bool:
    return bool(text.strip(f"{CUT} \n"))


def _spoken(message: Message, people: Collection[str]) -> tuple[Voice, str]:
    """Return the voice of a message, and the name of its author."""
    if message.role != "user":
        return ("agent" if message.role == "assistant" else "tool"), ""
    return ("other" if len(people) > 1 and message.name else "user"), message.name or ""


def _quoting(
    text: str, line: EntryLine, words: str, messages: Mapping[int, Message], people: Collection[str]
) -> EntryLine | None:
    """Return the source of a line with the user's `words` as they wrote them; None if they are no copy.

    A line that others said first becomes the user's if the user's sentence comes last and shares a word with it: they
    confirm it. Else the line keeps its speaker, with the user's words as its quote.
    """
    beside = None
    for place in line.cites:
        voice, by = _spoken(messages[place], people)
        found = copied(words, [OwnText(messages[place].content)]) if voice in ("user", "other") else None
        if found is None:
            continue
        confirms = place == max(line.cites) and not content_words(found.text).isdisjoint(content_words(text))
        quote = f"{line.quote} … {found.text}" if line.quote else found.text
        if line.voice == voice or confirms:
            return replace(line, voice=voice, quote=quote, by=by)
        beside = beside or replace(line, quote=quote)
    return beside
