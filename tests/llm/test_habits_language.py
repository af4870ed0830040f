"""Memory is written in the user's language: the prompts say so, and no part of the way is English only."""

from __future__ import annotations

from datetime import UTC, datetime

from dream.models import Entry


def entry(cursor: int, content: str) -> Entry:
    return Entry(cursor, datetime(2026, 11, 20, 3, tzinfo=UTC), "summary", content)
