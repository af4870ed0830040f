"""Read the data sections of a prompt: conversation, files, history."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from dream.memory import like, place_of, tag
from dream.models import MEMORY_FILES, MemoryFile
from dream.text.words import without_bullet

LABELS = {path: tag(path) for path in MEMORY_FILES}

_HEADER = re.compile(
    r"\[(\d{1,12})\] (?:(\d{4}-\d\d-\d\d)(?: \d\d:\d\d(?::\d\d)?)? )?(?:[A-Z][a-z]{2} )?"
    r"(system|user|assistant|tool)(?: ([^:\n]{1,80}))?: ?"
)
_ENTRY = re.compile(
    r"\[(\d{1,12})\] (?:(\d{4}-\d\d-\d\d)\S*(?: \S{4,14})? )?(summary|raw|note|nothing)\b(?: by \"([^\"\n]+)\")?"
)
_NUMBER = re.compile(r"^P?[SUM]\d+ ", re.M)  # of a line of a file
_CITES = re.compile(
    r" \((?:\d+, )*\d+(?:, [^()\d][^()]{0,120})?\)$"
)  # at the end of a line: the messages that it is based on
_FILE = re.compile(r'^<file path="([^"\n]*)">\n?', re.M)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a conversation section. `day` is the local date it was said on, where known."""

    role: str
    name: str
    day: date | None
    text: str


@dataclass(frozen=True, slots=True)
class Dreamt:
    """One entry of a history section; `text` is without its indentation, `by` who said it, where that is not the user."""

    cursor: int
    kind: str
    day: date | None
    text: str
    by: str = ""


def section(text: str, tag: str) -> str | None:
    """Return the body of the first `<tag …>` section at the start of a line, or None."""
    opening = re.search(rf"^<{tag}\b[^>\n]*>[ \t]*\n?", text, re.M)
    if opening is None:
        return None
    end = text.find(f"</{tag}>", opening.end())
    return text[opening.end() : end if end >= 0 else len(text)]


def owners(text: str) -> tuple[str, ...]:
    """Return the names of those who count as the user, as a prompt shows them; "*" is everybody."""
    rows = (section(text, "owners") or "").splitlines()
    return tuple(row.removeprefix("- ") for row in rows if row.startswith("- "))


def files(text: str) -> dict[MemoryFile, str]:
    """Return the memory files that a prompt shows, by path; of what was said in a place its own count for the top ones.

    So what it finds stays in that place, and takes no line away beyond it.
    """
    found: dict[MemoryFile, str] = {}
    openings = list(_FILE.finditer(text))
    within = any(place_of(opening[1]) for opening in openings)
    for opening in openings:
        path = like(opening[1]) if within and (place_of(opening[1]) or opening[1] == "USER.md") else opening[1]
        if within and path == opening[1] != "USER.md":
            continue
        known = next((name for name in LABELS if name == path or name.rsplit("/", 1)[-1] == path), None)
        if known is not None and known not in found:
            end = text.find("</file>", opening.end())
            found[known] = _NUMBER.sub("", text[opening.end() : end if end >= 0 else len(text)])
    return found


def undefused(text: str) -> str:
    """Take out the backslash that keeps data from opening or closing a section."""
    return re.sub(r"<\\(?=/?[a-z])", "<", text) if "<\\" in text else text


def conversation(body: str) -> list[Utterance]:
    """Read the messages of a conversation section; text before the first header is left out."""
    messages: list[tuple[re.Match[str], list[str]]] = []
    for line in body.split("\n"):
        header = _HEADER.match(line)
        if header:
            messages.append((header, [line[header.end() :]]))
        elif messages:
            messages[-1][1].append(line.removeprefix("    "))
    return [
        Utterance(header.group(3), (header.group(4) or "").strip(), day(header.group(2)), undefused("\n".join(lines)))
        for header, lines in messages
    ]


def history(body: str) -> list[Dreamt]:
    """Read the entries of a history section, in their order."""
    entries: list[tuple[re.Match[str], list[str]]] = []
    for line in body.split("\n"):
        header = _ENTRY.match(line)
        if header:
            entries.append((header, []))
        elif entries:
            entries[-1][1].append(_CITES.sub("", line.removeprefix("    ")))
    return [
        Dreamt(int(cursor), kind, day(said), undefused("\n".join(lines)), by or "")
        for (cursor, said, kind, by), lines in ((header.groups(), lines) for header, lines in entries)
    ]


def day(text: str | None) -> date | None:
    """Read `YYYY-MM-DD`; anything else is None."""
    try:
        return date.fromisoformat((text or "").strip())
    except ValueError:
        return None


def facts(text: str) -> list[str]:
    """Return the lines of a memory file that hold a fact: no headings, no blank lines."""
    return [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]


def bare(line: str) -> str:
    """Return a line without its bullet."""
    return without_bullet(line).strip()


def bullets_of(files_: Mapping[MemoryFile, str]) -> list[tuple[MemoryFile, str]]:
    """Return each list line of all files, without its bullet: prose is a person's."""
    return [(path, bare(line)) for path, text in files_.items() for line in facts(text) if bare(line) != line.strip()]
