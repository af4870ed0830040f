"""Markdown in which other programs kept history, read as entries: nanobot's older HISTORY.md, OpenClaw's daily notes.

Every line is in an entry as it stands; the date at its beginning is read, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dream.history.entries import NO_TIME
from dream.models import NewEntry
from dream.text.tokens import estimate

SESSION = "nanobot:HISTORY.md"  # the session of HISTORY.md's content at adoption, which nanobot has dreamt
LATER = "nanobot:HISTORY.md, later"  # what has been written to it since
NOTES = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:-[\w.-]*)?\.md")  # OpenClaw's, in memory/
_DATED = re.compile(
    r"(?:#{1,6}[ \t]*)?\[?(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)"
    r"(?:[T ,]+(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:\s*(Z\b|[+-]\d{2}:?\d{2}\b|[A-Z]\w+(?:/\w+)+))?)?"
)
_STAMP = re.compile(r"(?:#{1,6}\s*)?\[[^\]]+\]\s*")
_SAID = re.compile(r"\[[^\]]+\]\s*(?:USER|ASSISTANT|TOOL|SYSTEM)\b", re.IGNORECASE)


def decoded(data: bytes) -> str:
    """Return the text of a file; bytes that are not UTF-8 become `\\xff`."""
    return data.decode("utf-8", "backslashreplace").removeprefix("\ufeff").replace("\r\n", "\n")


def entries(text: str, session: str, zone: tzinfo | None, day: date | None = None) -> list[tuple[NewEntry, datetime]]:
    """Split a text into entries with their times, in its order; `day` is that of what has no date.

    An entry begins at a line with a date and at each paragraph; a heading stands with the paragraph under it, and its
    date holds up to the next. The messages of a `[RAW]` block are dated too and stay together.
    """
    found: list[tuple[NewEntry, datetime]] = []
    under = NO_TIME if day is None else datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    for block in _blocks(text.split("\n")):
        time, own = under, 0
        for line in block:
            heading = line.startswith("#")
            if (dated := _time(line, zone)) and not own:
                time = dated
                under = dated if heading else under
            own += not heading and bool(line.strip())
        content = "\n".join(block).strip("\n")
        kind: Literal["raw", "summary"] = "raw" if _is_raw(block) else "summary"
        place = len(found)
        found.append((NewEntry(kind, content, session, (place, place + 1), estimate(content)), time))
    return found


def day_of(name: str) -> date | None:
    """Return the day that the name of a daily note gives; None where no calendar has it."""
    match = NOTES.fullmatch(name)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def bare(content: str) -> str:
    """Return an entry as an earlier version of `dream` took it in: without the date at its beginning."""
    stamp = _STAMP.match(content)
    return content[stamp.end() :].strip() if stamp else content


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    block: list[str] = []
    raw = blank = False
    for line in lines:
        dated = bool(_DATED.match(line)) and not (raw and _SAID.match(line))
        paragraph = blank and bool(line.strip()) and not raw
        if (dated or paragraph) and not all(one.startswith("#") or not one.strip() for one in block):
            yield block
            block = []
        block.append(line)
        blank = not line.strip()
        raw = _is_raw(block)
    if any(line.strip() for line in block):
        yield block


def _is_raw(block: list[str]) -> bool:
    first = next((line for line in block if line.strip() and (_STAMP.match(line) or not line.startswith("#"))), "")
    return bare(first).upper().startswith("[RAW]") or first.upper().startswith("[RAW]")


def _time(line: str, zone: tzinfo | None) -> datetime | None:
    """Read the date at the beginning of a line; None where there is none, or no calendar has it."""
    match = _DATED.match(line)
    if match is None:
        return None
    year, _, month, day, hour, minute, said = match.groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), tzinfo=_zone(said) or zone)
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(said: str | None) -> tzinfo | None:
    if not said:
        return None
    if said[0] in "Z+-":
        digits = said[1:].replace(":", "") or "0000"
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return timezone(-offset if said[0] == "-" else offset)
    try:
        return ZoneInfo(said)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def is_known(content: str, known: str) -> bool:
    """Return whether history has every line of an entry, as it is or as an earlier version imported it."""
    lines = f"\n{known}\n"
    return any(one and f"\n{one}\n" in lines for one in (content, bare(content)))
