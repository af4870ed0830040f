"""The library as an agent's author meets it: few names, documented, and each does what it says."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dream
from dream import Consolidator, Dream, DreamError, Session, Settings, Workspace
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)


@pytest.fixture
def memory(tmp_path: Path) -> Dream:
    return Dream(fresh(tmp_path / "memory", NOW), SETTINGS)


@pytest.mark.parametrize("public", [Workspace, Session, Consolidator, Dream])
def test_what_is_public_is_documented(public: type) -> None:
    members = [member for name, member in inspect.getmembers(public) if not name.startswith("_")]

    assert inspect.getdoc(public)
    assert [member for member in members if not inspect.getdoc(member)] == []


def test_every_public_name_is_there() -> None:
    assert [name for name in dream.__all__ if not hasattr(dream, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'Dreams'"):
        dream.Dreams  # noqa: B018 - the access is what fails


def test_one_path_or_several_may_be_named_as_strings_too(memory: Dream, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "I live in Porto."}]), encoding="utf-8")

    first = memory.consolidate(str(chat), now=NOW)
    again = memory.consolidate([chat, str(chat)], now=NOW)

    assert (first.messages, again.entries) == (1, None)


def test_a_transcript_is_read_by_its_path_alone(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "I live in Porto."}]), encoding="utf-8")

    ((key, message),) = dream.transcripts.read(str(chat))

    assert key.startswith("openai:chat-")
    assert message.content == "I live in Porto."


def test_what_is_noted_is_dreamt_and_taken_back(memory: Dream) -> None:
    memory.note("I am allergic to walnuts", now=NOW)
    ran = memory.run(now=NOW)
    said = memory.workspace.read_file("USER.md")
    taken = memory.restore(ran.batches[0].commit or "", forget=True, now=NOW)

    assert (ran.outcome, "walnuts" in said) == ("committed", True)
    assert "walnuts" not in memory.workspace.read_file("USER.md")
    assert [fact.file for fact in taken.forgotten] == ["USER.md"]
    assert memory.run(now=NOW).outcome == "nothing"


def test_a_failure_is_a_sentence_to_act_on(memory: Dream) -> None:
    with pytest.raises(DreamError, match="names no change that dream made"):
        memory.restore("abcdef", now=NOW)


def test_an_agent_on_asyncio_goes_on_while_its_session_is_consolidated(memory: Dream) -> None:
    async def agent() -> tuple[int, str]:
        with memory.consolidator() as consolidator:
            session = Session("telegram:42", memory.workspace.history)
            session.add("user", "I play the cello.", at=NOW)
            session.add("assistant", "Noted.", at=NOW)
            background = consolidator.in_background(session)
            assert await asyncio.wrap_future(background) is None  # the budget is not reached
            done = await asyncio.to_thread(consolidator.archive, session)
        return done.messages, memory.workspace.context(1_000)

    messages, context = asyncio.run(agent())

    assert messages == 2
    assert "cello" in context
