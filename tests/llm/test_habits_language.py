"""Memory is written in the user's language: the prompts say so, and no part of the way is English only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.dreaming import phase2
from dream.dreaming.draft import Brief
from dream.dreaming.dreamer import Models
from dream.dreaming.guards import Protected
from dream.llm import Completion
from dream.llm.spending import Meter
from dream.models import Entry, Finding, MemoryFile
from dream.settings import Settings
from dream.text.alike import nearest, same_fact, states
from tests.scripted import Answer, ScriptedModel, tool_calls
from tests.vouched import evidence
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)


@dataclass(frozen=True, slots=True)
class Tongue:
    """Statements in one language: `again` says what `old` says, `new` corrects it, `other` is another fact."""

    said: str
    old: str
    again: str
    new: str
    other: str
    near: str
    rule: str
    present: str


TONGUES = {
    "zh": Tongue(
        said="我上周从大阪搬到了东京，以后请用中文回答我。",
        old="用户住在大阪",
        again="用户住在大阪。",
        new="用户住在东京",
        other="用户养了两只猫",
        near="用户养了三只猫",
        rule="用中文回答",
        present="文件中已有",
    ),
    "ja": Tongue(
        said="先週、大阪から東京に引っ越しました。これからは日本語で答えてください。",
        old="ユーザーは大阪に住んでいる",
        again="ユーザーは大阪に住んでいる。",
        new="ユーザーは東京に住んでいる",
        other="ユーザーは猫を二匹飼っている",
        near="ユーザーは猫を三匹飼っている",
        rule="日本語で答えて",
        present="すでに書かれている",
    ),
    "de": Tongue(
        said="Letzte Woche bin ich von Osaka nach Tokio gezogen. Antworte mir ab jetzt bitte auf Deutsch.",
        old="Wohnt in Osaka, in der Nähe der Universität",
        again="Wohnt in Osaka in der Nähe der Universität.",
        new="Wohnt in Tokio, in der Nähe der Universität",
        other="Hat zwei Katzen",
        near="Hat drei Katzen",
        rule="Antworte mir ab jetzt bitte auf Deutsch",
        present="steht schon in der Datei",
    ),
}


def entry(cursor: int, content: str) -> Entry:
    return Entry("summary", content, cursor=cursor, at=datetime(2026, 11, 20, 3, tzinfo=UTC))


@pytest.fixture(params=TONGUES)
def tongue(request: pytest.FixtureRequest) -> Tongue:
    return TONGUES[request.param]


def edited(tongue: Tongue, *answers: Answer, findings: tuple[Finding, ...]) -> phase2.Edited:
    files: dict[MemoryFile, str] = {
        "SOUL.md": "# Soul\n",
        "USER.md": f"# User\n\n- {tongue.old}\n- {tongue.other}\n",
        "memory/MEMORY.md": "# Memory\n",
    }
    heard = evidence(tongue.said, tongue.new, tongue.again)
    found, rules = heard.in_own_words(findings, files)
    brief = Brief(QUIET, date(2026, 11, 21), UTC)
    return phase2.edit(found, Protected(files, {}, (), heard, rules), ScriptedModel(*answers), brief)


def states_of(done: phase2.Edited) -> list[str]:
    return [outcome.state for outcome in done.outcomes]


def test_a_fact_is_known_again_and_another_number_is_another_fact(tongue: Tongue) -> None:
    assert same_fact(tongue.old, tongue.again)
    assert states(f"- {tongue.old}", tongue.again)
    assert not same_fact(tongue.old, tongue.new)
    assert not same_fact(tongue.other, tongue.near)
    assert not states(f"- {tongue.other}", tongue.near)
    assert nearest(tongue.again, [tongue.other, tongue.old])[1] == tongue.old


def test_without_tools_a_correction_takes_its_line_away_and_the_rest_stays(tongue: Tongue) -> None:
    findings = (Finding("USER.md", tongue.old, (1,), remove=True), Finding("USER.md", tongue.new, (1,)))
    done = edited(tongue, "done", findings=findings)

    assert states_of(done) == ["applied", "applied"]
    lines = done.draft.texts["USER.md"].splitlines()
    assert sorted(lines[2:]) == sorted([f"- {tongue.new}", f"- {tongue.other}"])


def test_without_tools_a_fact_that_stands_there_is_present_and_not_doubled(tongue: Tongue) -> None:
    done = edited(tongue, "done", findings=(Finding("USER.md", tongue.again, (1,)),))

    assert states_of(done) == ["present"]
    assert done.draft.edits == ()


def test_an_edit_in_the_users_language_passes_the_guards(tongue: Tongue) -> None:
    calls = tool_calls(
        (
            "edit_file",
            {"path": "USER.md", "old_text": f"- {tongue.old}", "new_text": f"- {tongue.new}", "findings": [1]},
        ),
        ("edit_file", {"path": "SOUL.md", "old_text": "", "new_text": f"- {tongue.rule}", "findings": [2]}),
    )
    findings = (Finding("USER.md", tongue.new, (1,)), Finding("SOUL.md", tongue.rule, (1,)))
    done = edited(tongue, calls, findings=findings)

    assert states_of(done) == ["applied", "applied"], done.outcomes
    assert done.held == ()


def test_a_claim_that_it_stands_there_is_believed_in_any_language(tongue: Tongue) -> None:
    skip: Completion = tool_calls(("skip_finding", {"finding": 1, "reason": tongue.present}))
    done = edited(tongue, skip, findings=(Finding("USER.md", tongue.again, (1,)),))

    assert states_of(done) == ["present"]


def test_a_false_claim_that_it_stands_there_loses_nothing(tongue: Tongue) -> None:
    skip: Completion = tool_calls(("skip_finding", {"finding": 1, "reason": tongue.present}))
    done = edited(tongue, skip, findings=(Finding("USER.md", tongue.near, (1,)),))

    assert states_of(done) == ["applied"]
    assert f"- {tongue.near}" in done.draft.texts["USER.md"]


@pytest.mark.few(1)
def test_a_night_in_the_users_language_ends_in_memory_in_it(tongue: Tongue, tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"role": "user", "content": tongue.said}) + "\n", encoding="utf-8")
    summariser = ScriptedModel(f"- {tongue.new}\n- {tongue.rule}")
    pipeline.consolidate(workspace, [path], settings=QUIET, now=NOW, model=summariser)
    analyst, editor = ScriptedModel(f"[USER] {tongue.new} {{1}}\n[USER] {tongue.other} {{1}}"), ScriptedModel("done")
    models = Models(analyst, editor, Meter(QUIET, now=lambda: NOW))
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=models)

    assert report.outcome == "committed"
    assert f"- {tongue.new}\n" in workspace.read_file("USER.md")
    assert f"- {tongue.other}\n" in workspace.read_file("USER.md")
    assert workspace.history.last(1)[0].content.startswith(f"- {tongue.new}\n- {tongue.rule}")
    for model in (summariser, analyst, editor):
        assert "Write in the language that the user speaks." in model.calls[0].messages[0].content


def test_a_language_that_is_set_is_named_in_each_prompt(tmp_path: Path) -> None:
    settings = Settings(timezone="UTC", durable=False, language="Japanese")
    workspace = fresh(tmp_path / "ws", NOW)
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "I moved to Tokyo."}) + "\n", encoding="utf-8")
    model = ScriptedModel("- 東京に引っ越した", "[USER] 東京に住んでいる {1}", "done")
    pipeline.consolidate(workspace, [path], settings=settings, now=NOW, model=model)
    pipeline.run(workspace, settings=settings, now=NOW, models=Models(model, model, Meter(settings, now=lambda: NOW)))

    assert len(model.calls) >= 3
    assert all("Write in Japanese." in call.messages[0].content for call in model.calls)


def test_a_claim_in_other_words_is_believed_when_it_is_made_again() -> None:
    files: dict[MemoryFile, str] = {"SOUL.md": "", "USER.md": "- Drinks black tea at home\n", "memory/MEMORY.md": ""}
    skip = tool_calls(("skip_finding", {"finding": 1, "reason": "already there"}))
    model = ScriptedModel(skip)
    brief = Brief(QUIET, date(2026, 11, 21), UTC)
    finding = Finding("USER.md", "Sips black tea at home", (1,))
    done = phase2.edit((finding,), Protected(files, {}, (), {}), model, brief)

    assert states_of(done) == ["present"]
    assert len(model.calls) == 2
    assert "the nearest line is “- Drinks black tea at home”" in model.calls[1].messages[-1].content
