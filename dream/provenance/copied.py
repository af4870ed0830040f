"""The copy check: what a reader copied of a rule points at a sentence of the user's, and that sentence is written.

The reader's words must follow each other in one message whose voice is the user's, `…` between two pieces; letters are
compared after folding case, width, quotation marks, punctuation and blanks. They only point: what is written is the
whole sentence as the message has it, so that no condition and no "not" is cut off. A note in square brackets for what
"here" or "it" means, or for the condition that stands before, is kept where its words were heard.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from dream.provenance.speakers import unnamed
from dream.provenance.voice import CUT, own_text, sentences
from dream.text.words import NOT, content_words

LONGEST = 240  # characters of a rule; a longer sentence waits for a person to shorten it
STANDS_FOR = 3  # words of the message, at the most, that a note may stand for
TRAILING = 3  # words of a sentence that comes along with the one before: "Never. No exceptions."
AT_ITS_HEAD = -1  # place of a note that stands before all the copied words
STEM = 4  # letters that a note's word has in common with a heard one, where it is another form of it

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"(?:(?![{_CJK}_])[\w\u0300-\u036f])"  # accents may come as signs of their own
# A word, or a place where words are cut out: words on both sides of it do not follow each other.
_TOKEN = re.compile(rf"{CUT}+|[{_CJK}]|{_LETTER}+(?:['’]{_LETTER}+)*")
_NOTE = re.compile(r"\[([^\[\]]{1,80})\]")
_GAP = re.compile(r"\s*(?:…|\.\.\.(?=\s|$))\s*")
# A sign that may end a sentence, "el jueves 25. nada de", "etc. nada", "ok ? nada", and by itself does not.
_DOUBTFUL = re.compile(r"(?:(?<=\d)\.|(?<=[^\W\d_]{2})\.|(?<= )[?!])[)\"”’»\]]*(?=\s)")
_MARK = re.compile(r"^(?:[-*•+–]\s+|\(?\d{1,2}[.)、]\s*(?=\D)|#{1,6}\s+)")


@dataclass(frozen=True, slots=True)
class OwnText:
    """A text in the user's own voice: one message of theirs, or a line that already stands as their rule.

    `by` is who wrote it, where the message has a name.
    """

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """The user's sentence that a line points at: `text` is to be written, `by` is who said it."""

    text: str
    by: str = ""


def copied(line: str, said: Sequence[OwnText], heard: Collection[str] = frozenset()) -> Copied | None:
    """Return the user's own sentence that `line` is a copy of, the shortest if several hold it; None where none does.

    `heard` are the folded words that a note in brackets may be made of.
    """
    line = unnamed(line, {one.by for one in said if one.by})
    pieces = [piece for piece in _GAP.split(line) if _tokens(piece)]
    found: list[str] = []
    by = ""
    for piece in pieces:
        places = (place for one in said for place in _places(piece, one, heard))
        best = min(places, key=lambda place: len(place.text), default=None)
        if best is None:
            return None
        if best.text not in found:
            found.append(best.text)
        by = by or best.by
    return Copied(" … ".join(found), by) if found else None


def points_at(line: str, text: str) -> bool:
    """Return whether the words of `line` follow each other in `text`, whoever's words they are there."""
    words = [word for word, _, _ in _tokens(text)]
    wanted = [piece for piece in ([word for word, _, _ in _tokens(one)] for one in _GAP.split(line)) if piece]
    return bool(wanted) and all(_follows(piece, words) for piece in wanted)


def notes(line: str) -> list[str]:
    """Return what stands in square brackets in a line."""
    return _NOTE.findall(line)


def without_notes(line: str) -> str:
    """Return a line without what stands in square brackets in it."""
    return " ".join(_NOTE.sub(" ", line).split())


def folded(text: str) -> frozenset[str]:
    """Return the words of `text` as they are compared."""
    return frozenset(word for word, _, _ in _tokens(text))


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((_fold(found[0]), found.start(), found.end()) for found in _TOKEN.finditer(text))


def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "").replace("'", "")


def _follows(piece: Sequence[str], words: Sequence[str]) -> bool:
    size = len(piece)
    return any(list(words[at : at + size]) == list(piece) for at in range(len(words) - size + 1))


def _places(piece: str, said: OwnText, heard: Collection[str]) -> Iterator[Copied]:
    """Yield the sentence that a piece points at in one text, first with its brackets as words, then as notes."""
    mine = own_text(said.text)
    words = _tokens(mine)
    plain = [word for word, _, _ in _tokens(piece)]
    for at in range(len(words) - len(plain) + 1):
        if [word for word, _, _ in words[at : at + len(plain)]] == plain:
            yield Copied(_written(mine, words[at][1], words[at + len(plain) - 1][2], ()), said.by)
            return
    found = [note for note in _NOTE.finditer(piece) if note[0] not in mine and _tokens(note[1])]
    edges = [0, *(edge for note in found for edge in note.span()), len(piece)]
    texts = [piece[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    notes, chunks = [note[1] for note in found], [[word for word, _, _ in _tokens(text)] for text in texts]
    if not notes or not any(chunks) or not all(_is_heard(note, heard) for note in notes):
        return
    if (placed := _with_notes(chunks, notes, words)) is not None:
        first, last, inserted = placed
        yield Copied(_written(mine, first, last, inserted), said.by)


def _with_notes(
    chunks: Sequence[Sequence[str]], notes: Sequence[str], words: Sequence[tuple[str, int, int]]
) -> tuple[int, int, list[tuple[int, str]]] | None:
    """Find chunks in order, a note between two of them standing for up to STANDS_FOR words; where each note belongs.

    One before the first chunk belongs to the head of the sentence.
    """
    plain = [word for word, _, _ in words]

    def rest(number: int, at: int, begun: bool) -> list[int] | None:
        """Return the end of each chunk from `number` on: the next is at `at` or, once `begun`, some words later."""
        if number == len(chunks):
            return []
        chunk = list(chunks[number])
        for skipped in range(STANDS_FOR + 1 if chunk and begun else 1):
            begin = at + skipped
            if plain[begin : begin + len(chunk)] == chunk and begin + len(chunk) <= len(plain):
                ends = rest(number + 1, begin + len(chunk), begun or bool(chunk))
                if ends is not None:
                    return [begin + len(chunk), *ends]
        return None

    for first in range(len(plain)):
        if (ends := rest(0, first, False)) is None or ends[-1] == first:
            continue
        before = [words[end - 1][2] if end > first else AT_ITS_HEAD for end in ends[:-1]]
        return words[first][1], words[ends[-1] - 1][2], list(zip(before, notes, strict=True))
    return None


def _is_heard(note: str, heard: Collection[str]) -> bool:
    """Return whether each word of a note that carries something was heard, in whatever form, and none is a "not"."""
    words = [word for word, _, _ in _tokens(note) if content_words(word)]
    return NOT not in content_words(note) and all(word in heard or _has_form(word, heard) for word in words)


def _has_form(word: str, heard: Collection[str]) -> bool:
    """Return whether another form of a word was heard: it begins alike."""
    stem = word[: max(STEM, len(word) - 3)]
    return len(stem) >= STEM and not stem.isdigit() and any(other.startswith(stem) for other in heard)


def _written(text: str, first: int, last: int, notes: Sequence[tuple[int, str]]) -> str:
    """Return the whole sentence round `text[first:last]`, with its notes, as one line of memory."""
    spans = [span for span in _sentences(text, first, last) if text[span[0] : span[1]].strip(f"{CUT} \n")]
    inside = [at for at, (start, end) in enumerate(spans) if start < last and first < end]
    begin, until = spans[inside[0]][0], spans[inside[-1]][1]
    behind = inside[-1] + 1
    if behind < len(spans) and "\n" not in text[begin:until].strip() and text[until - 1] != "\n":
        more = text[spans[behind][0] : spans[behind][1]]
        if CUT not in text[until : spans[behind][0] + 1] and _belongs(more):
            until = spans[behind][1]
    said, heading = text[begin:until], _announced_by(text, begin)
    there = folded(f"{heading} {said}")
    notes = [(at, note) for at, note in notes if not folded(note) <= there]
    for at, note in sorted(((at, note) for at, note in notes if at != AT_ITS_HEAD), reverse=True):
        place = max(0, at - begin)
        rest = said[place:]
        blank = "" if rest.lstrip()[:1] in ",.;:!?…，。、；：！？" else " "
        said = f"{said[:place].rstrip()} [{note}]{blank}{rest.lstrip(' ')}"
    lines = [_MARK.sub("", line.strip(f" {CUT}"), count=1) for line in said.split("\n")]
    shown = " / ".join(" ".join(line.replace(CUT, " ").split()) for line in lines if line.strip(f" {CUT}"))
    head = " ".join(f"[{note}]" for at, note in notes if at == AT_ITS_HEAD)
    return " ".join(part for part in (heading, head, shown) if part).rstrip(".。 ")


def _sentences(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a text; where a copy of `text[first:last]` begins or ends at a doubtful end, it is one."""
    ends = [found.end() for found in _DOUBTFUL.finditer(text) if _ends_there(text, found, first, last)]
    for start, end in sentences(text):
        edges = [start, *(cut for cut in ends if start < cut < end), end]
        yield from pairwise(edges)


def _ends_there(text: str, sign: re.Match[str], first: int, last: int) -> bool:
    if sign.end() <= first:
        after_number = text[sign.start() - 1].isdigit()
        return (after_number or text[first].islower()) and _TOKEN.search(text, sign.end(), first) is None
    return text[last - 1].isdigit() and sign.start() == last


def _belongs(more: str) -> bool:
    """Return whether a next sentence belongs to a rule: few words, and no number, which would be a fact of its own."""
    return 0 < len(_tokens(more)) <= TRAILING and not any(map(str.isdigit, more))


def _announced_by(text: str, begin: int) -> str:
    """Return the line that announces the list whose item begins at `begin`, with its colon; "" where none does."""
    start = text.rfind("\n", 0, begin + 1) + 1 if text[begin : begin + 1] != "\n" else begin + 1
    rows = text[: max(start, 0)].split("\n")[:-1]
    here = text[start:].split("\n", 1)[0]
    if _MARK.match(here.lstrip()) is None:
        return ""
    for row in reversed(rows):
        bare = row.strip(f" {CUT}")
        if bare.endswith((":", "：")):
            last = list(sentences(bare))[-1]
            return " ".join(bare[last[0] : last[1]].split())
        if not bare or _MARK.match(bare) is None:
            return ""
    return ""
