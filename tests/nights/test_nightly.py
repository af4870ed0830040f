"""A night reads the sources and dreams, once, within its bounds, and says what came of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream.errors import Busy
from dream.nights import nightly
from dream.nights.nightly import NightReport
from dream.settings import Settings
from dream.store import night_stamp, runs
from dream.store.lock import run_lock
from dream.store.workspace import Workspace

NIGHT = datetime(2026, 11, 21, 3, tzinfo=UTC)


def talk(folder: Path, name: str, *said: str, at: datetime = NIGHT - timedelta(hours=9)) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    messages = [{"role": "user", "content": text, "timestamp": at.isoformat()} for text in said]
    (folder / name).write_text(json.dumps(messages), encoding="utf-8")
    os.utime(folder / name, (at.timestamp(), at.timestamp()))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace", now=NIGHT - timedelta(days=1))


def night(
    workspace: Workspace, *, now: datetime = NIGHT, stop: Callable[[], bool] = lambda: False, **settings: object
) -> NightReport:
    return nightly.night(
        workspace,
        settings=Settings(timezone="UTC", **settings),  # type: ignore[arg-type]
        now=now,
        environ=os.environ,
        stop=stop,
    )


def test_a_night_reads_the_sources_and_dreams(workspace: Workspace, tmp_path: Path) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.", "I prefer short answers.")

    report = night(workspace, sources=(str(tmp_path / "chats"),))

    assert report.consolidated is not None
    assert (report.consolidated.messages, report.run.outcome, report.exit_status) == (2, "committed", 0)
    assert "Kyoto" in "".join(workspace.read_file(name) for name in ("USER.md", "memory/MEMORY.md"))
    assert night_stamp.last(workspace.private) == NIGHT


def test_a_second_night_finds_nothing_new_and_calls_no_model(workspace: Workspace, tmp_path: Path) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.")
    night(workspace, sources=(str(tmp_path / "chats"),))

    report = night(workspace, now=NIGHT + timedelta(days=1), sources=(str(tmp_path / "chats"),))

    assert (report.run.outcome, report.usage.calls, report.exit_status) == ("nothing", 0, 0)


def test_a_conversation_still_going_on_waits_for_the_next_night(workspace: Workspace, tmp_path: Path) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.", at=NIGHT - timedelta(minutes=5))

    report = night(workspace, sources=(str(tmp_path / "chats"),))

    assert workspace.history.last_cursor() == 0
    assert report.run.outcome == "nothing"


def test_an_agent_by_name_is_looked_for_where_it_keeps_its_sessions(workspace: Workspace, home: Path) -> None:
    sessions = home / ".claude" / "projects" / "-home-lena"
    row = {"type": "user", "uuid": "u1", "sessionId": "s", "timestamp": "2026-11-20T18:00:00Z"}
    sessions.mkdir(parents=True)
    text = json.dumps({**row, "message": {"role": "user", "content": "I live in Kyoto."}}) + "\n"
    (sessions / "s.jsonl").write_text(text, encoding="utf-8")
    os.utime(sessions / "s.jsonl", (NIGHT.timestamp() - 40_000,) * 2)

    report = night(workspace, sources=("claude-code",))

    assert report.consolidated is not None
    assert report.consolidated.sessions == 1


def test_a_source_that_is_gone_fails_the_night_but_history_is_dreamt(workspace: Workspace, tmp_path: Path) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.")
    night(workspace, sources=(str(tmp_path / "chats"),), max_call_tokens=10)

    report = night(workspace, now=NIGHT + timedelta(days=1), sources=(str(tmp_path / "gone"),))

    assert report.consolidated is not None
    assert report.consolidated.failed
    assert "gone" in report.consolidated.reason
    assert report.exit_status == 1


def test_a_night_that_is_over_stops_before_the_next_step_and_the_next_one_goes_on(
    workspace: Workspace, tmp_path: Path
) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.")

    stopped = night(workspace, sources=(str(tmp_path / "chats"),), stop=lambda: True)
    resumed = night(workspace, now=NIGHT + timedelta(days=1), sources=(str(tmp_path / "chats"),))

    assert (stopped.run.outcome, stopped.exit_status) == ("nothing", 0)
    assert resumed.run.outcome == "committed"


def test_a_night_while_another_run_works_is_busy_at_once(workspace: Workspace) -> None:
    with run_lock(workspace.private, "dream run"), pytest.raises(Busy, match="dream run"):
        night(workspace)

    assert night_stamp.last(workspace.private) is None


def notifier(tmp_path: Path) -> tuple[str, Path]:
    told = tmp_path / "told.json"
    script = tmp_path / "notify.py"
    script.write_text(f"import sys; open({str(told)!r}, 'w').write(sys.stdin.read())", encoding="utf-8")
    return f"'{sys.executable}' '{script}'", told


def test_whoever_wants_to_know_of_a_change_is_told(workspace: Workspace, tmp_path: Path) -> None:
    command, told = notifier(tmp_path)
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.")

    report = night(workspace, sources=(str(tmp_path / "chats"),), on_change=command)

    words = json.loads(told.read_text(encoding="utf-8"))
    assert words["outcome"] == "committed"
    assert words["commits"] == [batch.commit for batch in report.run.batches]


def test_a_failure_is_told_and_a_quiet_night_is_not(workspace: Workspace, tmp_path: Path) -> None:
    command, told = notifier(tmp_path)
    night(workspace, on_change=command, on_failure=command)
    quiet = told.exists()

    night(workspace, sources=(str(tmp_path / "gone"),), on_failure=command)

    assert (quiet, told.exists()) == (False, True)


def test_a_notifier_that_fails_is_a_problem_and_no_failure(workspace: Workspace, tmp_path: Path) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.")

    report = night(workspace, sources=(str(tmp_path / "chats"),), on_change="/no/such/command")

    assert report.exit_status == 0
    assert "/no/such/command" in report.problems[0]


def test_a_damaged_stamp_is_no_stamp(workspace: Workspace) -> None:
    night_stamp.stamp(workspace.private, NIGHT)
    (workspace.private / "nightly" / "last.json").write_bytes(b"{")

    assert night_stamp.last(workspace.private) is None


def test_every_night_leaves_a_record(workspace: Workspace, tmp_path: Path) -> None:
    talk(tmp_path / "chats", "a.json", "I live in Kyoto.")

    night(workspace, sources=(str(tmp_path / "chats"),))

    assert [record.command for record in runs.last(workspace.private, 5)] == ["run", "consolidate"]
