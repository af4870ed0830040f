"""What a program that uses the library gets without the command line: the same records, the same sentences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import Dream, Workspace
from dream.errors import DreamError
from dream.workspace import runs

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
MISSING = "Git was not found; install git and see that it is on the PATH."


def records(workspace: Workspace) -> list[tuple[str, str]]:
    return [(one.command, one.outcome) for one in runs.last(workspace.private, 10)][::-1]


def test_every_run_of_a_program_leaves_a_record_as_the_command_does(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "w", now=NOW)
    memory = Dream(workspace)
    memory.run(now=NOW)
    memory.note("I like green tea", now=NOW)
    assert memory.run(now=NOW).outcome == "committed"
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps({"role": "user", "content": "I live in Kyoto."}) + "\n", encoding="utf-8")
    memory.consolidate([talk], now=NOW)
    with pytest.raises(DreamError, match="does not exist") as raised:
        memory.consolidate([tmp_path / "nowhere.jsonl"], now=NOW)
    expected = [("run", "nothing"), ("run", "committed"), ("consolidate", "appended"), ("consolidate", "refused")]
    assert records(workspace) == expected
    assert runs.last(workspace.private)[0].reason == str(raised.value)


def test_without_git_program_and_command_say_the_same_sentence(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "w", now=NOW)
    workspace.history.close()
    Dream(workspace).note("I like green tea", now=NOW)
    code = (
        "import sys; from datetime import *; from pathlib import Path\n"
        "from dream import Dream, Workspace\n"
        "from dream.errors import DreamError\n"
        "now, root = datetime.now(UTC), Path(sys.argv[1])\n"
        "try: Workspace.create(root / 'new', now=now)\n"
        "except DreamError as error: print(error)\n"
        "print(Dream(Workspace.open(root / 'w')).run(now=now).reason)\n"
    )
    env = {"PATH": str(tmp_path), "HOME": os.environ["HOME"], "PYTHONPATH": os.getcwd()}  # noqa: PTH109 - as a shell would give it
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{MISSING}\n{MISSING}\n", "")
    assert not (tmp_path / "new").exists()
    for command in (["init", tmp_path / "new"], ["run", "-w", tmp_path / "w"]):
        called = subprocess.run(
            [sys.executable, "-m", "dream", *map(str, command)], env=env, capture_output=True, text=True, check=False
        )
        assert (called.returncode, called.stdout, called.stderr) == (1, "", f"dream: {MISSING}\n")
    assert records(workspace)[-2:] == [("run", "failed"), ("run", "failed")]
