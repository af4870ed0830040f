"""Stages one and two: messages → statements. What is not the speaker's own claim is read, and not stated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from dream.embedded import sections
from dream.embedded.sections import Utterance
from dream.embedded.statement import Statement
from dream.language import cues, kinds
from dream.language.likeness import telling, tells
from dream.language.sentences import Sentence, is_supposed, own_words, quoted_share, sentences, trimmed, without_names
from dream.language.tongue import Tongue, guess, is_wide, main, plain, tongue
from dream.provenance.vouching import AGENTS, prefixed

KEEP = 0.3  # of belief that a sentence is worth a line
UNMEANT = 0.5  # of belief that it is a joke, supposed, quoted, somebody else's view or a mood, above which it is out
BELIEVED = 0.4  # of belief that it is worth a line, from which the last doesn't count
KEEP_OF_MANY = 0.35  # of the same where several people chat
LEAST = 12  # characters of a sentence, if it answers nothing and names nothing
HARD_KEEP = 0.15  # of the same where numbers, names or codes stand in it
RULE_KEPT = 0.25  # of the belief that it is a rule: what of it counts where it is taken for none
ITSELF = 4  # telling words of a sentence that takes back what it tells itself, where it shares none with the one before
TAKEN_BACK = 0.4  # of belief that a sentence takes back what was said, where a word for it stands there
ASKED_RULE = 0.85  # of belief that a question asks for something for good: "would you keep it short from now on?"
RULE, RULE_STANDING = 0.6, 0.35  # of belief that it is a rule; where a word says that it holds from now on
ASKS = 2  # exact things that a question must hold to state something in passing
READ = 40_000  # characters of one message: nobody types more
WIDTH = 240  # characters of a line of two sentences
BOTH = 140  # of the same where friends tell each other what they did, and neither sentence needs the other
ASKED = 140  # characters of a question that an answer is shown with
ANNOUNCED = 0.04  # of the same where it is said to be one
OF_RULE = 0.1  # of belief that it is a rule, from which a fragment behind one belongs to it
FRAGMENT = 18  # characters of a rule that says nothing without the sentence before it: "any hour", "ohne Ausnahme"
POINTING = 80  # of one that begins with a word for it: "that goes for every screen"
SCRAP = 24  # characters of a sentence that says little without the one before it: "port stays", "£27 an hour"
CHATS = 0.6  # of belief that a sentence only chats, from which it says nothing of what follows it
BRIEF = 32  # characters of a rule that is told in one line with the one beside it: "Never delete it. Move it, always"
SHORT = 44  # characters of an answer that may need its question
NOT_CLAIMED = ("joke", "hypothesis")
NOT_ONES_OWN = ("opinion", "quotation", "joke")  # what a sentence was taken for that what leans on goes with
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
_LAUGHS = re.compile("[😂🤣😅😄😆😜🙃]")
_REDACTED = "[REDACTED"  # the mark of a secret that was taken out
BEFORE_SECRET = 12  # characters of a sentence that tells something before it


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message as it is read: who speaks, in which language, and what was said just before."""

    number: int
    said: Utterance
    own: str
    known: Tongue
    sure: bool  # of the language
    speaker: str
    before: str
    names: frozenset[str] = frozenset()  # of those who talk
    agent: bool = True  # one listens, and takes rules

    def goes_on(self, end: int, one: Sentence) -> bool:
        """Return whether a sentence goes on in the line in which the one before it ends."""
        return not one.item and "\n" not in self.own[end : one.start]


@dataclass(frozen=True, slots=True)
class _Last:
    """A sentence that was read, and what it was taken for."""

    sentence: Sentence
    taken: kinds.Guess


def statements(messages: Sequence[Utterance]) -> list[Statement]:
    """Return what the people of a conversation state, in order, without what they took back."""
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
            own = own_words(said.text[:READ], known)
            speaker = said.name if many else ""
            turn = _Turn(number, said, own, known, bool(here), speaker, before, names if many else frozenset(), agent)
            _turn(turn, found)
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


def _turn(turn: _Turn, found: list[Statement]) -> None:
    """Append what one message states to what was stated before, and take back what it takes back."""
    last: _Last | None = None  # the sentence before, whatever it was
    cut = _whole_orders(sentences(turn.own), turn)
    laughs = [_LAUGHS.search(one.text) is not None or turn.known.has("laugh", plain(one.text)) for one in cut]
    for place, one in enumerate(cut):
        text = _bare(one.text, turn)
        if not _LETTERS.search(text) and not any(character.isdigit() for character in text):
            continue
        context = turn.before[-400:] if last is None else ""
        beside = [cut[place - 1].text if place else "", cut[place + 1].text if place + 1 < len(cut) else ""]
        guessed = kinds.kind(one.text, context, turn.known.code, *beside)
        if _retracts(guessed, text, turn) and _takes_back(turn, text, last, place, found):
            last = _Last(one, guessed)
            continue
        if _ends_line(turn, one, text, guessed, place, found):
            last = _Last(one, guessed)
            continue
        stated = _stated(turn, one, text, place, guessed, jokes=any(laughs[max(0, place - 1) : place + 2]))
        if stated is not None and stated.kind == "rule" and not stated.asked:
            size = len(stated.text) * (2 if turn.known.wide else 1)
            if size < FRAGMENT or (size < POINTING and _leans(one, turn)):
                stated = _whole(turn, last.sentence if last else None, one, stated, found, alone=size >= FRAGMENT)
        if stated is not None and not _joined(turn, one, stated, found):
            held = bool(found) and (found[-1].source, found[-1].place) == (turn.number, place - 1)
            stated = _complete(turn, last, one, stated, held=held)
            found += [stated] if stated else []
        last = _Last(one, guessed)


def _whole_orders(cut: Sequence[Sentence], turn: _Turn) -> list[Sentence]:
    """Put a fragment that only says for how long to the sentence before it: "no summaries please. ever"."""
    found: list[Sentence] = []
    for one in cut:
        last = found[-1] if found else None
        size = len(one.text) * (2 if turn.known.wide else 1)
        if (
            last is not None
            and size < FRAGMENT
            and (last.paragraph, one.item) == (one.paragraph, False)
            and not last.text.endswith(("?", "？"))
            and turn.known.has("standing", plain(one.text))
        ):
            whole = " ".join(turn.own[last.start : one.end].split())
            found[-1] = replace(last, text=whole, end=one.end)
        else:
            found.append(one)
    return found


def _bare(text: str, turn: _Turn) -> str:
    """Return a sentence without what carries nothing at its ends."""
    text = trimmed(text, turn.known)
    return trimmed(without_names(text, turn.names), turn.known) if turn.names else text


def _retracts(guessed: kinds.Guess, text: str, turn: _Turn) -> bool:
    """Return whether a sentence takes something back: it is believed to, and says so in a word or two."""
    return guessed.shares["retract"] >= TAKEN_BACK and turn.known.has("retract", plain(text))


def _takes_back(turn: _Turn, text: str, before: _Last | None, place: int, found: list[Statement]) -> bool:
    """Take back what the sentence or the message before stated; False where there is nothing of the speaker's own.

    Where the sentence before was no claim, and is in no line, it is that one which is taken back; where one tells of
    something else itself, it is only that: "I might ask for 90 next year, no idea, forget it".
    """
    if not found or found[-1].speaker != turn.speaker:
        return False
    last = found[-1]
    told = telling(text, turn.known.code)
    if len(told) >= ITSELF and told.isdisjoint(telling(last.text, last.code)):
        return True
    held = (last.source, last.place) == (turn.number, place - 1)
    if before and not held and before.taken.label in NOT_CLAIMED and tells(before.sentence.text, turn.known.code) >= 3:
        return True
    near = last.source == turn.number and last.place >= place - 2
    if near or (place == 0 and turn.number - 2 <= last.source < turn.number):
        found.pop()
        return True
    return False


def _ends_line(turn: _Turn, one: Sentence, text: str, guessed: kinds.Guess, place: int, found: list[Statement]) -> bool:
    """Put a sentence to the line of the one just before it, as they were said; False where it doesn't belong there.

    It does where it is a correction ("2028… no sorry, 2027 autumn"), a fragment behind a rule ("never without my ok.
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
    """Return how many things in `text` would be missed exactly: numbers, names, codes."""
    return len(_HARD.findall(text))


def _whole(
    turn: _Turn, last: Sentence | None, one: Sentence, stated: Statement, found: list[Statement], *, alone: bool
) -> Statement | None:
    """Return a rule that leans on the sentence before it with that, as they were said.

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
        return replace(begun, text=_bare(whole, turn), kind="rule", place=stated.place, span=(begun.span[0], one.end))
    return replace(stated, text=_bare(whole, turn), span=(last.start, one.end))


def _stated(
    turn: _Turn, one: Sentence, text: str, place: int, guessed: kinds.Guess, *, jokes: bool = False
) -> Statement | None:
    """Return the statement that a sentence makes; None for what is not to be kept."""
    if not _is_claimed(turn, one) or (one.text.endswith((":", "：")) and hard(one.text) < ASKS):
        return None
    standing = turn.known.has("standing", plain(text))
    if _REDACTED in text:
        text = (_after_secret if guessed.label == "rule" or standing else _before_secret)(text, turn.known)
    if _tells_a_secret(text, turn.known, rule=guessed.label == "rule" and standing):
        return None
    exact = hard(text)
    size = len(text) * (2 if turn.known.wide else 1)
    asked = _asked(turn, one, text, place, size)
    kind = _kind(guessed, text, turn.known) if turn.agent else _told(guessed)
    announced = turn.agent and _is_announced(one, text, guessed)
    kind = "rule" if announced else kind
    kept = _worth(turn, one, guessed, kind, size) + (guessed.shares["task"] if announced else 0.0)
    if kept < _least(turn, guessed, exact=exact, jokes=jokes) or (turn.sure and _is_unmeant(turn, guessed)):
        return None
    if size < (LEAST if turn.speaker and not (exact or asked) else 6) or _REDACTED in text:
        return None
    if kind == "rule" and turn.known.has("oneoff", plain(text)):
        return None
    asks = text.rstrip().endswith(("?", "？"))
    if asks and (guessed.shares["rule"] < ASKED_RULE if kind == "rule" else exact < ASKS):
        return None
    if kind == "rule" and asked and cues.begins("agrees", text) and not standing:
        return None
    weight = WORTH[kind] * (0.5 + kept) * (1 + 0.15 * min(4, exact))
    return Statement(
        text, turn.said.day, turn.speaker, kind, True, weight, asked, turn.known.code,
        source=turn.number, place=place, span=(one.start, one.end),
    )  # fmt: skip


def _is_claimed(turn: _Turn, one: Sentence) -> bool:
    """Return whether a sentence is its speaker's claim: nobody else's words, and nothing only dreamt or played."""
    return quoted_share(one.text) <= 0.55 and (bool(turn.speaker) or not is_supposed(one.text))


def _worth(turn: _Turn, one: Sentence, guessed: kinds.Guess, kind: str, size: int) -> float:
    """Return the belief that a sentence is worth a line; a rule that is half believed is likely an order for once."""
    if not turn.sure:
        return 0.0 if one.text.rstrip().endswith(("?", "？", "؟")) or size < 24 else 0.6
    if kind == "rule" or not turn.agent:
        return guessed.kept
    return guessed.kept - (1 - RULE_KEPT) * guessed.shares["rule"]


def _least(turn: _Turn, guessed: kinds.Guess, *, exact: int, jokes: bool) -> float:
    """Return the belief from which a sentence is kept: less where something exact stands in an order or a question."""
    if turn.speaker:
        return KEEP_OF_MANY
    telling = exact >= 1 and not jokes and guessed.label in ("task", "question", *kinds.KEPT)
    return HARD_KEEP if telling else KEEP


def _is_unmeant(turn: _Turn, guessed: kinds.Guess) -> bool:
    """Return whether a sentence is likely a joke, supposed, quoted, a view or a mood; friends who chat are not asked."""
    return not turn.speaker and guessed.unmeant > UNMEANT and guessed.kept < BELIEVED


def _tells_a_secret(text: str, known: Tongue, *, rule: bool) -> bool:
    """Return whether a sentence tells a secret; a rule may name what one is about, and hold no token."""
    return (_TOKEN if rule else _SECRET).search(text) is not None and known.has("secret", plain(text))


@cache
def _part() -> re.Pattern[str]:
    """Return what finds where another part of a sentence begins."""
    joins = "|".join([*cues.rows("joins"), *cues.rows("accompanies")])
    return re.compile(rf"[,;]\s+(?:(?:{joins})\s)?|[，；]|(?:(?<=[,;] )|\s)(?:{joins})\s", re.IGNORECASE)


def _before_secret(text: str, known: Tongue) -> str:
    """Return what a sentence states before the part that tells a secret, where that is something exact."""
    end = 0
    for cut in _part().finditer(text):
        part = text[: cut.start()]
        if _REDACTED in part or known.has("secret", plain(part)):
            break
        end = cut.start()
    return text[:end].rstrip(" ,;") if hard(text[:end]) and end >= BEFORE_SECRET else text


def _after_secret(text: str, known: Tongue) -> str:
    """Return the rule behind a secret where it names what it is about: "the key is …, never put the key in a mail"."""
    cut = _part().search(text, text.rindex(_REDACTED))
    if cut is None:
        return text
    rest = text[cut.end() :]
    first = _part().split(rest, maxsplit=1)[0]
    names = hard(first) or known.has("secret", plain(first))
    return rest if names and kinds.kind(rest, code=known.code).shares["rule"] >= RULE else text


def _kind(guessed: kinds.Guess, text: str, known: Tongue) -> str:
    """Return the kind of a statement: a rule only where that is believed, or a word like "always" stands in it.

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


def _is_announced(one: Sentence, text: str, guessed: kinds.Guess) -> bool:
    """Return whether a sentence may be a rule, and is said to be one.

    It is an item of a list of rules, "some house rules:", or tells of one: "an exception to the rule about restarts: …".
    """
    told = (one.item and cues.says("own_rules", one.intro)) or cues.begins("about_rules", text)
    return told and guessed.shares["rule"] >= ANNOUNCED


def _told(guessed: kinds.Guess) -> str:
    """Return the likeliest kind of what is no rule."""
    return max(kinds.KEPT[1:], key=lambda name: guessed.shares[name])


def _asked(turn: _Turn, one: Sentence, text: str, place: int, size: int) -> str:
    """Return what a reader needs beside a sentence: the heading of its list, or the question that it answers."""
    if one.intro:
        return _fit(one.intro)
    if place or size > SHORT or not turn.before.strip() or (turn.speaker and not hard(text)):
        return ""
    questions = [s.text for s in sentences(turn.before[-600:]) if s.text.rstrip().endswith(("?", "？"))]
    return _fit(questions[-1]) if questions else ""


def _fit(text: str) -> str:
    text = text.translate(str.maketrans("[]", "  ")).strip(" *#>-")
    text = " ".join(text.split())
    if len(text) <= ASKED:
        return text
    cut = text[-ASKED:]
    return cut if is_wide(cut) else cut.partition(" ")[2]


def _in_a_breath(last: Statement, one: Sentence, stated: Statement, turn: _Turn) -> bool:
    """Return whether two rules stand side by side in a line, and one of them is brief."""
    brief = min(len(last.text), len(stated.text)) * (2 if turn.known.wide else 1) < BRIEF
    return stated.kind == "rule" and brief and turn.said.text[last.span[1] : one.start].strip("\t ") == ""


def _is_scrap(one: Sentence, stated: Statement, last: Statement, turn: _Turn) -> bool:
    """Return whether a sentence is so short that it belongs to the one before it in its line."""
    return not turn.speaker and _is_brief(stated.text, turn.known) and turn.goes_on(last.span[1], one)


def _joined(turn: _Turn, one: Sentence, stated: Statement, found: list[Statement]) -> bool:
    """Put a sentence that leans on the one before it to that one's line, as they were said; False where it doesn't."""
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


def _complete(turn: _Turn, last: _Last | None, one: Sentence, stated: Statement, *, held: bool) -> Statement | None:
    """Return a statement with the sentence before it, as they were said, where it needs that one.

    `held` says that a line holds that one already. None where it says nothing without one, or goes on with a joke or
    somebody else's view.
    """
    if stated.kind == "rule" or stated.asked or turn.speaker:
        return stated
    exact, brief = hard(stated.text), _is_brief(stated.text, turn.known)
    leans = _leans(one, turn)
    if last is not None and not held and (leans or brief) and turn.goes_on(last.sentence.end, one):
        if last.taken.label in NOT_ONES_OWN and (leans or not exact):
            return None
        whole = " ".join(turn.said.text[last.sentence.start : one.end].split())
        fits = len(whole) <= BOTH // (2 if turn.known.wide else 1)
        if fits and _leads(last, turn.known, exact=exact > 0):
            return replace(stated, text=_bare(whole, turn), span=(last.sentence.start, one.end))
    if exact or not brief or tells(stated.text, turn.known.code) >= 2:
        return stated
    said = plain(stated.text)
    return stated if turn.known.has("own", said) or kinds.names("first", said, turn.known) else None


def _leads(last: _Last, known: Tongue, *, exact: bool) -> bool:
    """Return whether a sentence says what the one behind it is about: a question or a topic, an order if that is exact."""
    shares = last.taken.shares
    if last.taken.label in kinds.UNMEANT and last.taken.label != "mood":
        return False
    ordered = last.taken.label in ("task", "rule") and not exact
    return not ordered and shares["chat"] < CHATS and tells(last.sentence.text, known.code) > 0


def _is_brief(text: str, known: Tongue) -> bool:
    return len(text) * (2 if known.wide else 1) < SCRAP


def _leans(one: Sentence, turn: _Turn) -> bool:
    """Return whether a sentence begins with what points at the one before: and, so, that; an article doesn't."""
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
    guessed = kinds.kind(stated.text, f"{stated.asked}" if stated.asked.endswith(("?", "？")) else "", stated.code)
    kind = _kind(guessed, stated.text, tongue(stated.code)) if rule is None else "rule" if rule else _told(guessed)
    weight = WORTH[kind] * (0.5 + guessed.kept) * (1 + 0.15 * min(4, hard(stated.text)))
    meant = not stated.quoted or (guessed.kept >= BELIEVED and _REDACTED not in stated.text)
    return replace(stated, kind=kind, weight=weight, meant=meant)


def lines(text: str) -> Iterator[str]:
    """Yield the lines of an entry, without their bullets, and without what the user said to the line above."""
    for row in text.split("\n"):
        bare = sections.bare(row)
        if bare and not bare.startswith(("#", "> ")):
            yield bare
