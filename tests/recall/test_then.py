"""Memory as it stood, and days as ranges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.actions import drop
from dream.actions.forget import forget
from dream.actions.restore import restore
from dream.directory import Workspace
from dream.errors import UsageError
from dream.settings import Settings
from tests.faults.support import called
from tests.recall.test_search import said
from tests.workspaces import fresh

SETTINGS = Settings(timezone="UTC")
FIRST = datetime(2026, 10, 2, 3, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Three nights: a fact, other talk, and the fact with another value."""
    made = fresh(tmp_path / "ws", FIRST - timedelta(days=2))
    talks = (
        (("user", "My day rate is 190 euros."), ("assistant", "Noted.")),
        (("user", "The Crown amplifier caught fire last night."), ("assistant", "Oh no.")),
        (("user", "My day rate is 215 euros now."), ("assistant", "Noted.")),
    )
    for number, rows in enumerate(talks):
        now = FIRST + timedelta(days=7 * number)
        pipeline.consolidate(made, [said(tmp_path, rows, f"talk{number}", now)], settings=SETTINGS, now=now)
        pipeline.run(made, settings=SETTINGS, now=now)
    return made


@pytest.mark.parametrize("moment", ["2026-10-10", "10 October 2026", "openai:talk1#0"])
def test_as_of_answers_from_what_was_known_then(workspace: Workspace, moment: str) -> None:
    moment = workspace.search("Crown amplifier", kinds=["message"])[0].cite if "#" in moment else moment
    found = [hit.text for hit in workspace.search("what is my day rate", as_of=moment)]
    assert any("190" in text for text in found)
    assert not any("215" in text for text in found)
    block = workspace.context(2_000, query="day rate", as_of=moment)
    assert "190" in block
    assert "215" not in block


def test_the_command_line_asks_of_before_the_last_dream(workspace: Workspace) -> None:
    root, moment = workspace.root, "before the last dream"
    assert "215" in called(root, "search", "day rate", "--kind", "memory").out
    assert "215" not in called(root, "search", "day rate", "--kind", "memory", "--as-of", moment).out
    assert "Recent history" in called(root, "context", "--as-of", moment).out
    assert called(root, "why", "day rate", "--as-of", moment, "--json").json[0]["line"].count("190")
    assert len(called(root, "log", "--as-of", moment, "--json").json) < len(called(root, "log", "--json").json)
    assert called(root, "search", "rate", "--as-of", "nonsense").status == 2


def test_what_was_dropped_is_shown_neither_now_nor_then_and_what_was_restored_over_is_marked(
    workspace: Workspace,
) -> None:
    last = workspace.git.log()[0]
    restore(workspace, last.sha, mode="before", now=FIRST + timedelta(days=20))
    block = workspace.context(2_000, as_of=last.sha)
    assert "restored over" in next(row for row in block.splitlines() if "215" in row)

    line = drop.named(workspace, "190")
    drop.drop(workspace, line, now=FIRST + timedelta(days=21))
    assert "190" not in workspace.context(2_000, as_of=last.sha)
    assert not any("190" in hit.text for hit in workspace.search("day rate", as_of=last.sha))
    assert not any("190" in hit.text for hit in workspace.search("day rate 190"))


def test_a_range_without_words_lists_what_was_said_then(workspace: Workspace) -> None:
    listed = called(workspace.root, "search", "--since", "2026-10-05", "--until", "2026-10-12", "--json").json
    assert [hit["text"] for hit in listed] == ["The Crown amplifier caught fire last night."]
    first = workspace.search("what caught fire or what was my rate around 8 October 2026?")[0]
    assert "Crown" in first.text


def test_a_moment_that_is_none_is_refused_in_a_sentence(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="is no moment"):
        workspace.search("rate", as_of="some day")
    assert workspace.context(1_000, as_of="2020-01-01") == ""


def test_what_is_told_later_of_a_day_is_found_by_that_day_in_other_words(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", FIRST - timedelta(days=2))
    talks = (
        (("user", "dropped the phone in the river sunday, bought a refurbished one"), ("assistant", "Oh no.")),
        (("user", "the oven broke, and the shop sends another"), ("assistant", "Good.")),
    )
    for number, rows in enumerate(talks):
        now = FIRST + timedelta(days=14 * number)  # the first on Friday 2 October 2026
        pipeline.consolidate(made, [said(tmp_path, rows, f"told{number}", now)], settings=SETTINGS, now=now)
    for question in ("what broke at the end of september 2026", "what went wrong on 27 september 2026"):
        assert "phone" in made.search(question)[0].text


def test_before_memory_began_nothing_can_be_told_and_afterwards_nothing_is_an_answer(workspace: Workspace) -> None:
    root, before, after = workspace.root, "2026-01-05", "2026-10-05"
    for command in (("search", "day rate"), ("context",), ("why", "day rate"), ("log",)):
        told = called(root, *command, "--as-of", before)
        assert "can't be told: memory here begins on 2026-09-30" in told.err
        assert "can't be told" not in called(root, *command, "--as-of", after).err
    assert "Nothing of what is kept says that." in called(root, "search", "amplifier", "--as-of", after).out
    drop.drop(workspace, drop.named(workspace, "215"), now=FIRST + timedelta(days=20))
    assert "a fact that you took back since then" in workspace.untold(after)
    assert "forget" not in workspace.untold(after)
    forget(workspace, "Crown amplifier", now=FIRST + timedelta(days=21))
    told = called(root, "search", "amplifier", "--as-of", after)
    assert "`dream forget` removed something on 23 October 2026: whether it was known then can't be told." in told.err
    assert "forget" not in workspace.untold("2026-10-24")
