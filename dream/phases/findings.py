"""Phase 1's answer as a contract: `[FILE] fact {cursors}` lines or `[SKIP]`, and nothing else counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from dream.errors import AnswerCut, AnswerUnusable
from dream.models import Finding, MemoryFile
from dream.text import clean

MAX_FINDINGS = 1_000  # read of one answer: more than twice what the three files may hold in all
MAX_UNREADABLE = 100  # lines that are told of, of those that are no finding
MAX_CITED = 200  # cursors and ranges that one finding may name
FILES: dict[str, MemoryFile] = {"SOUL": "SOUL.md", "USER": "USER.md", "MEMORY": "memory/MEMORY.md"}

_LIST_MARK = r"\s*(?:[-*•]\s+|\d+[.)]\s+)?"
_FINDING = re.compile(_LIST_MARK + r"\*{0,2}\[(SOUL|USER|MEMORY)(?:\.md)?(-REMOVE)?\]\*{0,2}[:\s]*(.*)", re.IGNORECASE)
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
        shown = f"; it begins {unreadable[0][:80]!r}" if unreadable else ""
        raise AnswerUnusable(f"the answer holds neither a [FILE] line nor [SKIP]{shown}")
    return Analysis(tuple(findings.values()), tuple(unreadable))


def _finding(line: str, cursors: Sequence[int]) -> Finding | None:
    match = _FINDING.fullmatch(line.rstrip())
    if match is None:
        return None
    file, remove, text = FILES[match[1].upper()], match[2] is not None, match[3]
    text, named = _cited(text)
    text = " ".join(clean(text).split()).strip()
    if not text:
        return None
    resting = tuple(sorted({cursor for cursor in cursors if any(low <= cursor <= high for low, high in named)}))
    resting = resting or tuple(sorted(set(cursors)))
    return Finding(file=file, text=text, entries=resting, remove=remove)


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
