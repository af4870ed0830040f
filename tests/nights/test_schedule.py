"""When a night is due, and an early dream: the rule, by a clock that is moved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dream.directory import Workspace
from dream.nights import nightly
from dream.nights.serve import Server
from dream.settings import Settings
from dream.workspace import stamp
from tests.workspaces import fresh

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)


@dataclass
class Machine:
    """A workspace, a clock that is moved, and the nights that were had."""

    workspace: Workspace
    settings: Settings = QUIET
    now: datetime = START
    nights: list[datetime] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def serve(self) -> Server:
        server = Server(
            self.workspace,
            lambda: self.settings,
            environ={},
            tell=self.lines.append,
            told=lambda report: self.nights.append(self.now),
            clock=lambda: self.now,
        )
        server.begin()
        return server

    def pass_hours(self, server: Server, hours: float) -> None:
        for _ in range(int(hours * 6)):
            self.now += timedelta(minutes=10)
            server.beat()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(fresh(tmp_path / "ws", START))


def test_a_night_is_had_once_at_its_time(machine: Machine) -> None:
    server = machine.serve()
    machine.pass_hours(server, 36)
    assert machine.nights == [datetime(2026, 11, 21, 3, tzinfo=UTC)]


def test_a_night_that_was_slept_through_is_made_up_for_once_after_a_restart_too(machine: Machine) -> None:
    machine.pass_hours(machine.serve(), 1)
    machine.now += timedelta(days=4)  # asleep
    server = machine.serve()
    machine.pass_hours(server, 2)
    machine.pass_hours(machine.serve(), 2)
    assert machine.nights == [datetime(2026, 11, 24, 13, 10, tzinfo=UTC)]


def test_a_restart_neither_forgets_nor_repeats_a_night(machine: Machine) -> None:
    for _ in range(24):  # started anew every other hour
        machine.pass_hours(machine.serve(), 2)

    assert machine.nights == [datetime(2026, 11, day, 3, tzinfo=UTC) for day in (21, 22)]


def test_what_another_process_did_is_not_done_again(machine: Machine) -> None:
    server = machine.serve()
    machine.now = datetime(2026, 11, 21, 3, 0, 5, tzinfo=UTC)
    nightly.night(machine.workspace, settings=QUIET, now=machine.now, environ={})
    machine.pass_hours(server, 5)
    assert machine.nights == []


@pytest.mark.parametrize(("day", "schedule"), [((2026, 10, 24), "30 2 * * *"), ((2027, 3, 27), "30 2 * * *")])
def test_the_hour_that_comes_twice_or_never_makes_one_night(
    machine: Machine, day: tuple[int, int, int], schedule: str
) -> None:
    machine.now = datetime(*day, 12, tzinfo=ZoneInfo("Europe/Berlin")).astimezone(UTC)
    machine.settings = replace(QUIET, timezone="Europe/Berlin", schedule=schedule)
    machine.pass_hours(machine.serve(), 24)
    assert len(machine.nights) == 1


def test_a_clock_that_was_wrong_once_does_not_end_the_nights(machine: Machine) -> None:
    stamp.stamp(machine.workspace.private, START + timedelta(days=4000))
    machine.pass_hours(machine.serve(), 24)
    assert machine.nights == [datetime(2026, 11, 21, 3, tzinfo=UTC)]


def test_a_bug_in_a_night_is_seen_and_not_repeated_at_every_look(machine: Machine) -> None:
    machine.settings = replace(QUIET, sources=(5,))  # type: ignore[arg-type]  # what no checked setting can be
    server = machine.serve()
    machine.now = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
    with pytest.raises(AttributeError):
        server.beat()
    machine.pass_hours(server, 2)  # would raise again
