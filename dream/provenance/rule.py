"""Whether a message of the user's says a rule: four questions, asked of the message itself.

Is it a wish that stands, and no order for now, joke or supposition? Does the rule bring in nothing hard that no message
of the user's names? Is its polarity the same? Do its words mostly stand there, in whatever order? A rule that strays in
words alone is `close`: then the user's own sentence may be written in its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal

from dream.language import cues, days
from dream.language.kinds import kind
from dream.language.tongue import earlier_part, either, guess, tongue
from dream.language.words import content_words, coverage, is_cjk, words
from dream.provenance.phrases import (
    DAY,
    HARD,
    LIST_MARK,
    OWN_CHARS,
    TOKEN,
    alike,
    bare,
    clauses,
    excepts,
    flat,
    is_copied,
    negations,
    neutral,
    own_sentence,
    signed,
    stands_in,
    told_by,
    without_mark,
)
from dream.provenance.user import DAY_NOTE

LITTLE = 0.2  # of a rule's telling words: a clause that has fewer is about something else
NEAR = 0.34  # of a rule's words that must stand in the message for the user's own sentence to be written in its place
LINKED = 0.6  # or of the words of the summary's line that rests on that message
JEST = 0.05  # of belief that a sentence in which somebody laughs is a joke
PASSING = 0.75  # of belief that a sentence is an order for now, a question or not meant
_PASSING = ("task", "question", "joke", "hypothesis", "chat", "quotation")
ANSWER = 40  # characters of what a user said that is no more than an answer: there the question is shown too
SAYS = 0.5  # of a rule's words: what an answer holds of them without the question that it answers
TAKES_PLACE = 0.5  # of a rule's words that another must hold to take its place
STILL = 0.4  # of a rule's words that a line which changes it repeats: then the rule stands, and is bounded
MORE, MORE_SIGNS = 3, 6  # words, or pairs of signs, that another wish says of a rule to be written beside; or a number

_ASKED = re.compile(r"\(asked: ([^()]{1,200})\) ")
_ABOVE = re.compile(r"^\[([^\[\]]{1,200})\] ")  # what a quoted line answers or stands under
_QUOTES = re.compile('[“”„«»‹›「」『』"]')
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|;\s+")
_NUMBER = re.compile(r"\d[\d.,:]*")
_NAME = re.compile(r"(?<![.!?:;…\n])(?<![.!?:;…]\s)(?<=\s)[\"“'‘(]?([A-ZÀ-ÞА-Я][\w’'-]*[\w])")
_CAPITALS = 0.34  # of words: above it a language writes other words so too


@dataclass(frozen=True, slots=True)
class RuleSource:
    """What the user said in one message, and the line of a summary that rests on it.

    `asked` is the agent's question where the text only answers it. `stands`: it is known to be a wish that holds for
    good, a note or the report of one. `by` names who said it, where several people have a say.
    """

    text: str
    about: str = ""
    asked: str = ""
    stands: bool = False
    by: str = ""

    @property
    def agreed(self) -> str:
        """What the user said, with the question that they answered."""
        return f"{self.text} {self.asked}" if self.asked else self.text

    @property
    def shown(self) -> str:
        """What the user said as a line of memory: a mere answer with its question."""
        return f"{self.text.rstrip(' .。')} (asked: {self.asked})" if self.asked else self.text


@dataclass(frozen=True, slots=True)
class Known:
    """What a rule may name without the message naming it: the user and their projects, and words of the same talk.

    `stood` is the rule that it takes the place of, which the user said too; `told` are the words of the lines that rest
    on the user's messages, in which a note in brackets may speak.
    """

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    stood: str = ""
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found of a rule. `own`: the user's own words for it; `reason`: why it is not written as it stands.

    `by` names whose words they are, where several people have a say.
    """

    verdict: Literal["said", "close", "waits"]
    own: str = ""
    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class _Compared:
    source: RuleSource
    share: float
    turned: float
    unknown: tuple[str, ...]
    linked: float


def source(row: str, about: str = "") -> RuleSource:
    """Read what stands under a line of a summary: the user's sentence, and before it the question that it answers."""
    asked = _ASKED.match(row)
    return RuleSource(row[asked.end() :], about, asked[1]) if asked else RuleSource(row, about)


def judge(line: str, sources: Sequence[RuleSource], known: Known | None = None, *, lasting: bool = True) -> Judgement:
    """Judge a rule by what the user said; where it need not be `lasting`, a wish for a time is one too."""
    known = known or Known()
    rule = bare(line)
    if not signed(rule):
        return Judgement("waits", "", "it says nothing that could be compared")
    best = max((_compared(rule, source, known) for source in sources), key=_rank, default=None)
    if best is None or (best.share < NEAR and not (best.linked >= LINKED and best.share > 0)):
        return Judgement("waits", "", "no message of the user's says it")
    known = _knowing(known, best.source)
    return replace(_judged(line, rule, best, sources, known, lasting=lasting), by=best.source.by)


def _judged(
    line: str, rule: str, best: _Compared, sources: Sequence[RuleSource], known: Known, *, lasting: bool
) -> Judgement:
    clause, sentence = (own_sentence(best.source.text, rule, whole=whole) for whole in (False, True))
    mine = clause if _share(rule, clause, known) >= SAYS else sentence
    mine = _and_the_rest(mine, rule, best.source, sources)
    answers = best.source.asked and len(best.source.text) <= ANSWER and _share(rule, mine, known) < SAYS
    own = best.source.shown if answers else mine
    if why := passing(best.source.text, mine, sentence, lasting=lasting):
        return Judgement("waits", own, why)
    verbatim = (
        _verbatim(line, sources)
        or _is_clause(line, best.source.text)
        or is_copied(line, [one.text for one in sources], known.words | known.names, known.told)
    )
    if not verbatim and (brought := [*_hard(rule, sources, known.stood), *_leave(rule, best.source, known)]):
        return Judgement("waits", own, f"the user did not say {', '.join(repr(one) for one in brought[:3])}")
    if lasting and not _stands(best.source):
        return Judgement("waits", own, "the user asked for it once, and did not say that it holds for good")
    if verbatim or (not best.unknown and best.turned == 0 and not _strays(rule, best, known)):
        return Judgement("said", own)
    if why := _lacking(rule, own, best.source, sources, known):
        return Judgement("waits", own, why)
    return Judgement("close", own, "the user said it in other words")


def _lacking(rule: str, own: str, best: RuleSource, sources: Sequence[RuleSource], known: Known) -> str:
    """Return what the user's own words lack to be written in a rule's place, or ""."""
    if _share(rule, f"{own} {best.asked}", known) < LITTLE:
        return "the user said only a little of it"
    said, heard = flat(f"{own} {best.asked} {known.stood}"), flat(" ".join(one.agreed for one in sources))
    lost = [one for one in _NUMBER.findall(flat(rule)) if _within(one, heard) and not _within(one, said)]
    return f"of {lost[0]!r} the user speaks elsewhere" if lost else ""


def _and_the_rest(mine: str, rule: str, best: RuleSource, sources: Sequence[RuleSource]) -> str:
    """Return the user's words, of the `best` source, with those of others beside them where a rule tells both."""
    wanted, telling = told_by(rule)
    wanted = frozenset(word for word in wanted if word not in neutral() and len(word) > 1)
    for other in sources:
        left = [word for word in wanted if not stands_in(word, telling(mine))]
        clause, more = (own_sentence(other.text, rule, whole=whole) if left else "" for whole in (False, True))
        if sum(stands_in(word, telling(clause)) for word in left) == sum(
            stands_in(word, telling(more)) for word in left
        ):
            more = clause
        told = [word for word in left if stands_in(word, telling(more))]
        # A number alone is enough, in figures and not in `mine`: "ten percent" is not the 10 of "20 by 10s".
        number = any(word.isdecimal() and _within(word, flat(more)) and not _within(word, flat(mine)) for word in told)
        enough = number or len(told) >= (MORE_SIGNS if is_cjk(more[:1]) else MORE)
        if (
            enough
            and more not in mine
            and mine not in more
            and len(mine) + len(more) <= 2 * OWN_CHARS
            and not passing(other.text, clause, more)
        ):
            first, last = (more, mine) if sources.index(other) < sources.index(best) else (mine, more)
            mine = f"{first.rstrip(' .。')}; {last}"
    return mine


def _verbatim(line: str, sources: Sequence[RuleSource]) -> bool:
    """Return whether a line quotes whole sentences of the user's; what stands in brackets is the reader's.

    From the middle of a sentence is no quotation: "never push to main without asking me" holds "push to main".
    """
    plain = DAY_NOTE.sub("", DAY.sub("", LIST_MARK.sub("", line)))
    above = _ABOVE.match(plain)
    if above and any(f"[{flat(above[1])}]" in flat(source.text) for source in sources):
        plain = plain[above.end() :]
    quoted = flat(_QUOTES.sub("", plain)).strip(" .。")
    if not quoted:
        return False
    whole = re.compile(rf"(?:^|[.!?;:。！？；：])\W*{re.escape(quoted)}\s*(?:$|[.!?;。！？；)])")
    texts = (row for source in sources for row in (source.text, *source.text.split("\n")))
    return any(whole.search(flat(_QUOTES.sub("", text))) for text in texts)


_QUESTION = re.compile(r"^\s*\[[^\[\]]{1,200}[?？]\] ")  # the agent's, before the words that answer it


def passing(text: str, own: str, sentence: str, *, lasting: bool = True) -> str:
    """Return why what a user said is no standing wish of theirs: a joke, a supposition, an order for now; else "".

    `own` is the part of the `text` that says it, within its `sentence`. A joke may be owned up to at the text's end;
    who laughs need not joke.
    """
    joking = cues.says("jest", text) or (cues.says("laughs", sentence) and kind(sentence).shares["joke"] >= JEST)
    if joking and not cues.says("in_earnest", text):
        return "the user seems to have said it in jest"
    if cues.says("supposed", _QUESTION.sub("", own)):
        return "the user only supposed it"
    if "[REDACTED:" in own and cues.says("unkept", own):
        return "the user said it of a secret, not to be kept"
    once = cues.says("once", own) and not cues.begins("own_rules", own)  # "from now on tell me at once"
    return "the user asked for it once, and not for good" if lasting and once else ""


def _knowing(known: Known, source: RuleSource) -> Known:
    """Return what a rule may name that rests on `source`: also who said it."""
    return replace(known, names=known.names.union(words(source.by))) if source.by else known


def _compared(rule: str, source: RuleSource, known: Known) -> _Compared:
    known = _knowing(known, source)
    mine, theirs = signed(rule), signed(source.agreed)
    context = frozenset(signed(source.asked)) | known.words if source.asked else known.words
    common = [word for word in mine if stands_in(word, theirs)]
    telling = [word for word in common if word not in neutral()] or common
    other = [word for word in mine if word not in common and word not in neutral() and word not in known.names]
    unknown = tuple(word for word in other if not stands_in(word, context))
    turned = sum(1 for word in telling if not mine[word] & _signs(word, theirs))
    lacking = (len(other) + len(unknown)) / 2  # what is known from elsewhere in the talk lacks half
    telling_share = len(telling) / (len(telling) + lacking) if telling else 0.0
    about = signed(bare(source.about)) if source.about else {}
    linked = len([word for word in mine if stands_in(word, about)]) / len(mine)
    return _Compared(source, telling_share, turned / len(telling) if telling else 0.0, unknown, linked)


def _share(rule: str, text: str, known: Known) -> float:
    """Return the share of a rule's telling words that stand in a text."""
    there = signed(text)
    wanted = [word for word in signed(rule) if word not in neutral() and (len(word) > 1 or is_cjk(word))]
    wanted = [word for word in wanted if word not in known.names or stands_in(word, there)]
    return len([word for word in wanted if stands_in(word, there)]) / len(wanted) if wanted else 1.0


def _is_clause(line: str, text: str) -> bool:
    """Return whether a line is the very clause in which the user said it, with all that bounds it there."""
    plain = DAY_NOTE.sub("", DAY.sub("", LIST_MARK.sub("", line)))
    clauses = (own_sentence(text, plain, whole=whole) for whole in (False, True))
    return flat(plain).strip(" .。") in {flat(clause).strip(" .。") for clause in clauses}


def _rank(one: _Compared) -> tuple[float, float]:
    return (one.share + 0.5 * one.linked - 0.5 * one.turned, one.share)


def _strays(rule: str, best: _Compared, known: Known) -> bool:
    """Return whether a rule is not quite the wish: a condition or a "not" lost, a name, a number or a leave gained."""
    theirs = signed(best.source.text)
    if any(not stands_in(word, theirs) for name in names(rule) for word in words(name) if word not in known.names):
        return True
    said = flat(best.source.text)
    if any(not _within(number, said) for number in _NUMBER.findall(flat(rule))):
        return True
    if any(word in cues.words("pivotal") and not stands_in(word, theirs) for word in _lower(rule)):
        return True
    mine = signed(rule)
    given = [one for one in cues.found("risky", rule) if any(False in mine.get(word, {False}) for word in words(one))]
    if any(not stands_in(word, theirs) for one in given for word in signed(one)):
        return True
    text, corrected = _corrected(best.source.text)
    if corrected and not any(stands_in(word, signed(corrected)) for word in mine):
        return True  # it says what was taken back
    parts = [part for part in _SENTENCE.split(text) if any(stands_in(word, signed(part)) for word in mine)]
    if any(cues.says("conditional", part) for part in parts) and not cues.says("conditional", rule):
        return True
    if sum(map(negations, parts)) != negations(rule):
        return True
    wanted = ([word for word in signed(clause) if stands_in(word, theirs)] for clause in clauses(rule))
    inside = [signed(clause) for clause in clauses(text)]
    return not all(_stand_together(some, inside) for some in wanted)


def _stand_together(some: Sequence[str], clauses: Sequence[Collection[str]]) -> bool:
    """Return whether one of the clauses holds all of some words, in whatever form."""
    return any(all(stands_in(word, clause) for word in some) for clause in clauses)


def _corrected(text: str) -> tuple[str, str]:
    """Return a text as one that corrects itself without the words for it, and what follows the last of them.

    "commits in German… no wait, in English" is "commits in German in English", and "in English".
    """
    around = r"[\s.,;:…、，。–—-]*"
    pieces = re.split(rf"{around}(?:{cues.pattern('corrects').pattern}){around}", text, flags=re.IGNORECASE)
    return " ".join(pieces), pieces[-1] if len(pieces) > 1 else ""


def _hard(rule: str, sources: Sequence[RuleSource], stood: str = "") -> list[str]:
    """Return the addresses, paths, numbers and the like in a rule that stand in nothing that the user said."""
    said = " ".join([*(flat(source.agreed) for source in sources), flat(stood)])
    heard = {word for source in sources for word in signed(source.agreed)}
    found = []
    for match in HARD.finditer(DAY_NOTE.sub(" ", rule)):
        thing = match[0].strip("`'\"").rstrip(".,:;/")
        plain = flat(thing)
        if plain and not _within(plain, said) and not (match[0][0] == "`" and set(words(thing)) <= heard):
            found.append(thing)
    return found


def names(rule: str) -> list[str]:
    """Return what a rule names with a capital, where its language writes only names so."""
    plain = bare(rule)
    capital = [match[1] for match in _NAME.finditer(plain)]
    return capital if len(capital) <= _CAPITALS * len(plain.split()) else []


def _leave(rule: str, source: RuleSource, known: Known) -> list[str]:
    """Return what takes away a question or a check in a rule, where nothing in the message does."""
    if cues.says("leave", source.agreed):
        return []
    theirs = signed(source.agreed)
    found = []
    for one in cues.found("leave", rule):
        telling = [word for word in signed(one) if word not in cues.words("neutral") or word == "ask"]
        if not (telling and all(stands_in(word, theirs) or word in known.names for word in telling)):
            found.append(one)
    return found


def _stands(source: RuleSource) -> bool:
    """Return whether the message says that a wish holds for good, as a rule does: in a word, or by its kind."""
    if source.stands or cues.says("standing", source.text) or source.asked:
        return True
    guessed = kind(source.text, source.asked)
    return sum(guessed.shares[one] for one in _PASSING) < PASSING


def forbids(line: str) -> bool:
    """Return whether a rule forbids something, or bounds it by a negation: "no need to ask" does not."""
    return negations(cues.pattern("leave").sub(" ", line)) > 0


def allows(line: str) -> bool:
    """Return whether a rule forbids nothing, or takes a question away."""
    return not forbids(line) or cues.says("leave", line)


def common(one: str, other: str) -> bool:
    """Return whether two rules have a telling word in common, in whatever form."""
    theirs = [word for word in signed(other) if word not in neutral() and (len(word) > 1 or is_cjk(word))]
    return any(stands_in(word, theirs) for word in signed(one) if word not in neutral())


def _signs(word: str, there: dict[str, frozenset[bool]]) -> frozenset[bool]:
    return frozenset().union(*(signs for other, signs in there.items() if alike(word, other)))


def _lower(text: str) -> list[str]:
    return [token.casefold() for token in TOKEN.findall(text)]


def _within(plain: str, said: str) -> bool:
    """Return whether `plain` stands in `said` as a whole."""
    edge = r"\d" if plain.isdigit() else r"\w"  # "20-22h" names 22
    return re.search(rf"(?<!{edge}){re.escape(plain)}(?!{edge})", said) is not None


# How a rule that changes another one is written.


def with_changed(line: str, own: str, gone: Sequence[str]) -> str:
    """Return the user's own words for a `line` that changes a rule, with the rule where they don't repeat it.

    "Make that 10:15" says nothing to who doesn't know of what: `10:15 (earlier: the list at 9:30)`. A rule that only
    gets a bound stands before it: `never touch prod (later: you may restart the cache)`.
    """
    old = [without_mark(one) for one in gone if one.strip()]
    if len(old) != 1:
        return own
    kept, said = _earlier().sub("", old[0]), own.rstrip(" .。")
    told = _later().match(without_mark(line)) is not None and without_changed(line, gone) != line
    excepted = told or (excepts(line) and not excepts(kept))
    permitted = forbids(kept) and allows(own)
    if coverage(kept, own) >= TAKES_PLACE and not told and not permitted:
        return own
    if not excepted and not common(kept, line):
        return own
    numbers = {word for word in content_words(kept) if word.isdecimal()}
    repeated = coverage(kept, own) < STILL <= coverage(kept, line) and numbers <= content_words(line)
    known = tongue(guess(own) or guess(kept) or "en")
    if not (excepted or permitted or repeated) or len(kept) + len(said) > 2 * OWN_CHARS:
        return f"{said} ({known.earlier}: {kept})"
    return f"{kept[:-1]}; {said})" if _later().match(kept) else f"{kept.rstrip(' .。')} ({known.later}: {said})"


def without_changed(line: str, gone: Sequence[str]) -> str:
    """Return what a line says anew, without the rule that it changes, where that is among the lines `gone`."""
    old = [without_mark(text).rstrip(" .。") for one in gone if one.strip() for text in (one, _earlier().sub("", one))]
    new = without_mark(line).rstrip(" .。")
    if (found := _earlier().search(new)) and any(found[1].rstrip(" .。") in one for one in old):
        return new[: found.start()]
    for one in old:
        if (found := _later().match(new)) and found[1] == one:
            return found[2]
        if _later().match(one) and new.startswith(f"{one[:-1]}; "):
            return new[len(one) + 1 : -1]
    return line


def with_days(own: str, line: str) -> str:
    """Return the user's own words with the days that a line spells and they don't: "till Easter [5 April 2026]"."""
    code = guess(line) or "en"
    named = [line[one.start : one.end] for one in days.found(line, None, code) if one.whole]
    new = [day for day in named if day not in own]
    return f"{own.rstrip(' .。')} [{', '.join(new)}]" if new else own


_earlier = partial(earlier_part, ":：")


@cache
def _later() -> re.Pattern[str]:
    return re.compile(rf"^(.*?) ?[(（](?:{either('later')})[:：] ?(.*)[)）]$")
