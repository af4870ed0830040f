"""A floor under summaries: what a user said exactly is in history, whatever the model answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.models import Entry, EntryLine
from dream.reports import ConsolidateReport
from dream.settings import Settings
from tests.provider import Provider, Script, fault, text
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
RULE = "Never run a migration without asking me first"
DATABASE = "The staging database is at db7.example.org:5433."
SAID = (
    ("user", "Morning! I work with Ottoline Perk now, she leads our platform team."),
    ("assistant", "Good to know."),
    ("user", f"{RULE}. {DATABASE}"),
    ("assistant", "Understood."),
    ("user", "We decided to ship the importer on 3 May 2027."),
)
HAIKU = "Quiet morning light\nkeys hum beneath patient hands\nthe build turns to green"
GOOD = "\n".join(
    [
        "- The user works with Ottoline Perk, who leads their platform team {0}",
        "- User wants the agent to never run a migration without asking first {2}",
        "- The staging database is at db7.example.org:5433 {2}",
        "- The importer ships on 3 May 2027 {4}",
    ]
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def consolidate(
    workspace: Workspace, provider: Provider, *answers: Script, said: tuple[tuple[str, str], ...] = SAID, **more: object
) -> tuple[ConsolidateReport, list[Entry]]:
    """Consolidate a transcript with what the provider answers."""
    provider.script(*answers)
    given = {"model": "openai/gpt-4o-mini", "api_base": provider.base, "api_key": "x", "retries": 0} | more
    settings = Settings(timezone="UTC", durable=False, **given)  # type: ignore[arg-type]
    path = workspace.root.parent / "talk.json"
    path.write_text(json.dumps([{"role": role, "content": content} for role, content in said]))
    report = pipeline.consolidate(workspace, [path], settings=settings, now=NOW)
    return report, list(workspace.history.after(0))


@pytest.mark.few(2)
@pytest.mark.parametrize("answer", ["(nothing)", HAIKU, "- The user said hello"])
def test_a_summary_that_leaves_out_what_matters_is_asked_for_again(
    workspace: Workspace, provider: Provider, answer: str
) -> None:
    report, entries = consolidate(workspace, provider, text(answer), text(GOOD))
    again = str(provider.bodies()[1]["messages"][-1]["content"])
    assert all(part in again for part in ("[2] “The staging database", "Ottoline Perk", "3 May 2027"))
    assert "“" not in entries[0].content
    assert "Ottoline" in entries[0].content
    assert report.usage.calls == len(provider.requests) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("answer", ["(nothing)", HAIKU, "- The user said hello"])
def test_at_the_second_time_the_users_sentences_go_in_themselves(
    workspace: Workspace, provider: Provider, answer: str
) -> None:
    report, entries = consolidate(workspace, provider, text(answer))
    entry = entries[0]
    lines = entry.content.split("\n")
    kept = lines.index(f"- user: “{DATABASE}”")
    assert entry.lines[kept] == EntryLine((2,), "user")
    assert all(part in entry.content for part in ("Ottoline Perk", "db7.example.org:5433", "3 May 2027"))
    assert (entry.kind, len(entries), report.raw, report.usage.calls) == ("summary", 1, 0, 2)


def test_a_good_summary_is_asked_for_once_and_nothing_is_added(workspace: Workspace, provider: Provider) -> None:
    _, entries = consolidate(workspace, provider, text(GOOD))
    assert len(provider.requests) == 1
    assert [line for line in entries[0].content.split("\n") if line.startswith("- ")] == [
        line.partition(" {")[0] for line in GOOD.split("\n")
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "said",
    [
        (("user", "hi there, good morning!"), ("assistant", "Hello!"), ("user", "thanks, that helps a lot")),
        (("user", "what is the capital of Peru?"), ("assistant", "Lima."), ("user", "ok cool")),
        (("user", "run the tests again please"), ("assistant", "All 212 pass."), ("user", "great")),
        (("user", "if I won 3 million I'd buy 2 boats lol"), ("assistant", "Ha!"), ("user", "24/7 on the sea")),
    ],
)
def test_where_nobody_said_anything_worth_keeping_nothing_may_stay_nothing(
    workspace: Workspace, provider: Provider, said: tuple[tuple[str, str], ...]
) -> None:
    _, entries = consolidate(workspace, provider, text("(nothing)"), said=said)
    assert [entry.kind for entry in entries] == ["nothing"]
    assert len(provider.requests) == 1


def test_there_is_never_a_third_call(workspace: Workspace, provider: Provider) -> None:
    _, entries = consolidate(workspace, provider, text(""), text("(nothing)"), text(GOOD))
    assert len(provider.requests) == 2
    assert DATABASE in entries[0].content


def test_of_two_poor_summaries_the_better_one_stays(workspace: Workspace, provider: Provider) -> None:
    _, entries = consolidate(workspace, provider, text("- The importer ships on 3 May 2027 {4}"), text(HAIKU))
    assert entries[0].content.startswith("- The importer ships")


@pytest.mark.few(1)
@pytest.mark.parametrize("second", [fault(400, "no"), text("I'm sorry, I can't help with that.")])
def test_where_the_second_call_fails_the_first_summary_stands_with_the_sentences(
    workspace: Workspace, provider: Provider, second: Script
) -> None:
    _, entries = consolidate(workspace, provider, text("- The user said hello"), second)
    assert [entry.kind for entry in entries] == ["summary"]
    assert entries[0].content.startswith("- The user said hello\n- user: “")
    assert DATABASE in entries[0].content


def test_the_second_call_is_bounded_like_any_other(workspace: Workspace, provider: Provider) -> None:
    poor = text("(nothing)", usage={"prompt_tokens": 3000, "completion_tokens": 5, "total_tokens": 3005})
    report, entries = consolidate(workspace, provider, poor, max_run_tokens=6_000)
    assert len(provider.requests) == 1
    assert DATABASE in entries[0].content
    assert report.usage.calls == 1


def test_the_embedded_model_is_taken_at_its_word(workspace: Workspace, provider: Provider) -> None:
    report, entries = consolidate(workspace, provider, fault(500), model="embedded", api_base=None, api_key=None)
    assert report.usage.calls == len(entries) == 1
    assert not any(line.startswith("- user: “") for line in entries[0].content.split("\n"))


def test_a_summary_in_another_language_is_held_to_the_exact_things_alone(
    workspace: Workspace, provider: Provider
) -> None:
    said = (
        ("user", "Frag mich immer, bevor du eine Migration startest."),
        ("user", "Die Datenbank liegt auf db7.example.org und die Abnahme ist am 3. Mai 2027."),
    )
    summary = "- Always ask before a migration {0}\n- The database is on db7.example.org; acceptance on 3 May 2027 {1}"
    _, entries = consolidate(workspace, provider, text(summary), said=said, language="English")
    assert len(provider.requests) == 1
    assert "user: “" not in entries[0].content


def test_a_word_of_time_makes_no_wish_beside_which_the_user_is_quoted(workspace: Workspace, provider: Provider) -> None:
    said = (("user", "I used to go horseback riding with my dad when I was a kid, before we moved to Tromso."),)
    summary = "- The user used to go horseback riding with their dad when they were a kid, before moving to Tromso {0}"
    _, entries = consolidate(workspace, provider, text(summary), said=said)
    assert entries[0].content == summary.removesuffix(" {0}")


def test_a_message_so_long_that_it_is_pasted_states_nothing(workspace: Workspace, provider: Provider) -> None:
    said = (("user", f"{RULE}. The cat sat on the mat again. " * 3_000),)
    _, entries = consolidate(workspace, provider, text("(nothing)"), said=said)
    assert [entry.kind for entry in entries] == ["nothing"]
