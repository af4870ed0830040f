"""Reading years of messages again takes no more memory than reading a month of them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from tests.pipeline.reread_worker import SETTINGS, Counting
from tests.workspaces import fresh

BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SITTING = 50  # messages of one session
WORDS = "the hive on the south slope was quiet and the queen lays well, so I put the second super on top of it today"
FLOWERS = ("clover", "lime", "heather", "acacia", "rape", "thyme", "ivy")


def spoken(path: Path, session: int) -> Path:
    """Write the transcript of one session: the user tells, and the agent answers."""
    at = BEGAN + timedelta(hours=session)
    rows = (
        {
            "session_id": f"s-{session}",
            "id": f"{session}-{number}",
            "role": "assistant" if number % 2 else "user",
            "timestamp": (at + timedelta(seconds=number)).isoformat(),
            "content": f"{WORDS}, {FLOWERS[number % 7]} and {FLOWERS[session % 7]}",
        }
        for number in range(SITTING)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def peak_of_rereading(root: Path, messages: int) -> float:
    """Let one model read so many messages, and another one read them again in a process of its own; in MiB."""
    workspace, first = fresh(root / "ws", BEGAN), Counting("first")
    paths = [spoken(root / f"{number}.jsonl", number) for number in range(messages // SITTING)]
    read = pipeline.consolidate(workspace, paths, settings=SETTINGS, now=BEGAN + timedelta(days=30), model=first)
    assert read.messages == messages
    models = Models(first, first, Meter(SETTINGS))
    pipeline.run(workspace, settings=SETTINGS, now=BEGAN + timedelta(days=30), models=models)
    workspace.history.close()
    command = [sys.executable, "-m", "tests.pipeline.reread_worker", workspace.root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    peak, count, outcome = done.stdout.split()
    assert (int(count), outcome) == (messages, "committed")
    return float(peak)


@pytest.mark.long
def test_ten_times_the_messages_are_read_again_in_the_same_memory(tmp_path: Path) -> None:
    few, many = (tmp_path / name for name in ("few", "many"))
    few.mkdir()
    many.mkdir()
    small, large = peak_of_rereading(few, 1_000), peak_of_rereading(many, 10_000)
    assert large <= 1.15 * small, f"{small:.0f} MiB for 1,000 messages, {large:.0f} MiB for 10,000"
