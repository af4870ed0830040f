"""Sentences of a text, cut out as they stand there, never rewritten; and how much of one is a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dream.text.words import table

WIDE = "぀-ヿ㐀-鿿豈-﫿"  # written without blanks between words
LONG = 240  # characters of a sentence that is still easy to read as a line
LEAST = 16  # characters of a part that a long sentence is cut into
_END = re.compile(rf"[.!?…]+[)\"”’»\]]*(?=\s|$|[{WIDE}])|[。！？；]+[」』”）)]*|(?<=\S)\s+(?=\d{{1,2}}\)\s)|;\s|\n")
_CLOSERS = frozenset(')"”’»]')
_QUOTED = re.compile(r"“[^”\n]{0,600}”|\"[^\"\n]{0,600}\"|«[^»\n]{0,600}»|„[^“”\n]{0,600}[“”]|「[^」\n]{0,600}」|『[^』\n]{0,600}』|`[^`\n]{1,200}`")  # fmt: skip
_MARK = re.compile(
    r"\s*(?:[-*•+–]\s+|(?:\d{1,2}|[a-z])[.)、]\s+|\d{1,2}[、.](?=\D)|[(（]\d{1,2}[)）]\s*|#{1,6}\s+|>\s*)"
)
_INLINE = re.compile(r"\s*\d{1,2}\)\s+")
_QUOTES = frozenset("“\"«„「『'‘‚")
_SINGLE = re.compile(r"(?<![\w’'])['‘‚](?:[^'’‘\n]|(?<=\w)['’](?=\w)){12,400}['’‘](?!\w)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it stands in a text: `text[start:end]`, its blanks made one. `intro` is what its list is under.

    `paragraph` counts the blocks of the text between blank lines.
    """

    text: str
    start: int
    end: int
    intro: str = ""
    item: bool = False
    paragraph: int = 0


def sentences(text: str) -> list[Sentence]:
    """Cut `text` into its sentences; a quotation is not cut, and an item of a list is one of its own."""
    found: list[Sentence] = []
    intro, paragraph, offset, listed = "", 0, 0, False
    for line in text.split("\n"):
        bare = line.strip()
        if not bare:
            paragraph += 1
            intro = intro if listed is False else ""
        else:
            mark = _MARK.match(line)
            listed = mark is not None
            if not listed and not bare.endswith((":", "：")):
                intro = ""
            inside = [
                Sentence(part, start + offset, end + offset, intro if listed else "", listed, paragraph)
                for part, start, end in _cut(line, mark.end() if mark else 0)
            ]
            found += inside
            if bare.endswith((":", "：")) and inside:
                intro = inside[-1].text
        offset += len(line) + 1
    return found


def _cut(line: str, begin: int) -> Iterator[tuple[str, int, int]]:
    quoted = [] if _QUOTES.isdisjoint(line) and "`" not in line else [found.span() for found in _QUOTED.finditer(line)]
    start = begin
    for end in _ENDS(line):
        if any(one < end < other for one, other in quoted) or end <= start:
            continue
        if _goes_on(line, start, end):
            continue
        yield from _parts(line, start, end)
        start = end
    if start < len(line):
        yield from _parts(line, start, len(line))


def _ENDS(line: str) -> Iterator[int]:  # noqa: N802
    for match in _END.finditer(line):
        yield match.end()


def _goes_on(line: str, start: int, end: int) -> bool:
    """Return whether a full stop belongs to an abbreviation, an ordinal or an initial."""
    said = line[start:end]
    after = line[end : end + 12].lstrip()
    if said[-1] in _CLOSERS and after[:1].islower():
        return True  # the exclamation is a part of the sentence: leave out the "Sure!" at the beginning
    if not said.endswith(".") or said.endswith(".."):
        return False
    before = said[:-1]
    if is_cut_short(before) or re.search(r"(?:^|\s)[A-ZÀ-Þ]$", before):
        return True
    return re.search(r"(?:^|\D)\d{1,2}$", before) is not None and (after[:1].islower() or after[:3].isalpha())


def is_cut_short(text: str) -> bool:
    """Return whether a text ends with a word that people cut short: "approx", "z.B"."""
    return _abbreviated().search(text) is not None


@cache
def _abbreviated() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(table()['abbreviated'])})$", re.IGNORECASE)


def _parts(line: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield one sentence, or the clauses of one that is too long to be read in a line."""
    said = line[start:end]
    if label := _INLINE.match(said):
        start, said = start + label.end(), said[label.end() :]
    text = " ".join(said.split())
    if not text or not any(character.isalnum() for character in text):
        return
    if len(text) <= LONG:
        yield text, start, end
        return
    begin, last = 0, -1
    for match in re.finditer(
        rf",\s|[，；]|\s[-–—]+\s|[)）]\s|(?<=[{WIDE}])\s|\s(?=(?:and|but|und|aber|et|mais|y|pero)\s)", said
    ):
        if match.end() - begin > LONG * 2 // 3 and last > begin + LEAST:
            yield " ".join(said[begin:last].split()), start + begin, start + last
            begin = last
        last = match.end()
    while len(said) - begin > 2 * LONG:
        cut = said.rfind(" ", begin + LEAST, begin + LONG)
        cut = cut if cut > 0 else begin + LONG
        yield " ".join(said[begin:cut].split()), start + begin, start + cut
        begin = cut
    if rest := " ".join(said[begin:].split()):
        yield rest, start + begin, end


def quoted_share(text: str) -> float:
    """Return the share of `text` that stands in quotation marks, those of names and single words left out."""
    inside = sum(len(found[0]) for found in _quotations(text) if len(found[0]) > 18)
    return inside / max(1, len(text))


def _quotations(text: str) -> Iterator[re.Match[str]]:
    if _QUOTES.isdisjoint(text):
        return
    for found in _QUOTED.finditer(text):
        if not found[0].startswith("`"):
            yield found
    yield from _SINGLE.finditer(text)
