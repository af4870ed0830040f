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
from dream.llm import ChatMessage, Completion
from dream.llm.spending import Meter
from dream.settings import Settings
from dream.text import tokens
from tests.benchmarks.bill import shared
from tests.scripted import Call, ScriptedModel, tool_calls
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)
TOWNS = ("Osaka", "Tokyo", "Kyoto", "Nara", "Kobe", "Sendai")


@pytest.mark.parametrize(("name", "most"), [("consolidate", 700), ("phase1", 1005), ("phase2", 350)])
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
    consolidator, phase1, phase2 = (shared(asked) for asked in nights(tmp_path, 6))

    assert consolidator >= 0.86
    assert phase1 >= 0.71
    assert phase2 >= 0.62


def nights(root: Path, count: int) -> list[list[str]]:
    """Dream `count` nights of one session each; return each job's first prompts, a night each."""
    workspace = fresh(root / "ws", NOW)
    (workspace.root / "USER.md").write_text("# User\n\n" + "".join(f"- Likes {n} of the teas\n" for n in range(20)))
    (workspace.memory / "MEMORY.md").write_text(
        "# Memory\n\n" + "".join(f"- Port of app{n}: 80{n}\n" for n in range(40))
    )
    first: list[list[str]] = [[], [], []]
    for number, town in enumerate(TOWNS[:count]):
        now = NOW + timedelta(days=number)
        path = root / f"{town}.jsonl"
        said = [("user", f"I went to {town} for the day."), ("assistant", f"How was {town}?")]
        path.write_text("".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in said))
        summaries, analyst, editor = models(town)
        pipeline.consolidate(workspace, [path], settings=QUIET, now=now, model=summaries)
        report = pipeline.run(
            workspace, settings=QUIET, now=now, models=Models(analyst, editor, Meter(QUIET, now=lambda: NOW))
        )
        assert report.outcome == "committed", report.reason
        for asked, model in zip(first, (summaries, analyst, editor), strict=True):
            asked.append(prompt(model.calls[0]))
    return first


def prompt(call: Call) -> str:
    """Return a prompt as it is sent: the tools first, as providers put them, then the messages in order."""
    told = [tool.name + tool.description for tool in call.tools]
    return "\n".join([*told, *(f"{message.role}\n{message.content}\n" for message in call.messages)])


def models(town: str) -> tuple[ScriptedModel, ScriptedModel, ScriptedModel]:
    def edits(messages: list[ChatMessage]) -> Completion:
        both = (("USER.md", f"- Was in {town}", 1), ("memory/MEMORY.md", f"- Trip to {town} done", 2))
        return tool_calls(
            *(
                ("edit_file", {"path": path, "old_text": "", "new_text": line, "findings": [number]})
                for path, line, number in both
            )
        )

    found = ScriptedModel(f"[USER] Was in {town}\n[MEMORY] Trip to {town} done")
    return ScriptedModel(f"- The user went to {town}"), found, ScriptedModel(edits)


def test_the_summarisers_prompt_names_nobody_whom_a_small_model_could_take_for_the_user() -> None:
    """Qwen2.5-Coder-0.5B wrote "The user is called Caroline" into history, from an example."""
    text = prompts.load("consolidate", language="English")

    assert not re.search(r"[\"`][A-Z][a-z]+: ", text)
    assert "Caroline" not in text
