"""What of a memory file is shown where the whole doesn't fit into a prompt. Pure.

The statements that tell most for their length, as worth.py ranks them; what stands first in its file counts for more,
since people and models write so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set

from dream.worth import ranked

LINE = 8  # characters that a statement costs beyond its own: bullet, newline, attention
LAST = 2 / 3  # what the last statement of a file counts beside the first
_HEADING = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r"\s*(?:```|~~~)")


def chosen(text: str, fits: Callable[[str], bool]) -> str:
    """Return as much of `text` as fits, in its order, with the number of statements left out; "" where nothing does.

    Headings without a statement are left out, also where all of it fits.
    """
    rows = text.rstrip().splitlines()
    parts = list(_statements(rows))
    whole = _shown(rows, parts)
    if not whole or fits(whole):
        return whole
    last = max(1, len(parts) - 1)
    rates = [1 - (1 - LAST) * number / last for number in range(len(parts))]
    order = ranked(["\n".join(rows[part.start : part.stop]) for part in parts], rates=rates, line=LINE)
    low, high = 0, len(parts) - 1  # the most statements that fit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(_some(rows, parts, order[:middle])) else (low, middle - 1)
    return _some(rows, parts, order[:low]) if low else ""


def _some(rows: Sequence[str], parts: Sequence[range], kept: Sequence[int]) -> str:
    left = len(parts) - len(kept)
    more = "1 more line" if left == 1 else f"{left} more lines"
    return f"{_shown(rows, [parts[number] for number in sorted(kept)])}({more})\n"


def _statements(rows: Sequence[str]) -> Iterator[range]:
    """Yield the rows of each statement: a bullet with what is indented below it, or a paragraph."""
    start: int | None = None
    fenced = False
    for number, row in enumerate(rows):
        ends = not fenced and (not row.strip() or _HEADING.match(row) is not None)
        if start is not None and (ends or (not fenced and row.startswith(("- ", "* ", "+ ")))):
            yield range(start, number)
            start = None
        if start is None and not ends:
            start = number
        if _FENCE.match(row):
            fenced = not fenced
    if start is not None:
        yield range(start, len(rows))


def _shown(rows: Sequence[str], parts: Sequence[range]) -> str:
    """Return the rows of `parts` below their headings, with the blank lines that the file has between them."""
    kept = {number for part in parts for number in part}
    kept |= _headings(rows, kept)
    shown: list[str] = []
    for number, row in enumerate(rows):
        if number in kept or (not row.strip() and shown and shown[-1].strip()):
            shown.append(row)
    return "\n".join(shown).rstrip() + "\n" if kept else ""


def _headings(rows: Sequence[str], kept: Set[int]) -> set[int]:
    """Return the rows of the headings that something kept stands below."""
    needed: set[int] = set()
    above: list[tuple[int, int]] = []  # level and row
    for number, row in enumerate(rows):
        if number in kept:
            needed.update(heading for _, heading in above)
        elif heading := _HEADING.match(row):
            level = len(heading[1])
            above = [*((depth, one) for depth, one in above if depth < level), (level, number)]
    return needed
