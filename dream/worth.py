"""How much each statement of a file tells beside the others, and so which of them it would be missed least by. Pure.

A statement is worth the words that no better one told, for its length. Taking the best that is left, again and again,
is within 1 − 1/e of the best choice there is (Nemhauser, Wolsey & Fisher 1978; for summaries Lin & Bilmes 2011).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Sequence

from dream.wording import content_words, without_said_on

DATED = 2.0  # what a day that a statement tells of counts beside 1 for any other word: when is asked as often as what
AGAIN = (1.0, 0.25, 0.1)  # what a word counts that was told by no better statement, by one, by more
_DAY = re.compile(r"@\d\d-\d\d")


def ranked(
    statements: Sequence[str], *, beside: Sequence[str] = (), rates: Sequence[float] = (), line: int
) -> list[int]:
    """Return the numbers of `statements`, those that tell most first.

    `beside` is told in any case; `rates` are what each counts beside the others, all the same by default; `line` are
    the characters that a statement costs beyond its own.
    """
    found = [_words(statement) for statement in statements]
    told = Counter(word for statement in beside for word in _words(statement))
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


def _words(statement: str) -> dict[str, float]:
    return {word: DATED if _DAY.fullmatch(word) else 1.0 for word in content_words(without_said_on(statement))}
