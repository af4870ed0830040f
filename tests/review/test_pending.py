"""A later dream can withdraw an edit that waits for review, or put a better one in its place, by its number."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream import pipeline
from dream.actions import review
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import EntryLine, NewEntry, Voice
from dream.reports import RunReport
from dream.settings import Settings
from tests.places.test_scope import Agent
from tests.review.test_review import NOW
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

SETTINGS = Settings(timezone="UTC", durable=False)
GROUP = "telegram:group:-77"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def night(workspace: Workspace, said: str, voice: Voice, answer: str) -> tuple[RunReport, ScriptedModel]:
    """Dream what somebody said; `{n}` in the answer is the entry."""
    entry = NewEntry("summary", f"- {said}", lines=(EntryLine((0,), voice, said if voice == "user" else ""),))
    cursor = workspace.history.append([entry], now=NOW)[0].cursor
    reader = ScriptedModel(answer.replace("{n}", f"{{{cursor}}}"))
    models = Models(reader, ScriptedModel("done"), Meter(SETTINGS))
    return pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models), reader


def waiting(workspace: Workspace) -> list[str]:
    return [one.new_text.rpartition("\n")[2] or f"without {one.old_text}" for one in workspace.pending()]


def test_what_waits_is_shown_without_its_line_a_second_time(workspace: Workspace) -> None:
    night(workspace, "She likes jazz", "agent", "[USER] Likes jazz {n}")
    _, reader = night(workspace, "hello", "user", "[SKIP]")
    assert "    W1 [USER] Likes jazz (waits: the agent says it, not the user)\n</waiting>" in reader.calls[0].user


@pytest.mark.parametrize(("voice", "left"), [("user", []), ("tool", ["- Likes jazz"])])
def test_a_waiting_line_goes_once_the_user_takes_it_back_and_not_on_a_tools_word(
    workspace: Workspace, voice: Voice, left: list[str]
) -> None:
    night(workspace, "She likes jazz", "agent", "[USER] Likes jazz {n}")
    report, _ = night(workspace, "no jazz for me", voice, "[USER-REMOVE] W1 no jazz for me {n}")
    assert waiting(workspace) == left
    assert [one.state for one in report.batches[0].outcomes] == ["refused"] * len(left)
    assert [note for note in report.batches[0].notes if "waited as 1" in note] == (
        [] if left else ["what waited as 1 no longer does: it was changed or taken back"]
    )


def test_a_line_that_the_user_now_says_takes_the_place_of_the_waiting_one(workspace: Workspace) -> None:
    night(workspace, "She likes jazz", "agent", "[USER/Preferences] Likes jazz {n}")
    night(workspace, "I like free jazz", "user", "[USER-REPLACE W1] Likes free jazz {n}")
    assert waiting(workspace) == []
    assert "## Preferences\n- Likes free jazz\n" in workspace.read_file("USER.md")


def test_a_better_wording_that_must_wait_too_leaves_one_proposal_with_the_newer_evidence(workspace: Workspace) -> None:
    night(workspace, "She likes jazz", "agent", "[USER] Likes jazz {n}")
    night(workspace, "She likes jazz", "tool", "[USER-REPLACE W1] Likes jazz {n}")  # nobody's word: the first stays
    assert [(one.id, one.entries) for one in workspace.pending()] == [(1, (1,))]
    talk = NewEntry(
        "summary", "- She likes jazz\n- hello", lines=(EntryLine((0,), "agent"), EntryLine((1,), "user", "hello"))
    )
    workspace.history.append([talk], now=NOW)
    reader = ScriptedModel("[USER-REPLACE W1] Likes jazz {3}")
    pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(reader, reader, Meter(SETTINGS)))
    assert [(one.id, one.entries) for one in workspace.pending()] == [(2, (3,))]


def test_a_waiting_replacement_is_bettered_together_with_the_line_that_it_replaces(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- Lives in Osaka\n", encoding="utf-8")
    night(workspace, "I moved to Tokyo", "user", "[USER-REPLACE U3] Lives in Tokyo {n}")
    assert waiting(workspace) == ["- Lives in Tokyo"]
    _, reader = night(workspace, "to Kobe, I meant", "user", "[USER-REPLACE W1] Lives in Kobe {n}")
    assert "W1 [USER-REPLACE U3] Lives in Tokyo (waits: a person wrote" in reader.calls[0].user
    (one,) = workspace.pending()
    assert (one.id, one.old_text, one.new_text) == (2, "- Lives in Osaka", "- Lives in Kobe")
    review.accept(workspace, [2], now=NOW)
    assert workspace.read_file("USER.md") == "# User\n\n- Lives in Kobe\n"


def test_a_waiting_removal_is_withdrawn_and_the_line_stays(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- Lives in Osaka\n", encoding="utf-8")
    night(workspace, "I leave Osaka", "user", "[USER-REMOVE] U3 {n}")
    assert waiting(workspace) == ["without - Lives in Osaka"]
    night(workspace, "we stay in Osaka", "user", "[USER-REMOVE] W1 we stay in Osaka {n}")
    assert waiting(workspace) == []
    assert "- Lives in Osaka\n" in workspace.read_file("USER.md")


def test_members_of_a_group_take_back_and_change_what_waits_there(workspace: Workspace, home: Path) -> None:
    agent = Agent(workspace, home)
    agent.hears("Remind Lena of the rent.", "Ping Bo on Mondays.", chat=GROUP, by="Ruiz")
    agent.dreams("[SOUL/Rules] Remind Lena of the rent {1}\n[SOUL/Rules] Ping Bo on Mondays {1}")
    assert waiting(workspace) == ["- Ruiz: Remind Lena of the rent", "- Ruiz: Ping Bo on Mondays"]
    agent.hears("Forget the rent. Ping Bo on Tuesdays.", chat=GROUP, by="Ruiz")
    agent.dreams("[SOUL-REPLACE W2] Ping Bo on Tuesdays {2}\n[SOUL-REMOVE] W1 Forget the rent {2}")
    assert waiting(workspace) == ["- Ruiz: Ping Bo on Tuesdays"]


def test_in_a_project_what_waits_for_everywhere_and_for_the_project_goes_by_number(
    workspace: Workspace, home: Path
) -> None:
    agent = Agent(workspace, home)
    agent.hears("The wiki says: never deploy on Fridays.", summary="- never deploy on Fridays (0)")
    agent.dreams("[SOUL/Rules] never deploy on Fridays {1}", "[SKIP]")
    agent.hears("The wiki says: ask before a push.", at="crumb", summary="- ask before a push (0)")
    agent.dreams("[SOUL/Rules] ask before a push {2}", "[SKIP]")
    assert [one.file for one in workspace.pending()] == ["SOUL.md", "places/crumb/SOUL.md"]
    agent.hears("ask me before a push. Fridays are fine.", at="crumb")
    agent.dreams("[SOUL-REPLACE W2] ask me before a push {3}\n[SOUL-REMOVE] W1 Fridays are fine {3}")
    assert agent.workspace.pending() == []
    assert agent.lines("places/crumb/SOUL.md") == ["- ask me before a push"]


def test_as_many_waiting_edits_are_shown_as_fit_and_the_others_are_counted(workspace: Workspace) -> None:
    facts = [f"The lodger of room {number} plays the {number}th sonata on the piano each night" for number in range(90)]
    night(workspace, " ".join(facts), "agent", "\n".join(f"[USER] {fact} {{n}}" for fact in facts))
    assert len(workspace.pending()) == 90
    _, reader = night(workspace, "hello", "user", "[SKIP]")
    shown = reader.calls[0].user.partition("<waiting>")[2].partition("</waiting>")[0].strip().splitlines()
    assert "room 89 " in shown[-2]
    edits = [row for row in shown if row.lstrip().startswith("W")]
    assert shown[-1] == f"({90 - len(edits)} older ones wait too and are not shown)"
    assert 20 < len(edits) < 60
