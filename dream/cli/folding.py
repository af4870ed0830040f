"""Lines that are longer than a terminal is wide, folded at their spaces: a terminal itself breaks words in two."""

from __future__ import annotations

import re
import unicodedata

HANG = 2  # columns by which the rest of a line stands further in than its beginning
NARROWEST = 30  # columns below which a terminal may break lines as it likes


def folded(text: str, columns: int) -> str:
    """Fold each line of `text` at spaces, so that it fits into `columns`; a longer word stays whole. Pure."""
    if columns < NARROWEST:
        return text
    return "\n".join(_folded(line, columns) for line in text.split("\n"))


def _folded(line: str, columns: int) -> str:
    if _width(line) <= columns:
        return line
    lead = re.match(" *", line)
    indent = " " * min((lead.end() if lead else 0) + HANG, columns // 2)
    lines, here = [], ""
    for piece in re.findall(r" *[^ ]+", line):
        if here.strip() and _width(here + piece) > columns:
            lines.append(here)
            here = indent + piece.lstrip(" ")
        else:
            here += piece
    return "\n".join([*lines, here])


def _width(text: str) -> int:
    """Count the columns of a terminal that `text` takes: two for a wide character, none for one that combines."""
    return sum(0 if unicodedata.combining(ch) else 2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)
