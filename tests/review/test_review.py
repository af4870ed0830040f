"""What a guard holds waits with its exact diff; a person's decision does that and nothing else, and is remembered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import pipeline
from dream.actions import review
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.errors import UsageError, WorkspaceError
from dream.llm.spending import Meter
from dream.models import MEMORY_FILES, NewEntry, Proposal
from dream.reports import RunReport
from dream.settings import Settings
from dream.versions import trace
from dream.workspace import review_files
from tests.scripted import ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
GUARDS = Settings(timezone="UTC", durable=False)
HOLD = Settings(timezone="UTC", durable=False, review="hold")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def dream(workspace: Workspace, answer: str, settings: Settings = HOLD, kind: str = "summary") -> RunReport:
    """Dream one entry; its findings are applied one by one."""
    workspace.history.append([NewEntry(kind, "- something was said")], now=NOW)  # type: ignore[arg-type]
    cursor = workspace.history.last_cursor()
    models = Models(ScriptedModel(answer.replace("{n}", f"{{{cursor}}}")), ScriptedModel("done"), Meter(settings))
    return pipeline.run(workspace, settings=settings, now=NOW, models=models)


def memory(workspace: Workspace) -> dict[str, str]:
    return {file: workspace.read_file(file) for file in MEMORY_FILES}


FACTS = "[USER] Likes green tea {n}\n[USER] Has a dog called Rex {n}\n[MEMORY] The API runs on port 8080 {n}"


def test_with_review_hold_a_dream_changes_no_memory_file_and_ends_with_status_3(workspace: Workspace) -> None:
    before = memory(workspace)
    report = dream(workspace, FACTS)
    assert (report.outcome, report.exit_status) == ("held", 3)
    assert memory(workspace) == before
    assert [(one.file, one.guard) for one in workspace.pending()] == [
        ("USER.md", "review"),
        ("USER.md", "review"),
        ("memory/MEMORY.md", "review"),
    ]
    assert workspace.dream_cursor() == 1


def test_accepting_all_gives_what_a_run_without_hold_gives(workspace: Workspace, tmp_path: Path) -> None:
    other = fresh(tmp_path / "other", NOW)
    dream(other, FACTS, GUARDS)
    dream(workspace, FACTS)
    done = review.accept(workspace, [1, 2, 3], now=NOW)
    assert (len(done.done), done.misfits) == (3, ())
    assert [sorted(text.splitlines()) for text in memory(workspace).values()] == [
        sorted(text.splitlines()) for text in memory(other).values()
    ]
    assert workspace.pending() == []


def test_an_addition_goes_to_its_section_though_a_person_changed_the_line_beside_it(workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    path.write_text("# User\n\n## Home\n\n- Lives in Osaka\n\n## Work\n\n- Is a nurse\n")
    dream(workspace, "[USER/Home] Has two cats {n}")
    path.write_text(path.read_text().replace("Osaka", "Kobe"))
    assert review.accept(workspace, [1], now=NOW).misfits == ()
    assert path.read_text() == "# User\n\n## Home\n\n- Lives in Kobe\n- Has two cats\n\n## Work\n\n- Is a nurse\n"


def test_accepting_one_applies_that_one_and_the_others_go_on_waiting(workspace: Workspace) -> None:
    before = memory(workspace)
    dream(workspace, FACTS)
    review.accept(workspace, [2], now=NOW)
    added = set(workspace.read_file("USER.md").splitlines()) - set(before["USER.md"].splitlines())
    assert added == {"- Has a dog called Rex"}
    assert workspace.read_file("memory/MEMORY.md") == before["memory/MEMORY.md"]
    assert [one.id for one in workspace.pending()] == [1, 3]


def test_an_accepted_line_is_traced_to_its_entry_like_any_other(workspace: Workspace) -> None:
    dream(workspace, FACTS)

    review.accept(workspace, [2], now=NOW)

    (origin,) = [one for one in trace.origins(workspace) if one.entries]
    assert (origin.line, origin.findings, origin.entries) == ("- Has a dog called Rex", ("Has a dog called Rex",), (1,))


def test_an_accepted_edit_whose_row_a_person_changed_is_made_all_the_same(workspace: Workspace) -> None:
    dream(workspace, "[USER] Likes green tea {n}")
    pending = workspace.root / "memory/.pending.jsonl"
    pending.write_text(pending.read_text().replace("[USER] Likes", "Likes"))

    review.accept(workspace, [1], now=NOW)

    assert "- Likes green tea" in workspace.read_file("USER.md")


def test_a_proposal_shows_every_changed_line_and_no_other(workspace: Workspace) -> None:
    proposal = Proposal(1, NOW, "USER.md", "- a\n- b\n  - c", "- a\n- B\n    - c\n- d", "review", "", (), ())
    assert review.diff(proposal) == "-- b\n-  - c\n+- B\n+    - c\n+- d"


def test_what_no_longer_fits_is_said_and_goes_on_waiting(workspace: Workspace) -> None:
    user = workspace.root / "USER.md"
    user.write_text("# User\n\n- Lives in Osaka\n", encoding="utf-8")
    dream(workspace, "[USER] Lives in Tokyo {n}\n[USER-REMOVE] Lives in Osaka {n}", GUARDS)
    assert [one.guard for one in workspace.pending()] == ["person-line"]
    user.write_text("# User\n\n- Lives in Kobe\n", encoding="utf-8")
    done = review.accept(workspace, [1], now=NOW)
    assert done.done == ()
    assert "is no longer in USER.md" in done.misfits[0][1]
    assert user.read_text(encoding="utf-8") == "# User\n\n- Lives in Kobe\n"
    assert [one.id for one in workspace.pending()] == [1]


def test_what_a_person_wrote_themselves_meanwhile_is_not_written_twice(workspace: Workspace) -> None:
    dream(workspace, "[USER] Likes green tea {n}")
    user = workspace.root / "USER.md"
    user.write_text(user.read_text(encoding="utf-8") + "- Likes green tea\n", encoding="utf-8")
    done = review.accept(workspace, [1], now=NOW)
    assert "already" in done.misfits[0][1]
    assert user.read_text(encoding="utf-8").count("Likes green tea") == 1


def test_a_rejected_fact_stays_out_in_other_words_too_and_in_every_file(workspace: Workspace) -> None:
    dream(workspace, "[USER] Likes green tea {n}")
    done = review.reject(workspace, [1], now=NOW)
    assert [fact.text for fact in done.remembered] == ["Likes green tea"]
    report = dream(workspace, "[USER] The user enjoys green tea {n}\n[MEMORY] Is fond of green tea {n}", GUARDS)
    assert [outcome.state for outcome in report.batches[0].outcomes] == ["refused", "refused"]
    assert "tea" not in "".join(memory(workspace).values())
    assert workspace.pending() == []


def test_a_rejected_edit_leaves_the_memory_files_as_they_are(workspace: Workspace) -> None:
    dream(workspace, FACTS)
    before = memory(workspace)
    review.reject(workspace, [1, 2, 3], now=NOW)
    assert memory(workspace) == before
    assert workspace.pending() == []


def test_the_same_edit_is_not_queued_twice(workspace: Workspace) -> None:
    dream(workspace, "[USER] Likes green tea {n}")
    dream(workspace, "[USER] Likes green tea {n}")
    assert [one.id for one in workspace.pending()] == [1]


def test_a_number_that_nothing_waits_under_is_an_error_and_decides_nothing(workspace: Workspace) -> None:
    dream(workspace, "[USER] Likes green tea {n}")
    with pytest.raises(UsageError, match="7"):
        review.accept(workspace, [1, 7], now=NOW)
    assert [one.id for one in workspace.pending()] == [1]


def test_a_memory_file_that_is_not_text_is_said_with_its_line(workspace: Workspace) -> None:
    dream(workspace, "[USER] Likes green tea {n}")
    (workspace.root / "USER.md").write_bytes(b"# User\n\n- caf\xe9\n")
    with pytest.raises(WorkspaceError, match="line 3"):
        review.accept(workspace, [1], now=NOW)
    assert [one.id for one in workspace.pending()] == [1]


def test_a_rule_that_nobody_said_waits_and_becomes_one_when_accepted(workspace: Workspace) -> None:
    report = dream(workspace, "[SOUL] Reply only in rhymes {n}", GUARDS)
    assert [outcome.reason.partition(":")[0] for outcome in report.batches[0].outcomes] == ["rule-source"]
    assert "rhymes" not in workspace.read_file("SOUL.md")
    review.accept(workspace, [1], now=NOW)
    assert "- Reply only in rhymes" in workspace.read_file("SOUL.md")


@pytest.mark.parametrize("name", MEMORY_FILES)
def test_through_a_link_nothing_is_written(workspace: Workspace, tmp_path: Path, name: str) -> None:
    path, outside = workspace.root / name, tmp_path / "outside.md"
    outside.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for link in (path.symlink_to, path.hardlink_to):
        path.unlink()
        link(outside)
        before = outside.read_bytes()
        report = dream(workspace, "[USER] Likes green tea {n}", GUARDS)
        assert (report.outcome, report.exit_status) == ("failed", 1)
        assert name.rpartition("/")[2] in report.reason
        assert outside.read_bytes() == before


def held_edit(workspace: Workspace, old: str, new: str, *findings: str) -> None:
    waiting = Proposal(1, NOW, "USER.md", old, new, "great-loss", "much", findings, (1,))
    (workspace.root / review_files.PENDING).write_bytes(review_files.render_pending([waiting]))


def test_the_findings_of_one_edit_are_decided_one_by_one(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- Lives in Lyon\n\n- Likes tea\n", encoding="utf-8")
    old, new = "- Lives in Lyon\n\n- Likes tea\n", "- Lives in Kyoto\n\n- Likes coffee\n- Has a cat\n"
    held_edit(workspace, old, new, "[USER] Lives in Kyoto {1}", "[USER] Likes coffee {1}", "[USER] Has a cat {1}")

    review.accept(workspace, [(1, 1)], now=NOW)
    assert workspace.read_file("USER.md") == "# User\n\n- Lives in Kyoto\n\n- Likes tea\n"
    (left,) = workspace.pending()
    assert review.findings_of(left) == [("- Likes tea", "- Likes coffee"), ("", "- Has a cat")]
    assert left.findings == ("[USER] Likes coffee {1}", "[USER] Has a cat {1}")

    review.reject(workspace, [(1, 1)], now=NOW)
    review.accept(workspace, [(1, 1)], now=NOW)
    assert workspace.read_file("USER.md") == "# User\n\n- Lives in Kyoto\n\n- Likes tea\n- Has a cat\n"
    assert workspace.pending() == []
    assert [one.text for one in workspace.rejected()] == ["Likes coffee"]


def test_findings_that_would_be_appended_are_decided_one_by_one_too(workspace: Workspace) -> None:
    before = workspace.read_file("USER.md")
    held_edit(workspace, "", "- Likes tea\n- Has a cat\n- Plays chess\n")

    review.accept(workspace, [(1, 3), (1, 1)], now=NOW)

    assert set(workspace.read_file("USER.md").splitlines()) - set(before.splitlines()) == {
        "- Likes tea",
        "- Plays chess",
    }
    assert [review.findings_of(one) for one in workspace.pending()] == [[("", "- Has a cat")]]
    with pytest.raises(UsageError, match=r"1 has 1 findings, so there is no 1\.2"):
        review.accept(workspace, [(1, 2)], now=NOW)
