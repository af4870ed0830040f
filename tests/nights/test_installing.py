"""Installed once, removed whole, and nobody else's lines are touched: with programs that stand for the system's."""

from __future__ import annotations

import os
import plistlib
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.crontime import parse
from dream.errors import DreamError
from dream.nights import timers
from dream.nights.timers import TimerJob
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
OTHERS = "# mine\nMAILTO=lena@example.org\n5 4 * * * /usr/bin/backup --all   # dream of backups\n\n@reboot  true"

CRONTAB = """#!/bin/sh
case "$1" in
-l) [ -f "$HOME/crontab" ] || { echo "no crontab for lena" >&2; exit 1; }; cat "$HOME/crontab";;
-) cat > "$HOME/crontab.new"; if grep -q REFUSE "$HOME/crontab" 2>/dev/null; then exit 1; fi
   mv "$HOME/crontab.new" "$HOME/crontab"; echo x >> "$HOME/writes";;
esac
"""
RECORD = '#!/bin/sh\necho "$(basename "$0") $*" >> "$HOME/asked"\n'


@pytest.fixture
def programs(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("crontab", CRONTAB), ("systemctl", RECORD), ("launchctl", RECORD)):
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def job(programs: Path, tmp_path: Path) -> TimerJob:
    root = tmp_path / "my 100% memory's"
    fresh(root, NOW)
    return timers.job(root, parse("0 3 * * *"), os.environ)


def test_our_line_comes_once_and_other_lines_stay_byte_for_byte(home: Path, job: TimerJob) -> None:
    crontab = home / "crontab"
    crontab.write_text(OTHERS)
    assert timers.install("crontab", job) == ["Added a line to your crontab."]
    first = crontab.read_text()
    assert first.startswith(OTHERS + "\n")
    assert timers.install("crontab", job) == ["Your crontab already has this line."]
    assert (crontab.read_text(), (home / "writes").read_text()) == (first, "x\n")
    assert list(timers.installed(job)) == ["crontab"]
    crontab.write_text(first + "9 9 * * * true\n")
    later = timers.job(job.workspace, parse("30 4 * * *"), os.environ)
    assert timers.install("crontab", later) == ["Replaced the line in your crontab."]
    lines = crontab.read_text().splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["30", "9"]
    assert timers.remove("crontab", job) == ["Removed the line from your crontab."]
    assert crontab.read_text() == OTHERS + "\n9 9 * * * true\n"
    assert timers.remove("crontab", job) == ["Your crontab has no line for this workspace."]


def test_two_workspaces_have_a_line_each(home: Path, job: TimerJob, tmp_path: Path) -> None:
    other = timers.job(tmp_path / "other", parse("0 5 * * *"), os.environ)
    timers.install("crontab", job)
    timers.install("crontab", other)
    timers.remove("crontab", job)
    assert (home / "crontab").read_text() == timers.crontab_line(other) + "\n"


def test_a_crontab_that_refuses_the_line_stays_as_it_is(home: Path, job: TimerJob) -> None:
    (home / "crontab").write_text("# REFUSE\n")
    with pytest.raises(DreamError, match="yours are as they were"):
        timers.install("crontab", job)
    assert (home / "crontab").read_text() == "# REFUSE\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), max_size=6), st.booleans())
def test_any_crontab_survives_install_and_remove(others: list[str], ended: bool) -> None:
    before = "\n".join(others) + ("\n" if ended and others else "")
    wanted = TimerJob(
        ("/usr/bin/python3",), Path("/home/lena/memory"), parse("0 3 * * *"), "/usr/bin", Path("/home/lena")
    )
    once = timers.with_line(before, wanted)
    assert timers.with_line(once, wanted) == once
    assert timers.without_line(once, wanted) in (before, before + "\n")


def test_the_installed_line_runs_a_night_with_almost_no_environment(home: Path, job: TimerJob) -> None:
    (home / ".config" / "dream").mkdir(parents=True)
    (home / ".config" / "dream" / "environment").write_text("DREAM_TIMEZONE=Asia/Tokyo\n")
    command = timers.crontab_line(job).split(" ", 5)[5].replace("\\%", "%")  # as cron hands it to the shell
    subprocess.run(
        ["/bin/sh", "-c", command], env={"HOME": str(home), "PYTHONPATH": str(Path.cwd())}, cwd=home, check=True
    )
    log = (job.workspace / ".dream" / "nightly.log").read_text()
    assert len(log.splitlines()) == 1
    assert "no sources configured" in log


def test_systemd_units_are_written_started_and_removed(home: Path, job: TimerJob) -> None:
    timers.install("systemd", job)
    units = home / ".config" / "systemd" / "user"
    service, timer = (units / f"{job.name}.{kind}" for kind in ("service", "timer"))
    assert "OnCalendar=*-*-* 03:00:00\n" in timer.read_text()
    assert "100%%" in service.read_text()
    assert f"enable --now {job.name}.timer" in (home / "asked").read_text()
    assert "systemd" in timers.installed(job)
    (units / "other.timer").write_text("")
    timers.remove("systemd", job)
    assert [path.name for path in units.iterdir()] == ["other.timer"]


def test_a_launchd_agent_reads_the_keys_and_starts_the_night(home: Path, job: TimerJob) -> None:
    timers.install("launchd", job)
    path = home / "Library" / "LaunchAgents" / f"{job.name}.plist"
    found = plistlib.loads(path.read_bytes())
    assert found["StartCalendarInterval"] == [{"Hour": 3, "Minute": 0}]
    assert found["ProgramArguments"][-3:] == ["nightly", "--workspace", str(job.workspace)]
    (home / ".config" / "dream").mkdir(parents=True)
    (home / ".config" / "dream" / "environment").write_text("DREAM_SCHEDULE='1 1 * * *'\n")
    shell = [*found["ProgramArguments"][:4], "/bin/sh", "-c", 'echo "$DREAM_SCHEDULE"']
    assert subprocess.run(shell, capture_output=True, text=True, check=True).stdout == "1 1 * * *\n"
    timers.remove("launchd", job)
    assert not path.exists()
