"""Apply findings without a model: those that need no judgement, and what a model cannot do or left undone."""

from __future__ import annotations

import re
from contextlib import suppress

from dream.dreaming.draft import Edit, EditError, lines, plain_ends
from dream.dreaming.editing import Editing
from dream.language.likeness import near_fact, nearest, states
from dream.language.text import quoted
from dream.language.words import coverage, standing, without_bullet, without_said_on
from dream.models import Finding, MemoryFile
from dream.settings import Settings
from dream.workspace.workspace import TEMPLATES

REMOVE_AT = 0.6  # share of a removal's content words that a line must hold to be the one meant
REPLACE_AT = 0.3  # share of the old line's content words that a new fact must hold to take its place
ALIKE, BACK = 0.6, 0.34  # of a fact's words in one line and of that line's in it: it may be what the fact corrects
SAME = 0.9  # of a fact's words in one line, however long: it may say the same
COPIED = 12  # characters of a removal that a line begins with, or of a line that is a part of it
LONGEST_TITLE = 40  # characters of a new heading
_BRACKETS = re.compile(r"[.。]?\s*[(（][^()（）]*[)）][.。]?|[.。]")
_LIKING = re.compile(r"\b(?:prefers?|likes?|favou?rite)\b|喜欢|偏好", re.I)
_FIXED = re.compile(r"\b(?:fixed|solved|solution|workaround)\b|解决|修复", re.I)
_DECIDED = re.compile(r"\b(?:decided|decision|chose|agreed)\b|决定", re.I)
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\d月\d")


def settle_plain(editing: Editing, settings: Settings) -> None:
    """Settle what needs no judgement; all else stays open, for the edit agent.

    Plain are a line of a file copied behind REMOVE, beside the fact that takes its place or with none that might, and
    a fact under a heading that phase 1 names, which is like no line there and doesn't fill its file.
    """
    open_numbers = editing.unsettled()
    additions = [number for number in open_numbers if not editing.findings[number - 1].remove]
    corrected: set[int] = set()  # facts that a removal belongs to
    for number in open_numbers:
        if editing.findings[number - 1].remove:
            _remove_plainly(editing, number, additions, corrected)
    still_open = set(editing.unsettled()) - corrected
    for number in additions:
        if number in still_open and not _is_full(editing, number, settings):
            _add_plainly(editing, number)


def _remove_plainly(editing: Editing, number: int, additions: list[int], corrected: set[int]) -> None:
    removal = editing.findings[number - 1]
    rows = editing.draft.texts[removal.file].splitlines()
    line = _copied(removal.text, rows)
    above = rows[: rows.index(line)] if line is not None else []
    section = next((row for row in reversed(above) if row.startswith("#")), "").lstrip("# ")
    beside = number - 1 if number - 1 in additions and _replaces(editing, number - 1, removal, section) else None
    other = beside or _successor(editing, removal, removal.text, additions)
    if other is not None:
        corrected.add(other)
    if line is None or beside != other:
        return
    if beside is None:
        _try(editing, Edit(removal.file, line, "", (number,)))
    elif editing.findings[beside - 1].heading not in ("", section):  # it goes, and the new one where it belongs
        corrected.discard(beside)
        _try(editing, Edit(removal.file, line, "", (number,)))
    else:
        fact = _bullet(editing.findings[beside - 1].text, like=line)
        _try(editing, Edit(removal.file, line, fact, (beside, number)))


def _copied(text: str, rows: list[str]) -> str | None:
    """Return the one line that a removal copies: whole, with more round it, or without the brackets at the line's end.

    A line that says more besides is not plainly the one meant: what else it says would go with it.
    """
    wanted = without_bullet(text).strip()
    bare = {row: without_bullet(row).strip() for row in rows if not row.startswith("#")}
    same = [row for row in rows if bare.get(row) == wanted]
    long = [(row, one) for row, one in bare.items() if min(len(one), len(wanted)) >= COPIED]
    partly = [
        row
        for row, one in long
        if one in wanted or (one.startswith(wanted) and _BRACKETS.fullmatch(one, len(wanted)) is not None)
    ]
    found = same or partly
    return found[0] if len(found) == 1 else None


def remove_plainly(editing: Editing, number: int) -> None:
    """Take out the line that a removal copies, where no fact might take its place."""
    _remove_plainly(editing, number, [], set())


def _replaces(editing: Editing, number: int, removal: Finding, section: str) -> bool:
    """Return whether the fact just above a removal takes its place: much like it, or of the same section."""
    fact = editing.findings[number - 1]
    if (fact.file, fact.entries) != (removal.file, removal.entries):
        return False
    return coverage(removal.text, fact.text) >= REPLACE_AT or section == fact.heading != ""


def _add_plainly(editing: Editing, number: int) -> None:
    finding = editing.findings[number - 1]
    near, line = nearest(finding.text, lines(editing.draft.texts[finding.file]))
    if line is not None and states(line, finding.text):
        _decide_present(editing, number, line)
    elif line is None or not (_may_be(near, line, finding.text) or near_fact(line, finding.text)):
        edit = _below(editing, number, finding.heading)
        if edit is not None:
            _try(editing, edit)


def _may_be(near: float, line: str, fact: str) -> bool:
    """Return whether a line that holds the share `near` of a fact's words may say the same, or what it corrects.

    A long line holds the few words of a short fact by chance.
    """
    return near >= SAME or (near >= ALIKE and coverage(line, fact) >= BACK)


def _is_full(editing: Editing, number: int, settings: Settings) -> bool:
    """Return whether a fact would take its file over its budget: what to merge then is a question of judgement."""
    finding = editing.findings[number - 1]
    text = editing.draft.texts[finding.file]
    max_lines, max_bytes = settings.limits(finding.file)
    return len(text.splitlines()) >= max_lines or len(text.encode()) + len(finding.text.encode()) > max_bytes


def _try(editing: Editing, edit: Edit) -> None:
    """Make an edit that needs no judgement; where it turns out to need some, its findings stay open."""
    with suppress(EditError):
        editing.edit(edit)


def settle(editing: Editing) -> None:
    """Settle every finding that is still open: replacements first, then removals, then additions."""
    open_numbers = editing.unsettled()
    for number in open_numbers:
        if editing.findings[number - 1].remove:
            _remove(editing, number, [other for other in open_numbers if not editing.findings[other - 1].remove])
    for number in editing.unsettled():
        if not editing.findings[number - 1].remove:
            _add(editing, number)


def _remove(editing: Editing, number: int, additions: list[int]) -> None:
    finding = editing.findings[number - 1]
    score, line = nearest(finding.text, lines(editing.draft.texts[finding.file]))
    if line is None or score < REMOVE_AT:
        editing.decide(number, "present", "no such line is in the file")
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
    """Add a fact under its heading, else beside the line most like it, else in the section of its kind, else last."""
    finding = editing.findings[number - 1]
    here = lines(editing.draft.texts[finding.file])
    stated = next((line for line in here if states(line, finding.text)), None)
    if stated is not None:
        _decide_present(editing, number, stated)
        return
    fact = _bullet(finding.text)
    score, near = nearest(finding.text, [line for line in here if line.lstrip().startswith("- ")])
    beside = None
    if near is not None and score >= REPLACE_AT and here.count(near) == 1:
        beside = Edit(finding.file, near, f"{near}\n{fact}", (number,))
    named = _below(editing, number, finding.heading)
    section = _below(editing, number, _section(finding.file, finding.text), begin=False)
    for edit in (named, beside, section, Edit(finding.file, "", fact, (number,))):
        if edit is not None and _attempt(editing, edit, number):
            return


def _below(editing: Editing, number: int, heading: str, *, begin: bool = True) -> Edit | None:
    """Return the edit that adds a fact at the end of a section, or with `begin` as the first of a new one, or None.

    No new section stands among the rules but that of the rules.
    """
    finding = editing.findings[number - 1]
    text = plain_ends(editing.draft.texts[finding.file])
    rows = text.split("\n")
    title = standing(rows, heading) if heading else None
    if title is not None and rows.count(title) == 1:
        first = rows.index(title)
        last = next((n for n in range(first + 1, len(rows)) if rows[n].startswith("#")), len(rows)) - 1
        while not rows[last].strip():
            last -= 1
        anchor = rows[last] if rows.count(rows[last]) == 1 else "\n".join(rows[first : last + 1])
        return Edit(finding.file, anchor, f"{anchor}\n{_bullet(finding.text)}", (number,))
    new = f"## {heading}"
    allowed = finding.file != "SOUL.md" or standing([new], "Rules") is not None
    if title is not None or not (begin and heading and allowed and len(heading) <= LONGEST_TITLE):
        return None
    above = "" if text.strip() else TEMPLATES[finding.file].decode().partition("\n")[0] + "\n"
    return Edit(finding.file, "", f"{above}\n{new}\n{_bullet(finding.text)}", (number,))


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


def _decide_present(editing: Editing, number: int, line: str) -> None:
    editing.decide(number, "present", f"already there as {quoted(line)}")


def _bullet(text: str, like: str = "- ") -> str:
    """Write a fact as a list line, indented as the line whose place it takes."""
    indent = like[: len(like) - len(like.lstrip())]
    fact = text if text[:1].isdigit() else without_bullet(text)  # "1. FC Köln" begins with no list's number
    return f"{indent}- {fact.strip()}"
