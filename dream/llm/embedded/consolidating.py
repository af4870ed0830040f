"""The Consolidator's job: a conversation as bullets that keep what matters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dream.llm.embedded.clauses import pruned
from dream.llm.embedded.corrections import corrected
from dream.llm.embedded.coverage import ranked
from dream.llm.embedded.dates import anchor, dated, spelled
from dream.llm.embedded.dates_zh import spelled_zh
from dream.llm.embedded.directives import directive
from dream.llm.embedded.noise import is_injection, is_mine, is_passing, is_pleasantry, is_question, is_secret, is_thin
from dream.llm.embedded.person import third, trimmed
from dream.llm.embedded.routing import calls
from dream.llm.embedded.salience import happens, salience
from dream.llm.embedded.sections import Said
from dream.llm.embedded.sentences import sentences
from dream.llm.embedded.stated import stated
from dream.llm.embedded.words import content, likeness, mostly_cjk

AGENTS = frozenset("assistant agent ai bot claude gpt chatgpt gemini copilot codex model system cursor dream".split())
NEXT = 200  # the same for statements of two messages
KEPT = 0.7  # part of what could be kept, in characters
WIDTH = 240  # characters of a line of memory that is still easy to read
_SAID = re.compile(r" ?[(（][^()（）]{0,20}\d{4}[^()（）]{0,10}[)）]$")
# What says nothing without the statement before it: it starts with a pronoun, is short and names nothing.
_LEANS = re.compile(r"(?i:it|it's|they|they're|that|that's|this|these|those|he|he's|she|she's)\b(?!.*[A-Z\d]).{0,60}$")
PASTED = 1_500  # characters of a message above which only what speaks of the speaker is taken


@dataclass(frozen=True, slots=True)
class Line:
    """One line that could be kept: where it stood, its text, its content words and how telling it is."""

    order: int
    text: str
    content: dict[str, float]
    factor: float
    source: int = 0  # the message that it comes from
    name: str = ""  # who said it
    tail: str = ""  # its text without speaker and date, where it can follow another of the same message


def consolidate(messages: Sequence[Said], limit: int) -> str:
    """Return the bullets of a conversation, at most `limit` characters, or `(nothing)`."""
    lines = candidates(messages)
    weighed = [(line.text, line.content, line.factor) for line in lines]
    budget = min(limit, max(1_500, int(KEPT * sum(len(line.text) for line in lines))))
    chosen: list[int] = []
    for index in ranked(weighed):
        if budget < len(lines[index].text) + 3:
            break
        budget -= len(lines[index].text) + 3
        chosen.append(index)
    texts = joined([lines[index] for index in sorted(chosen)])
    named = next((name for m in messages if m.role == "user" and (name := person(m))), "")
    if texts and named:
        texts.insert(0, calls(named))
    return "\n".join(f"- {text}" for text in texts) or "(nothing)"


def joined(lines: Sequence[Line]) -> list[str]:
    """Join the statements that a named speaker made in one message, up to the length of a readable line."""
    texts: list[str] = []
    last: Line | None = None
    for line in lines:
        if last and line.tail and _follows(last, line) and len(texts[-1]) + len(line.tail) < _width(last, line):
            stem, date_ = _split_date(texts[-1])
            date_ = date_ or _split_date(line.text)[1]
            texts[-1] = f"{stem}; {line.tail}" + ("" if dated(line.tail) or dated(stem) else date_)
        elif not _LEANS.match(line.tail):
            texts.append(line.text)
        else:
            continue
        last = line
    return texts


def _follows(last: Line, line: Line) -> bool:
    """Say whether a statement is by the same speaker, in the same message or the next one."""
    return line.source == last.source or (last.name == line.name and line.source - last.source <= 2)


def _width(last: Line, line: Line) -> int:
    return WIDTH if line.source == last.source else NEXT


def _split_date(text: str) -> tuple[str, str]:
    match = _SAID.search(text)
    return (text[: match.start()], match[0]) if match else (text, "")


def candidates(messages: Sequence[Said]) -> list[Line]:
    """Return every line that a conversation offers, in its order, near-duplicates left out."""
    found: list[Line] = []
    names = frozenset(message.name for message in messages if message.name)
    for index, message in enumerate(messages):
        asked = messages[index - 1].text if index else ""
        if message.role == "user" and (pair := _correction(message, asked, found)):
            found = [line for line in found if line.text != pair[0]]
            found.append(Line(len(found), pair[1], content(pair[1]), 2.0, index))
        for text, factor in _offered(message, asked, names):
            name = person(message) or ""
            line = Line(len(found), text, content(text), factor, index, name, _tail(text, name))
            if line.content and not any(_alike(line, other) for other in found[-40:]):
                found.append(line)
    return found


def _alike(line: Line, other: Line) -> bool:
    return likeness(line.content, other.content) > 0.8


def _correction(message: Said, asked: str, found: Sequence[Line]) -> tuple[str, str] | None:
    """Return the line that a message corrects without saying what it is about, before and after."""
    said = sentences(message.text)[:2]
    told = [trimmed(sentence) for sentence in sentences(asked)[-3:]] if len(asked) < PASTED else []
    earlier = [*(line.text for line in found[-6:]), *(sentence for sentence in told if not is_question(sentence))]
    return next((pair for sentence in said if (pair := corrected(sentence, earlier))), None)


def _tail(text: str, name: str) -> str:
    """Return a statement as it follows another by the same speaker."""
    if not name or not text.startswith(name) or text.startswith((f"{name}, asked", f"{name} wants the agent")):
        return ""
    body = _split_date(text)[0][len(name) :]
    if body.startswith((":", "：")):
        return body[1:].strip()
    return body.strip()


def person(message: Said) -> str | None:
    """Return the speaker's name, '' for a user without one, None for whoever's words are no facts."""
    named = message.name if message.name.lower() not in AGENTS else ""
    if message.role == "user":
        return "" if named.lower() in {"user", "me", "human"} else named
    return named if message.role == "assistant" and named else None


def _offered(message: Said, asked: str, names: frozenset[str]) -> list[tuple[str, float]]:
    name = person(message)
    if name is None:
        return []
    said = sentences(message.text)
    pasted = sum(map(len, said)) > PASTED
    tainted = any(is_injection(sentence) for sentence in said)
    out: list[tuple[str, float]] = []
    for index, sentence in enumerate(said):
        if is_injection(sentence) or is_secret(sentence):
            continue
        if message.role == "user" and not pasted and (wish := directive(sentence)):
            out += [] if tainted else [(_wants(wish, name), 3.0)]
            continue
        previous = asked if index == 0 else ""
        for claim, factor in stated(sentence, run_on=not name):
            line = _line(claim, name, message.day, pasted, previous, names)
            out += [(line[0], line[1] * factor)] if line else []
    return out


def _wants(wish: str, name: str) -> str:
    if mostly_cjk(wish):
        return f"{name or '用户'}希望助手{wish.replace('我', name or '用户')}"
    return f"{name or 'User'} wants the agent to {wish[:1].lower() + wish[1:]}"


def _line(
    claim: str, name: str, day: date | None, pasted: bool, asked: str, names: frozenset[str]
) -> tuple[str, float] | None:
    text = trimmed(claim, names)
    if is_pleasantry(text) or is_question(text) or is_passing(text):
        return None
    if (pasted or not name) and not is_mine(claim) and (pasted or len(text) > 160):
        return None
    if is_thin(text):
        return _answer(text, asked, name)
    weight = salience(text)
    text = third(anchor(pruned(text), day), name)
    if day is not None and not dated(text) and (not name or happens(text)):
        text += f"（{spelled_zh(day)}）" if mostly_cjk(text) else f" ({spelled(day)})"
    return re.sub(r"\s+", " ", text), weight


def _answer(text: str, asked: str, name: str) -> tuple[str, float] | None:
    """Join an answer that says nothing alone to the question before it."""
    question = next((s for s in reversed(sentences(asked)[-3:]) if is_question(s)), "")
    question = trimmed(question).rstrip("?？ ")
    if not question or is_thin(question) or len(question) > 90 or not content(text) or len(text) > 60:
        return None
    who = f"{name}, asked" if name else "The user, asked"
    return f'{who} "{question}?": {text}', 0.9
