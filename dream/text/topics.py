"""What lines are about, in a few names: what a list of changes shows of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from dream.text import days
from dream.text.words import months, words

_WORD = re.compile(r"[^\W_](?:[\w./@+#’'-]*[\w+#])?")
_ENDS = re.compile(r"[.!?:;。！？：；][\"”’»)]*\s*$|[\"“„«(\[—-]\s*$")


def topics(lines: Sequence[str], most: int = 3) -> list[str]:
    """Return the names that lines hold, one of each at most, in their order; a last "…" where lines are left.

    A name is written with a capital within a sentence, or holds a sign or a digit, such as `uv.lock` and HS-214; none
    is that of a day.
    """
    found: list[str] = []
    for line in lines:
        mine = [name for name in names(line) if name not in found]
        if mine:
            found.append(mine[0])
    return [*found[:most], "…"] if found[most:] or 0 < len(found) < len(lines) else found


def names(line: str) -> Iterable[str]:
    """Yield the names in a line, those of several words whole; what only begins a sentence is none."""
    pieces = [(piece[0], piece.start(), piece.end()) for piece in _WORD.finditer(line)]
    at = 0
    while at < len(pieces):
        word, start, end = pieces[at]
        at += 1
        if not _is_name(word) or not (_is_marked(word) or (line[:start].strip() and not _ENDS.search(line[:start]))):
            continue
        for following, begins, ends in pieces[at:]:
            if line[end:begins] != " " or not following[0].isupper() or not _is_name(following):
                break
            end, at = ends, at + 1
        yield line[start:end]


def _is_name(word: str) -> bool:
    plain = word.casefold()
    is_content = any(map(words, re.split(r"['’]", word)[:1]))
    return is_content and len(plain) > 1 and plain not in _of_days() and (word[0].isupper() or _is_marked(word))


def _is_marked(word: str) -> bool:
    """Return whether a word is written as nobody writes a common one: `HS-214`, `docs/handover.md`, `LiteLLM`."""
    is_cased = word.casefold() != word or word.upper() != word
    return is_cased and (any(char.isdigit() or char in "/._@#+" for char in word) or any(map(str.isupper, word[1:])))


@cache
def _of_days() -> frozenset[str]:
    spelled = [name for named in months().values() for spellings in named for name in spellings]
    spelled += [name for code in days.codes() for name in (*days.names(code).weekdays, *days.names(code).short)]
    return frozenset(part.casefold() for name in spelled for part in name.split("|"))
