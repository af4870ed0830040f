"""A batch that tells much: every statement of it is a finding, or the answer says that it is cut."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.embedded import EmbeddedModel
from dream.llm import ChatMessage
from dream.models import NewEntry
from dream.settings import Settings
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SYLLABLES = ("ba", "do", "fi", "gu", "le", "mo", "na", "pe", "ri", "su", "ta", "vo")


def invented(number: int) -> str:
    """Return a word of three syllables that no other number has."""
    parts = (number // 144 % 12, number // 12 % 12, number % 12)
    return "".join(SYLLABLES[part] for part in parts)


@pytest.mark.slow  # that such a batch is split, tests/pipeline/test_run.py shows with one answer that is cut
def test_the_newest_statement_of_a_long_batch_is_remembered(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    said = [
        f"- The {invented(number)} server runs {invented(number + 500)} behind {invented(number + 1000)} for the "
        f"{invented(number + 250)} team, and its certificate is renewed by the {invented(number + 750)} job every night"
        for number in range(250)
    ]
    rows = [
        *(said[start : start + 25] for start in range(0, 250, 25)),
        ["- Dora moved the wiki to wiki.example.org on port 8443 and keeps its keys in Alcobaca"],
    ]
    workspace.history.append([NewEntry("summary", "\n".join(row)) for row in rows], now=NOW)

    report = pipeline.run(workspace, settings=Settings(timezone="UTC", durable=False), now=NOW)

    assert report.outcome == "committed", report.reason
    assert workspace.dream_cursor() == len(rows)
    assert "Alcobaca" in workspace.read_file("memory/MEMORY.md")


def test_an_answer_without_room_says_so() -> None:
    data = "<history>\n[1] 2026-11-20 summary\n    - Dora keeps bees\n    - Dora has a boat\n</history>\n"
    told = EmbeddedModel().complete([ChatMessage("user", f"<today>2026-11-21</today>\n{data}")], max_tokens=8)

    assert told.finish == "length"
