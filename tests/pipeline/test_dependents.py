"""What hangs on what changed: the lines that rested on it go, change, or are asked about, in the same commit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.actions import review
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import EntryLine, NewEntry
from dream.reports import RunReport
from dream.settings import Settings
from tests.cli.commands import dream
from tests.scripted import Answer, ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)
USER = """# User

## Person
- The user lives in Porto
- The user's commute is bus 502 from Boavista
- The user met Rui in Porto in 2019
- The gym in Rua do Almada costs 31 euros a month
- The user is allergic to nuts
"""


def night(workspace: Workspace, said: str, *phase1: Answer) -> tuple[RunReport, ScriptedModel]:
    entry = NewEntry("note", said, lines=(EntryLine(voice="user"),))
    cursor = workspace.history.append([entry], now=NOW)[0].cursor
    answers = (one.replace("{}", f"{{{cursor}}}") if isinstance(one, str) else one for one in phase1)
    reader, meter = ScriptedModel(*answers), Meter(QUIET, now=lambda: NOW)
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=Models(reader, ScriptedModel("done"), meter))
    return report, reader


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace whose USER.md an agent's dreams wrote."""
    made = fresh(tmp_path / "ws", NOW)
    facts = [row.removeprefix("- ") for row in USER.splitlines() if row.startswith("- ")]
    night(made, " ".join(facts), "\n".join(f"[USER/Person] {fact} {{}}" for fact in facts))
    return made


def number(workspace: Workspace, words: str) -> str:
    rows = workspace.read_file("USER.md").splitlines()
    return f"U{next(place for place, row in enumerate(rows, 1) if words in row)}"


def test_what_hangs_on_a_change_goes_changes_or_is_asked_about_in_the_same_commit(workspace: Workspace) -> None:
    home, bus, gym = (number(workspace, words) for words in ("lives in Porto", "502", "gym"))
    _, reader = night(
        workspace,
        "I moved to Lisbon, my gym there costs 44 euros a month",
        f"[USER-REPLACE {home}] The user moved to Lisbon {{}}",
        f"[ASK {bus}] You moved to Lisbon: do you still take bus 502?\n"
        f"[USER-REPLACE {gym}] The gym in Lisbon costs 44 euros a month {{}}",
    )
    assert len(reader.calls) == 2
    assert "was: The user lives in Porto" in reader.calls[1].user
    text = workspace.read_file("USER.md")
    assert "44 euros" in text
    assert "31 euros" not in text
    assert "allergic to nuts" in text
    assert "met Rui in Porto" in text
    assert "bus 502" in text
    (asked,) = workspace.pending()
    assert asked.reason == "You moved to Lisbon: do you still take bus 502?"
    assert asked.guard == "hangs"
    assert len(workspace.git.log(kind="dream")) == 2


def test_yes_keeps_the_line_for_good_and_no_drops_it(workspace: Workspace) -> None:
    answers = [f"[USER-REPLACE {number(workspace, 'lives in Porto')}] The user moved to Lisbon {{}}"]
    answers.append(f"[ASK {number(workspace, '502')}] Still bus 502?\n[ASK {number(workspace, 'gym')}] Still the gym?")
    night(workspace, "I moved to Lisbon", *answers)
    bus, gym = workspace.pending()
    review.accept(workspace, [bus.id], now=NOW)
    review.reject(workspace, [gym.id], now=NOW)
    text = workspace.read_file("USER.md")
    assert "bus 502" not in text
    assert "gym" in text
    again = [f"[USER-REPLACE {number(workspace, 'Lisbon')}] The user moved to Braga {{}}"]
    again.append(f"[USER-REMOVE] {number(workspace, 'gym')}")
    night(workspace, "I moved to Braga", *again)
    assert "gym" in workspace.read_file("USER.md")


def test_a_dream_that_only_adds_asks_nothing_more(workspace: Workspace) -> None:
    _, reader = night(workspace, "I have a cat", "[USER/Person] The user has a cat {}")
    assert len(reader.calls) == 1


def test_an_answer_that_cannot_be_used_leaves_a_note_and_the_dream_lands(workspace: Workspace) -> None:
    change = f"[USER-REPLACE {number(workspace, 'lives in Porto')}] The user moved to Lisbon {{}}"
    report, _ = night(workspace, "I moved to Lisbon", change, "I see nothing wrong here.")
    assert "moved to Lisbon" in workspace.read_file("USER.md")
    assert any("were not checked" in note for note in report.batches[0].notes)


def test_a_line_that_a_person_wrote_is_asked_about_and_stays(workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    path.write_text(path.read_text(encoding="utf-8") + "- My parking place is number 7\n", encoding="utf-8")
    night(
        workspace,
        "I moved to Lisbon",
        f"[USER-REPLACE {number(workspace, 'lives in Porto')}] The user moved to Lisbon {{}}",
        f"[USER-REMOVE] {number(workspace, 'parking')}",
    )
    assert "parking place" in workspace.read_file("USER.md")
    (asked,) = workspace.pending()
    assert asked.reason.startswith("The user moved to Lisbon: does this still hold?")


def test_the_command_shows_yes_no_and_what_holds_instead(workspace: Workspace) -> None:
    bus = number(workspace, "502")
    change = f"[USER-REPLACE {number(workspace, 'lives in Porto')}] The user moved to Lisbon {{}}"
    night(workspace, "I moved to Lisbon", change, f"[ASK {bus}] You moved to Lisbon: do you still take bus 502?")
    (asked,) = workspace.pending()
    shown = dream("review", "-w", workspace.root)
    assert "do you still take bus 502?" in shown.out
    assert f"Yes, it holds: dream review reject {asked.id}" in shown.out
    assert "can only be decided by number" in dream("review", "accept", "all", "-w", workspace.root).err
    dream("review", "accept", asked.id, "--instead", "The user walks to work", "-w", workspace.root)
    text = workspace.read_file("USER.md")
    assert "- The user walks to work" in text
    assert "502" not in text
