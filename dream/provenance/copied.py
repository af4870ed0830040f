"""The copy check: a rule is words that follow each other in one message of the user's, as the message has them.

`…` stands between two pieces; letters are compared after folding case, width, quotation marks, punctuation and blanks.
Where a sentence is closed by its sign, no clause of it is cut: the words run on to its commas or ends, and keep their
"not". Elsewhere a rule begins and ends where the reader says: chat has no stops, and beside a rule stand ports and
prices. A note in square brackets for what "it" means, or for the condition that stands elsewhere, is kept
where its words were heard.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dream.provenance.speakers import unnamed
from dream.provenance.voice import CUT, own_text, sentences
from dream.text.words import NOT, content_words

LONGEST = 240  # characters of a rule; a longer one waits for a person to shorten it
STANDS_FOR = 3  # words of the message, at the most, that a note may stand for
AT_ITS_HEAD = -1  # place of a note that stands before all the copied words
STEM = 4  # letters that a note's word has in common with a heard one, where it is another form of it

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"(?:(?![{_CJK}_])[\w\u0300-\u036f])"  # accents may come as signs of their own
# A word, or a place where words are cut out: words on both sides of it do not follow each other.
_TOKEN = re.compile(rf"{CUT}+|[{_CJK}]|{_LETTER}+(?:['’]{_LETTER}+)*")
_NOTE = re.compile(r"\[([^\[\]]{1,80})\]")
_GAP = re.compile(r"\s*(?:…|\.\.\.(?=\s|$))\s*")
_CLOSED = re.compile(r"[.!?…。！？][)\"”’»\]」』）]*\s*$")
_COMMA = re.compile(rf"[,;:](?=\s)|[，、；：]|\s[-–—]+(?=\s)|[\n{CUT}]")
_MARK = re.compile(r"\s*(?:(?:[-*•+–]|\(?\d{1,2}[.)、]|#{1,6})\s+)?")
_BOUND = re.compile(rf"[\s{CUT},;，、；：。！？{_CJK}]")  # ends a word as it is written, with the signs on it


@dataclass(frozen=True, slots=True)
class OwnText:
    """A text in the user's own voice: one message of theirs, or a line that already stands as their rule.

    `by` is who wrote it, where the message has a name.
    """

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """The user's words that a line is a copy of: `text` is to be written, `by` is who said it."""

    text: str
    by: str = ""


def copied(
    line: str, said: Sequence[OwnText], heard: Collection[str] = frozenset(), rules: Sequence[str] = ()
) -> Copied | None:
    """Return the user's own words that `line` is a copy of, as they wrote them; None where it is none.

    `heard` are the folded words that a note in brackets may be made of; one with a "not" is a copy itself, of what is
    `said` or of one of the `rules`: "[no calls after nine] except from Mum".
    """
    texts = [*rules, *(own_text(one.text) for one in said)]
    copies = {note for note in notes(line) if any(points_at(note, text) for text in texts)}
    line = unnamed(line, {one.by for one in said if one.by})
    pieces = [piece for piece in _GAP.split(line) if _tokens(piece)]
    found: list[str] = []
    by = ""
    for piece in pieces:
        places = (place for one in said for place in _places(piece, one, heard, copies))
        best = next(places, None)
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


def _places(piece: str, said: OwnText, heard: Collection[str], copies: Collection[str]) -> Iterator[Copied]:
    """Yield the words of one text that a piece is a copy of, first with its brackets as words, then as notes."""
    mine = own_text(said.text)
    words = _tokens(mine)
    plain = [word for word, _, _ in _tokens(piece)]
    for at in range(len(words) - len(plain) + 1):
        if [word for word, _, _ in words[at : at + len(plain)]] == plain:
            first, last = _with_signs(mine, words[at][1], words[at + len(plain) - 1][2], piece, piece)
            yield Copied(_written(mine, first, last, ()), said.by)
            return
    found = [note for note in _NOTE.finditer(piece) if note[0] not in mine and _tokens(note[1])]
    edges = [0, *(edge for note in found for edge in note.span()), len(piece)]
    texts = [piece[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    notes, chunks = [note[1] for note in found], [[word for word, _, _ in _tokens(text)] for text in texts]
    if not notes or not any(chunks) or not all(note in copies or _is_heard(note, heard) for note in notes):
        return
    if (placed := _with_notes(chunks, notes, words)) is not None:
        first, last, inserted = placed
        first, last = _with_signs(mine, first, last, texts[0], texts[-1])
        yield Copied(_written(mine, first, last, inserted), said.by)


def _with_notes(
    chunks: Sequence[Sequence[str]], notes: Sequence[str], words: Sequence[tuple[str, int, int]]
) -> tuple[int, int, list[tuple[int, str]]] | None:
    """Find chunks in order, a note between two of them standing for up to STANDS_FOR words; where each note belongs.

    One before the first chunk stands before all.
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


def _with_signs(text: str, first: int, last: int, begun: str, ended: str) -> tuple[int, int]:
    """Return the ends of a copy with the signs written on its words, and with those that it begins and ends with too.

    `begun` and `ended` are what the reader wrote at both ends: "< 80 characters", "mark guesses with [?]".
    """
    signs = begun[: next(iter(_tokens(begun)), ("", 0, 0))[1]].lstrip()
    first -= len(signs) if text[:first].endswith(signs) else 0
    signs = ended[max((end for _, _, end in _tokens(ended)), default=len(ended)) :].rstrip()
    last += len(signs) if text.startswith(signs, last) else 0
    while first and not _BOUND.match(text, first - 1):
        first -= 1
    while last < len(text) and not _BOUND.match(text, last):
        last += 1
    return _whole_clauses(text, first, last)


def _whole_clauses(text: str, first: int, last: int) -> tuple[int, int]:
    """Return the ends of a copy moved out to the ends of its clauses, where they stand in closed sentences."""
    begin, until = first, last
    for start, end in sentences(text):
        if _CLOSED.search(text, start, end):
            if start <= first < end:
                cut = max((found.end() for found in _COMMA.finditer(text, start, first)), default=start)
                begin = min(first, _MARK.match(text, cut).end())  # type: ignore[union-attr]
            if start < last <= end:
                until = next((found.start() for found in _COMMA.finditer(text, last, end)), end)
    return begin, until


def _written(text: str, first: int, last: int, notes: Sequence[tuple[int, str]]) -> str:
    """Return `text[first:last]`, and its notes, as one line of memory."""
    said = text[first:last]
    there = folded(said)
    kept = [(at, note) for at, note in notes if not folded(note) <= there]
    for at, note in sorted(((at, note) for at, note in kept if at != AT_ITS_HEAD), reverse=True):
        rest = said[at - first :]
        blank = "" if rest.lstrip()[:1] in ",.;:!?…，。、；：！？" else " "
        said = f"{said[: at - first].rstrip()} [{note}]{blank}{rest.lstrip(' ')}"
    lines = (" ".join(line.replace(CUT, " ").split()) for line in said.split("\n"))
    head = "".join(f"[{note}] " for at, note in kept if at == AT_ITS_HEAD)
    return head + " / ".join(filter(None, lines)).rstrip(".。 ")
