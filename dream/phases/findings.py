"""Phase 1's answer as a contract: `[FILE] fact {cursors}` lines or `[SKIP]`, and nothing else counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dream.errors import AnswerUnusable
from dream.models import Finding, MemoryFile
from dream.text import clean

FILES: dict[str, MemoryFile] = {"SOUL": "SOUL.md", "USER": "USER.md", "MEMORY": "memory/MEMORY.md"}

_LIST_MARK = r"\s*(?:[-*•]\s+|\d+[.)]\s+)?"
_FINDING = re.compile(_LIST_MARK + r"\*{0,2}\[(SOUL|USER|MEMORY)(?:\.md)?(-REMOVE)?\]\*{0,2}[:\s]*(.*)", re.IGNORECASE)
_SKIP = re.compile(_LIST_MARK + r"\*{0,2}\[SKIP\]", re.IGNORECASE)
_CURSORS = re.compile(r"\s*\{\s*([\d\s,;–-]+)\}\s*[.*]*\s*$")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")


@dataclass(frozen=True, slots=True)
class Analysis:
    """What phase 1 answered: the findings, and the lines that were not one (prose, unknown files)."""

    findings: tuple[Finding, ...]
    unreadable: tuple[str, ...] = ()


def parse(answer: str, cursors: Sequence[int]) -> Analysis:
    """Read the findings of `answer`, which was given the entries `cursors`.

    A finding that names none of those entries rests on all of them.
    Raises AnswerUnusable when there is neither a finding nor `[SKIP]`.
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
        else:
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
    named: list[int] = []
    if cited := _CURSORS.search(text):
        text = text[: cited.start()]
        named = _numbers(cited[1])
    text = " ".join(clean(text).split()).strip()
    if not text:
        return None
    known = set(cursors)
    resting = tuple(sorted({cursor for cursor in named if cursor in known})) or tuple(sorted(known))
    return Finding(file=file, text=text, entries=resting, remove=remove)


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for low, high, single in _RANGE.findall(text):
        if single:
            numbers.append(int(single[:18]))
        elif int(low[:18]) <= int(high[:18]) <= int(low[:18]) + 10_000:
            numbers.extend(range(int(low), int(high) + 1))
    return numbers
