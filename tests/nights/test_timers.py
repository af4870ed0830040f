"""What is installed for cron, systemd and launchd: absolute, quoted, and nobody else's."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from dream.crontime import parse
from dream.errors import UsageError
from dream.nights import timers
from dream.nights.timers import TimerJob

OTHERS = "MAILTO=me@example.org\n\n# backups\n0 1 * * * backup --all # dream\n"


def job(
    workspace: str = "/home/lena/memory", expression: str = "0 3 * * *", program: str = "/opt/py/bin/python"
) -> TimerJob:
    return TimerJob(
        (program, "-P", "-m", "dream"), Path(workspace), parse(expression), "/usr/bin:/bin", Path("/home/lena")
    )


def test_our_line_stands_in_the_crontab_once_however_often_it_is_installed() -> None:
    once = timers.with_line(OTHERS, job())
    twice = timers.with_line(once, job(expression="30 4 * * *"))

    assert once == f"{OTHERS}{timers.crontab_line(job())}\n"
    assert twice == f"{OTHERS}{timers.crontab_line(job(expression='30 4 * * *'))}\n"


def test_other_people_s_lines_stay_byte_for_byte() -> None:
    for others in (OTHERS, OTHERS.rstrip("\n"), "", "\n\n"):
        installed = timers.with_line(others, job())
        assert timers.without_line(installed, job()).rstrip("\n") == others.rstrip("\n")


def test_two_workspaces_have_two_lines() -> None:
    both = timers.with_line(timers.with_line("", job("/a/memory")), job("/b/memory"))

    assert timers.without_line(both, job("/a/memory")) == f"{timers.crontab_line(job('/b/memory'))}\n"


def test_the_command_of_the_crontab_runs_with_a_path_of_any_shape(tmp_path: Path) -> None:
    workspace = tmp_path / '50% o\'clock; $HOME "q"'
    (workspace / ".dream").mkdir(parents=True)
    program = tmp_path / "bin dir" / "dream"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" "$KEY"\n', encoding="utf-8")
    program.chmod(0o755)
    settings = tmp_path / ".config" / "dream"
    settings.mkdir(parents=True)
    (settings / "environment").write_text("KEY=secret\n", encoding="utf-8")
    wanted = TimerJob((str(program),), workspace, parse("0 3 * * *"), "/usr/bin:/bin", tmp_path)

    line = timers.crontab_line(wanted).removeprefix("0 3 * * * ")
    # cron turns \% into % and hands the rest to sh with next to no environment.
    subprocess.run(["/bin/sh", "-c", line.replace("\\%", "%")], env={}, check=True)

    assert wanted.log.read_text(encoding="utf-8").splitlines() == ["nightly", "--workspace", str(workspace), "secret"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 3 * * *", ["*-*-* 03:00:00"]),
        ("30 4 * * mon-fri", ["Mon,Tue,Wed,Thu,Fri *-*-* 04:30:00"]),
        ("0 3 1 * 1", ["*-*-01 03:00:00", "Mon *-*-* 03:00:00"]),
        ("0,30 2 * 1-2 *", ["*-01,02-* 02:00,30:00"]),
    ],
)
def test_a_schedule_is_written_as_systemd_reads_it(expression: str, expected: list[str]) -> None:
    assert timers.calendar(parse(expression)) == expected


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
@pytest.mark.parametrize("expression", ["0 3 * * *", "30 4 * * mon-fri", "0 3 1 * 1", "*/10 * * * *"])
def test_systemd_itself_understands_the_schedule(expression: str) -> None:
    for event in timers.calendar(parse(expression)):
        subprocess.run(["systemd-analyze", "calendar", event], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
@pytest.mark.parametrize("zone", ["", "Asia/Tokyo"])
def test_systemd_itself_takes_the_units(tmp_path: Path, zone: str) -> None:
    wanted = replace(
        job(str(tmp_path / "50% o'clock $HOME;")), program=(sys.executable, "-P", "-m", "dream"), zone=zone
    )
    paths = []
    for path, text in timers.timer_files("systemd", wanted).items():
        paths.append(tmp_path / path.name)
        paths[-1].write_text(text, encoding="utf-8")
    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert (said.returncode, [line for line in said.stderr.splitlines() if wanted.name in line]) == (0, [])


def test_only_systemd_goes_by_the_zone_of_the_settings() -> None:
    wanted = replace(job("/home/lena/memory"), zone="Asia/Tokyo")
    assert "OnCalendar=*-*-* 03:00:00 Asia/Tokyo\n" in "".join(timers.timer_files("systemd", wanted).values())
    assert "Asia/Tokyo, the setting" in timers.zone_note("systemd", wanted)
    assert "not by the setting timezone = Asia/Tokyo" in timers.zone_note("crontab", wanted)


def test_the_timer_makes_up_for_a_night_slept_through_and_percent_signs_are_literal() -> None:
    service, timer = timers.timer_files("systemd", job("/home/lena/50% memory")).values()

    assert "Persistent=true" in timer
    assert 'ExecStart=/opt/py/bin/python -P -m dream nightly --workspace "/home/lena/50%% memory"' in service


def test_the_launch_agent_is_a_property_list_with_the_whole_command() -> None:
    (text,) = timers.timer_files("launchd", job("/home/lena/R&D <memory>", "0 3 1 * mon,sun")).values()

    agent = plistlib.loads(text.encode())

    assert agent["ProgramArguments"][-3:] == ["nightly", "--workspace", "/home/lena/R&D <memory>"]
    assert agent["StartCalendarInterval"] == [
        {"Day": 1, "Hour": 3, "Minute": 0},
        {"Weekday": 0, "Hour": 3, "Minute": 0},
        {"Weekday": 1, "Hour": 3, "Minute": 0},
    ]


def test_a_schedule_of_thousands_of_times_is_refused_for_launchd() -> None:
    with pytest.raises(UsageError, match="simpler"):
        timers.timer_files("launchd", job(expression="* * * * *"))


@pytest.mark.parametrize("kind", get_args(timers.Timer))
def test_a_line_break_in_a_path_is_refused(kind: timers.Timer) -> None:
    with pytest.raises(UsageError, match="line break"):
        timers.timer_files(kind, job("/home/lena/a\n* * * * * evil"))
