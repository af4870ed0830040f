"""The copy check: a rule consists of consecutive words of one message of the user, exactly as in the message.

`…` separates two pieces; text is compared after folding case, width, quotation marks, punctuation and blanks. In a
sentence with a closing punctuation mark, no clause is cut: the copy extends to the next comma or end, so that a "not"
is kept. Elsewhere the model chooses where a rule begins and ends, because chat often has no punctuation. A note in
square brackets, for what "it" means or for a condition from another sentence, is kept if its words occur in the
conversation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dream.provenance import cues
from dream.provenance.speakers import unnamed
from dream.provenance.voice import (
    CJK,
    CLOSED,
    CUT,
    WORD,
    announcement,
    announces_others,
    foreign,
    own_text,
    sentences,
    typed_text,
)
from dream.text.safe import quoted
from dream.text.words import NOT, content_words

LONGEST = 240  # characters of a rule; a longer one is held until a person shortens it
STANDS_FOR = 3  # words of the message that a note may replace at most
LONGEST_HEARD = 80  # characters of a note whose words were heard here and there; a copied one may be longer
AT_ITS_HEAD = -1  # position of a note before all copied words
STEM = 4  # first letters that two forms of one word share

# A word, or a place where words are cut out: words on both sides of it do not follow each other.
_TOKEN = re.compile(rf"{CUT}+|{WORD.pattern}")
_NOTE = re.compile(r"\[([^\[\]]{1,240})\]")
_GAP = re.compile(r"\s*(?:…|\.\.\.(?=\s|$))\s*(?![^\[\]]*\])")  # not within a note
_COMMA = re.compile(rf"[,;:](?=\s)|[，、；：]|\s[-–—]+(?=\s)|[\n{CUT}]")
_LINE = re.compile(r"\n")
_BELOW = re.compile(r"([:：]) / (?:[-*•+–] )?")  # between the line that announces a list and its first item
_MARK = re.compile(r"\s*(?:(?:[-*•+–]|\(?\d{1,2}[.)、]|#{1,6})\s+)?")
_BOUND = re.compile(rf"[\s{CUT},;，、；：。！？{CJK}]")  # ends a word together with its punctuation


@dataclass(frozen=True, slots=True)
class OwnText:
    """A text in the user's own words: one of their messages, or a line that is already their rule.

    `by` is its author, if the message has a name.
    """

    text: str
    by: str = ""
    is_rule: bool = False

    @property
    def typed(self) -> str:
        """The text without what the layout of a message shows to be pasted; a rule is the user's as it stands."""
        return self.text if self.is_rule else typed_text(self.text)


@dataclass(frozen=True, slots=True)
class Copied:
    """The user's words that a line copies: `text` is written to the file, `by` is who said it.

    `doubt` explains why they are typed by the user, and yet no wish of theirs.
    """

    text: str
    by: str = ""
    doubt: str = ""


def copied(
    line: str, said: Sequence[OwnText], heard: Collection[str] = frozenset(), rules: Sequence[str] = ()
) -> Copied | None:
    """Return the user's own words that `line` copies, as they wrote them; None if it is no copy.

    `heard` are the folded words that a note in brackets may use; a note with a "not" must itself be a copy, of `said`
    or of one of the `rules`: "[no calls after nine] except from Mum".
    """
    found = found_words(line, said, heard, rules)
    return found if found is not None and not found.doubt else None


def found_words(
    line: str, said: Sequence[OwnText], heard: Collection[str] = frozenset(), rules: Sequence[str] = ()
) -> Copied | None:
    """Return the words that `line` copies from what the user typed, like `copied`, also if they are no wish of theirs.

    Then they are those of the first piece in doubt.
    """
    texts = [*rules, *(own_text(one.text) for one in said)]
    named = [note for note in notes(line) if content_words(note) - {NOT}]  # "[not]" alone would turn a wish round
    copies = {note for note in named if any(points_at(note, text) for text in texts)}
    line = unnamed(line, {one.by for one in said if one.by})
    pieces = [piece for piece in _GAP.split(line) if _tokens(piece)]
    found: list[str] = []
    by = ""
    for piece in pieces:
        beside = " ".join([*notes(piece), *(other for other in pieces if other is not piece)])
        places = [place for one in said for place in _places(piece, one, heard, copies, beside)]
        best = min(places, key=lambda one: bool(one.doubt), default=None)
        if best is None or best.doubt:
            return best
        if best.text not in found:
            found.append(best.text)
        by = by or best.by
    return Copied(" … ".join(found), by) if found else None


def exchanged(line: str, rule: str, said: Sequence[OwnText]) -> Copied | None:
    """Return `rule` with one stretch of its words exchanged for words of the user's that follow each other; else None.

    "no more than 40 lines" becomes "no more than 30 lines" with a message "make it 30". Neither stretch holds a "not".
    """
    old, new = _tokens(rule), [word for word, _, _ in _tokens(line)]
    size = min(len(old), len(new))
    first = next((at for at in range(size) if old[at][0] != new[at]), size)
    last = next((at for at in range(size - first) if old[-1 - at][0] != new[-1 - at]), size - first)
    gone, come = old[first : len(old) - last], new[first : len(new) - last]
    taken = rule[gone[0][1] : gone[-1][2]] if gone else ""
    if not come or not (first or last) or NOT in content_words(taken) or "[" in taken or "]" in taken:
        return None
    for one in said:
        mine = own_text(one.text)
        words = _tokens(mine)
        for at in range(len(words) - len(come) + 1):
            if [word for word, _, _ in words[at : at + len(come)]] == come:
                put = mine[words[at][1] : words[at + len(come) - 1][2]]
                if NOT in content_words(put) or "\n" in put or CUT in put:
                    return None
                start = gone[0][1] if gone else old[first][1] if last else len(rule)
                end = gone[-1][2] if gone else start
                space = "" if gone else " "
                return Copied(
                    f"{rule[:start]}{space if not last else ''}{put}{space if last else ''}{rule[end:]}", one.by
                )
    return None


def points_at(line: str, text: str) -> bool:
    """Return whether the words of `line` are consecutive in `text`, whoever said them."""
    words = [word for word, _, _ in _tokens(text)]
    wanted = [piece for piece in ([word for word, _, _ in _tokens(one)] for one in _GAP.split(line)) if piece]
    return bool(wanted) and all(_follows(piece, words) for piece in wanted)


def notes(line: str) -> list[str]:
    """Return the notes in square brackets in a line."""
    return _NOTE.findall(line)


def without_notes(line: str) -> str:
    """Return a line without the notes in square brackets."""
    return " ".join(_NOTE.sub(" ", line).split())


def folded(text: str) -> frozenset[str]:
    """Return the words of `text`, folded for comparison."""
    return frozenset(word for word, _, _ in _tokens(text))


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((_fold(found[0]), found.start(), found.end()) for found in _TOKEN.finditer(text))


def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "").replace("'", "")


def _follows(piece: Sequence[str], words: Sequence[str]) -> bool:
    size = len(piece)
    return any(list(words[at : at + size]) == list(piece) for at in range(len(words) - size + 1))


def _places(
    piece: str, said: OwnText, heard: Collection[str], copies: Collection[str], beside: str
) -> Iterator[Copied]:
    """Yield the words of one text that a piece copies, first reading its brackets as words, then as notes.

    `beside` are its notes and the other pieces.
    """
    mine = said.typed
    words = _tokens(mine)
    plain = [word for word, _, _ in _tokens(piece)]
    as_it_stands = False
    for at in range(len(words) - len(plain) + 1):
        if [word for word, _, _ in words[at : at + len(plain)]] == plain:
            span = words[at][1], words[at + len(plain) - 1][2]
            as_it_stands = True
            yield _copy(said, span, (piece, piece), (), beside)
    found = [note for note in _NOTE.finditer(piece) if note[0] not in mine and _tokens(note[1])]
    edges = [0, *(edge for note in found for edge in note.span()), len(piece)]
    texts = [piece[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    notes, chunks = [note[1] for note in found], [[word for word, _, _ in _tokens(text)] for text in texts]
    heeded = notes and any(chunks) and all(note in copies or _is_heard(note, heard) for note in notes)
    if heeded and not as_it_stands:
        for first, last, inserted in _with_notes(chunks, notes, words):
            yield _copy(said, (first, last), (texts[0], texts[-1]), inserted, beside)


def _copy(
    said: OwnText,
    span: tuple[int, int],
    signs: tuple[str, str],
    notes: Sequence[tuple[int, str]],
    beside: str,
) -> Copied:
    """Return the words of a text at `span` as they are written, and why they may be no wish of the user."""
    mine = said.typed
    first, last = _with_signs(mine, *span, *signs)
    doubt = "" if said.is_rule else _doubt(mine, span[0], last, beside)
    return Copied(_written(mine, first, last, notes), said.by, doubt)


def _doubt(text: str, start: int, end: int, beside: str) -> str:
    """Explain why typed words are no wish of the user: they report it, or leave out the line that announces it.

    Lists are often pasted. Below "in letters:" an item is a rule with the words that say where it holds.
    """
    heading = announcement(text, text.find("\n", end) + 1) if not WORD.search(text[end:].partition("\n")[0]) else ""
    told = "" if heading and beside else foreign(text, start, end)
    starts = (start, *(found.end() for found in _LINE.finditer(text, start, end)))
    rows = {heading, *(announcement(text, at) for at in starts)} - {""}
    told = told or next(filter(None, map(announces_others, rows)), "")
    if told:
        return f"the user quotes, reports or supposes it: {quoted(told)}"
    row = announcement(text, start)
    words = content_words if content_words(row) else folded
    if row and not (cues.says("own_rules", row) or words(row) & words(beside)):
        return f"it is below {quoted(row.strip())}; copy what these words say of it too, in brackets or before “…”"
    return ""


def _with_notes(
    chunks: Sequence[Sequence[str]], notes: Sequence[str], words: Sequence[tuple[str, int, int]]
) -> Iterator[tuple[int, int, list[tuple[int, str]]]]:
    """Yield where chunks follow each other, with each note's position; it may replace up to STANDS_FOR words.

    A note before the first chunk comes before all words.
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
        yield words[first][1], words[ends[-1] - 1][2], list(zip(before, notes, strict=True))


def _is_heard(note: str, heard: Collection[str]) -> bool:
    """Return whether each content word of a note was heard, in any form, and none is a "not"."""
    words = [word for word, _, _ in _tokens(note) if content_words(word) and len(note) <= LONGEST_HEARD]
    return (
        bool(words)
        and NOT not in content_words(note)
        and all(word in heard or _has_form(word, heard) for word in words)
    )


def _has_form(word: str, heard: Collection[str]) -> bool:
    """Return whether another form of a word was heard, which begins with the same letters."""
    stem = word[: max(STEM, len(word) - 3)]
    return len(stem) >= STEM and not stem.isdigit() and any(other.startswith(stem) for other in heard)


def _with_signs(text: str, first: int, last: int, begun: str, ended: str) -> tuple[int, int]:
    """Extend a copy to the punctuation attached to its words, and to the signs at its beginning and end.

    `begun` and `ended` are the signs that the model wrote at both ends: "< 80 characters", "mark guesses with [?]".
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
    """Extend a copy to the ends of its clauses, in sentences with a closing punctuation mark."""
    begin, until = first, last
    for start, end in sentences(text):
        if CLOSED.search(text, start, end):
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
    return head + _BELOW.sub(r"\1 ", " / ".join(filter(None, lines))).rstrip(".。 ")
