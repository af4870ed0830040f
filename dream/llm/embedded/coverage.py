"""Choose and rank lines by what new, rare content they bring for their length.

A greedy choice by marginal weight per cost is within 1 − 1/e of the best one for a coverage function
(Nemhauser, Wolsey, Fisher 1978; for summaries Lin & Bilmes 2011).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

Content = dict[str, float]
OVERHEAD = 8  # characters that a line costs beyond its text: bullet, newline, attention
Again = tuple[float, float]  # what a word counts that was seen once, and more often; 1 is what it counts unseen
FIRST: Again = (0.12, 0.04)  # for the order: what stands first should tell the most different things
KEEP: Again = (0.25, 0.1)  # for what is kept at all: another event in the same words is another event


def gain(found: Content, seen: Content, again: Again = FIRST) -> float:
    """Return the weight that `found` adds to what was seen; a word seen before still counts a little."""
    once, often = again
    return sum(weight * (1.0 if key not in seen else once if seen[key] < 2 else often) for key, weight in found.items())


def note(found: Content, seen: Content) -> None:
    """Count the words of a chosen line as seen."""
    for key in found:
        seen[key] = seen.get(key, 0.0) + 1.0


def density(found: Content, seen: Content, length: int, overhead: int = OVERHEAD, again: Again = FIRST) -> float:
    """Return the gain per character."""
    return gain(found, seen, again) / (length + overhead)


def ranked(
    lines: Sequence[tuple[str, Content, float]],
    seen: Content | None = None,
    overhead: int = OVERHEAD,
    again: Again = FIRST,
) -> list[int]:
    """Return the indices of lines, the most telling first.

    Each line is its text, its content and a factor. Lazy greedy: a line's gain only falls as more is
    seen, so that only the head of the heap is weighed again.
    """
    seen = dict(seen or {})
    heap = [
        (-factor * density(found, seen, len(text), overhead, again), index)
        for index, (text, found, factor) in enumerate(lines)
    ]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        _, index = heapq.heappop(heap)
        text, found, factor = lines[index]
        now = -factor * density(found, seen, len(text), overhead, again)
        if heap and now > heap[0][0] + 1e-12:
            heapq.heappush(heap, (now, index))
            continue
        order.append(index)
        note(found, seen)
    return order
