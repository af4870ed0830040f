"""How alike two lines are, by one form of each word, in any language: which say the same, and which tell most. Pure."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache

from dream.text.words import (
    MONTH,
    NOT,
    content_words,
    is_cjk,
    is_hard,
    is_year,
    listed,
    table,
    without_said_on,
    words,
)

MORE = 0.6  # share of the longer statement's words that the shorter one must hold to be the same
FEW = 0.2  # of a fact's words that a line may lack, where it holds no others instead
SPELLINGS = 0.2  # of them may be one word in two spellings, or light
SPELT = 0.84  # likeness of two words that are one in two spellings
SPELT_CHARS = 5  # shorter words have one spelling
_MONTH = re.compile(MONTH, re.IGNORECASE)
DATED = 2.0  # what a day that a statement tells of counts beside 1 for any other word: when is asked as often as what
AGAIN = (1.0, 0.25, 0.1)  # what a word counts that was told by no better statement, by one, by more
_DAY = re.compile(r"@\d\d-\d\d")


@cache
def _relations() -> frozenset[str]:
    return frozenset(words(table()["relations"])) - {NOT}


@cache
def _numerals() -> frozenset[str]:
    """Return numbers that are written as words; English ones are digits already where they come from `words`."""
    return frozenset(word for numeral in table()["numerals"].split() for word in words(numeral))


def same_fact(one: str, other: str) -> bool:
    """Return whether two lines state the same: one says all that the other says, and little more.

    This is the question of guards and of the evaluation, which a fact in other words must not fool. `states` asks
    whether a line holds a fact among others, `near_fact` whether two lines are worth a look.

    A word that stands instead of another makes another fact, and so does another number, negation or mood. The day
    in brackets at a line's end is when it was said: it does not count.
    """
    one, other = without_said_on(one), without_said_on(other)
    first, second = _bag(one), _bag(other)
    if not first or not second:
        return first == second and one.strip() == other.strip()
    longer = first if len(first) >= len(second) else second
    if len(first & second) < (MORE - SPELLINGS) * len(longer):
        return False
    if _marks(first, second) != _marks(second, first) or first & listed("mood") != second & listed("mood"):
        return False
    only_first, only_second = _apart(first - second, second - first)
    if only_first and only_second:
        return False
    share = 1 - len(only_first or only_second) / len(longer)
    return share >= MORE and not _turned_round(one, other)


def near_fact(one: str, other: str) -> bool:
    """Return whether two lines say some such thing of the same: alike but for the words that say how it stands to it.

    "Likes green tea" and "Favourite tea: green tea", "Works at Globex" and "Employed by Globex"; not another tea, and
    not another number or negation. For where a false alarm costs a look and no more.
    """
    first, second = _bag(without_said_on(one)), _bag(without_said_on(other))
    if _marks(first, second) != _marks(second, first):
        return False
    left, right = _apart(first - second - _relations(), second - first - _relations())
    return not left and not right and bool((first & second) - _relations() - listed("light"))


def states(line: str, fact: str) -> bool:
    """Return whether `line` already says `fact`: all of its words; or nearly all, and none of its own instead."""
    wanted, here = _bag(fact), _bag(line)
    if not wanted or not here or not _hard(wanted) <= here:
        return False
    if (NOT in wanted) != (NOT in here) or wanted & listed("mood") != here & listed("mood"):
        return False
    if _lacks(wanted - here - listed("light"), here - wanted) > FEW * len(wanted):
        return False
    missing, instead = _apart(wanted - here, here - wanted)
    return (not missing or (not instead and len(missing) / len(wanted) <= FEW)) and not _turned_round(line, fact)


def contradicts(line: str, fact: str) -> bool:
    """Return whether a number, a negation or a mood stands in one of two statements and not in the other."""
    wanted, here = _bag(fact), _bag(line)
    return _marks(wanted, here) != _marks(here, wanted) or wanted & listed("mood") != here & listed("mood")


def differs(line: str, fact: str) -> bool:
    """Return whether two statements contradict each other, or one has words in the place of other words."""
    wanted, here = _bag(fact), _bag(line)
    return contradicts(line, fact) or all(_apart(wanted - here, here - wanted))


def nearest(fact: str, lines: Iterable[str]) -> tuple[float, str | None]:
    """Return the line that covers most of the content words of `fact` and how much, 0 to 1; (0, None) for none."""
    best: tuple[float, str | None] = (0.0, None)
    wanted = content_words(fact)
    if not wanted:
        return best
    for line in lines:
        here = content_words(line)
        if not here:
            continue
        # Of two lines that cover the same, the one with the fewer other words is nearer.
        score = len(wanted & here) / len(wanted) - 0.01 * len(here - wanted) / len(here)
        if score > best[0]:
            best = (score, line)
    return best


@lru_cache(maxsize=16384)
def _bag(text: str) -> frozenset[str]:
    return frozenset(words(text))


@lru_cache(maxsize=4096)
def _hard(bag: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in bag if is_hard(word))


def _marks(these: frozenset[str], those: frozenset[str]) -> frozenset[str]:
    """Return what must agree; a year only where both name one."""
    return _marked(these, years=_names_year(these) and _names_year(those))


@lru_cache(maxsize=16384)
def _marked(bag: frozenset[str], *, years: bool) -> frozenset[str]:
    return frozenset(word for word in bag if word in _numerals() or (is_hard(word) and (years or not is_year(word))))


@lru_cache(maxsize=16384)
def _names_year(bag: frozenset[str]) -> bool:
    return any(is_year(word) for word in bag)


def _apart(first: frozenset[str], second: frozenset[str]) -> tuple[set[str], set[str]]:
    """Return the words that only one of two statements has, without light ones and other spellings of the same."""
    left = {word for word in first - listed("light") if not is_year(word)}
    right = {word for word in second - listed("light") if not is_year(word)}
    for word in sorted(left):
        twin = next((other for other in sorted(right) if _spelt_alike(word, other)), None)
        if twin is not None:
            left.discard(word)
            right.discard(twin)
    return left, right


def _lacks(missing: frozenset[str], instead: frozenset[str]) -> int:
    """Count the words that no other spelling of them can stand for: told quickly, before spellings are compared."""
    starts = {word[0] for word in instead if len(word) >= SPELT_CHARS}
    return sum(len(word) < SPELT_CHARS or word[0] not in starts for word in missing)


def _spelt_alike(one: str, other: str) -> bool:
    if min(len(one), len(other)) < SPELT_CHARS or one[0] != other[0] or is_hard(one) or is_hard(other):
        return False
    return SequenceMatcher(None, one, other).ratio() >= SPELT


def _turned_round(one: str, other: str) -> bool:
    """Return whether two statements of the same words say it of each other's things: "Mei leads Tom", "Tom leads Mei"."""
    first, second = _capitals(one), _capitals(other)
    names = {name for found in (first, second) for name, opens in found.items() if not opens}
    common = [name for name in first if name in second and name in names]
    if len(common) < 2 or common == [name for name in second if name in common]:
        return _pairs_differ(one, other)
    return not any(mark in text for text in (one, other) for mark in (" and ", "'s ", "’s ", " by ", ", ", " or "))


def _capitals(text: str) -> dict[str, bool]:
    """List the words of `text` with a capital, in their order, and whether each only opens the sentence."""
    found: dict[str, bool] = {}
    for place, token in enumerate(text.removeprefix("- ").replace("’", "'").split()):
        bare = token.strip("\"'“”().,;:!?-*").removesuffix("'s")
        if bare[:1].isupper() and not _MONTH.fullmatch(bare):
            for word in words(bare):
                found.setdefault(word, place == 0)
    return found


def _pairs_differ(one: str, other: str) -> bool:
    """Return whether the same CJK characters stand in another order than by moving one part to the other end."""
    first = "".join(word for word in words(one) if is_cjk(word))
    second = "".join(word for word in words(other) if is_cjk(word))
    return len(first) == len(second) > 3 and sorted(first) == sorted(second) and second not in first + first


# How much each statement of a file tells beside the others, and so which of them it would be missed least by. Pure.
#
# A statement is worth the words that no better one told, for its length. Taking the best that is left, again and
# again, is within 1 − 1/e of the best choice there is (Nemhauser, Wolsey & Fisher 1978; for summaries Lin & Bilmes
# 2011).


def ranked(
    statements: Sequence[str], *, beside: Sequence[str] = (), rates: Sequence[float] = (), line: int
) -> list[int]:
    """Return the numbers of `statements`, those that tell most first.

    `beside` is told in any case; `rates` are what each counts beside the others, all the same by default; `line` are
    the characters that a statement costs beyond its own.
    """
    found = [_weights_of(statement) for statement in statements]
    told = Counter(word for statement in beside for word in _weights_of(statement))
    cost = [(len(text) + line) / (rates[n] if rates else 1.0) for n, text in enumerate(statements)]

    def worth(number: int) -> float:
        return sum(weight * AGAIN[min(told[word], 2)] for word, weight in found[number].items()) / cost[number]

    heap = [(-worth(number), number) for number in range(len(found))]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:  # what a statement adds only falls as more is told, so only the head is weighed anew
        before, number = heapq.heappop(heap)
        now = -worth(number)
        if now > before and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, number))
            continue
        order.append(number)
        told.update(found[number].keys())
    return order


def _weights_of(statement: str) -> dict[str, float]:
    return {word: DATED if _DAY.fullmatch(word) else 1.0 for word in content_words(without_said_on(statement))}
