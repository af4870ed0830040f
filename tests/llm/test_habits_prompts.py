"""What the three prompts cost, and how much of the next night's prompt a provider's cache can serve."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline, prompts
from dream.dreaming.dreamer import Models
from dream.dreaming.phase2 import TOOLS
from dream.eval.scratch import Asked, Listening, shared
from dream.llm import tokens
from dream.llm.model import ChatMessage, Completion
from dream.llm.spending import Meter
from dream.settings import Job, Settings
from dream.workspace.workspace import Workspace
from tests.scripted import ScriptedModel, tool_calls

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)
TOWNS = ("Osaka", "Tokyo", "Kyoto", "Nara", "Kobe", "Sendai")


@pytest.mark.parametrize(("name", "most"), [("consolidate", 680), ("phase1", 870), ("phase2", 350)])
def test_a_prompt_stays_as_short_as_it_is(name: str, most: int) -> None:
    text = prompts.load(name, language=prompts.language(None))

    assert tokens.count(text, "openai/gpt-5") <= most


def test_the_tools_stay_as_short_as_they_are() -> None:
    text = "".join(tool.name + tool.description + json.dumps(dict(tool.parameters)) for tool in TOOLS)

    assert tokens.count(text, "openai/gpt-5") <= 300


def test_the_data_comes_after_everything_that_stays_the_same(tmp_path: Path) -> None:
    """Figures of 2026-11-21: 92, 77 and 68 per cent of a prompt begin the one of the night before; margin 6.

    Memory is of an ordinary size, 60 lines, and each night adds a line to USER.md and one to MEMORY.md.
    """
    share = {job: shared(asked) for job, asked in nights(tmp_path, 6).items()}

    assert (share["consolidator"] or 0) >= 0.86
    assert (share["phase1"] or 0) >= 0.71
    assert (share["phase2"] or 0) >= 0.62


def nights(root: Path, count: int) -> dict[Job, list[str]]:
    """Dream `count` nights of one session each; return the first prompt of each job and night."""
    workspace = Workspace.create(root / "ws", now=NOW)
    (workspace.root / "USER.md").write_text("# User\n\n" + "".join(f"- Likes {n} of the teas\n" for n in range(20)))
    (workspace.memory / "MEMORY.md").write_text(
        "# Memory\n\n" + "".join(f"- Port of app{n}: 80{n}\n" for n in range(40))
    )
    heard: list[Asked] = []
    for number, town in enumerate(TOWNS[:count]):
        now = NOW + timedelta(days=number)
        path = root / f"{town}.jsonl"
        said = [("user", f"I went to {town} for the day."), ("assistant", f"How was {town}?")]
        path.write_text("".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in said))
        summaries = Listening(ScriptedModel(f"- The user went to {town}"), "consolidator", heard)
        pipeline.consolidate(workspace, [path], settings=QUIET, now=now, model=summaries)
        report = pipeline.run(workspace, settings=QUIET, now=now, models=models(town, heard, now))
        assert report.outcome == "committed", report.reason
    jobs: tuple[Job, ...] = ("consolidator", "phase1", "phase2")
    return {job: [asked.prompt for asked in heard if asked.job == job and asked.first] for job in jobs}


def models(town: str, heard: list[Asked], now: datetime) -> Models:
    def edits(messages: list[ChatMessage]) -> Completion:
        both = (("USER.md", f"- Was in {town}", 1), ("memory/MEMORY.md", f"- Trip to {town} done", 2))
        return tool_calls(
            *(
                ("edit_file", {"path": path, "old_text": "", "new_text": line, "findings": [number]})
                for path, line, number in both
            )
        )

    found = ScriptedModel(f"[USER] Was in {town}\n[MEMORY] Trip to {town} done")
    meter = Meter(QUIET, now=lambda: now)
    return Models(Listening(found, "phase1", heard), Listening(ScriptedModel(edits), "phase2", heard), meter)


def test_the_summarisers_prompt_names_nobody_whom_a_small_model_could_take_for_the_user() -> None:
    """Qwen2.5-Coder-0.5B wrote "The user is called Caroline" into history, from an example."""
    text = prompts.load("consolidate", language="English")

    assert not re.search(r"[\"`][A-Z][a-z]+: ", text)
    assert "Caroline" not in text
