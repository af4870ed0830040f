"""The statements of a workspace: the sentences of its files, entries and messages; and which of them are meant.

Each is found where it is cited. A few words mean the statements that hold them as they were typed, or with other signs
between the same letters (`amber_fox` for "Amber-Fox"); else those that hold all of the words; else those that hold most
of them, at least half.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from dream.directory import Workspace
from dream.history.messages import decode
from dream.provenance.citations import WISH
from dream.provenance.copied import points_at
from dream.recall import cite, get, memory_lines
from dream.text.sentences import sentences
from dream.text.words import content_words, coverage, without_bullet
from dream.versions.diff import PLAIN
from dream.versions.rewrite import Needle, bare, is_long_enough

_CITED = re.compile(r"(?:memory/)?(?:archive/|places/[\w-]+/)?[\w.-]+\.md:\d+|history:\d+|\S.*#\d+")
_MARKS = re.compile(r"\A\s*(?:\[[^\[\]\n]{1,200}\]\s*){0,2}")  # `[fact]` before a line of history
_HALF = 0.5  # of the words that were typed: with fewer in it a statement is about something else
EARLIER = "an earlier version"  # in place of a citation
_FEW = 4
_MOST_NEAR = 5  # statements beside the meant ones that are named


@dataclass(frozen=True, slots=True)
class FoundStatement:
    """One statement where it stands; `whole` is the line or message that it is of."""

    cite: str
    text: str
    whole: str

    def without(self, needle: Needle) -> str:
        """Return what the line or message reads without the texts of `needle`; "" where nothing is left."""
        return needle.scrub(self.whole.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape").strip()


def is_citation(text: str) -> bool:
    """Return whether it has the form of a citation: `USER.md:12`, `history:42`, `claude-code:6f1e#118`."""
    return _CITED.fullmatch(text.strip()) is not None


def cited(workspace: Workspace, citation: str) -> list[FoundStatement]:
    """Return the statements at a citation; raises UsageError where nothing stands there."""
    (found,) = get(workspace, citation)
    lines = [found.text] if found.kind == "memory" else found.text.split("\n")
    parts = [one.text for one in sentences(found.text)] if found.kind == "message" else lines
    return [FoundStatement(found.cite, without_bullet(one).strip(), found.text) for one in parts if one.strip()]


def statements(workspace: Workspace, *, whole: bool = False) -> Iterator[FoundStatement]:
    """Yield every statement of the three files, their archive, history and the messages; with `whole`, whole lines."""
    for place, line in memory_lines(workspace):
        yield from _of_line(place, line, whole=whole)
    for entry in workspace.history.after(0):
        for line in filter(str.strip, entry.content.split("\n")):
            yield from _of_line(f"history:{entry.cursor}", line, whole=whole)
    messages = workspace.history.messages
    for said in (decode(line) for path in messages.paths() for _, line in messages.raw(path)):
        if said is not None:
            yield from (FoundStatement(cite(said), one.text, said.text) for one in sentences(said.text))


def _of_line(citation: str, line: str, *, whole: bool) -> Iterator[FoundStatement]:
    """Yield the statements of a line: its sentences without quotation marks and date, or the line where it is one."""
    text = without_bullet(line).strip()
    parts = [] if whole or WISH in line else [one.text for one in sentences(stated(text))]
    for part in parts if len(parts) > 1 else [text]:
        yield FoundStatement(citation, part, line)


def earlier(workspace: Workspace, *, whole: bool = False) -> Iterator[FoundStatement]:
    """Yield the statements that earlier versions of the files had."""
    head = workspace.git.head()
    if head is None:
        return
    told = ("log", "--format=", "--patch", *PLAIN, "--end-of-options", head, "--")
    with workspace.git.git.conversation(*told) as (_, answers):
        for row in answers:
            line = row.decode("utf-8", "surrogateescape")
            if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:2] not in ("{", "#", "\n"):
                yield from _of_line(EARLIER, line[1:], whole=whole)


def wished(
    workspace: Workspace, what: str, cursors: Iterable[int], found: Iterable[FoundStatement]
) -> list[FoundStatement]:
    """Return the statements of the entries `cursors`, and of their messages, in which the user asks for it."""
    needle, quotes, cites = Needle([what]), list[str](), set[str]()
    for cursor in cursors:
        for entry in islice(workspace.history.after(cursor - 1), 1):
            asking = [(text, line) for text, line in entry.rows() if WISH in text or _holds(needle, text)]
            cites |= {f"history:{cursor}"} | {f"{entry.session}#{place}" for _, line in asking for place in line.cites}
            quotes += [line.quote for _, line in asking if line.quote]
    return [
        one
        for one in found
        if one.cite in cites
        and (WISH in one.text or _holds(needle, one.text) or any(points_at(one.text, quote) for quote in quotes))
    ]


def _holds(needle: Needle, text: str) -> bool:
    return bool(needle.count(text.encode("utf-8", "surrogatepass")))


def meant(what: str, found: Iterable[FoundStatement], *, told: bool = False) -> tuple[list[FoundStatement], bool]:
    """Return those of the statements that a person means by `what`, surest first, and whether that is only a guess.

    What was `told` in a talk names it rather than quotes it: those that hold its words are meant beside the exact ones.
    A guess is a statement that lacks some of the words; none is meant where none holds half of them.
    """
    every = list(found)
    needle, wanted, letters = Needle([what]), _plain(what), spelled(what)
    exact = [one for one in every if _holds(needle, one.text) or letters.search(one.text)]
    if exact and not told:
        return exact, False
    if worded := [one for one in every if wanted and wanted <= _plain(one.text)] or exact:
        return worded, False
    shares = [(coverage(what, one.text), one) for one in every]
    best = max((share for share, _ in shares), default=0.0)
    guessed = [one for share, one in shares if share == best >= _HALF]
    return guessed, bool(guessed)


def near(what: str, taken: Iterable[FoundStatement], found: Iterable[FoundStatement]) -> list[FoundStatement]:
    """Return what looks like what was meant and stays: it shares half of the words, or one of a few words is in it.

    Each is named once, by the first place where it is found: a line of memory before the message that it quotes.
    """
    texts = {_said(one) for one in taken}
    few = _plain(what) if len(what.split()) <= _FEW else ()  # by a word of a whole sentence anything is near
    holding = re.compile("|".join(map(re.escape, few)) or r"(?!)")
    others = {_said(one): one for one in reversed(list(found)) if _said(one) not in texts}
    alike = [
        one
        for one in reversed(others.values())
        if holding.search(one.text.casefold()) or coverage(what, one.text) >= _HALF
    ]
    return alike[:_MOST_NEAR]


def spelled(what: str) -> re.Pattern[str]:
    """Return what finds the letters and digits of `what` as words of their own, whatever signs are between them."""
    letters = [re.escape(letter) for letter in re.findall(r"[^\W_]", what)] if is_long_enough(what) else []
    joined = r"[\W_]*".join(letters) or r"(?!)"
    return re.compile(rf"(?<![^\W_]){joined}(?![^\W_])", re.IGNORECASE)


def stated(text: str) -> str:
    """Return what a line states, without the marks before it, its quotation marks and its date."""
    return bare(_MARKS.sub("", without_bullet(text)))


def _said(one: FoundStatement) -> str:
    return stated(one.text).rstrip(".。").casefold()


def _plain(text: str) -> frozenset[str]:
    """Return the words of `text` that carry what it says, as they are written but for capitals."""
    carried = content_words(text)
    return frozenset(
        word
        for word in re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", text.casefold()))
        if content_words(word) and content_words(word) <= carried and len(word) > 1
    )
