"""Stages one and two: messages → statements. What is not the speaker's own claim is read, and not stated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dream.embedded import kinds, sections
from dream.embedded.likeness import tells
from dream.embedded.sections import Utterance
from dream.embedded.statement import Statement
from dream.embedded.tongue import Tongue, tongue
from dream.embedded.trim import is_supposed, trimmed, without_names
from dream.provenance import cues
from dream.provenance.speakers import AGENTS, prefixed
from dream.provenance.voice import CUT, own_text
from dream.text.sentences import Sentence, quoted_share, sentences
from dream.text.tongues import guess, is_wide, main, plain

KEEP = 0.3  # least probability that a sentence states something, for it to be a line of history
SURE, WORDS = 0.7, 3  # the same, and least content words, for it to be a line of memory
LEAST = 12  # least characters of a sentence without a name, where several people speak
ASKED_RULE = 0.85  # least probability that a question asks for a rule: "would you keep it short from now on?"
RULE, RULE_STANDING = 0.6, 0.35  # least probability of a rule; the same, where a word says that it holds from now on
READ = 40_000  # characters of one message that are read: users don't type more
WIDTH = 240  # characters of a line of two sentences
BOTH = 140  # the same where friends talk about their days, and neither sentence needs the other
HEADING = 140  # characters of the heading of a list that its items are shown with
OF_RULE = 0.1  # least probability of a rule, for a fragment after a rule to belong to it
FRAGMENT = 18  # characters of a rule that says nothing without the sentence before it: "any hour", "ohne Ausnahme"
POINTING = 80  # characters of a rule that begins by referring to the sentence before: "that goes for every screen"
SCRAP = 24  # characters of a sentence that says little without the one before it: "port stays", "£27 an hour"
BRIEF = 32  # characters of a rule that shares a line with its neighbour: "Never delete it. Move it, always"
PERSONAL = ("person", "preference")
NOT_ONES_OWN = ("opinion", "quotation", "joke")  # kinds of sentences that are not joined to one before
WORTH = {
    "rule": 3.0,
    "person": 2.2,
    "preference": 2.2,
    "decision": 2.0,
    "solution": 2.0,
    "plan": 1.7,
    "fact": 1.4,
    "event": 1.0,
}
_HARD = re.compile(
    r"\d|[`/\\_@]|\w\.\w|[a-z][A-Z]|\b[A-Z]{2,}\b|(?<=[a-zà-ÿ,;:] )[A-ZÀ-Þ][\wà-ÿ]+|[A-Za-z]{3,}(?=[㐀-鿿])"
)
_SECRET = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w!@#$%^&*+=./-]{5,}|\d{4,}|\d(?: \d){3,}|[a-z]+-[A-Z]\w+-|\w+_\w+_\w+")
_TOKEN = re.compile(r"\b(?=[\w:-]*\d)(?=[\w:-]*[A-Za-z])[\w:-]{16,}")  # which no rule needs
_LETTERS = re.compile(r"[^\W\d_]")
_REDACTED = "[REDACTED"  # the mark of a secret that was taken out


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message as it is read: who speaks, in which language, and what was said just before."""

    number: int
    said: Utterance
    own: str
    known: Tongue
    sure: bool  # of the language
    speaker: str
    names: frozenset[str] = frozenset()  # of those who talk
    agent: bool = True  # one listens, and takes rules

    def goes_on(self, end: int, one: Sentence) -> bool:
        """Return whether a sentence goes on in the line in which the one before it ends."""
        return not one.item and "\n" not in self.own[end : one.start]


def statements(messages: Sequence[Utterance]) -> list[Statement]:
    """Return what the people of a conversation state, in order."""
    messages = named(messages)
    code = main((one.text for one in messages if one.role == "user"), "")
    names = frozenset(one.name for one in messages if one.name and one.role in ("user", "assistant"))
    many = len(names) > 1
    agent = not many or any(one.role == "assistant" and one.name.lower() in {"", *AGENTS} for one in messages)
    found: list[Statement] = []
    before = ""
    for number, said in enumerate(messages):
        speaks = said.role == "user" or (said.role == "assistant" and said.name and said.name.lower() not in AGENTS)
        if speaks and said.text.strip():
            here = guess(said.text[:2_000], code) or code
            known = tongue(here)
            own = own_text(said.text[:READ], facts=True).replace(CUT, " ")
            speaker = said.name if many else ""
            turn = _Turn(number, said, own, known, bool(here), speaker, names if many else frozenset(), agent)
            _turn(turn, before, found)
        if said.role in ("user", "assistant") and said.text.strip():
            before = said.text
    return found


def named(messages: Sequence[Utterance]) -> list[Utterance]:
    """Give messages the speakers that they begin with, `Caroline: …`, where two or more people speak so."""
    found = prefixed([(one.role, one.name, one.text) for one in messages])
    return [
        replace(one, name=found[number]["name"], text=one.text[found[number].end() :]) if number in found else one
        for number, one in enumerate(messages)
    ]


def _turn(turn: _Turn, before: str, found: list[Statement]) -> None:
    """Append what one message states, `before` being the message that it answers, to what was stated before."""
    last: Sentence | None = None  # the sentence before, whatever it was
    cut = sentences(turn.own)
    for place, one in enumerate(cut):
        text = _bare(one.text, turn)
        if not _LETTERS.search(text) and not any(character.isdigit() for character in text):
            continue
        context = before[-400:] if last is None else ""
        beside = [cut[place - 1].text if place else "", cut[place + 1].text if place + 1 < len(cut) else ""]
        guessed = kinds.kind(one.text, context, turn.known.code, *beside)
        if not _ends_line(turn, one, text, guessed, place, found):
            stated = _stated(turn, one, text, place, guessed)
            if stated is not None and stated.kind == "rule" and not stated.asked:
                size = len(stated.text) * (2 if turn.known.wide else 1)
                if size < FRAGMENT or (size < POINTING and _leans(one, turn)):
                    stated = _whole(turn, last, one, stated, found, alone=size >= FRAGMENT)
            if stated is not None and context and _asks(context) and _needs_question(stated, turn.known):
                stated = replace(stated, kind=_told(guessed), sure=False)
            if stated is not None and not _joined(turn, one, stated, found):
                found.append(stated)
        last = one


def _bare(text: str, turn: _Turn) -> str:
    """Return a sentence without empty phrases at its ends."""
    text = trimmed(text, turn.known)
    return trimmed(without_names(text, turn.names), turn.known) if turn.names else text


def _ends_line(turn: _Turn, one: Sentence, text: str, guessed: kinds.Guess, place: int, found: list[Statement]) -> bool:
    """Append a sentence to the line of the one before it, in the original words; False if it doesn't belong there.

    It belongs there if it is a correction ("2028… no sorry, 2027 autumn"), a fragment behind a rule ("never without my ok.
    any hour"), or the half behind a semicolon that leans on the first ("no longer on Thursday; it is every Monday now").
    """
    last = found[-1] if found else None
    if last is None or (last.source, last.place) != (turn.number, place - 1):
        return False
    size = len(text) * (2 if turn.known.wide else 1)
    asks = one.text.rstrip().endswith(("?", "？"))
    of_rule = last.kind == "rule" and guessed.shares["rule"] >= OF_RULE and size < FRAGMENT
    half = turn.said.text[: one.start].rstrip().endswith((";", "；")) and _leans(one, turn)
    half = half and guessed.label not in NOT_ONES_OWN
    corrects = len(one.text) >= 4 and cues.begins("amends", one.text)
    whole = " ".join(turn.said.text[last.span[0] : one.end].split())
    if not (corrects or ((of_rule or half) and not one.item and not asks)) or len(whole) > WIDTH:
        return False
    found[-1] = replace(last, text=_bare(whole, turn), place=place, span=(last.span[0], one.end))
    return True


def hard(text: str) -> int:
    """Return how many exact details `text` has: numbers, names, codes."""
    return len(_HARD.findall(text))


def _whole(
    turn: _Turn, last: Sentence | None, one: Sentence, stated: Statement, found: list[Statement], *, alone: bool
) -> Statement | None:
    """Return a rule that depends on the sentence before it together with that, in the original words.

    None where that is none it can belong to, and it says nothing `alone`.
    """
    if last is None or last.paragraph != one.paragraph or one.item or last.text.rstrip().endswith(("?", "？")):
        return None if len(stated.text.split()) < 3 and not turn.known.wide else stated
    whole = " ".join(turn.said.text[last.start : one.end].split())
    if len(whole) > WIDTH:
        return stated if alone else None
    if found and found[-1].source == turn.number and found[-1].span[1] == last.end:
        begun = found.pop()
        whole = " ".join(turn.said.text[begun.span[0] : one.end].split())
        span = (begun.span[0], one.end)
        return replace(begun, text=_bare(whole, turn), kind="rule", sure=True, place=stated.place, span=span)
    return replace(stated, text=_bare(whole, turn), span=(last.start, one.end))


def _stated(turn: _Turn, one: Sentence, text: str, place: int, guessed: kinds.Guess) -> Statement | None:
    """Return the statement that a sentence makes; None if it is not worth keeping."""
    if not _is_claimed(turn, one) or one.text.endswith((":", "：")):
        return None
    standing = turn.known.has("standing", plain(text))
    if _REDACTED in text or _tells_a_secret(text, turn.known, rule=guessed.label == "rule" and standing):
        return None
    exact = hard(text)
    size = len(text) * (2 if turn.known.wide else 1)
    kind = _kind(guessed, text, turn.known) if turn.agent else _told(guessed)
    if (turn.sure and guessed.kept < KEEP) or size < (LEAST if turn.speaker and not exact else 6):
        return None
    if kind == "rule" and turn.known.has("oneoff", plain(text)):
        return None
    if _asks(text) and (kind != "rule" or guessed.shares["rule"] < ASKED_RULE):
        return None
    weight = WORTH[kind] * (0.5 + guessed.kept) * (1 + 0.15 * min(4, exact))
    return Statement(
        text, turn.said.day, turn.speaker, kind,
        _is_sure(text, kind, guessed, turn.known.code) if turn.sure else kind == "rule", weight, _fit(one.intro), turn.known.code, source=turn.number, place=place, span=(one.start, one.end),
    )  # fmt: skip


def _is_sure(text: str, kind: str, guessed: kinds.Guess, code: str) -> bool:
    """Return whether a statement is certain and informative enough for a line of memory; one about its speaker is."""
    enough = tells(text, code) >= WORDS or cues.says("mine", text)
    return kind == "rule" or (guessed.kept >= SURE and enough and not _asks(text))


def _asks(text: str) -> bool:
    return text.rstrip().endswith(("?", "？", "؟"))


def _is_claimed(turn: _Turn, one: Sentence) -> bool:
    """Return whether a sentence is its speaker's own claim: not a quotation, not a dream, not role-play."""
    return quoted_share(one.text) <= 0.55 and (bool(turn.speaker) or not is_supposed(one.text))


def _tells_a_secret(text: str, known: Tongue, *, rule: bool) -> bool:
    """Return whether a sentence reveals a secret; a rule may mention one, but must not contain a token."""
    return (_TOKEN if rule else _SECRET).search(text) is not None and known.has("secret", plain(text))


def _kind(guessed: kinds.Guess, text: str, known: Tongue) -> str:
    """Return the kind of a statement: a rule only if that is likely, or if it has a word like "always".

    "Never deploy on Fridays" is one whatever is believed of the words that the small model has not seen; what its
    speaker is at, "I'm trying to" and "I'm not sure", is none unless such a word stands beside it.
    """
    said = plain(text)
    rest = known.without_aims(said)
    standing = known.has("standing", rest)
    if rest != said and not standing:
        return _told(guessed)
    ordered = guessed.shares["rule"] >= (RULE_STANDING if standing else RULE) or cues.pattern("bans").match(text)
    if ordered and (standing or not cues.says("once", text)):
        return "rule"
    return _told(guessed)


def _told(guessed: kinds.Guess) -> str:
    """Return the likeliest kind of a statement that is no rule."""
    return max(kinds.KEPT[1:], key=lambda name: guessed.shares[name])


def _fit(text: str) -> str:
    """Return the heading of a list, shortened to fit in brackets before an item."""
    text = text.translate(str.maketrans("[]", "  ")).strip(" *#>-")
    text = " ".join(text.split())
    if len(text) <= HEADING:
        return text
    cut = text[-HEADING:]
    return cut if is_wide(cut) else cut.partition(" ")[2]


def _in_a_breath(last: Statement, one: Sentence, stated: Statement, turn: _Turn) -> bool:
    """Return whether two rules are neighbours in a line, and one of them is brief."""
    brief = min(len(last.text), len(stated.text)) * (2 if turn.known.wide else 1) < BRIEF
    return stated.kind == "rule" and brief and turn.said.text[last.span[1] : one.start].strip("\t ") == ""


def _is_scrap(one: Sentence, stated: Statement, last: Statement, turn: _Turn) -> bool:
    """Return whether a sentence is so short that it belongs to the one before it in its line."""
    return not turn.speaker and _is_brief(stated.text, turn.known) and turn.goes_on(last.span[1], one)


def _joined(turn: _Turn, one: Sentence, stated: Statement, found: list[Statement]) -> bool:
    """Append a sentence that depends on the one before to its line, in the original words; False if it doesn't."""
    last = found[-1] if found else None
    if last is None or last.source != turn.number or last.place != stated.place - 1 or one.item:
        return False
    if (last.kind == "rule") != (stated.kind == "rule"):
        return False
    whole = " ".join(turn.said.text[last.span[0] : one.end].split())
    leans = _leans(one, turn) or _in_a_breath(last, one, stated, turn) or _is_scrap(one, stated, last, turn)
    if len(whole) > (WIDTH if leans else 0 if turn.agent else BOTH) // (2 if turn.known.wide else 1):
        return False
    found[-1] = replace(
        last,
        text=_bare(whole, turn),
        kind=max(last, stated, key=lambda s: s.weight).kind,
        weight=max(last.weight, stated.weight),
        place=stated.place,
        span=(last.span[0], one.end),
    )
    return True


def _is_brief(text: str, known: Tongue) -> bool:
    return len(text) * (2 if known.wide else 1) < SCRAP


def _needs_question(stated: Statement, known: Tongue) -> bool:
    """Return whether an answer is so short that only the question tells what it is about: "Yes, in docs/a.md"."""
    alone = known.has("standing", plain(stated.text)) or cues.says("mine", stated.text)
    return _is_brief(stated.text, known) and not alone


def _leans(one: Sentence, turn: _Turn) -> bool:
    """Return whether a sentence begins with a word that refers to the one before: and, so, that; not an article."""
    if turn.known.articles.match(one.text):
        return False
    lead = plain(one.text)[: 4 if turn.known.wide else 14]
    lead = lead.strip() if turn.known.wide else lead
    return any(lead.startswith(cue) for cue in turn.known.cues["lean"])


def of_line(stated: Statement, *, rule: bool | None = None) -> Statement:
    """Return the statement of a line with its kind guessed where the line names none.

    `rule` says whether it is one, where that is known from the file that the line stands in.
    """
    if stated.kind:
        return replace(stated, weight=WORTH.get(stated.kind, 0.5) * (1 + 0.15 * min(4, hard(stated.text))))
    guessed = kinds.kind(stated.text, code=stated.code)
    kind = _kind(guessed, stated.text, tongue(stated.code)) if rule is None else "rule" if rule else _told(guessed)
    weight = WORTH[kind] * (0.5 + guessed.kept) * (1 + 0.15 * min(4, hard(stated.text)))
    surely = _REDACTED not in stated.text and _is_sure(stated.text, kind, guessed, stated.code)
    return replace(stated, kind=kind, weight=weight, sure=surely or not stated.quoted)


def lines(text: str) -> Iterator[str]:
    """Yield the lines of an entry, without their bullets, and without what the user said to the line above."""
    for row in text.split("\n"):
        bare = sections.bare(row)
        if bare and not bare.startswith(("#", "> ")):
            yield bare
