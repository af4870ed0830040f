"""Phase 1's answer as a contract: `[FILE/Heading] fact {1}`, REMOVE, REPLACE, `[FORGET] what {1}` or `[SKIP]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath

from dream.errors import AnswerCut, AnswerUnusable
from dream.memory import FORGET, PLACE_NAME, PRIVATE, like, memory_file, place_of
from dream.models import FileLine, Finding, MemoryFile
from dream.text.safe import clean, quoted
from dream.text.words import without_bullet

MAX_FINDINGS = 1_000  # read from one answer: more than twice what the three files can hold
MAX_UNREADABLE = 100  # unreadable lines that are reported
MAX_CITED = 200  # cursors and ranges that one finding may name

_LIST_MARK = r"\s*(?:[-*•]\s+|\d+[.)]\s+)?"
_HEADING = r"(?:\s*/\s*([^\]\n]{0,80}))?"
_FINDING = re.compile(
    rf"{_LIST_MARK}\*{{0,2}}\[((?:places/{PLACE_NAME}/)?)(SOUL|USER|MEMORY|FORGET)(?:\.md)?(-REMOVE|-REPLACE)?"
    rf"((?:\s+(?:everywhere|private|review|P?[SUMW]\d{{1,6}}))*){_HEADING}\]"
    r"\*{0,2}[:\s]*(.*)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(P?[SUMW]\d{1,6})\b[\s:.,–—-]*", re.IGNORECASE)
_DOUBLES = re.compile(r"\W*=\s*(P?[SUMW]\d{1,6})\W*", re.IGNORECASE)  # after a number: another line that says the same
_SKIP = re.compile(_LIST_MARK + r"\*{0,2}\[SKIP\]", re.IGNORECASE)
_CURSORS = re.compile(r"[\d\s,;–-]+")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")


@dataclass(frozen=True, slots=True)
class References:
    """What the numbers in a prompt refer to: `U7` to a file and its line, `W2` to an edit that is pending review."""

    lines: Mapping[str, FileLine] = field(default_factory=dict)
    waiting: Mapping[str, Finding] = field(default_factory=dict)

    def text(self, number: str) -> str:
        """Return what a number says, "" if there is no such number."""
        if number in self.waiting:
            return self.waiting[number].text
        return _fact(self.lines[number][1]) if number in self.lines else ""

    def number(self, finding: Finding) -> str:
        """Return the number of what a finding replaces or removes, "" if it has none."""
        waiting = (number for number, one in self.waiting.items() if finding.waits and one.waits == finding.waits)
        lines = (number for number, line in self.lines.items() if line == (finding.file, finding.line))
        return next(waiting, None) or next(lines, "")


NOTHING_KNOWN = References()


@dataclass(frozen=True, slots=True)
class Analysis:
    """Phase 1's answer: the findings, and the lines that are no findings (prose, unknown files)."""

    findings: tuple[Finding, ...]
    unreadable: tuple[str, ...] = ()


def letters(files: Iterable[MemoryFile]) -> dict[str, MemoryFile]:
    """Return the file for each prefix of line numbers in a prompt: S, U, M, and PS, PM for the files of a place."""
    return {f"{'P' if place_of(file) else ''}{PurePosixPath(file).name[0]}": file for file in files}


def references(texts: Mapping[MemoryFile, str], waiting: Sequence[Finding] = ()) -> References:
    """Return what each number in the phase 1 prompt refers to: lines of the files, and edits pending review."""
    found = {
        f"{letter}{number}": (path, line.rstrip())
        for letter, path in letters(texts).items()
        for number, line in enumerate(texts[path].splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    }
    return References(found, {f"W{number}": one for number, one in enumerate(waiting, start=1)})


def parse(answer: str, cursors: Sequence[int], known: References = NOTHING_KNOWN, place: str | None = None) -> Analysis:
    """Read the findings of `answer`, which was given the entries `cursors` and the numbers `known`.

    A finding that names none of those entries rests on all of them. `[FILE-REPLACE M7] fact` becomes the fact and the
    removal of that line, which follows it; `[FILE-REPLACE W2] fact` takes the place of a pending edit. In an answer on
    a place, by its name, `[SOUL]` and `[MEMORY]` are its own files, and `[SOUL everywhere]` is the top one; None reads
    findings as `prompts.finding` writes them.
    Raises AnswerUnusable when there is neither a finding nor `[SKIP]`, and AnswerCut for more than MAX_FINDINGS.
    """
    findings: dict[tuple[object, ...], Finding] = {}
    unreadable: list[str] = []
    skipped = False
    for line in answer.splitlines():
        if not line.strip() or line.strip().startswith("```"):
            continue
        found = _findings(line, cursors, known, place)
        if _SKIP.match(line):
            skipped = True
        elif found:
            for one in found:
                findings.setdefault(key(one), one)
            if len(findings) > MAX_FINDINGS:
                raise AnswerCut(f"the answer holds more than {MAX_FINDINGS:,} findings")
        elif len(unreadable) < MAX_UNREADABLE:
            unreadable.append(line.strip()[:200])
    if not findings and not skipped:
        shown = f"; it begins {quoted(unreadable[0])}" if unreadable else ""
        raise AnswerUnusable(f"the answer holds neither a [FILE] line nor [SKIP]{shown}")
    return Analysis(tuple(_paired(list(findings.values()), known)), tuple(unreadable))


def key(finding: Finding) -> tuple[object, ...]:
    """Return what two findings have in common that are one."""
    return finding.file, finding.remove, finding.waits if finding.remove else 0, finding.text.casefold()


def _paired(findings: list[Finding], known: References) -> Iterator[Finding]:
    """Yield findings; a fact gets the line that it replaces if the REMOVE just below it copies that line.

    A REMOVE that names its line by a number says of no fact that it replaces it: `[FILE-REPLACE M7]` would.
    """
    lines = {(file, _fact(line)): line for file, line in known.lines.values()}
    waiting = {(one.file, one.text): one.waits for one in known.waiting.values()}
    for one, after in zip(findings, [*findings[1:], None], strict=False):
        copied = "" if one.line or one.waits or not one.remove else lines.get((one.file, _fact(one.text)), "")
        goes = after is not None and after.remove and (after.file, after.entries) == (one.file, one.entries)
        beside = goes and after is not None and not after.line and not one.remove
        old = lines.get((one.file, _fact(after.text)), "") if beside and after is not None else ""
        waits = one.waits or (waiting.get((one.file, _fact(one.text)), 0) if one.remove and not copied else 0)
        yield replace(one, line=one.line or copied or old, waits=waits)


def _findings(line: str, cursors: Sequence[int], known: References, place: str | None) -> list[Finding]:
    match = _FINDING.fullmatch(line.rstrip())
    words = match[4].upper().split() if match else []
    file = _file(match, place, everywhere="EVERYWHERE" in words) if match else None
    if match is None or file is None:
        return []
    act, number = (match[3] or "").upper(), next((word for word in words if word[-1].isdigit()), "")
    text, named = _cited(match[6])
    if act and not number and (found := _NUMBER.match(text)):
        number, text = found[1], text[found.end() :]
    text = " ".join(clean(text).split()).strip()
    resting = tuple(sorted({cursor for cursor in cursors if any(low <= cursor <= high for low, high in named)}))
    resting = resting or tuple(sorted(set(cursors)))
    if other := _DOUBLES.fullmatch(text):
        text = known.text(other[1].upper()) or text
    heading = " ".join(clean(match[5] or "").split()).strip("#* ")
    if "PRIVATE" in words and like(file) == "SOUL.md":
        heading = PRIVATE
    if act and (waiting := known.waiting.get(number.upper())):
        fact = Finding(file, text, resting, heading=heading, review="REVIEW" in words)
        return _of_waiting(waiting, fact, remove=act == "-REMOVE", everywhere="EVERYWHERE" in words)
    where, old = known.lines.get(number.upper(), (file, ""))
    if file == FORGET:
        return [Finding(FORGET, _fact(old) or text, resting)] if old or text else []
    removal = Finding(where, _fact(old) or text, resting, remove=True, line=old, because=text if old else "")
    if act == "-REMOVE" and place_of(where) == place_of(file):
        return [removal] if removal.text else []
    if not text:
        return []
    fact = Finding(file, text, resting, heading=heading, line=old if where == file else "", review="REVIEW" in words)
    if place_of(where) != place_of(file):  # a line changes within its scope; what is said of it in a place is beside it
        return [] if act == "-REMOVE" else [replace(fact, line="")]
    return [fact, replace(removal, because="")] if act and old else [fact]


def _of_waiting(waiting: Finding, fact: Finding, *, remove: bool, everywhere: bool) -> list[Finding]:
    """Return what withdraws a pending edit, or takes its place and that of the line which it would replace.

    The new fact belongs where the old one waited, unless the reader names another kind of file, or everywhere.
    """
    if remove:
        return [replace(waiting, entries=fact.entries, remove=True, line="", heading="", because=fact.text)]
    if not fact.text:
        return []
    same = like(fact.file) == like(waiting.file) and not everywhere
    file = waiting.file if same else fact.file
    line = waiting.line if file == waiting.file else ""
    heading = fact.heading or (waiting.heading if same else "")
    new = replace(fact, file=file, heading=heading, line=line, waits=waiting.waits)
    return [new, Finding(file, _fact(line), fact.entries, remove=True, line=line)] if line else [new]


def _file(match: re.Match[str], place: str | None, *, everywhere: bool) -> MemoryFile | None:
    """Return the file that a finding names; None if it belongs to another place than the batch."""
    prefix, kind = match[1], match[2].upper()
    own = f"places/{place}/" if place else ""
    if place is not None and prefix not in ("", own):
        return None
    if kind == FORGET:
        return FORGET
    return memory_file((prefix or ("" if everywhere or kind == "USER" else own)) + kind)


def _fact(line: str) -> str:
    return " ".join(without_bullet(line).split())


def _cited(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Separate a fact from the cursors in braces at its end."""
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
