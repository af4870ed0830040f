"""What the history tests share: a log in a directory, entries, and a moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from dream.history.history import History
from dream.models import Diagnostic, Entry, NewEntry

NOW = datetime(2026, 11, 21, 3, 0, 7, tzinfo=UTC)


def history(directory: Path, *, durable: bool = False, reports: list[Diagnostic] | None = None) -> History:
    """Open the log below `directory`, as a workspace would."""
    return History(
        directory / "memory",
        private=directory / ".dream",
        durable=durable,
        report=None if reports is None else reports.append,
    )


def log(directory: Path) -> Path:
    """Return the path of history.jsonl, its directory made."""
    (directory / "memory").mkdir(exist_ok=True)
    return directory / "memory" / "history.jsonl"


def fact(text: str, session: str | None = None, span: tuple[int, int] | None = None, tokens: int = 10) -> NewEntry:
    """Make a summary."""
    return NewEntry("summary", text, session, span, tokens)


def facts(count: int, prefix: str = "fact") -> list[NewEntry]:
    """Make `count` summaries."""
    return [fact(f"{prefix} {number}") for number in range(1, count + 1)]


def contents(entries: list[Entry]) -> list[str]:
    """Return what the entries say."""
    return [entry.content for entry in entries]


def cursors(entries: list[Entry]) -> list[int]:
    """Return the entries' cursors."""
    return [entry.cursor for entry in entries]


def names(directory: Path) -> list[str]:
    """Return the names in a directory, sorted."""
    return sorted(path.name for path in directory.iterdir())


def row(cursor: object, content: object = "text", **other: object) -> bytes:
    """Write a line as a foreign program would."""
    return json.dumps({"cursor": cursor, "timestamp": "2026-04-03 00:02", "content": content, **other}).encode() + b"\n"
