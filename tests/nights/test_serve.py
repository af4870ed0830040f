"""`dream serve` as a process: it has the nights that are due, hears signals, and ends cleanly."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.workspace import stamp
from tests.cli.commands import dream
from tests.forking import DREAM, Program
from tests.workspaces import fresh

EVENING = datetime(2026, 11, 20, 20, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "workspace", EVENING)


@contextmanager
def serving(workspace: Path) -> Iterator[Program]:
    process = Program(DREAM, "serve", "-w", str(workspace))
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def until(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_serve_says_when_the_next_night_is_and_status_knows_it(workspace: Workspace) -> None:
    with serving(workspace.root) as process:
        line = process.stdout.readline()
        status = dream("status", "--json", "-w", workspace.root).json

    assert line[19:].startswith("  Next night: ")
    assert status["scheduled"] == ["serve"]
    assert status["next_run"] is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_ends_cleanly_when_asked(
    workspace: Workspace, number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(workspace.root) as process:
        process.stdout.readline()
        process.send_signal(number)
        out = process.communicate()

    assert (process.returncode, capfd.readouterr().err) == (0, "")
    assert out.endswith("Stopped.\n")
    assert dream("status", "--json", "-w", workspace.root).json["next_run"] is None


def test_serve_makes_up_for_the_night_it_missed(workspace: Workspace) -> None:
    stamp.stamp(workspace.private, datetime.now(UTC) - timedelta(days=3))
    dream("note", "I live in Kyoto", "-w", workspace.root)

    with serving(workspace.root):
        until(lambda: workspace.dream_cursor() == 1)

    assert len(dream("log", "--json", "-w", workspace.root).json) == 2


def test_a_hang_up_reads_the_settings_anew_and_a_mistake_in_them_changes_nothing(workspace: Workspace) -> None:
    toml = workspace.root / "dream.toml"
    with serving(workspace.root) as process:
        process.stdout.readline()
        toml.write_text('schedule = "15 5 * * *"\n', encoding="utf-8")
        process.send_signal(signal.SIGHUP)
        anew = [process.stdout.readline(), process.stdout.readline()]
        toml.write_text('schedule = "nonsense"\n', encoding="utf-8")
        process.send_signal(signal.SIGHUP)
        wrong = process.stdout.readline()

    assert anew[0][19:] == "  The settings were reloaded.\n"
    assert " 05:15 " in anew[1]
    assert "stay as they were" in wrong
    assert "nonsense" in wrong


def test_a_schedule_that_can_not_be_used_is_wrong_usage_at_once(workspace: Workspace) -> None:
    done = dream("serve", "--schedule", "30 2 31 2 *", "-w", workspace.root)

    assert done.status == 2
    assert "no such day" in done.err


@pytest.mark.long
def test_a_night_that_is_due_is_had_at_the_start_and_killing_it_loses_nothing(workspace: Workspace) -> None:
    now = datetime.now(UTC)
    dream("note", "Lena likes tea.", "-w", workspace.root)
    stamp.stamp(workspace.private, now - timedelta(days=2))
    with serving(workspace.root) as process:
        until(lambda: workspace.dream_cursor() == 1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert workspace.dream_cursor() == 1
    assert json.loads((workspace.private / "nightly" / "serving.json").read_bytes())["pid"] == process.pid
    assert stamp.served(workspace.private) is None


def test_serve_on_a_disk_that_refuses_it_ends_in_a_sentence(workspace: Workspace) -> None:
    (workspace.private / "nightly").write_text("in the way of the folder", encoding="utf-8")

    done = dream("serve", "-w", workspace.root)

    assert done.status == 1
    assert done.err[19:].startswith(f"  dream: {workspace.private / 'nightly'}")
    assert "Traceback" not in done.err
