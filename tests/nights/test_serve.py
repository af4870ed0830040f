"""`dream serve` has the nights that are due: once, also after sleep and restart, and ends cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream.nights.nightly import NightReport
from dream.schedule import Server
from dream.settings import Settings
from dream.store import night_stamp
from dream.store.workspace import Workspace
from tests.cli.commands import command, dream, environment

EVENING = datetime(2026, 11, 20, 20, tzinfo=UTC)


class Clock:
    """A clock that stands where it is put."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace", now=EVENING)


def server(workspace: Workspace, clock: Clock, nights: list[NightReport], **settings: object) -> Server:
    return Server(
        workspace,
        lambda: Settings(**{"timezone": "UTC", **settings}),  # type: ignore[arg-type]
        environ=os.environ,
        tell=lambda line: None,
        told=nights.append,
        clock=clock,
    )


def test_a_night_is_had_when_it_is_due_and_once(workspace: Workspace) -> None:
    clock, nights = Clock(EVENING), list[NightReport]()
    night_stamp.stamp(workspace.private, EVENING)
    serving = server(workspace, clock, nights)

    counts = []
    for hours in (0, 6.9, 7, 7.1, 12, 30.9, 31):
        clock.now = EVENING + timedelta(hours=hours)
        serving.beat()
        counts.append(len(nights))

    assert counts == [0, 0, 1, 1, 1, 1, 2]


def test_nights_that_were_slept_through_are_made_up_for_by_one(workspace: Workspace) -> None:
    clock, nights = Clock(EVENING + timedelta(days=5)), list[NightReport]()
    night_stamp.stamp(workspace.private, EVENING)

    serving = server(workspace, clock, nights)
    serving.beat()
    serving.beat()

    assert len(nights) == 1


def test_a_restart_neither_forgets_nor_repeats_a_night(workspace: Workspace) -> None:
    clock, nights = Clock(EVENING), list[NightReport]()
    night_stamp.stamp(workspace.private, EVENING)
    for hours in range(0, 48, 2):  # started anew every other hour
        clock.now = EVENING + timedelta(hours=hours)
        server(workspace, clock, nights).beat()

    assert len(nights) == 2


def test_the_night_on_which_the_clock_goes_back_is_had_once(workspace: Workspace) -> None:
    start = datetime(2026, 10, 24, 20, tzinfo=UTC)
    clock, nights = Clock(start), list[NightReport]()
    night_stamp.stamp(workspace.private, start)
    serving = server(workspace, clock, nights, timezone="Europe/Berlin", schedule="30 2 * * *")

    for minutes in range(0, 12 * 60, 10):
        clock.now = start + timedelta(minutes=minutes)
        serving.beat()

    assert len(nights) == 1


def test_a_large_backlog_is_dreamt_early_and_a_failure_is_not_tried_every_minute(workspace: Workspace) -> None:
    clock, nights = Clock(EVENING), list[NightReport]()
    night_stamp.stamp(workspace.private, EVENING)
    serving = server(workspace, clock, nights, early_tokens=20, max_call_tokens=10)
    serving.beat()
    quiet = len(nights)
    dream("note", "I live in Kyoto. " * 30, "-w", workspace.root)

    for minutes in (1, 2, 3, 70):
        clock.now = EVENING + timedelta(minutes=minutes)
        serving.beat()

    assert (quiet, len(nights)) == (0, 2)
    assert {report.run.outcome for report in nights} == {"failed"}


@contextmanager
def serving(workspace: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command("serve", "-w", workspace, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_serve_says_when_the_next_night_is_and_status_knows_it(workspace: Workspace) -> None:
    with serving(workspace.root) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        status = dream("status", "--json", "-w", workspace.root).json

    assert line.startswith("Next night: ")
    assert status["scheduled"] == ["serve"]
    assert status["next_run"] is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_ends_cleanly_when_asked(workspace: Workspace, number: signal.Signals) -> None:
    with serving(workspace.root) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, "")
    assert out.endswith("Stopped.\n")
    assert dream("status", "--json", "-w", workspace.root).json["next_run"] is None


def test_serve_makes_up_for_the_night_it_missed(workspace: Workspace) -> None:
    night_stamp.stamp(workspace.private, datetime.now(UTC) - timedelta(days=3))
    dream("note", "I live in Kyoto", "-w", workspace.root)

    with serving(workspace.root):
        until(lambda: workspace.dream_cursor() == 1)

    assert len(dream("log", "--json", "-w", workspace.root).json) == 2


def test_a_hang_up_reads_the_settings_anew_and_a_mistake_in_them_changes_nothing(workspace: Workspace) -> None:
    toml = workspace.root / "dream.toml"
    with serving(workspace.root) as process:
        assert process.stdout is not None
        process.stdout.readline()
        toml.write_text('schedule = "15 5 * * *"\n', encoding="utf-8")
        process.send_signal(signal.SIGHUP)
        anew = [process.stdout.readline(), process.stdout.readline()]
        toml.write_text('schedule = "nonsense"\n', encoding="utf-8")
        process.send_signal(signal.SIGHUP)
        wrong = process.stdout.readline()

    assert anew[0] == "The settings were read anew.\n"
    assert " 05:15 " in anew[1]
    assert "stay as they were" in wrong
    assert "nonsense" in wrong


def test_a_schedule_that_can_not_be_used_is_wrong_usage_at_once(workspace: Workspace) -> None:
    done = dream("serve", "--schedule", "30 2 31 2 *", "-w", workspace.root)

    assert done.status == 2
    assert "no such day" in done.err
