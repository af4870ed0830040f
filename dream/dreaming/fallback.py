"""Apply findings without a model: for one that cannot call tools, and for what a model left undone."""

from __future__ import annotations

import re

from dream.dreaming.draft import Edit, EditError, lines
from dream.dreaming.editing import Editing
from dream.language.similar import coverage, nearest, states
from dream.language.words import standing, without_said_on
from dream.models import Finding, MemoryFile

REMOVE_AT = 0.6  # share of a removal's content words that a line must hold to be the one meant
REPLACE_AT = 0.3  # share of the old line's content words that a new fact must hold to take its place
_LIKING = re.compile(r"\b(?:prefers?|likes?|favou?rite)\b|喜欢|偏好", re.I)
_FIXED = re.compile(r"\b(?:fixed|solved|solution|workaround)\b|解决|修复", re.I)
_DECIDED = re.compile(r"\b(?:decided|decision|chose|agreed)\b|决定", re.I)
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\d月\d")


def settle(editing: Editing) -> None:
    """Settle every finding that is still open: replacements first, then removals, then additions."""
    open_numbers = editing.unsettled()
    for number in open_numbers:
        if editing.findings[number - 1].remove:
            _remove(editing, number, [other for other in open_numbers if not editing.findings[other - 1].remove])
    for number in editing.unsettled():
        _add(editing, number)


def _remove(editing: Editing, number: int, additions: list[int]) -> None:
    finding = editing.findings[number - 1]
    score, line = nearest(finding.text, lines(editing.draft.texts[finding.file]))
    if line is None or score < REMOVE_AT:
        editing.decide(number, "present", "no such line stands in the file")
        return
    successor = _successor(editing, finding, line, additions)
    if successor is not None:
        fact = _bullet(editing.findings[successor - 1].text, like=line)
        if _attempt(editing, Edit(finding.file, line, fact, (number, successor)), number):
            return
    _attempt(editing, Edit(finding.file, line, "", (number,)), number)


def _successor(editing: Editing, removal: Finding, line: str, additions: list[int]) -> int | None:
    """Find the added fact that takes the removed line's place: same file, same entries, most of its words."""
    best, chosen = REPLACE_AT, None
    unsettled = set(editing.unsettled())
    for number in additions:
        fact = editing.findings[number - 1]
        if number not in unsettled or fact.file != removal.file:
            continue
        if set(fact.entries) & set(removal.entries) and (score := coverage(line, fact.text)) >= best:
            best, chosen = score, number
    return chosen


def _add(editing: Editing, number: int) -> None:
    finding = editing.findings[number - 1]
    here = lines(editing.draft.texts[finding.file])
    if finding.remove:
        return
    for line in here:
        if states(line, finding.text):
            editing.decide(number, "present", f"stands as {line.strip()[:120]!r}")
            return
    fact = _bullet(finding.text)
    score, line_near = nearest(finding.text, [line for line in here if line.lstrip().startswith("- ")])
    if line_near is not None and score >= REPLACE_AT and here.count(line_near) == 1:
        beside = Edit(finding.file, line_near, f"{line_near}\n{fact}", (number,))
        if _attempt(editing, beside, number):
            return
    title = standing(here, _section(finding.file, finding.text))
    if title is not None and here.count(title) == 1:
        below = Edit(finding.file, title, f"{title}\n{fact}", (number,))
        if _attempt(editing, below, number):
            return
    _attempt(editing, Edit(finding.file, "", fact, (number,)), number)


def _section(file: MemoryFile, text: str) -> str:
    """Return the section that a fact without a near line belongs in, told by plain words."""
    if file == "SOUL.md":
        return "Rules"
    if file == "USER.md":
        return "Preferences" if _LIKING.search(text) else "Person"
    kinds = ((_FIXED, "Solutions"), (_DECIDED, "Decisions"), (_DATED, "Events"))
    fact = without_said_on(text)
    return next((title for pattern, title in kinds if pattern.search(fact)), "Facts")


def _attempt(editing: Editing, edit: Edit, number: int) -> bool:
    try:
        editing.edit(edit)
    except EditError as error:
        editing.decide(number, "refused", str(error))
        return False
    return True


def _bullet(text: str, like: str = "- ") -> str:
    """Write a fact as a list line, indented as the line whose place it takes."""
    indent = like[: len(like) - len(like.lstrip())]
    return f"{indent}- {text.lstrip('-* ').strip()}"
