"""Two values that no dream has paired: the newer stands first, and behind the older stands what was said later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.actions.forget import forget
from dream.directory import Workspace
from dream.recall import prompt
from dream.settings import Settings
from tests.recall.test_search import said
from tests.workspaces import fresh

SETTINGS = Settings(timezone="UTC")
FIRST = datetime(2026, 9, 9, 3, tzinfo=UTC)
TALKS = (
    ("sourdough is 4.20, the seeded 4.80", "we open at 7 and I live above the bakery in Wick Lane"),
    (
        "the mixer died on sunday, had to mix 40 kilos by hand",
        "sorry correction, the seeded is 4.90, I read the old board",
    ),
    ("sourdough 4.70. last time this year I swear", "my cousin Theo opens a cinema in Harwich"),
)


def months(folder: Path, *talks: tuple[str, ...]) -> Workspace:
    """Dream each talk on a day of its own, a month apart."""
    made = fresh(folder / "ws", FIRST - timedelta(days=2))
    for number, texts in enumerate(talks):
        now = FIRST + timedelta(days=30 * number)
        rows = tuple(("user", text) for text in texts)
        pipeline.consolidate(made, [said(folder, rows, f"talk{number}", now)], settings=SETTINGS, now=now)
        pipeline.run(made, settings=SETTINGS, now=now)
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return months(tmp_path, *TALKS)


def row(block: str, words: str) -> str:
    return next(line for line in block.splitlines() if line.startswith("- ") and words in line)


def test_behind_an_older_line_stands_what_was_said_later_of_each_of_its_things(workspace: Workspace) -> None:
    line = row(workspace.context(2_000), "sourdough is 4.20")
    assert "(later: “sourdough 4.70. last time this year I swear”, 7 November 2026; “sorry correction" in line


def test_what_nothing_later_is_about_stands_alone(workspace: Workspace) -> None:
    assert "(later: " not in row(workspace.context(2_000), "mixer died")


def test_as_of_a_day_only_what_was_said_by_then_stands_behind_a_line(workspace: Workspace) -> None:
    line = row(workspace.context(2_000, as_of="2026-10-20"), "sourdough is 4.20")
    assert "seeded is 4.90" in line
    assert "4.70" not in line


def test_with_a_model_that_understands_nothing_stands_behind_a_line(workspace: Workspace) -> None:
    (workspace.root / "dream.toml").write_text('model = "openai/gpt-5-mini"\n', encoding="utf-8")
    assert "(later: " not in Workspace.open(workspace.root).context(2_000)


def test_what_was_forgotten_stands_behind_no_line(workspace: Workspace) -> None:
    forget(workspace, "sourdough 4.70", now=FIRST + timedelta(days=90))
    assert "4.70" not in workspace.context(2_000)


def test_a_line_with_a_later_message_counts_as_given_at_a_prompt(workspace: Workspace) -> None:
    kept = prompt.Kept(workspace.root)
    kept.take_in(workspace)
    assert "4.20" not in prompt.recalled(kept, "what does the sourdough cost, and the seeded?")


def test_the_newer_of_two_that_both_answer_stands_first(tmp_path: Path) -> None:
    talks = (
        ("招牌是豌杂面 16块一碗 早上7点开门", "供菜的是老廖 房租每月6800", "厨师是周师傅 我老公管账"),
        ("豌杂面涨到18了 猪肉贵", "上周五抽油烟机着火 还好灭得快", "周师傅说要走"),
        ("豌杂面定19", "新店房租5200 舒服", "10月28号在老店吃的散伙饭 老街坊来了二十几个"),
    )
    found = [hit.text for hit in months(tmp_path, *talks).search("一碗豌豆杂酱的多少钱")]
    assert "定19" in next(text for text in found if "豌杂面" in text)
