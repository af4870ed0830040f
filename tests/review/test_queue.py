"""The review queue over many nights: numbers are given once, what is decided stays decided, what came true leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dream import pipeline
from dream.actions import review
from dream.actions.restore import restore
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.reports import RunReport
from dream.settings import Settings
from dream.workspace import files
from tests.review.test_review import GUARDS, HOLD, NOW, dream, memory
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

GREEN, REX = "[USER] Likes green tea {n}", "[USER] Has a dog called Rex {n}"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def write(workspace: Workspace, text: str) -> None:
    (workspace.root / "USER.md").write_text(text, encoding="utf-8")


def ids(workspace: Workspace) -> list[int]:
    return [one.id for one in workspace.pending()]


def test_a_number_is_never_given_again_whatever_was_decided(workspace: Workspace) -> None:
    dream(workspace, GREEN)
    review.reject(workspace, [1], now=NOW)
    dream(workspace, REX)
    assert ids(workspace) == [2]
    review.accept(workspace, [2], now=NOW)
    dream(workspace, "[USER] Plays the oboe {n}")
    assert ids(workspace) == [3]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [None, b"", b"many\n"])
def test_a_number_is_never_given_again_after_a_restore_and_damage(workspace: Workspace, damage: bytes | None) -> None:
    first = dream(workspace, GREEN).batches[0].commit
    dream(workspace, REX)
    assert first is not None
    restore(workspace, first, now=NOW)
    assert ids(workspace) == []
    kept = workspace.private / "last_proposal"
    kept.unlink() if damage is None else kept.write_bytes(damage)
    dream(workspace, "[USER] Plays the oboe {n}")
    assert ids(workspace) == [3, 4, 5] or min(ids(workspace)) > 2


def test_a_dry_run_gives_no_number(workspace: Workspace) -> None:
    workspace.history.append([NewEntry("summary", "- something was said")], now=NOW)
    models = Models(ScriptedModel("[USER] Likes green tea {1}"), ScriptedModel("done"), Meter(HOLD))
    pipeline.run(workspace, settings=HOLD, now=NOW, models=models, dry_run=True)
    assert not (workspace.private / "last_proposal").exists()


OSAKA = "# User\n\n- Lives in Osaka\n"
REMOVE = "[USER-REMOVE] Lives in Osaka {n}"


def test_a_rejected_removal_is_not_proposed_again(workspace: Workspace) -> None:
    write(workspace, OSAKA)
    dream(workspace, REMOVE, GUARDS)
    assert [one.guard for one in workspace.pending()] == ["person-line"]
    done = review.reject(workspace, [1], now=NOW)
    assert [(fact.text, fact.removal) for fact in done.remembered] == [("Lives in Osaka", True)]
    report = dream(workspace, REMOVE, GUARDS)
    assert (report.outcome, workspace.pending()) == ("nothing", [])
    assert report.batches[0].outcomes[0].reason.startswith("kept-line: a person decided on 2026-11-21 to keep the line")
    assert workspace.read_file("USER.md") == OSAKA


@pytest.mark.slow
def test_a_rejected_removal_of_a_dreamt_line_leaves_it_to_be_written_and_replaced(workspace: Workspace) -> None:
    dream(workspace, "[USER] Lives in Osaka {n}", GUARDS)
    dream(workspace, REMOVE)
    review.reject(workspace, [1], now=NOW)
    dream(workspace, REMOVE, GUARDS)
    assert "- Lives in Osaka\n" in workspace.read_file("USER.md")
    report = dream(workspace, "[USER] Lives in Kobe {n}\n[USER-REMOVE] Lives in Osaka {n}", GUARDS)
    assert [outcome.state for outcome in report.batches[0].outcomes] == ["applied", "applied"]
    assert "- Lives in Kobe\n" in workspace.read_file("USER.md")
    assert "Osaka" not in workspace.read_file("USER.md")
    report = dream(workspace, "[USER] Lives in Osaka {n}", GUARDS)
    assert report.batches[0].outcomes[0].state == "applied"


def test_what_is_much_like_a_rejected_fact_waits_for_the_person(workspace: Workspace) -> None:
    dream(workspace, GREEN)
    review.reject(workspace, [1], now=NOW)
    report = dream(workspace, "[USER] Favourite tea: green tea {n}\n[USER] Likes black tea {n}", GUARDS)
    assert [outcome.state for outcome in report.batches[0].outcomes] == ["held", "applied"]
    assert [one.guard for one in workspace.pending()] == ["rejected-fact"]
    assert "green" not in workspace.read_file("USER.md")


def test_what_a_person_took_back_is_added_to_and_never_written_anew(workspace: Workspace) -> None:
    foreign = b'{"of": "a later version"}\n{"torn'
    (workspace.memory / ".rejected.jsonl").write_bytes(foreign)
    dream(workspace, GREEN)
    review.reject(workspace, [1], now=NOW)
    assert (workspace.memory / ".rejected.jsonl").read_bytes().startswith(foreign + b"\n")
    assert [fact.text for fact in workspace.rejected()] == ["Likes green tea"]
    commit = dream(workspace, REX, GUARDS).batches[0].commit
    assert commit is not None
    restore(workspace, commit, mode="only", forget=True, now=NOW)
    assert [fact.text for fact in workspace.rejected()] == ["Likes green tea", "Has a dog called Rex"]


def test_what_came_true_by_a_person_s_hand_leaves_the_queue_with_the_next_dream(workspace: Workspace) -> None:
    dream(workspace, f"{GREEN}\n{REX}")
    write(workspace, workspace.read_file("USER.md") + "- Likes green tea (2026-11-20)\n")
    report = dream(workspace, "[MEMORY] The API runs on port 8080 {n}", GUARDS)
    assert ids(workspace) == [2]
    assert report.batches[0].notes == ("proposal 1 left the review queue: USER.md is already as it proposes",)
    assert workspace.read_file("USER.md").count("green tea") == 1


def saved_at(checkpoint: str, deed: Callable[[], None]) -> Callable[[str], None]:
    done = []

    def reached(name: str) -> None:
        if name == checkpoint and not done:
            done.append(name)
            deed()

    return reached


@pytest.mark.parametrize("checkpoint", ["before swap of USER.md"])
def test_what_a_later_dream_of_the_same_run_writes_after_all_is_not_reported_as_held(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, checkpoint: str
) -> None:
    report = run_twice(workspace, monkeypatch, checkpoint, again=True)
    first, second = report.batches
    assert [outcome.state for outcome in (*first.outcomes, *second.outcomes)] == ["present", "applied"]
    assert (report.outcome, report.exit_status, report.held) == ("committed", 0, 0)
    assert workspace.pending() == []
    assert workspace.read_file("USER.md").count("green tea") == 1
    assert "- Theirs\n" in workspace.read_file("USER.md")


def test_what_nobody_wrote_meanwhile_stays_held(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run_twice(workspace, monkeypatch, "before swap of USER.md", again=False)
    assert (report.exit_status, report.held, ids(workspace)) == (3, 1, [1])
    assert [one.guard for one in workspace.pending()] == ["person-edit"]


def run_twice(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, checkpoint: str, *, again: bool) -> RunReport:
    """Dream two entries, one at a time; while the first is written a person saves the place that it writes to."""
    settings = Settings(timezone="UTC", durable=False, batch_tokens=30)
    workspace.history.append([NewEntry("summary", f"- said in talk {n}") for n in (1, 2)], now=NOW)

    def theirs() -> None:
        write(workspace, workspace.read_file("USER.md").replace("## Preferences\n", "## Preferences\n- Theirs\n"))

    def answer(sent: object) -> str:
        text = str(sent)
        if "talk 1" in text:
            return "[USER/Preferences] Likes green tea {1}"
        return "[USER/Preferences] Likes green tea {2}" if again else "[MEMORY] The API runs on port 8080 {2}"

    models = Models(ScriptedModel(answer), ScriptedModel("done"), Meter(settings))
    with monkeypatch.context() as seam:
        seam.setattr(files, "checkpoint", saved_at(checkpoint, theirs))
        report = pipeline.run(workspace, settings=settings, now=NOW, models=models)
    assert "Theirs" in memory(workspace)["USER.md"]
    return report
