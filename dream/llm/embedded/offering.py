"""What the messages of a conversation offer to memory: each statement as a line, in the third person, with its day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dream.llm.embedded.addressing import addressed, own_half
from dream.llm.embedded.advising import advised, asked_for
from dream.llm.embedded.answering import answered, belongs, needs_question
from dream.llm.embedded.asking import asked
from dream.llm.embedded.changes import supersedes
from dream.llm.embedded.clauses import pruned
from dream.llm.embedded.corrections import corrected
from dream.llm.embedded.dates import anchor, dated
from dream.llm.embedded.directives import directive, with_whole_rules
from dream.llm.embedded.elliptic import completed, is_label
from dream.llm.embedded.frames import other_words
from dream.llm.embedded.impersonal import passive
from dream.llm.embedded.introducing import introduced, presented
from dream.llm.embedded.lexicon import AGENTS
from dream.llm.embedded.moods import is_mood
from dream.llm.embedded.noise import is_injection, is_mine, is_passing, is_pleasantry, is_question, is_secret, is_thin
from dream.llm.embedded.person import inner, third
from dream.llm.embedded.plain import is_plain
from dream.llm.embedded.pointing import points, unpointed
from dream.llm.embedded.referring import hangs, hangs_at_end, is_wish, leans, referred, refers, shown
from dream.llm.embedded.salience import happens, salience
from dream.llm.embedded.sections import Said
from dream.llm.embedded.sentences import sentences
from dream.llm.embedded.splitting import facts_in
from dream.llm.embedded.standing import stands
from dream.llm.embedded.stated import stated
from dream.llm.embedded.taken_back import as_changed
from dream.llm.embedded.telling import names_something, promises_mood, tells
from dream.llm.embedded.trimming import terse, trimmed
from dream.llm.embedded.views import view
from dream.llm.embedded.wording import said_on, told, wants
from dream.llm.embedded.words import content, has_cjk, likeness

PASTED = 1_500  # characters of a message above which only what speaks of the speaker is taken
LONG = 160  # characters of a sentence without a name, above which it must speak of the speaker
WIDTH = 220  # characters of a line of memory that is still easy to read
SAME = 0.6  # likeness of a line to the sentence that it was written from
_SAID = re.compile(r" ?[(（][^()（）]{0,20}\d{4}[^()（）]{0,10}[)）]$")


@dataclass(frozen=True, slots=True)
class Line:
    """One line that could be kept: where it stood, its text, its content words and how telling it is."""

    order: int
    text: str
    content: dict[str, float]
    factor: float
    source: int = 0  # the message that it comes from
    name: str = ""  # who said it
    place: int = 0  # the sentence of the message that it ends with
    tail: str = ""  # the statement as it follows another by the same speaker
    joined: int = 0  # the statements at its end that lean on it

    def holds(self, text: str, factor: float, place: int) -> Line:
        """Return the line with another statement of the same message at its end."""
        stem, day = split_date(self.text)
        day = "" if dated(stem) or dated(text) else day or split_date(text)[1]
        whole = f"{stem}; {split_date(text)[0]}{day}"
        return replace(
            self,
            text=whole,
            content=content(whole),
            factor=max(self.factor, factor),
            place=place,
            joined=self.joined + 1,
        )


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message as it is read: who speaks, to whom, and what was said just before."""

    message: Said
    index: int
    name: str
    other: str
    asked: Sequence[str]  # the sentences of the message before
    said: Sequence[str]  # the sentences of this one
    names: frozenset[str]
    pasted: bool
    wanted: bool  # the message before asks for advice


def split_date(text: str) -> tuple[str, str]:
    """Cut off the day that a line was said on."""
    match = _SAID.search(text)
    return (text[: match.start()], match[0]) if match else (text, "")


def candidates(messages: Sequence[Said]) -> list[Line]:
    """Return every line that a conversation offers, in its order, near-duplicates left out."""
    found: list[Line] = []
    names = frozenset(message.name for message in messages if message.name)
    agent = any(message.role == "assistant" and not person(message) for message in messages)
    before: list[str] = []
    for index, message in enumerate(messages):
        said = with_whole_rules(sentences(message.text))
        if message.role == "user" and (pair := _correction(message, before, found)):
            found = [line for line in found if line.text != pair[0]]
            found.append(Line(len(found), pair[1], content(pair[1]), 2.0, index))
            said = [sentence for sentence in said if sentence != pair[2]]
        name = person(message)
        if name is not None:
            others = names - {name}
            other = next(iter(others)) if name and len(others) == 1 else "the agent" if agent and not others else ""
            long = sum(map(len, said)) > PASTED
            turn = _Turn(message, index, name, other, before[-3:], said, names, long, asked_for(before))
            for line in _offered(turn, len(found), [_carried(found.pop())] if _goes_on(found, turn) else []):
                if line.content and not any(_again(line, old) for old in found[-40:]):
                    found.append(line)
        before = said if len(message.text) < PASTED else []
    return found


def _again(line: Line, before: Line) -> bool:
    """Say whether a line tells what one before told, and no other value of it."""
    alike = likeness(line.content, before.content) > 0.8
    return (
        alike
        and not supersedes(line.text, before.text)
        and not (has_cjk(line.text) and other_words(line.text, before.text))
    )


def _goes_on(found: Sequence[Line], turn: _Turn) -> bool:
    """Say whether the speaker's last line is still what is spoken of: the other only cheered in between."""
    last = found[-1] if found else None
    went_on = last is not None and last.name == turn.name != "" and 0 < turn.index - last.source <= 2
    return went_on and all(refers(sentence) for sentence in turn.asked if is_question(sentence))


def _carried(line: Line) -> Line:
    return replace(line, place=-1)


def _correction(message: Said, before: Sequence[str], found: Sequence[Line]) -> tuple[str, str, str] | None:
    """Return the line that a message corrects without saying what it is about, before and after, and what says so."""
    said = sentences(message.text[:PASTED])[:2]
    told = [trimmed(sentence) for sentence in before[-3:]]
    earlier = [*(line.text for line in found[-6:]), *(sentence for sentence in told if not is_question(sentence))]
    for sentence in said:
        if pair := corrected(sentence, earlier):
            meant = content(split_date(pair[0])[0])
            lines = [line.text for line in found[-6:] if likeness(content(split_date(line.text)[0]), meant) > SAME]
            return *(corrected(sentence, lines) or pair), sentence
    return None


def person(message: Said) -> str | None:
    """Return the speaker's name, '' for a user without one, None for whoever's words are no facts."""
    named = message.name if message.name.lower() not in AGENTS else ""
    if message.role == "user":
        return "" if named.lower() in {"user", "me", "human"} else named
    return named if message.role == "assistant" and named else None


def _offered(turn: _Turn, order: int, out: list[Line]) -> list[Line]:
    """Append what a message offers to `out`, which holds the line that is still spoken of, if there is one."""
    tainted = any(is_injection(sentence) for sentence in turn.said)
    for place, sentence in enumerate(turn.said):
        if is_injection(sentence) or is_secret(sentence):
            continue
        if turn.message.role == "user" and not turn.pasted and (wish := directive(sentence)):
            if not tainted:
                out.append(_line(turn, wants(wish, turn.name), 3.0, order + len(out), place))
            continue
        for claim, factor in stated(sentence, run_on=not turn.name):
            for fact in [claim] if turn.name else _facts(turn, claim, place):
                wish = "" if turn.name or turn.pasted or tainted or fact == claim else directive(fact)
                if wish:
                    out.append(_line(turn, wants(wish, ""), 3.0, order + len(out), place))
                else:
                    _add(out, fact, factor, turn, order, place)
    return out


def _facts(turn: _Turn, claim: str, place: int) -> list[str]:
    """Return what a claim of a user without a name states, each complete in itself."""
    named = presented(claim, turn.said[place - 1] if place else "")
    return [named] if named else [as_changed(fact, claim) for fact in facts_in(trimmed(claim, turn.names))]


def _add(out: list[Line], claim: str, factor: float, turn: _Turn, order: int, place: int) -> None:
    """Append the line that a claim makes, or put it at the end of the one before, on which it leans."""
    text = _bare(claim, turn, place)
    if turn.name and turn.wanted and (deed := advised(text)):
        _advise(out, turn, deed, factor, order, place)
        return
    text = terse(completed(text)) if turn.name else text
    if not _worth(claim, text, turn):
        return
    if not turn.name and hangs_at_end(text) and (_hung(out, text, factor, turn, place) or is_wish(text)):
        return
    if not turn.name and is_plain(text):
        out.append(_line(turn, _told(turn, text), factor * salience(text), order + len(out), place))
    elif not _continues(out, text, factor, turn, order, place):
        _state(out, text, factor, turn, order, place)


def _worth(claim: str, text: str, turn: _Turn) -> bool:
    """Say whether a claim can become a line at all; `text` is the claim without what carries nothing."""
    if is_pleasantry(text) or is_question(text) or is_passing(text) or is_mood(text):
        return False
    if (turn.pasted or not turn.name) and not is_mine(claim) and (turn.pasted or len(text) > LONG):
        return False
    if not turn.name and (is_label(text) or promises_mood(text)):
        return False
    answers = needs_question(text) and any(is_question(sentence) for sentence in turn.asked)
    return turn.name != "" or answers or (stands(claim) and stands(text))


def _continues(out: list[Line], text: str, factor: float, turn: _Turn, order: int, place: int) -> bool:
    """Tell a sentence with what it leans on, the question before it or the line before; False where it has neither."""
    alone = not any(line.source == turn.index for line in out)
    last = _before(out, turn, place)
    if alone and needs_question(text) and (answer := _answer(text, turn)):
        out.append(_line(turn, answer, 0.9 * factor, order, place))
        return True
    leaning = leans(text) or (turn.name != "" and hangs(text))
    if leaning and last and last.joined < 2 and belongs(text) and (said := addressed(text, turn.other)):
        said = inner(anchor(said, turn.message.day))
        if len(last.text) + len(said) < WIDTH:
            out[-1] = last.holds(said, factor * salience(text), place)
            return True
    return False


def _hung(out: list[Line], text: str, factor: float, turn: _Turn, place: int) -> bool:
    """Put a user's sentence that ends with "for that" to the line of the sentence before; False where it made none."""
    last = out[-1] if out else None
    if last is None or (last.source, last.place) != (turn.index, place - 1) or last.joined >= 2:
        return False
    said = anchor(text, turn.message.day)
    said = third(said, "the user") if said[:1] == "I" else re.sub(r"^(?:We|Our)\b", lambda we: we[0].lower(), said)
    if len(last.text) + len(said) >= WIDTH:
        return False
    out[-1] = last.holds(said, factor * salience(text), place)
    return True


def _before(out: Sequence[Line], turn: _Turn, place: int) -> Line | None:
    """Return the line that a sentence may go on from."""
    alone = not any(line.source == turn.index for line in out)
    return out[-1] if out and (alone or out[-1].place >= place - 2) else None


def _state(out: list[Line], text: str, factor: float, turn: _Turn, order: int, place: int) -> None:
    """Append the line that a sentence makes by itself, if it tells anything so."""
    last = _before(out, turn, place)
    if leans(text):
        text = referred(text, list(reversed(turn.asked)) if place == 0 else [])
    elif turn.name and hangs(text) and (not last or last.source != turn.index) and not names_something(text):
        return
    worth = 1.0 if tells(text) else view(text) if turn.name else 0.0
    if not text or not worth or is_thin(text) or not (text := addressed(text, turn.other)):
        return
    telling = factor * worth * salience(text)
    if points(text := unpointed(text)):
        return
    tail = inner(anchor(text, turn.message.day)) if turn.name else ""
    out.append(replace(_line(turn, _told(turn, text), telling, order + len(out), place), tail=tail))


def _advise(out: list[Line], turn: _Turn, deed: str, factor: float, order: int, place: int) -> None:
    """Append what the speaker advises, or put it to the advice given just before."""
    deed = inner(anchor(deed, turn.message.day))
    lead = f"{turn.name} advises {turn.other or 'the other'} "
    last = out[-1] if out else None
    if last and last.source == turn.index and last.text.startswith(lead) and len(last.text) + len(deed) < WIDTH:
        out[-1] = last.holds(deed, factor, place)
    else:
        out.append(_line(turn, lead + deed, factor, order + len(out), place))


def _line(turn: _Turn, text: str, factor: float, order: int, place: int) -> Line:
    return Line(order, text, content(text), factor, turn.index, turn.name, place)


def _told(turn: _Turn, text: str) -> str:
    return told(text, turn.name, turn.message.day)


def _bare(claim: str, turn: _Turn, place: int) -> str:
    """Return a claim without what carries nothing, and with the thing that "it" is where the user just named it."""
    text = passive(shown(pruned(trimmed(claim, turn.names))))
    text = trimmed(own_half(text), turn.names) if turn.name else text
    if turn.name or not place:
        return text
    return introduced(text, trimmed(turn.said[place - 1])) or text


def _answer(text: str, turn: _Turn) -> str | None:
    """Return the line of an answer that says nothing alone."""
    found = answered(text, turn.asked, turn.names)
    if found is None:
        return None
    question, text = found
    if not question:
        return _told(turn, text)
    who = f"{turn.name}, asked" if turn.name else "The user, asked"
    said = inner(anchor(text, turn.message.day))
    return f"{who} {asked(question)}: {said}" + said_on(said, turn.message.day, needed=not turn.name or happens(text))
