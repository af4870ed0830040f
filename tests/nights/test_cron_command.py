"""`dream cron` installs with the system's own commands; a stand-in for `crontab` keeps a file as the real one does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.commands import Ended, dream

OTHERS = "0 1 * * * backup --all\n"
CRONTAB = """#!/bin/sh
if [ "$1" = -l ]; then
  [ -f "$HOME/tab" ] || { echo "no crontab for lena" >&2; exit 1; }
  cat "$HOME/tab"
else
  cat >"$HOME/tab.new" && mv "$HOME/tab.new" "$HOME/tab"
fi
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >>"$HOME/systemctl"
[ "$2" = is-system-running ] && echo running
exit 0
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    dream("init", tmp_path / "workspace")
    return tmp_path / "workspace"


@pytest.fixture
def binaries(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, script in (("crontab", CRONTAB), ("systemctl", SYSTEMCTL)):
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def cron(workspace: Path, binaries: Path, *words: str) -> Ended:
    return dream("cron", *words, "-w", workspace, PATH=f"{binaries}:{os.environ['PATH']}")


def test_install_status_and_remove_by_crontab(workspace: Path, binaries: Path, home: Path) -> None:
    (home / "tab").write_text(OTHERS, encoding="utf-8")

    shown = cron(workspace, binaries, "show", "crontab").out.splitlines()[2]
    first = cron(workspace, binaries, "install", "crontab")
    again = cron(workspace, binaries, "install", "crontab")
    installed = (home / "tab").read_text(encoding="utf-8")
    status = dream("status", "--json", "-w", workspace, PATH=f"{binaries}:{os.environ['PATH']}").json
    removed = cron(workspace, binaries, "remove")

    assert installed == f"{OTHERS}{shown}\n"
    assert [first.out, again.out] == ["Added a line to your crontab.\n", "Your crontab already has this line.\n"]
    assert status["scheduled"] == ["crontab"]
    assert status["next_run"] is not None
    assert removed.status == 0
    assert (home / "tab").read_text(encoding="utf-8") == OTHERS


def test_a_first_crontab_is_made(workspace: Path, binaries: Path, home: Path) -> None:
    assert cron(workspace, binaries, "install", "crontab", "--schedule", "@daily").status == 0
    assert (home / "tab").read_text(encoding="utf-8").startswith("0 0 * * * ")


def test_systemd_is_chosen_where_it_runs_and_gets_service_and_timer(
    workspace: Path, binaries: Path, home: Path
) -> None:
    installed = cron(workspace, binaries, "install")
    units = sorted(path.suffix for path in (home / ".config/systemd/user").iterdir())
    removed = cron(workspace, binaries, "remove")

    assert (installed.status, removed.status) == (0, 0)
    assert units == [".service", ".timer"]
    assert list((home / ".config/systemd/user").iterdir()) == []
    assert "enable --now" in (home / "systemctl").read_text(encoding="utf-8")


def test_a_folder_that_can_not_be_made_is_a_sentence(workspace: Path, binaries: Path, home: Path) -> None:
    (home / ".config").write_text("a file in the way", encoding="utf-8")

    done = cron(workspace, binaries, "install", "systemd")

    assert done.status == 1
    assert done.err == (
        f"dream: {home}/.config/systemd/user cannot be made: a file stands where a directory should be; move it away.\n"
    )


def test_removing_what_is_not_there_says_so(workspace: Path, binaries: Path) -> None:
    done = cron(workspace, binaries, "remove", "crontab")

    assert (done.status, done.out) == (0, "Your crontab has no line for this workspace.\n")


def test_a_crontab_that_can_not_be_read_is_never_written(workspace: Path, binaries: Path, home: Path) -> None:
    (binaries / "crontab").write_text(
        "#!/bin/sh\necho 'not allowed' >&2; touch \"$HOME/$1\"; exit 1\n", encoding="utf-8"
    )

    done = cron(workspace, binaries, "install", "crontab")

    assert done.status == 1
    assert "not allowed" in done.err
    assert not (home / "-").exists()


def test_without_cron_the_sentence_names_another_way(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    done = dream("cron", "install", "crontab", "-w", workspace, PATH=str(tmp_path / "empty"))

    assert done.status == 2
    assert "dream serve" in done.err


def test_a_schedule_that_can_not_be_used_installs_nothing(workspace: Path, binaries: Path, home: Path) -> None:
    assert cron(workspace, binaries, "install", "crontab", "--schedule", "0 3 * * 9").status == 2
    assert not (home / "tab").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["crontab", "systemd"])
def test_status_and_show_go_by_the_schedule_that_is_installed(workspace: Path, binaries: Path, kind: str) -> None:
    cron(workspace, binaries, "install", kind, "--schedule", "15 7 * * *")

    status = dream("status", "--json", "-w", workspace, PATH=f"{binaries}:{os.environ['PATH']}").json
    shown = cron(workspace, binaries, "show").out

    assert status["next_run"][11:16] == "07:15"
    assert shown.startswith("# This is installed.\n")
    assert "15 7 * * *" in shown


def test_two_clocks_for_one_workspace_are_told_of(workspace: Path, binaries: Path) -> None:
    cron(workspace, binaries, "install", "crontab")

    second = cron(workspace, binaries, "install", "systemd")
    status = dream("status", "--check", "-w", workspace, PATH=f"{binaries}:{os.environ['PATH']}")

    assert "But crontab starts the nights too: `dream cron remove crontab` stops that." in second.out
    assert status.status == 1
    assert "systemd and crontab both start the nights" in status.out
