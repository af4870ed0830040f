"""Lines that are longer than a terminal is wide, folded where a reader would: a terminal itself breaks words in two."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

HANG = 2  # columns by which the rest of a line stands further in than its beginning
NARROWEST = 30  # columns below which a terminal may break lines as it likes

# Chinese and Japanese have no spaces: a line may end behind any of their characters, but none begins with a full stop.
_WIDE = r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
_CLOSING = r"[、。〉》」』】〕！），．：；？｝ー～…”’]"
_PIECE = re.compile(rf" *(?:`[^`]*`[^ `]*|{_WIDE}{_CLOSING}*|(?:(?!{_WIDE})[^ ])+{_CLOSING}*)")


def folded(text: str, columns: int) -> str:
    """Fold each line of `text` so that it fits into `columns`. Pure.

    It is folded at spaces and between the characters of a script without any. A longer word stays whole, and so does
    what stands in `backticks`, a command to be copied, as long as it fits into a line.
    """
    if columns < NARROWEST:
        return text
    return "\n".join(_folded(line, columns) for line in text.split("\n"))


def _folded(line: str, columns: int) -> str:
    if width(line) <= columns:
        return line
    lead = re.match(" *", line)
    indent = " " * min((lead.end() if lead else 0) + HANG, columns // 2)
    lines, here = [], ""
    for piece in _pieces(line, columns - len(indent)):
        if here.strip() and width(here + piece) > columns:
            lines.append(here)
            here = indent + piece.lstrip(" ")
        else:
            here += piece
    return "\n".join([*lines, here])


def _pieces(line: str, room: int) -> Iterator[str]:
    for piece in _PIECE.findall(line):
        whole = width(piece.strip()) <= room
        yield from [piece] if whole else re.findall(" *[^ ]+", piece)


def cut(text: str, columns: int) -> str:
    """Return as much of the beginning of `text` as fits into `columns`."""
    used = 0
    for place, char in enumerate(text):
        used += width(char)
        if used > columns:
            return text[:place]
    return text


def width(text: str) -> int:
    """Count the columns of a terminal that `text` takes: two for a wide character, none for one that combines."""
    return sum(0 if unicodedata.combining(ch) else 2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)
