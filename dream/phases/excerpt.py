"""Of memory files that are too large for the prompt, show the headings and the lines that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dream.models import MemoryFile
from dream.phases.similar import content_words

OMITTED = "[… lines left out …]"


def fit(
    texts: Mapping[MemoryFile, str], topics: Sequence[str], room: int, count: Callable[[str], int]
) -> dict[MemoryFile, str]:
    """Return the files whole where they fit into `room` tokens, else an excerpt of each for `topics`.

    An excerpt keeps every heading, then the lines that share most words with the topics, in file order.
    """
    sizes = {path: count(text) for path, text in texts.items()}
    total = sum(sizes.values())
    if total <= room:
        return dict(texts)
    wanted = frozenset().union(*(content_words(topic) for topic in topics)) if topics else frozenset[str]()
    return {path: _excerpt(text, wanted, room * sizes[path] // max(total, 1), count) for path, text in texts.items()}


def _excerpt(text: str, wanted: frozenset[str], room: int, count: Callable[[str], int]) -> str:
    here = text.splitlines()
    ranked = sorted(range(len(here)), key=lambda number: (-_weight(here[number], wanted), number))
    kept: set[int] = set()
    for number in ranked:
        cost = count(here[number]) + 2
        if cost > room:
            continue
        room -= cost
        kept.add(number)
    shown: list[str] = []
    for number, line in enumerate(here):
        if number in kept:
            shown.append(line)
        elif not shown or shown[-1] != OMITTED:
            shown.append(OMITTED)
    return "\n".join(shown)


def _weight(line: str, wanted: frozenset[str]) -> float:
    if line.startswith("#"):
        return float("inf")
    words = content_words(line)
    return len(words & wanted) / len(words) ** 0.5 if words else 0.0
