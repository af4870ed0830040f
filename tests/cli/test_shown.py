"""What people read: a dry run, removals, diffs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dream import pipeline
from dream.cli import output, show
from dream.models import Diagnostic, Finding, Outcome, Proposal
from dream.reports import BatchReport, Usage
from tests.cli.commands import dream, on_a_terminal
from tests.cli.test_commands import chat


@pytest.mark.slow
def test_a_dry_run_says_that_it_is_one(fresh: Path, tmp_path: Path) -> None:
    dream("consolidate", chat(tmp_path), "-w", fresh)

    told, shaped = dream("run", "--dry-run", "-w", fresh), dream("run", "--dry-run", "--json", "-w", fresh)

    assert told.out.startswith("dry run  entry 1")
    assert "A run would change USER.md. This was a dry run: nothing was written." in told.out
    assert shaped.json["dry_run"] is True
    assert shaped.json["outcome"] in ("committed", "nothing", "held", "failed")


def test_a_removal_is_shown_with_a_minus(capsys: pytest.CaptureFixture[str]) -> None:
    gone = Finding("USER.md", "Lives in Lyon", (1,), remove=True)

    for state in ("applied", "refused"):
        show.finding(Outcome(gone, state))

    assert capsys.readouterr().out == "  − [USER] Lives in Lyon\n  ! [USER −] Lives in Lyon\n"


def test_review_sets_the_sign_apart_from_the_line(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from datetime import UTC, datetime

    from dream.cli import review

    at = datetime(2026, 5, 1, tzinfo=UTC)
    review._show(Proposal(1, at, "USER.md", "- Lives in Lyon", "- Lives in Kyoto", "protected", "yours", (), (4,)))

    assert capsys.readouterr().out.splitlines()[2:] == ["    - - Lives in Lyon", "    + - Lives in Kyoto"]


def test_log_of_one_change_leaves_the_cursor_out_for_people(dreamt: Path) -> None:
    sha = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    shown, shaped = dream("log", sha, "-w", dreamt).out, dream("log", sha, "--json", "-w", dreamt)

    assert "diff --git a/" in shown
    assert ".dream_cursor" not in shown
    assert "memory/.dream_cursor" in json.loads(shaped.out)["diff"]


@pytest.mark.slow
def test_the_demo_shows_files_and_diff_in_whole_words_without_the_cursor(tmp_path: Path) -> None:
    shown = on_a_terminal("demo", tmp_path / "d", COLUMNS="60", NO_COLOR="1").out

    files, _, rest = shown.partition("──── what the last dream changed ────")
    assert max(map(output.width, files.rpartition("──── SOUL.md")[2].splitlines())) <= 60
    assert "diff --git a/" in rest
    assert ".dream_cursor" not in rest


def test_a_failed_model_call_is_told_as_a_sentence_of_its_session() -> None:
    found = Diagnostic("openai:t1-ab", 0, "messages 0–3 are kept as they were said: openai/x could not be reached")

    assert show._sentence(found) == f"in the session openai:t1-ab {found.text}"
    assert show._sentence(Diagnostic("a.jsonl", 3, "no JSON")) == "a.jsonl:3: no JSON"


def test_a_run_whose_findings_were_all_refused_says_so_with_the_first_reason() -> None:
    found = Finding("USER.md", "Lives in Lyon", (1,))
    refused, other = Outcome(found, "refused", "rejected: you took it back"), Outcome(found, "refused", "too long")

    def reason(*outcomes: Outcome) -> str:
        return pipeline.nothing_new([BatchReport((4, 4), outcomes, {}, Usage())])

    assert reason(refused, other) == "both findings were refused: rejected: you took it back"
    assert reason(other, other, other) == "all 3 findings were refused: too long"
    assert reason(other) == "the only finding was refused: too long"
    assert reason(refused, Outcome(found, "present")) == "the entries up to 4 held nothing new for memory"
