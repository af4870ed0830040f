"""A live session outlives its agent: what was added is on disk, is taken up at the next start, and then goes."""

from __future__ import annotations

import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import Dream, Session, Workspace, pipeline
from dream.actions.forget import forget
from dream.nights import nightly
from dream.workspace.live import left_behind
from tests.forking import Program
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
AGENT = """
import sys
from dream import Session, Workspace
session = Session("shell:main", Workspace.create("memory").history)
session.add("user", "I am allergic to penicillin.", at=None)
session.add("assistant", None, tool_calls=[{"id": "c1", "type": "function",
    "function": {"name": "note", "arguments": "{}"}}])
print("said", flush=True)
sys.stdin.read()
"""


def killed_agent(root: Path) -> Workspace:
    """Let an agent say two things and kill it."""
    agent = Program(AGENT, cwd=root)
    assert agent.stdout.readline() == "said\n"
    agent.send_signal(signal.SIGKILL)
    agent.communicate()
    return Workspace.open(root / "memory")


def live_files(workspace: Workspace) -> list[Path]:
    return sorted((workspace.private / "live").glob("*"))


def test_what_a_killed_agent_was_told_is_there_at_its_next_start(tmp_path: Path) -> None:
    workspace = killed_agent(tmp_path)
    session = Session("shell:main", workspace.history)
    assert session.chat()[0] == {"role": "user", "content": "I am allergic to penicillin."}
    assert session.chat()[-1]["tool_call_id"] == "c1"  # a call without a result is refused by providers
    session.add("user", "Where were we?")
    assert len(Session("shell:main", workspace.history).chat()) == 4


def test_what_only_a_live_session_holds_is_not_called_an_empty_history(tmp_path: Path) -> None:
    workspace = killed_agent(tmp_path)

    assert "no live session has been consolidated yet" in Dream(workspace).run(now=NOW).reason


def test_the_file_is_gone_when_history_holds_it_all(tmp_path: Path) -> None:
    workspace = killed_agent(tmp_path)
    with Dream(workspace).consolidator() as consolidator:
        consolidator.archive(Session("shell:main", workspace.history))
    assert live_files(workspace) == []
    assert Session("shell:main", workspace.history).chat() == []
    assert "penicillin" in "".join(entry.content for entry in workspace.history.after(0))


def test_a_line_cut_short_by_a_kill_is_passed_over_and_nothing_else(tmp_path: Path) -> None:
    workspace = fresh(tmp_path, NOW)
    Session("a", workspace.history).add("user", "one")
    (file,) = live_files(workspace)
    file.write_bytes(file.read_bytes() + b'{"position": 1, "sent": {"ro')
    again = Session("a", workspace.history)
    again.add("user", "two")
    assert [one["content"] for one in Session("a", workspace.history).chat()] == ["one", "two"]


def test_a_night_brings_into_history_what_an_agent_left_that_never_came_back(tmp_path: Path) -> None:
    workspace = killed_agent(tmp_path)
    settings = workspace.settings()
    assert left_behind(workspace.private, datetime.now(UTC) - timedelta(hours=1)) == []  # it may come back
    later = datetime.now(UTC) + timedelta(hours=9)
    nightly.night(workspace, settings=settings, now=later, environ=os.environ)
    assert live_files(workspace) == []
    assert "penicillin" in workspace.read_file("USER.md")


def test_a_living_agent_keeps_its_session(tmp_path: Path) -> None:
    workspace = fresh(tmp_path, NOW)
    session = Session("a", workspace.history)
    session.add("user", "I live in Oslo.")
    later = datetime.now(UTC) + timedelta(hours=9)
    pipeline.consolidate(workspace, [], settings=workspace.settings(), now=later, idle=True)
    assert len(session.chat()) == 1


def test_what_is_forgotten_leaves_the_session_s_file_too(tmp_path: Path) -> None:
    from dream.actions.forget import forget

    workspace = killed_agent(tmp_path)
    forget(workspace, "allergic to penicillin", now=NOW)
    assert b"penicillin" not in live_files(workspace)[0].read_bytes()


TALKER = """
import sys
from dream import Session, Workspace
session = Session("shell:main", Workspace.open("memory").history)
for line in sys.stdin:
    session.add("user", line.strip())
    print(len(session.messages), flush=True)
"""


def talker(root: Path) -> Program:
    return Program(TALKER, cwd=root)


def say(agent: Program, text: str) -> int:
    agent.stdin.write(text + "\n")
    agent.stdin.flush()
    return int(agent.stdout.readline())


def test_two_agents_of_one_key_share_the_conversation_and_lose_nothing_when_killed(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "memory", NOW)
    one, other = talker(tmp_path), talker(tmp_path)
    try:
        assert [say(one, "a"), say(other, "b"), say(one, "c"), say(one, "d"), say(other, "e")] == [1, 2, 3, 4, 5]
    finally:
        for agent in (one, other):
            agent.send_signal(signal.SIGKILL)
            agent.communicate()
    assert [said["content"] for said in Session("shell:main", workspace.history).chat()] == ["a", "b", "c", "d", "e"]


def test_an_agent_goes_on_after_another_one_of_its_key_has_brought_it_all_into_history(tmp_path: Path) -> None:
    workspace = fresh(tmp_path, NOW)
    one, other = Session("a", workspace.history), Session("a", Workspace.open(tmp_path).history)
    with Dream(workspace).consolidator() as consolidator:
        one.add("user", "My name is Anna.")
        other.add("user", "I live in Bergen.")
        one.add("user", "I am vegan.")
        consolidator.archive(one)
        other.add("user", "I prefer tea.")
        consolidator.archive(other)
    entries = list(workspace.history.after(0))
    assert [entry.span for entry in entries] == [(0, 3), (3, 4)]
    told = "".join(entry.content for entry in entries)
    assert all(word in told for word in ("Anna", "Bergen", "vegan", "tea"))


def test_a_call_that_another_agent_waits_for_is_not_answered_in_its_place(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "memory", NOW)
    agent = Program(AGENT, cwd=tmp_path)
    agent.stdout.readline()
    try:
        assert len(Session("shell:main", workspace.history).chat()) == 2
    finally:
        agent.send_signal(signal.SIGKILL)
        agent.communicate()
    assert len(Session("shell:main", workspace.history).chat()) == 3


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system doesn't tell when a process began")
def test_a_process_that_has_the_number_of_a_killed_agent_is_not_taken_for_it(tmp_path: Path) -> None:
    workspace = killed_agent(tmp_path)
    (file,) = live_files(workspace)
    head, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(json.dumps(json.loads(head) | {"pid": os.getpid()}).encode() + b"\n" + rest)
    assert left_behind(workspace.private, datetime.now(UTC) + timedelta(hours=1)) == ["shell:main"]


def test_what_is_forgotten_leaves_a_running_agent_too(tmp_path: Path) -> None:
    workspace = fresh(tmp_path, NOW)
    session = Session("a", workspace.history)
    session.add("user", "My door is green and I like zebras.")
    forget(workspace, "zebras", now=NOW)
    session.add("user", "What else?")
    assert "zebras" not in str(session.chat())
    assert "zebras" not in live_files(workspace)[0].read_text()
