"""The README's three agents run: a loop on LiteLLM, Claude Code's hooks, and nanobot's workspace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dream.directory import Workspace
from dream.workspace import runs
from tests import readme
from tests.cli.commands import environment
from tests.forking import Server
from tests.provider import Body, Provider, Reply, fault, text
from tests.sources.test_incremental import row
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with a `dream` that is this checkout's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    Server.running().install(folder)
    return folder


def shell(line: str, home: Path, programs: Path, stdin: str = "") -> str:
    env = environment({"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"})
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        input=stdin,
        env=env,
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def answer(body: Body) -> Reply:
    said = body["messages"][-1]["content"]
    return text(f"You said: {said[:20]}")


@pytest.mark.long
def test_the_agent_loop_remembers_across_conversations_and_keeps_its_prefix(tmp_path: Path, provider: Provider) -> None:
    provider.script(answer)
    given = ["My name is Lena and I moved to Kyoto.", *(f"Tell me of day {n}: " + "sun " * 300 for n in range(12))]
    lines = [*given, "/new", "Where do I live?"]
    more = {
        "MODEL": "openai/scripted",
        "OPENAI_API_BASE": provider.base,
        "OPENAI_API_KEY": "sk-1",
        "DREAM_SESSION_TOKENS": "10500",
    }
    done = subprocess.run(
        [sys.executable, "-c", readme.block("agent loop")],
        input="\n".join(lines) + "\n",
        cwd=tmp_path,
        env=environment(more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(lines) - 1
    prompts = [body["messages"] for body in provider.bodies()]
    assert "Kyoto" in json.dumps(prompts[-1][0])  # after /new only memory knows it
    assert len(prompts[-1]) == 2
    kept = sum(later[: len(earlier)] == earlier for earlier, later in pairwise(prompts))
    assert kept >= len(prompts) - 6  # the prefix changes only where old turns leave the prompt
    assert len(max(prompts, key=len)) < 2 * len(given)  # and they do leave it
    history = Workspace.open(tmp_path / "memory").history
    assert history.position("shell:main") == 2 * (len(lines) - 1)  # what was said last, too


@pytest.mark.long
def test_the_agent_loop_survives_a_provider_s_fault_and_a_kill(tmp_path: Path, provider: Provider) -> None:
    provider.script(lambda body: fault(400) if "sister" in body["messages"][-1]["content"] else answer(body))
    more = {
        "MODEL": "openai/scripted",
        "OPENAI_API_BASE": provider.base,
        "OPENAI_API_KEY": "sk-1",
    }

    def agent(lines: list[str], answers: int) -> None:
        """Say `lines`, and kill the agent when it has answered."""
        started = subprocess.Popen(
            [sys.executable, "-c", readme.block("agent loop")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            env=environment(more),
            text=True,
        )
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write("".join(f"{line}\n" for line in lines))
        started.stdin.flush()
        for _ in range(answers):
            started.stdout.readline()
        started.kill()
        started.communicate()

    agent(["I moved to Kyoto.", "My sister Ines is a baker.", "What did I say?"], answers=2)
    agent(["And where do I live?"], answers=1)
    said = [message["content"] for message in provider.bodies()[-1]["messages"]]
    assert {"I moved to Kyoto.", "My sister Ines is a baker.", "And where do I live?"} <= set(said)


def hooks() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(readme.block("claude code hooks"))["hooks"]
    return {event: given[0]["hooks"][0]["command"] for event, given in found.items()}


def ended(transcript: Path | None) -> str:
    """What Claude Code hands to a SessionEnd hook (code.claude.com/docs/en/hooks)."""
    event = {
        "session_id": "0f3a4f6e-0f0a-4f4b-9c58-8d4f5f2b8f11",
        "transcript_path": None if transcript is None else str(transcript),
        "cwd": "/home/lena/project",
        "permission_mode": "default",
        "hook_event_name": "SessionEnd",
        "reason": "prompt_input_exit",
    }
    return json.dumps(event)


STARTED = json.dumps(
    json.loads(ended(None)) | {"hook_event_name": "SessionStart", "source": "startup", "model": "claude-sonnet-4-5"}
)


def consolidations(root: Path) -> int:
    return sum(record.command == "consolidate" for record in runs.last(root / ".dream", 9))


def test_claude_code_s_hooks_put_a_session_into_history_and_memory_into_the_next(home: Path, programs: Path) -> None:
    root = fresh(home / "memory", NOW).root
    transcript = home / "a session.jsonl"
    transcript.write_text(row(1, "s1"))
    assert shell(hooks()["SessionStart"], home, programs, STARTED) == ""  # nothing was learnt yet
    for times in (1, 2):
        assert shell(hooks()["SessionEnd"], home, programs, ended(transcript)) == ""
        deadline = time.monotonic() + 200
        while consolidations(root) < times:  # the hook works on after it has returned
            assert time.monotonic() < deadline, (root / ".dream" / "hook.log").read_text()
            time.sleep(0.1)
    remembered = shell(hooks()["SessionStart"], home, programs, STARTED)
    assert remembered.startswith("<dream-memory>")
    assert remembered.count("town number 1") == 1
    assert len(list(Workspace.open(root).history.after(0))) == 1


def test_a_session_that_ended_before_anybody_said_anything_is_no_failure(home: Path, programs: Path) -> None:
    log = fresh(home / "memory", NOW).private / "hook.log"
    for times, transcript in enumerate((None, home / "not-written.jsonl"), 1):
        assert shell(hooks()["SessionEnd"], home, programs, ended(transcript)) == ""
        deadline = time.monotonic() + 200
        while log.read_text().count("The session has no transcript.\n") < times:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)


def test_a_hook_that_says_nothing_of_a_transcript_is_wrong_usage(home: Path, programs: Path) -> None:
    fresh(home / "memory", NOW)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        shell(hooks()["SessionEnd"], home, programs, "{}")
    assert failed.value.returncode == 2
    assert "--hook needs" in failed.value.stderr


def test_nanobot_s_history_is_dreamt_beside_it(home: Path, programs: Path) -> None:
    root = home / ".nanobot" / "workspace"
    (root / "memory").mkdir(parents=True)
    (root / "SOUL.md").write_text("# Soul\n\nI am nanobot.\n")
    rows = [
        {"cursor": 1, "timestamp": "2026-04-03 00:02", "content": "User said: I moved to Kyoto on 2026-04-02."},
        {"cursor": 2, "timestamp": "2026-04-03 00:05", "content": "[no summary]", "session_key": "telegram:7"},
    ]
    history = root / "memory" / "history.jsonl"
    history.write_text("".join(json.dumps(one) + "\n" for one in rows))
    before = history.read_bytes()
    shell(readme.block("nanobot"), home, programs)
    assert "Kyoto" in "".join((root / name).read_text() for name in ("USER.md", "memory/MEMORY.md"))
    assert history.read_bytes() == before
    assert (root / "SOUL.md").read_text().startswith("# Soul\n\nI am nanobot.\n")
    # nanobot goes on where it was, and the next night has just that.
    with history.open("a") as file:
        file.write(json.dumps({"cursor": 3, "timestamp": "2026-04-04 00:02", "content": "User has a dog called Miso."}))
        file.write("\n")
    shell("dream nightly -w ~/.nanobot/workspace", home, programs)
    assert Workspace.open(root).dream_cursor() == 3
    assert os.path.getsize(history) > len(before)  # noqa: PTH202
