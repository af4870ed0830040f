"""A real history on disk, and short ways to write sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.history.history import History
from dream.models import Message

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SAID = datetime(2026, 11, 18, 9, 12, tzinfo=UTC)


def open_history(root: Path) -> History:
    (root / "memory").mkdir(parents=True, exist_ok=True)
    return History(root / "memory", private=root / ".dream", durable=False)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return open_history(tmp_path)


def conversation(turns: int, words: int = 30) -> list[Message]:
    """Write `turns` turns of two messages; the text of each holds its own marker, `m<position>.`."""
    roles = ("user", "assistant")
    return [
        Message(roles[at % 2], f"m{at}. " + "word " * words, SAID)  # type: ignore[arg-type]
        for at in range(2 * turns)
    ]
