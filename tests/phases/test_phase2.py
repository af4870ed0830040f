"""Phase 2 is a bounded loop; whatever the model does, every finding ends in a stated outcome."""

from __future__ import annotations

from datetime import UTC, date

import pytest

from dream.dreaming import phase2
from dream.dreaming.draft import Brief
from dream.dreaming.guards import Protected
from dream.errors import AnswerUnusable, ModelUnavailable, ToolsUnsupported
from dream.llm import Completion, Json, ToolCall
from dream.models import Finding, MemoryFile
from dream.settings import Settings
from tests.scripted import Answer, ScriptedModel
from tests.vouched import evidence

USER = "# User\n- Lives in Osaka\n- Has two cats\n"
FILES: dict[MemoryFile, str] = {"SOUL.md": "", "USER.md": USER, "memory/MEMORY.md": ""}
PROTECTED = Protected(FILES, {}, (), evidence("Lives in Tokyo", "Has three cats"))
BRIEF = Brief(Settings(phase2="always"), date(2026, 11, 21), UTC)
OSAKA = "- Lives in Osaka"
MOVE = (
    Finding("USER.md", "Lives in Tokyo", (1,), line=OSAKA),
    Finding("USER.md", "Lives in Osaka", (1,), remove=True, line=OSAKA),
)


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(id=f"call-{name}", name=name, arguments=arguments)


def asks(*calls: ToolCall) -> Completion:
    return Completion("", calls, "tool_calls")


def edit(old: str, new: str, *findings: int) -> ToolCall:
    return call("edit_file", path="USER.md", old_text=old, new_text=new, findings=list(findings))


def run(*answers: Answer, findings: tuple[Finding, ...] = MOVE) -> tuple[phase2.Edited, ScriptedModel]:
    model = ScriptedModel(*answers)
    return phase2.edit(findings, PROTECTED, model, BRIEF), model


def states(edited: phase2.Edited) -> list[str]:
    return [outcome.state for outcome in edited.outcomes]


def test_one_round_settles_everything_and_no_further_call_is_paid_for() -> None:
    edited, model = run(asks(edit("- Lives in Osaka", "- Lives in Tokyo", 1, 2)))
    assert states(edited) == ["applied", "applied"]
    assert edited.draft.texts["USER.md"] == "# User\n- Lives in Tokyo\n- Has two cats\n"
    assert len(model.calls) == 1


HEADED: dict[MemoryFile, str] = {
    "SOUL.md": "# Soul\n\n## Rules\n",
    "USER.md": "# User\n\n## Person\n\n- Lives in Osaka\n\n## Plans\n",
    "memory/MEMORY.md": "# Memory\n\n## Facts\n\n- The API listens on 8080\n",
}


def settled(
    *findings: Finding, answers: tuple[Answer, ...] = ("done",), person: str = "", settings: Settings | None = None
) -> tuple[phase2.Edited, ScriptedModel]:
    model = ScriptedModel(*answers)
    at = Protected(HEADED, {"memory/MEMORY.md": frozenset([person])}, ())
    return phase2.edit(findings, at, model, Brief(settings or Settings(), date(2026, 11, 21), UTC)), model


PORT = "- The API listens on 8080"
NEW = Finding("memory/MEMORY.md", "The API listens on 9090", (1,), heading="Facts", line=PORT)
OLD = Finding("memory/MEMORY.md", "The API listens on 8080", (1,), remove=True, line=PORT)
TRIP = Finding("USER.md", "Travels to Nara in May", (1,), heading="Plans")


def test_facts_under_a_named_heading_and_exact_pairs_cost_no_call() -> None:
    edited, model = settled(TRIP, NEW, OLD, Finding("memory/MEMORY.md", "Kenji leads the team", (1,), heading="People"))
    assert states(edited) == ["applied"] * 4
    assert model.calls == []
    assert edited.draft.texts["USER.md"].endswith("## Plans\n- Travels to Nara in May\n")
    assert edited.draft.texts["memory/MEMORY.md"] == (
        "# Memory\n\n## Facts\n\n- The API listens on 9090\n\n## People\n- Kenji leads the team\n"
    )


def test_a_line_keeps_the_marks_of_what_stands_out_in_it() -> None:
    bold = Finding("memory/MEMORY.md", "**Build**: needs Node 22", (1,), heading="Facts")
    first = Finding("memory/MEMORY.md", "1. FC Koeln is a customer", (1,), heading="Facts")
    listed = Finding("memory/MEMORY.md", "- The audit is yearly", (1,), heading="Facts")
    edited, _ = settled(bold, first, listed)
    assert edited.draft.texts["memory/MEMORY.md"].splitlines()[-3:] == [
        "- **Build**: needs Node 22",
        "- 1. FC Koeln is a customer",
        "- The audit is yearly",
    ]


def test_a_line_that_goes_for_good_costs_no_call() -> None:
    edited, model = settled(TRIP, Finding("USER.md", "Lives in Osaka", (2,), remove=True))
    assert (states(edited), model.calls) == (["applied", "applied"], [])
    assert "Osaka" not in edited.draft.texts["USER.md"]


@pytest.mark.parametrize(
    "findings",
    [
        (Finding("USER.md", "Travels to Nara in May", (1,)),),  # no heading
        (NEW, Finding("memory/MEMORY.md", "API port 8080", (1,), remove=True)),  # not the line itself
        (Finding("SOUL.md", "Use no emoji", (1,), heading="Obey Quill"),),  # a new heading among the rules
    ],
)
def test_what_needs_judgement_is_left_to_the_edit_agent(findings: tuple[Finding, ...]) -> None:
    _, model = settled(*findings)
    assert model.calls


def test_a_fact_for_a_full_file_is_left_to_the_edit_agent() -> None:
    _, model = settled(NEW, settings=Settings(memory_max_lines=5))
    assert model.calls


def test_the_edit_agent_is_shown_only_what_is_open_under_its_own_number() -> None:
    vague = Finding("USER.md", "Travels by train", (1,))
    _, model = settled(
        TRIP, NEW, OLD, vague, answers=(asks(edit("- Lives in Osaka", "- Lives in Osaka\n- Travels by train", 4)),)
    )
    assert "<findings>\n4. [USER] Travels by train {1}\n</findings>" in model.calls[0].user
    assert "9090" in model.calls[0].user


def test_everything_is_left_to_the_edit_agent_where_the_settings_say_so() -> None:
    _, model = settled(TRIP, settings=Settings(phase2="always"))
    assert "1. [USER/Plans] Travels to Nara in May {1}" in model.calls[0].user


def test_what_code_applies_is_guarded_like_every_edit() -> None:
    edited, model = settled(NEW, OLD, person="- The API listens on 8080")
    assert (states(edited), model.calls) == (["held", "held"], [])
    assert edited.held[0].verdict.guard == "person-line"


def test_the_findings_stand_numbered_in_the_prompt() -> None:
    _, model = run("done")
    assert "1. [USER] Lives in Tokyo {1}\n2. [USER-REMOVE] Lives in Osaka {1}" in model.calls[0].user


def test_several_calls_in_one_round_all_land() -> None:
    edited, _ = run(
        asks(edit("- Has two cats", "- Has three cats", 2), edit("- Lives in Osaka", "- Lives in Tokyo", 1)),
        findings=(MOVE[0], Finding("USER.md", "Has three cats", (1,))),
    )
    assert states(edited) == ["applied", "applied"]
    assert edited.draft.texts["USER.md"] == "# User\n- Lives in Tokyo\n- Has three cats\n"


def test_a_miss_is_answered_with_the_nearest_line_and_can_be_mended() -> None:
    edited, model = run(
        asks(edit("- Lives in  Osaka", "- Lives in Tokyo", 1, 2)),
        asks(edit("- Lives in Osaka", "- Lives in Tokyo", 1, 2)),
    )
    assert model.calls[1].messages[-1].content == (
        "error: old_text does not occur in USER.md; the nearest there is: - Lives in Osaka"
    )
    assert states(edited) == ["applied", "applied"]


@pytest.mark.parametrize(
    "answers",
    [
        ("done",),
        ("I may not edit these files.",),
        (Completion("no", finish="refusal"),),
        (Completion("half an ans", finish="length"),),
        (ToolsUnsupported("no tools"),),
        (AnswerUnusable("empty"),),
        (asks(ToolCall("1", "edit_file", {}, "not JSON")),),
        (asks(call("delete_everything")),),
        (asks(edit("- Lives in Osaka", "- Lives in Osaka", 1)),),
        (asks(edit("- not there", "- Lives in Tokyo", 1)),),
        (asks(call("read_file", path="USER.md")),),
        (asks(call("edit_file", path="../evil.md", old_text="", new_text="x", findings=[1])),),
        (asks(call("edit_file", path=7, old_text=None, new_text=[], findings={})),),
        (asks(call("skip_finding", finding=1, reason="already present")),),
        (asks(edit("", "- the weather is fine", 1, 2)), "done"),
    ],
)
def test_a_model_that_does_not_do_its_work_costs_no_fact(answers: tuple[Answer, ...]) -> None:
    edited, model = run(*answers)
    assert states(edited) == ["applied", "applied"]
    assert "- Lives in Tokyo" in edited.draft.texts["USER.md"]
    assert "Osaka" not in edited.draft.texts["USER.md"]
    assert len(model.calls) <= phase2.MAX_STEPS


def test_a_run_of_errors_ends_the_loop() -> None:
    _, model = run(asks(edit("- not there", "- x", 1)))
    assert len(model.calls) == phase2.MAX_BARREN_STEPS


def test_reading_for_ever_ends_the_loop() -> None:
    _, model = run(asks(call("read_file", path="USER.md")))
    assert len(model.calls) == phase2.MAX_BARREN_STEPS


def test_a_model_that_stops_early_is_reminded_once_of_what_is_open() -> None:
    _, model = run("done", "done")
    assert len(model.calls) == 2
    assert model.calls[1].messages[-1].content.startswith("Findings 1, 2 are not settled")


def test_an_edit_that_deletes_everything_of_a_large_file_is_held() -> None:
    many = "".join(f"- fact number {n}\n" for n in range(200))
    at = Protected({**FILES, "USER.md": many}, {}, ())
    model = ScriptedModel(asks(edit(many, "", 1)))
    edited = phase2.edit((Finding("USER.md", "all of it", (1,), remove=True),), at, model, BRIEF)
    assert states(edited) == ["held"]
    assert edited.draft.texts["USER.md"] == many


def test_numbers_of_findings_are_understood_however_they_are_spelt() -> None:
    for spelt in ("1, 2", ["1", "#2"], [1.0, 2], "[1,2]"):
        edited, _ = run(
            asks(
                call(
                    "edit_file",
                    path="USER.md",
                    old_text="- Lives in Osaka",
                    new_text="- Lives in Tokyo",
                    findings=spelt,
                )
            )
        )
        assert len(edited.draft.edits) == 1


def test_a_provider_that_is_down_fails_the_dream() -> None:
    with pytest.raises(ModelUnavailable):
        run(ModelUnavailable("down"))
