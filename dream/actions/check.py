"""Check line by line, without a model, whether memory is still true; name for each doubt the command that settles it.

Contradictions are the same words with another number or date. Paths, ports and commands in a project's lines are looked
up in its working copy, which is only read.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dream.memory import TEMPLATES, place_of
from dream.text import days
from dream.text.alike import near_fact, same_fact
from dream.text.tongues import guess
from dream.text.words import content_words, is_hard, standing, without_bullet, without_said_on
from dream.versions.trace import Origin, trace

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.models import Entry

DoubtKind = Literal["contradiction", "double", "day passed", "plan without an outcome", "evidence gone", "not there"]
SUBJECT = 2  # least number of words that two lines about the same subject share
CONFIGURATION = (".toml", ".yaml", ".yml", ".json", ".env", ".cfg", ".ini", ".conf", ".md", "Dockerfile", "Makefile")
LARGEST = 1 << 18  # bytes; larger files of a working copy are not searched for a port
FILES = 2_000  # files of a working copy that are searched at most
_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.[a-z]{1,5})`")
_COMMAND = re.compile(r"`(?:\$ )?(?P<by>npm run|yarn|pnpm run|make|just) (?P<name>[\w:.-]+)[^`]*`")
_PORT = re.compile(r"\bport (?:is |to |= ?)?(\d{2,5})\b", re.IGNORECASE)
_SKIPPED = (".git", "node_modules", ".venv", "target", "dist", "build")


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """A line of memory: the first and last day it was said, in how many sessions, and the entries that it cites."""

    cite: str
    file: str
    text: str
    said: date | None = None
    again: date | None = None
    sessions: int = 0
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A doubt about a line, its reason, and the command that settles it; `beside` is a line that conflicts with it."""

    kind: DoubtKind
    cite: str
    text: str
    reason: str
    settle: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """Every line of memory, the doubts, and the number of each kind."""

    lines: tuple[CheckedLine, ...]
    found: tuple[Doubt, ...]
    counts: Mapping[str, int]


def check(workspace: Workspace, now: datetime) -> Checked:
    """Check each line of memory, the entries that it cites, and the files and commands that it names."""
    rows = _rows(workspace)
    origins = trace(workspace, [(one.file, row) for one, row in rows], None if workspace.git.exists else [])
    again = _again(workspace, [one for one, _ in rows])
    lines = [
        _dated(workspace, one, origin, again.get(at, ()))
        for at, ((one, _), origin) in enumerate(zip(rows, origins, strict=True))
    ]
    found = [*doubts(workspace, now, lines), *_unproven(lines, origins)]
    return Checked(tuple(lines), tuple(found), Counter(one.kind for one in found))


def doubts(workspace: Workspace, now: datetime, lines: Sequence[CheckedLine] | None = None) -> list[Doubt]:
    """Return the doubts that follow from the lines and the working copies, without reading the versions."""
    known = [one for one, _ in _rows(workspace)] if lines is None else lines
    return [*_clashes(known), *_passed(workspace, known, now.date()), *_missing(workspace, known)]


def in_short(found: Sequence[Doubt]) -> str:
    """Return the counts in one line: `2 contradictions, 1 day passed`; "" if there are no doubts."""
    counts = Counter(one.kind for one in found)
    plural = {"contradiction": "contradictions", "double": "doubles", "day passed": "days passed"}
    return ", ".join(f"{n} {plural.get(kind, kind) if n > 1 else kind}" for kind, n in counts.items())


def _rows(workspace: Workspace) -> list[tuple[CheckedLine, str]]:
    began = {row for text in TEMPLATES.values() for row in text.decode("utf-8").splitlines()}
    return [
        (CheckedLine(f"{file.removeprefix('memory/')}:{number}", file, without_bullet(row).strip(), _said(row)), row)
        for file in workspace.files()
        for number, row in enumerate(workspace.read_file(file).splitlines(), 1)
        if row.strip() and not row.startswith("#") and row not in began
    ]


def _said(row: str) -> date | None:
    """Return the day in brackets at the end of a line, on which it was said."""
    end = row[len(without_said_on(row)) :]
    found = days.found(end, None, guess(row) or "en") if end else []
    return found[-1].last if found else None


def _dated(workspace: Workspace, line: CheckedLine, origin: Origin, again: Sequence[Entry]) -> CheckedLine:
    """Add to a line when its sources were said first and last, and in how many sessions."""
    rests = [entry for cursor in origin.entries for entry in workspace.history.between(cursor, cursor)]
    entries = sorted({entry.cursor: entry for entry in (*rests, *again)}.values(), key=lambda entry: entry.cursor)
    told = sorted(entry.when.date() for entry in entries)
    sessions = len({entry.session for entry in entries if entry.session})
    first, last = (told[0], told[-1]) if told else (line.said, line.said)
    cites = tuple(f"history:{one.cursor}" for one in entries)
    return CheckedLine(line.cite, line.file, line.text, first, last, sessions, cites)


def _again(workspace: Workspace, lines: Sequence[CheckedLine]) -> dict[int, list[Entry]]:
    """Return, by line number, the entries of history that say all of a line."""
    words = [content_words(without_said_on(line.text)) for line in lines]
    holding: dict[str, list[int]] = {}
    for at, own in enumerate(words):
        for word in own:
            holding.setdefault(word, []).append(at)
    found: dict[int, list[Entry]] = {}
    for entry in workspace.history.after(0):
        said = (content_words(without_said_on(row)) for row in entry.content.splitlines())
        shared = [Counter(at for word in row for at in holding.get(word, ())) for row in said]
        for at in {at for row in shared for at, count in row.items() if count == len(words[at])}:
            found.setdefault(at, []).append(entry)
    return found


def _clashes(lines: Sequence[CheckedLine]) -> Iterator[Doubt]:
    """Yield lines of one file or place that differ only in a number or date, and duplicates."""
    words = [content_words(without_said_on(line.text)) for line in lines]
    for at, by in _alike(words):
        if place_of(lines[at].file) != place_of(lines[by].file):
            continue
        older, newer = sorted((at, by), key=lambda n: lines[n].again or lines[n].said or date.min)
        (first, exact), (second, others) = (_parted(words[n]) for n in (older, newer))
        old, new = lines[older], lines[newer]
        settle = f"dream drop {old.cite}"
        if first == second and len(first) >= SUBJECT and exact and others and exact != others:
            yield Doubt("contradiction", old.cite, old.text, f"{new.cite} says: {new.text}", settle, new.cite)
        elif same_fact(old.text, new.text) or near_fact(old.text, new.text):
            yield Doubt("double", old.cite, old.text, f"{new.cite} says it too", settle, new.cite)


def _alike(lines: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of lines that share half of their words; only these are compared."""
    holding: dict[str, list[int]] = {}
    for at, words in enumerate(lines):
        shared = Counter(other for word in words for other in holding.get(word, ()))
        for other, count in sorted(shared.items()):
            if 2 * count >= max(len(words), len(lines[other])):
                yield other, at
        for word in words:
            holding.setdefault(word, []).append(at)


def _parted(words: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a line, and its numbers, days and negations."""
    exact = frozenset(filter(is_hard, words))
    return words - exact, exact


def _passed(workspace: Workspace, lines: Sequence[CheckedLine], today: date) -> Iterator[Doubt]:
    """Yield lines that name a day which was ahead when they were said, and has passed without a later mention."""
    plans = {file: _planned(workspace.read_file(file)) for file in {line.file for line in lines}}
    for line in lines:
        if line.said is None:
            continue
        told = without_said_on(line.text)
        ahead = [day.last for day in days.found(told, line.said, guess(told) or "en") if day.last > line.said]
        if not ahead or max(ahead) >= today or (line.again or line.said) >= max(ahead):
            continue
        planned = int(line.cite.rpartition(":")[2]) in plans[line.file]
        kind: DoubtKind = "plan without an outcome" if planned else "day passed"
        yield Doubt(kind, line.cite, line.text, f"{max(ahead):%-d %B %Y} has passed", f"dream drop {line.cite}")


def _planned(text: str) -> set[int]:
    """Return the numbers of the rows below the heading for plans, in any language."""
    rows = text.splitlines()
    heading = standing(rows, "Plans")
    found, inside = set[int](), False
    for number, row in enumerate(rows, 1):
        inside = row.strip() == heading if row.startswith("#") else inside
        found |= {number} if inside else set()
    return found


def _unproven(lines: Sequence[CheckedLine], origins: Sequence[Origin]) -> Iterator[Doubt]:
    """Yield lines that a dream wrote and whose cited entries are all gone."""
    for line, origin in zip(lines, origins, strict=True):
        if origin.entries and not line.rests_on:
            gone = ", ".join(f"history:{cursor}" for cursor in origin.entries)
            yield Doubt(
                "evidence gone", line.cite, line.text, f"{gone} is not there any more", f"dream drop {line.cite}"
            )


def _missing(workspace: Workspace, lines: Sequence[CheckedLine]) -> Iterator[Doubt]:
    """Yield lines of a project that name something which its working copy on this machine does not have."""
    for line in lines:
        place = workspace.places().of_file(line.file) if place_of(line.file) else None
        root = next((Path(path) for path in (place.paths if place else ()) if Path(path).is_dir()), None)
        for what in _absent(root, line.text) if root else ():
            reason = f"{what} is not in {root}"
            yield Doubt("not there", line.cite, line.text, reason, f"dream drop {line.cite}")


def _absent(root: Path, text: str) -> Iterator[str]:
    for match in _PATH.finditer(text):
        path = root / match[1]
        if ".." not in match[1] and not path.exists() and not next(root.rglob(Path(match[1]).name), None):
            yield match[1]
    for match in _COMMAND.finditer(text):
        if not _has_command(root, match["by"], match["name"]):
            yield f"{match['by']} {match['name']}"
    for match in _PORT.finditer(text):
        if not any(re.search(rf"(?<!\d){match[1]}(?!\d)", told) for told in _configuration(root)):
            yield f"port {match[1]}"


def _has_command(root: Path, by: str, name: str) -> bool:
    """Return whether a project defines a command, or has no file that could define it."""
    if by in ("make", "just"):
        files = ("Makefile", "makefile", "GNUmakefile") if by == "make" else ("justfile", "Justfile", ".justfile")
        told = [_text(root / file) for file in files if (root / file).is_file()]
        return not told or any(re.search(rf"(?m)^@?{re.escape(name)}\b[^=\n]*:", text) for text in told)
    try:
        scripts = json.loads(_text(root / "package.json") or "{}").get("scripts")
    except (ValueError, AttributeError):
        return True
    return not isinstance(scripts, dict) or name in scripts


def _configuration(root: Path) -> Iterator[str]:
    seen = 0
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name not in _SKIPPED]
        for name in names:
            seen += 1
            if seen > FILES:
                return
            if name.endswith(CONFIGURATION):
                yield _text(Path(folder, name))


def _text(path: Path) -> str:
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def when(line: CheckedLine) -> str:
    """Return when a line was said and how often, in words."""
    if line.said is None:
        return "typed by hand"
    again = f", last {line.again:%-d %B %Y}" if line.again and line.again != line.said else ""
    count = f", {line.sessions} sessions" if line.sessions > 1 else ""
    return f"said {line.said:%-d %B %Y}{again}{count}"
