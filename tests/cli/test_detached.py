"""A hook that works on in the background returns at once, and what is done to it then does no harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.directory import Workspace
from tests.cli.commands import command, dream, environment
from tests.sources.test_incremental import row


@pytest.fixture
def said(tmp_path: Path) -> str:
    """What an agent tells its hook."""
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(row(1, "s1"))
    return json.dumps({"transcript_path": str(transcript)})


def until(done: Callable[[], int | bool]) -> int:
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + 200
    while not (last := done()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return last


def landed(root: Path) -> int:
    """Wait until something is in history, and return how much."""
    return until(Workspace.open(root).history.last_cursor)


def test_the_hook_returns_before_anything_is_loaded_that_takes_time(fresh: Path, said: str) -> None:
    line = [sys.executable, "-X", "importtime", *command("consolidate", "--hook", "--detach", "-w", fresh)[1:]]

    done = subprocess.run(line, input=said, capture_output=True, text=True, env=environment(), check=True)

    loaded = {row.rpartition("|")[2].strip() for row in done.stderr.splitlines()}
    assert "dream.cli" in loaded
    assert not loaded & {"click", "orjson", "subprocess", "dream.directory", "dream.pipeline"}
    assert landed(fresh) == 1


def test_what_kills_the_hook_and_all_beside_it_loses_nothing(fresh: Path, said: str) -> None:
    line = ["sh", "-c", '"$@"; echo returned; exec sleep 60', "sh"]
    hook = command("consolidate", "--hook", "--detach", "-w", fresh)
    with subprocess.Popen(
        [*line, *hook], stdin=-1, stdout=-1, env=environment(), text=True, start_new_session=True
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        agent.stdin.write(said[:20])  # all of it is read, however slowly it comes
        agent.stdin.flush()
        time.sleep(0.1)
        agent.stdin.write(said[20:])
        agent.stdin.close()
        assert agent.stdout.readline() == "returned\n"
        os.killpg(agent.pid, signal.SIGKILL)

    assert landed(fresh) == 1


def test_the_agent_s_pipes_are_let_go(fresh: Path, said: str) -> None:
    done = dream("consolidate", "--detach", "--hook", f"--workspace={fresh}", stdin=said)  # reads until they are

    assert (done.status, done.out, done.err) == (0, "", "")
    assert landed(fresh) == 1


@pytest.mark.slow
def test_a_path_can_be_worked_on_in_the_background_too(fresh: Path, said: str) -> None:
    done = dream("consolidate", json.loads(said)["transcript_path"], "--detach", "-w", fresh)

    assert (done.status, done.out, done.err) == (0, "", "")
    assert landed(fresh) == 1
    assert until(lambda: "Appended entry 1" in (fresh / ".dream" / "hook.log").read_text(encoding="utf-8"))


def test_a_hook_without_a_workspace_says_so(tmp_path: Path, said: str) -> None:
    done = dream("consolidate", "--hook", "--detach", "-w", tmp_path / "none", stdin=said)

    assert done.status == 1
    assert "is no workspace" in done.err
