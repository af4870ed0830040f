"""Phase 1's answer as a contract: `[FILE/Heading] fact {1}`, REMOVE, REPLACE, `[FORGET] what {1}` or `[SKIP]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath

from dream.errors import AnswerCut, AnswerUnusable
from dream.memory import FORGET, PLACE_NAME, PRIVATE, like, memory_file, place_of
from dream.models import Finding, MemoryFile
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
_DOUBLES = re.compile(r"\W*=\s*(P?S\d{1,6})\W*", re.IGNORECASE)  # after a number: another rule that says the same
_SKIP = re.compile(_LIST_MARK + r"\*{0,2}\[SKIP\]", re.IGNORECASE)
_CURSORS = re.compile(r"[\d\s,;–-]+")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")
References = Mapping[str, tuple[MemoryFile, str]]  # `U7` → its file and line, `W2` → a finding pending review


@dataclass(frozen=True, slots=True)
class Analysis:
    """Phase 1's answer: the findings, and the lines that are no findings (prose, unknown files)."""

    findings: tuple[Finding, ...]
    unreadable: tuple[str, ...] = ()


def letters(files: Iterable[MemoryFile]) -> dict[str, MemoryFile]:
    """Return the file for each prefix of line numbers in a prompt: S, U, M, and PS, PM for the files of a place."""
    return {f"{'P' if place_of(file) else ''}{PurePosixPath(file).name[0]}": file for file in files}


def references(texts: Mapping[MemoryFile, str], waiting: Sequence[Finding] = ()) -> dict[str, tuple[MemoryFile, str]]:
    """Return what each number in the phase 1 prompt refers to: lines of the files, and findings pending review."""
    found = {
        f"{letter}{number}": (path, line.rstrip())
        for letter, path in letters(texts).items()
        for number, line in enumerate(texts[path].splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    }
    return found | {f"W{number}": (one.file, one.text) for number, one in enumerate(waiting, start=1)}


def parse(answer: str, cursors: Sequence[int], known: References | None = None, place: str | None = None) -> Analysis:
    """Read the findings of `answer`, which was given the entries `cursors` and the numbers `known`.

    A finding that names none of those entries rests on all of them. `[FILE-REPLACE M7] fact` becomes the fact and the
    removal of that line, which follows it. In an answer on a place, by its name, `[SOUL]` and `[MEMORY]` are its own
    files, and `[SOUL everywhere]` is the top one; None reads findings as `prompts.finding` writes them.
    Raises AnswerUnusable when there is neither a finding nor `[SKIP]`, and AnswerCut for more than MAX_FINDINGS.
    """
    findings: dict[tuple[MemoryFile, bool, str], Finding] = {}
    unreadable: list[str] = []
    skipped = False
    for line in answer.splitlines():
        if not line.strip() or line.strip().startswith("```"):
            continue
        found = _findings(line, cursors, known or {}, place)
        if _SKIP.match(line):
            skipped = True
        elif found:
            for one in found:
                findings.setdefault((one.file, one.remove, one.text.casefold()), one)
            if len(findings) > MAX_FINDINGS:
                raise AnswerCut(f"the answer holds more than {MAX_FINDINGS:,} findings")
        elif len(unreadable) < MAX_UNREADABLE:
            unreadable.append(line.strip()[:200])
    if not findings and not skipped:
        shown = f"; it begins {quoted(unreadable[0])}" if unreadable else ""
        raise AnswerUnusable(f"the answer holds neither a [FILE] line nor [SKIP]{shown}")
    return Analysis(tuple(_paired(list(findings.values()), known or {})), tuple(unreadable))


def _paired(findings: list[Finding], known: References) -> Iterator[Finding]:
    """Yield findings; a fact gets the line that it replaces if the REMOVE just below it copies that line.

    A REMOVE that names its line by a number says of no fact that it replaces it: `[FILE-REPLACE M7]` would.
    """
    lines = {(file, _fact(line)): line for number, (file, line) in known.items() if not number.startswith("W")}
    for one, after in zip(findings, [*findings[1:], None], strict=False):
        copied = "" if one.line or not one.remove else lines.get((one.file, _fact(one.text)), "")
        goes = after is not None and after.remove and (after.file, after.entries) == (one.file, one.entries)
        beside = goes and after is not None and not after.line and not one.remove
        old = lines.get((one.file, _fact(after.text)), "") if beside and after is not None else ""
        yield replace(one, line=one.line or copied or old)


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
    where, old = known.get(number.upper(), (file, ""))
    if (other := _DOUBLES.fullmatch(text)) and other[1].upper() in known:
        text = _fact(known[other[1].upper()][1])
    if file == FORGET:
        return [Finding(FORGET, _fact(old) or text, resting)] if old or text else []
    removal = Finding(where, _fact(old) or text, resting, remove=True, line=old, because=text if old else "")
    if act == "-REMOVE" and place_of(where) == place_of(file):
        return [removal] if removal.text else []
    if not text:
        return []
    heading = " ".join(clean(match[5] or "").split()).strip("#* ")
    if "PRIVATE" in words and like(file) == "SOUL.md":
        heading = PRIVATE
    fact = Finding(file, text, resting, heading=heading, line=old if where == file else "", review="REVIEW" in words)
    if place_of(where) != place_of(file):  # a line changes within its scope; what is said of it in a place is beside it
        return [] if act == "-REMOVE" else [replace(fact, line="")]
    return [fact, replace(removal, because="")] if act and old else [fact]


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
