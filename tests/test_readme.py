"""The README is true: its output, its commands, its settings, and every block of it runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dream import Workspace, settings
from dream.cli.commands import COMMANDS
from tests import readme
from tests.cli.commands import dream, environment

SHA = re.compile(r"\b[0-9a-f]{7,40}\b")


def without_shas(text: str) -> str:
    return SHA.sub("sha", text)


def test_the_output_shown_is_the_real_one(tmp_path: Path) -> None:
    done = dream("demo", tmp_path / "demo")

    assert without_shas(readme.block("its output")) == without_shas(readme.excerpt(done.out)), (
        "python tests/readme.py update"
    )


@pytest.mark.long
def test_the_evaluation_shown_is_the_real_one() -> None:
    done = dream("eval", "planted")

    assert readme.block("its tables") == readme.tables(done.out), "python tests/readme.py update"


def test_every_command_stands_in_the_readme_as_its_help_says() -> None:
    rows = re.findall(r"^\| `dream (\w+)[^`]*` \| (.+) \|$", readme.text(), re.MULTILINE)

    assert dict(rows) == COMMANDS


def test_every_setting_stands_in_the_readme_with_its_default() -> None:
    stated = re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", readme.text(), re.MULTILINE)

    assert [name for name, _ in stated] == list(settings.NAMES)
    for name, shown in stated:
        default = getattr(settings.Settings(), name)
        expected = {None: "", (): "`[]`", True: "`true`"}.get(default, f"`{default}`")
        assert shown.replace('"', "") == expected


def test_the_settings_shown_can_be_used(tmp_path: Path) -> None:
    Workspace.create(tmp_path)
    for block in readme.blocks("toml"):
        (tmp_path / "dream.toml").write_text(block, encoding="utf-8")

        assert settings.load(tmp_path, environ={}) != settings.Settings()


def test_the_library_block_runs(tmp_path: Path) -> None:
    for block in readme.blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            env=environment({"LITELLM_LOCAL_MODEL_COST_MAP": "True"}),  # else its import asks the network for prices
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_shell_blocks_run(tmp_path: Path) -> None:
    binaries, home = tmp_path / "bin", tmp_path / "home"
    binaries.mkdir()
    (binaries / "dream").write_text(
        f"#!/bin/sh\nexec '{sys.executable}' -c 'from dream.cli import main; main()' \"$@\"\n", encoding="utf-8"
    )
    (binaries / "dream").chmod(0o755)
    sessions = home / ".claude" / "projects" / "-home-lena-crumb"
    sessions.mkdir(parents=True)
    for session in (readme.ROOT / "dream" / "demo").glob("*.jsonl"):
        shutil.copy(session, sessions)
    named = {readme.block("first line"), readme.block("test line")}  # these two are run by .ci/run
    script = "".join(block for block in readme.blocks("bash") if block not in named)

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment({"PATH": f"{binaries}:/usr/bin:/bin", "HOME": str(home)}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "dream: " in done.stdout
    assert "Works; all of history is dreamt." in done.stdout


@pytest.mark.parametrize("name", ["first line", "test line"])
def test_each_of_the_two_lines_is_one_line(name: str) -> None:
    assert readme.block(name).count("\n") == 1


def test_ci_runs_the_readme_s_own_lines() -> None:
    script = (readme.ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert 'line "test line"' in script
    assert 'line "first line"' in script
