"""One night: read, dream, one line; bounded, resumed, told of."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream.actions import status
from dream.consolidate.listing import SEEN
from dream.crontime import parse
from dream.directory import Workspace
from dream.errors import Busy
from dream.nights import nightly
from dream.nights.nightly import NightReport
from dream.settings import Settings
from dream.workspace import runs, stamp
from dream.workspace.index import Index
from dream.workspace.lock import run_lock
from tests.sources.test_incremental import row
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def chats(root: Path, count: int) -> Settings:
    """Write sessions, and make settings that read them."""
    folder = root / "chats"
    folder.mkdir(exist_ok=True)
    for number in range(count):
        path = folder / f"s{number:02}.jsonl"
        path.write_text(row(number, f"s{number:02}"))
        os.utime(path, (0, 0))
    return Settings(timezone="UTC", durable=False, sources=(str(folder),))


def night(workspace: Workspace, settings: Settings, **options: object) -> NightReport:
    return nightly.night(workspace, settings=settings, now=NOW, environ={}, **options)  # type: ignore[arg-type]


class Ticking:
    """A clock that goes on by a minute with each look, as if each step took one."""

    def __init__(self) -> None:
        self.minutes = 0

    def __call__(self) -> float:
        self.minutes += 1
        return self.minutes * 60.0


def test_a_night_reads_and_dreams_and_the_next_one_has_nothing_to_do(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 3)
    first, second = night(workspace, settings), night(workspace, settings)
    assert first.consolidated
    assert (first.consolidated.sessions, first.run.outcome, first.exit_status) == (3, "committed", 0)
    assert second.consolidated
    assert (second.consolidated.messages, second.run.outcome, second.usage.calls) == (0, "nothing", 0)
    assert stamp.last_night(workspace.private) == NOW


def test_a_conversation_still_going_on_waits_for_the_next_night(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 1)
    minutes_ago = NOW.timestamp() - 300
    os.utime(tmp_path / "chats" / "s00.jsonl", (minutes_ago, minutes_ago))

    report = night(workspace, settings)

    assert workspace.history.last_cursor() == 0
    assert report.run.outcome == "nothing"


def test_an_agent_by_name_is_looked_for_where_it_keeps_its_sessions(workspace: Workspace, home: Path) -> None:
    sessions = home / ".claude" / "projects" / "-home-lena"
    row = {"type": "user", "uuid": "u1", "sessionId": "s", "timestamp": "2026-11-20T18:00:00Z"}
    sessions.mkdir(parents=True)
    text = json.dumps({**row, "message": {"role": "user", "content": "I live in Kyoto."}}) + "\n"
    (sessions / "s.jsonl").write_text(text, encoding="utf-8")
    os.utime(sessions / "s.jsonl", (0, 0))

    report = night(workspace, Settings(timezone="UTC", durable=False, sources=("claude-code",)))

    assert report.consolidated is not None
    assert report.consolidated.sessions == 1


def test_a_night_says_which_memory_file_is_missing(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "USER.md").unlink()
    (problem,) = night(workspace, chats(tmp_path, 1)).problems
    assert problem.startswith("USER.md is missing")


def test_a_night_ends_at_its_bound_of_time_and_the_next_one_goes_on(workspace: Workspace, tmp_path: Path) -> None:
    settings = replace(chats(tmp_path, 20), max_minutes=30)
    report = night(workspace, settings, clock=Ticking())
    assert report.consolidated
    assert 0 < report.consolidated.sessions < 20
    assert "half of the night" in report.consolidated.reason
    assert report.run.outcome == "committed"  # what was read is dreamt in the other half
    assert report.exit_status == 0
    assert status.read(workspace, settings, NOW, {}).problems == ()
    for _ in range(4):
        night(workspace, settings, clock=Ticking())
    assert len(workspace.history.positions()) == 20
    assert workspace.dream_cursor() == workspace.history.last_cursor()


def stops_after(steps: int) -> Callable[[], bool]:
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > steps

    return stop


def test_a_night_that_was_stopped_is_not_done(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 5)
    report = night(workspace, settings, stop=stops_after(4))
    assert (report.exit_status, stamp.last_night(workspace.private)) == (0, None)
    night(workspace, settings)
    assert (stamp.last_night(workspace.private), len(workspace.history.positions())) == (NOW, 5)


def test_a_source_that_is_wrong_is_a_failure_and_history_is_dreamt_all_the_same(workspace: Workspace) -> None:
    from dream.actions import note

    note.note(workspace, "Lena likes tea.", settings=Settings(), now=NOW)
    report = night(workspace, Settings(sources=("nowhere/at/all.json",), durable=False, timezone="UTC"))
    assert report.consolidated
    assert (report.consolidated.failed, report.exit_status) == (True, 1)
    assert "nowhere" in report.consolidated.reason
    assert workspace.dream_cursor() == 1
    (problem,) = status.read(workspace, Settings(timezone="UTC"), NOW, {}).problems
    assert "the last consolidation failed: The source 'nowhere/at/all.json'" in problem


def test_a_source_that_is_gone_keeps_no_other_from_being_read(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 2)
    report = night(workspace, replace(settings, sources=("nowhere/at/all.json", *settings.sources)))
    assert report.consolidated
    assert (report.consolidated.sessions, report.run.outcome, report.exit_status) == (2, "committed", 1)
    (problem,) = status.read(workspace, settings, NOW, {}).problems
    assert "nowhere/at/all.json does not exist" in problem
    night(workspace, settings)
    assert status.read(workspace, settings, NOW, {}).problems == ()


def test_a_failed_consolidation_is_a_problem_although_the_dream_after_it_was_fine(
    workspace: Workspace, tmp_path: Path
) -> None:
    settings = replace(chats(tmp_path, 2), consolidator_model="openai/x", max_run_tokens=10, phase1_model="embedded")
    night(workspace, settings)
    (problem,) = status.read(workspace, settings, NOW, {}).problems
    assert "the last consolidation failed" in problem


def test_a_night_that_was_long_due_is_a_problem_where_one_is_scheduled(workspace: Workspace) -> None:
    stamp.stamp(workspace.private, NOW - timedelta(days=3))
    settings = Settings(timezone="UTC")
    assert status.read(workspace, settings, NOW, {}).problems == ()
    (problem,) = status.read(workspace, settings, NOW, {"crontab": (parse(settings.schedule), None)}).problems
    assert "the night of 2026-11-20 03:00 was missed; the last one was 2026-11-18 03:00" in problem


def test_two_nights_at_once_are_one(workspace: Workspace, tmp_path: Path) -> None:
    with run_lock(workspace.private, "dream nightly", now=NOW), pytest.raises(Busy, match="dream nightly"):
        night(workspace, chats(tmp_path, 1))
    assert stamp.last_night(workspace.private) is None


def test_a_damaged_stamp_is_no_stamp(workspace: Workspace) -> None:
    stamp.stamp(workspace.private, NOW)
    (workspace.private / "nightly" / "last.json").write_bytes(b"{")

    assert stamp.last_night(workspace.private) is None


def test_every_night_leaves_a_record(workspace: Workspace, tmp_path: Path) -> None:
    night(workspace, chats(tmp_path, 1))

    assert [record.command for record in runs.last(workspace.private, 5)] == ["run", "consolidate"]


def hook(tmp_path: Path, name: str) -> str:
    script = tmp_path / f"{name}.py"
    script.write_text(f"import sys; open({str(tmp_path / name)!r}, 'a').write(sys.stdin.read() + '\\n')")
    return f"{sys.executable} {script}"


def told(tmp_path: Path, name: str) -> list[dict[str, object]]:
    path = tmp_path / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_whoever_wants_to_know_is_told_of_changes_and_of_failures(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 1)
    settings = replace(settings, on_change=hook(tmp_path, "changed"), on_failure=hook(tmp_path, "failed"))
    report = night(workspace, settings)
    night(workspace, settings)  # nothing: nobody is told
    night(workspace, replace(settings, sources=("nowhere.json",)))
    (changed,), (failed,) = told(tmp_path, "changed"), told(tmp_path, "failed")
    assert (changed["outcome"], changed["commits"]) == ("committed", [report.run.batches[0].commit])
    assert changed["workspace"] == str(workspace.root)
    assert "nowhere.json" in str(failed["reason"])


def test_a_source_that_is_missing_is_told_also_when_something_is_held(workspace: Workspace, tmp_path: Path) -> None:
    there = replace(chats(tmp_path, 1), review="hold", on_failure=hook(tmp_path, "failed"))
    report = night(workspace, replace(there, sources=(*there.sources, "nowhere.json")))
    (failed,) = told(tmp_path, "failed")
    assert (report.run.outcome, report.exit_status) == ("held", 1)
    assert failed["held"]
    assert "nowhere.json" in str(failed["reason"])


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["/no/such/program", "'unclosed", "false"])
def test_a_notification_that_fails_is_a_problem_of_the_night_and_nothing_else(
    workspace: Workspace, tmp_path: Path, command: str
) -> None:
    report = night(workspace, replace(chats(tmp_path, 1), on_change=command))
    assert (report.exit_status, len(report.problems)) == (0, 1)
    assert command in report.problems[0]


@pytest.mark.slow
def test_a_night_is_quick_when_there_is_nothing_to_do(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 50)
    night(workspace, settings)
    start = time.process_time()
    night(workspace, settings)
    assert time.process_time() - start < 1.0


def test_an_idle_night_commits_what_a_person_typed(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 1)
    night(workspace, settings)
    with (workspace.root / "USER.md").open("a", encoding="utf-8") as file:
        file.write("- Likes tea\n")

    report = night(workspace, settings)

    assert report.run.outcome == "nothing"
    assert [change.kind for change in workspace.git.log(1)] == ["hand"]


def test_a_night_after_a_transcript_went_forgets_it(workspace: Workspace, tmp_path: Path) -> None:
    settings = chats(tmp_path, 2)
    night(workspace, settings)
    (tmp_path / "chats" / "s00.jsonl").unlink()

    night(workspace, settings)

    kept = Index(workspace.private).document(SEEN)["files"]
    assert [Path(name).name for name in kept] == ["s01.jsonl"]
