"""What a run will cost is said beforehand, from the prompts that it will send."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.dreaming.estimate import Estimate, estimate
from dream.llm.spending import Meter, prompt_tokens
from dream.models import NewEntry
from dream.settings import Settings
from tests.benchmarks.bill import NAME, Script
from tests.cli.commands import dream
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False, model=NAME, batch_tokens=1_500)
FACTS = [f"- Caroline moved to House {n} in Harbour Street\n" + "and told of it at length " * 100 for n in range(1, 6)]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = fresh(tmp_path / "ws", NOW)
    made.history.append([NewEntry("summary", fact) for fact in FACTS], now=NOW)
    return made


def test_the_prompts_counted_are_those_that_are_sent(workspace: Workspace) -> None:
    found = estimate(workspace, SETTINGS, NOW)

    phase1 = Script(edits=False, skip=True)
    ran = pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(phase1, Script(True), Meter(SETTINGS)))

    assert (found.dreams, found.entries) == (len(ran.batches), (1, 5)) == (3, (1, 5))
    assert found.least.calls == len(phase1.sent) == 3
    assert found.least.input_tokens == sum(prompt_tokens(phase1, sent.messages) for sent in phase1.sent)
    assert found.likely.calls == 6
    assert 0 < (found.least.cost_usd or 0) < (found.likely.cost_usd or 0)


def test_of_nothing_new_the_cost_is_nothing_and_of_a_few_dreams_less(workspace: Workspace) -> None:
    assert estimate(workspace, SETTINGS, NOW, max_batches=1).entries == (1, 2)
    (workspace.memory / ".dream_cursor").write_text("5\n")
    assert estimate(workspace, SETTINGS, NOW) == Estimate(SETTINGS.model)


def test_the_command_calls_no_model_and_changes_nothing(workspace: Workspace) -> None:
    before = {path: path.read_bytes() for path in workspace.root.rglob("*") if path.is_file()}

    done = dream("run", "--dry-run", "--estimate", "--model", NAME, "--json", "-w", workspace.root)

    assert (done.status, done.json["dreams"], done.json["entries"]) == (0, 1, [1, 5])
    assert done.json["least"]["input_tokens"] > 3_000
    assert "likely" in dream("run", "--estimate", "-w", workspace.root).out
    assert {path: path.read_bytes() for path in before} == before
    assert not (workspace.private / "bills").exists()
