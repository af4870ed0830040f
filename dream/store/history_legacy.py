"""nanobot's older HISTORY.md: dated paragraphs, read as history entries."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from dream.models import NewEntry
from dream.store.history_records import NO_TIME, estimate

SESSION = "nanobot:HISTORY.md"  # imported entries are its messages, so the log says that the import was done
DATED = re.compile(
    r"^(?:#{1,6}\s*)?\[?(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ,]+(\d{1,2}):(\d{2}))?[^\]\n]{0,20}?(?:\]|$)",
    re.MULTILINE,
)
RAW = re.compile(r"^(?:#{1,6}\s*)?\[[^\]]+\]\s*\[RAW\]", re.IGNORECASE)
SAID = re.compile(r"^\[[^\]]+\]\s*(?:USER|ASSISTANT|TOOL|SYSTEM)\b", re.IGNORECASE)


def entries(text: str, zone: tzinfo | None) -> list[tuple[NewEntry, datetime]]:
    """Split HISTORY.md into entries with their times; no text is left out but headings without a date.

    An entry begins at a line with a date, or where no line has one, at a paragraph. The messages of a
    `[RAW]` block are dated too and stay together.
    """
    found: list[tuple[NewEntry, datetime]] = []
    for block in _blocks(text.removeprefix("\ufeff").splitlines()):
        time, content = _undated(block, zone)
        if not content:
            continue
        kind = "raw" if content.startswith("[RAW]") else "summary"
        place = len(found)
        new = NewEntry(kind, content, SESSION, (place, place + 1), estimate(content))  # type: ignore[arg-type]
        found.append((new, time))
    return found


def _blocks(rows: list[str]) -> list[list[str]]:
    dated = any(DATED.match(row) for row in rows)
    blocks: list[list[str]] = [[]]
    raw = False
    for number, row in enumerate(rows):
        starts = bool(DATED.match(row)) and not (raw and SAID.match(row))
        paragraph = not dated and bool(row.strip()) and number > 0 and not rows[number - 1].strip()
        if starts or paragraph:
            blocks.append([])
            raw = bool(RAW.match(row))
        blocks[-1].append(row)
    if not DATED.match(blocks[0][0] if blocks[0] else ""):
        blocks[0] = [row for row in blocks[0] if not row.startswith("#")]
    return blocks


def _undated(block: list[str], zone: tzinfo | None) -> tuple[datetime, str]:
    """Take the date off a block's first line."""
    content = "\n".join(block).strip()
    match = DATED.match(content)
    if not match:
        return NO_TIME, content
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    try:
        time = datetime(year, month, day, hour, minute, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return NO_TIME, content  # a date that no calendar has stays in the text
    return time, content[match.end() :].strip()
