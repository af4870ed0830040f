"""Phase 1's answer as a contract: `[FILE/Heading] fact {cursors}` lines or `[SKIP]`, and nothing else counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from dream.dreaming.draft import Edit, lines
from dream.errors import AnswerCut, AnswerUnusable
from dream.language.text import clean, quoted
from dream.language.words import content_words, coverage, marks
from dream.models import TAGS, Entry, Finding, MemoryFile
from dream.provenance.user import names_source
from dream.provenance.vouching import Foreign, marked

MAX_FINDINGS = 1_000  # read of one answer: more than twice what the three files may hold in all
MAX_UNREADABLE = 100  # lines that are told of, of those that are no finding
MAX_CITED = 200  # cursors and ranges that one finding may name

_LIST_MARK = r"\s*(?:[-*•]\s+|\d+[.)]\s+)?"
_HEADING = r"(?:\s*/\s*([^\]\n]{0,80}))?"
_FINDING = re.compile(
    _LIST_MARK + rf"\*{{0,2}}\[(SOUL|USER|MEMORY)(?:\.md)?(-REMOVE)?{_HEADING}\]\*{{0,2}}[:\s]*(.*)", re.IGNORECASE
)
_SKIP = re.compile(_LIST_MARK + r"\*{0,2}\[SKIP\]", re.IGNORECASE)
_CURSORS = re.compile(r"[\d\s,;–-]+")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")


@dataclass(frozen=True, slots=True)
class Analysis:
    """What phase 1 answered: the findings, and the lines that were not one (prose, unknown files)."""

    findings: tuple[Finding, ...]
    unreadable: tuple[str, ...] = ()


def parse(answer: str, cursors: Sequence[int]) -> Analysis:
    """Read the findings of `answer`, which was given the entries `cursors`.

    A finding that names none of those entries rests on all of them.
    Raises AnswerUnusable when there is neither a finding nor `[SKIP]`, and AnswerCut for more than MAX_FINDINGS.
    """
    findings: dict[tuple[MemoryFile, bool, str], Finding] = {}
    unreadable: list[str] = []
    skipped = False
    for line in answer.splitlines():
        if not line.strip() or line.strip().startswith("```"):
            continue
        if _SKIP.match(line):
            skipped = True
        elif (found := _finding(line, cursors)) is not None:
            findings.setdefault((found.file, found.remove, found.text.casefold()), found)
            if len(findings) > MAX_FINDINGS:
                raise AnswerCut(f"the answer holds more than {MAX_FINDINGS:,} findings")
        elif len(unreadable) < MAX_UNREADABLE:
            unreadable.append(line.strip()[:200])
    if not findings and not skipped:
        shown = f"; it begins {quoted(unreadable[0])}" if unreadable else ""
        raise AnswerUnusable(f"the answer holds neither a [FILE] line nor [SKIP]{shown}")
    return Analysis(tuple(findings.values()), tuple(unreadable))


def _finding(line: str, cursors: Sequence[int]) -> Finding | None:
    match = _FINDING.fullmatch(line.rstrip())
    if match is None:
        return None
    file, remove, text = TAGS[match[1].upper()], match[2] is not None, match[4]
    heading = "" if remove else " ".join(clean(match[3] or "").split()).strip("#* ")
    text, named = _cited(text)
    text = " ".join(clean(text).split()).strip()
    if not text:
        return None
    resting = tuple(sorted({cursor for cursor in cursors if any(low <= cursor <= high for low, high in named)}))
    resting = resting or tuple(sorted(set(cursors)))
    return Finding(file=file, text=text, entries=resting, remove=remove, heading=heading)


def _cited(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Part a fact from the cursors in braces at its end."""
    fact, brace, inside = text.rstrip().rstrip(".*").rstrip().rpartition("{")
    if not brace or not inside.endswith("}") or not _CURSORS.fullmatch(inside, endpos=len(inside) - 1):
        return text, []
    return fact, _ranges(inside)


def _ranges(text: str) -> list[tuple[int, int]]:
    """Read cursors and ranges of them, each as its first and last."""
    found = []
    for low, high, single in islice(_RANGE.findall(text), MAX_CITED):
        first, last = (single, single) if single else (low, high)
        found.append((int(first[:18]), int(last[:18])))
    return found


# A line that rests on a tool's output or pasted text only, names that as its source in memory. Pure.


_SOURCES: Mapping[str, Foreign] = {"p": "paste", "t": "tool", "a": "agent"}  # by the letters of VOICES
RESTS_ON = 0.5  # of a line's words that a line of history must hold for it to rest on that


@dataclass(frozen=True, slots=True)
class Told:
    """The lines of one entry: whose source nobody in the conversation vouches for, and all others."""

    secondhand: tuple[tuple[str, Foreign], ...] = ()
    firsthand: tuple[str, ...] = ()


def by_source(entries: Iterable[Entry]) -> dict[int, Told]:
    """Return, by cursor, the lines of entries by who said them first; what nobody looked into counts as first-hand."""
    found: dict[int, Told] = {}
    for entry in entries:
        told = [(line, _first_said_by(voices)) for line, voices in entry.lines() if line.strip()]
        found[entry.cursor] = Told(
            tuple((line, source) for line, source in told if source), tuple(line for line, source in told if not source)
        )
    return found


def _first_said_by(voices: str) -> Foreign | None:
    return next((source for voice, source in _SOURCES.items() if voice in voices), None)


def with_sources(edit: Edit, here: Sequence[str], cursors: Iterable[int], known: Mapping[int, Told]) -> str:
    """Return the new text of an edit of MEMORY.md with the source named in each new line that has to name one.

    `here` are the lines that stand in the file already; a line that replaces one with a source keeps it.
    """
    cited = [known[cursor] for cursor in cursors if cursor in known]
    replaced = [(line, source) for line in lines(edit.old_text) if (source := _mark(line))]
    secondhand = [*(pair for one in cited for pair in one.secondhand), *replaced]
    if not secondhand:
        return edit.new_text
    firsthand = [line for one in cited for line in one.firsthand]
    fenced = False
    shown = []
    for line in edit.new_text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        plain = fenced or line.lstrip().startswith(("#", "```", "~~~")) or line.rstrip() in here
        source = None if plain else _source(line, secondhand, firsthand)
        shown.append(marked(line, source) if source else line)
    return "\n".join(shown)


def _source(line: str, secondhand: Sequence[tuple[str, Foreign]], firsthand: Sequence[str]) -> Foreign | None:
    """Name the source of `line`, or None where it names one, or what it says was said first-hand as well."""
    if not content_words(line) or names_source(line):
        return None
    best, other, source = max(
        ((coverage(line, other), other, kind) for other, kind in secondhand), key=lambda one: one[0]
    )
    rests = best >= RESTS_ON or not firsthand
    new = {word for word in content_words(line) - content_words(other) if word.isdecimal()}
    if any(new & content_words(one) for one in firsthand):
        return None  # what it says of a number somebody in the conversation said
    return source if rests and best > max((coverage(line, other) for other in firsthand), default=-1.0) else None


def _mark(line: str) -> Foreign | None:
    return next(
        (source for source in _SOURCES.values() if any(mark.strip() in line for mark in marks()[source].values())), None
    )
