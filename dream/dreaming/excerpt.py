"""Of memory files that are too large for a prompt, or dearer than they are worth, show the lines that matter.

Every line that is shown is shown whole, so that it can be copied into an edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, tzinfo
from itertools import pairwise
from pathlib import Path

from dream.language.words import content_words
from dream.llm import Model
from dream.models import MemoryFile
from dream.settings import Settings

OMITTED = "[… lines left out …]"
WHOLE_TOKENS = 1_200  # of all three files together that are shown whole whatever they are about
NEAR_LINES = 5  # of a file shown for each topic: the line that is meant and those that say nearly the same


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


def near(
    texts: Mapping[MemoryFile, str], topics: Mapping[MemoryFile, Sequence[str]], count: Callable[[str], int]
) -> dict[MemoryFile, str]:
    """Return the files whole where they are small, else of each its headings and the lines nearest to its topics.

    The last list line of each section is shown too: whoever adds a line there needs it for a neighbour.
    """
    if sum(count(text) for text in texts.values()) <= WHOLE_TOKENS:
        return dict(texts)
    return {path: _near(text, topics.get(path, ())) for path, text in texts.items()}


def _near(text: str, topics: Sequence[str]) -> str:
    here = text.splitlines()
    listed = [number for number, line in enumerate(here) if line.strip() and not line.startswith("#")]
    kept = {number for number, line in enumerate(here) if line.startswith("#")}
    if topics:
        headings = [*sorted(kept), len(here)]
        ends = (max((n for n in listed if start < n < end), default=None) for start, end in pairwise(headings))
        kept.update(number for number in ends if number is not None)
    for topic in topics:
        wanted = content_words(topic)
        weights = {number: _weight(here[number], wanted) for number in listed}
        kept.update(sorted((n for n in listed if weights[n]), key=lambda n: (-weights[n], n))[:NEAR_LINES])
    return _shown(here, kept)


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
    return _shown(here, kept)


def _shown(here: Sequence[str], kept: Set[int]) -> str:
    shown: list[str] = []
    for number, line in enumerate(here):
        if number in kept:
            shown.append(line)
        elif line.strip() and (not shown or shown[-1] != OMITTED):
            shown.append(OMITTED)
    return "\n".join(shown)


def _weight(line: str, wanted: frozenset[str]) -> float:
    if line.startswith("#"):
        return float("inf")
    words = content_words(line)
    return len(words & wanted) / len(words) ** 0.5 if words else 0.0


# What both phases must know of a dream beside their own input.


MARGIN_TOKENS = 256  # for message framing, tool schemas and the error of a count
TOOLS_TOKENS = 512
SMALLEST_ROOM = 256  # tokens; a window with less room than this for content is used as if it had it


@dataclass(frozen=True, slots=True)
class Brief:
    """Settings, the local day and zone, and the workspace's own prompts folder."""

    settings: Settings
    day: date
    zone: tzinfo
    prompts_folder: Path | None = None

    def room(self, model: Model, *texts: str) -> int:
        """Return the tokens left of the model's window beside `texts`, the answer, the tools and a margin."""
        answer = min(model.max_output, model.window // 4)
        used = sum(model.count(text) for text in texts) + answer + MARGIN_TOKENS + TOOLS_TOKENS
        return max(model.window - used, SMALLEST_ROOM)
