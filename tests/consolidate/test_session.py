"""A live session: what is in its prompt, when it is consolidated, and that nothing is lost meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from dream.consolidate.consolidator import Consolidator
from dream.consolidate.session import Session
from dream.errors import ModelUnavailable, SpendingLimit
from dream.history.history import History
from dream.llm import ChatMessage
from dream.models import Message, NewEntry
from dream.settings import Settings
from tests.consolidate.conftest import NOW, conversation, open_history
from tests.scripted import Answer, ScriptedModel

SETTINGS = Settings(timezone="UTC", session_tokens=2_792)  # 2,400 beside the answer's room
FREE = 2_400


def consolidator(history: History, *answers: Answer, settings: Settings = SETTINGS) -> Consolidator:
    return Consolidator(history, ScriptedModel(*(answers or ("- a fact",))), settings)


def talk(session: Session, turns: int, words: int = 50) -> None:
    for number in range(turns):
        session.add("user", f"question {number} " + "word " * words)
        session.add("assistant", f"answer {number} " + "word " * words)


def tokens(session: Session) -> int:
    opening, items = session.items("scripted", ScriptedModel().count)
    return opening + sum(item.tokens for item in items)


def check_spans(history: History, end: int) -> None:
    spans = [entry.span for entry in history.after(0) if entry.span]
    assert [spans[0][0], spans[-1][1]] == [0, end]
    assert all(one[1] == other[0] for one, other in pairwise(spans))


def test_below_the_budget_nothing_happens(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 3)
    assert consolidator(history, AssertionError("asked")).maybe_consolidate(session, now=NOW) is None
    assert len(session.prompt()) == 6


def test_at_the_budget_the_oldest_turns_go_and_the_rest_stays_as_it_was(history: History) -> None:
    session = Session("nano:1", history)
    session.add("system", "You are kind.")
    talk(session, 100)
    before = session.prompt()
    done = consolidator(history).maybe_consolidate(session, now=NOW)
    kept = session.prompt()
    assert done is not None
    assert kept[0].role == "system"
    assert kept[1:] == before[session.consolidated :]
    assert kept[1].role == "user"
    assert 0.3 * FREE < tokens(session) <= 0.5 * FREE
    assert session.summary().startswith("- a fact")
    assert session.messages == tuple(before)


def test_one_turn_of_200_tool_rounds_is_still_consolidated(history: History) -> None:
    session = Session("nano:1", history)
    session.add("user", "do it all")
    for number in range(200):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": '{"command": "make"}'}}
        session.add("assistant", None, tool_calls=[call])
        session.add("tool", "ok " * 20, tool_call_id=f"c{number}")
    assert consolidator(history).maybe_consolidate(session, now=NOW)
    assert tokens(session) <= 0.5 * FREE
    assert session.chat()[0]["role"] == "assistant"
    called = {call["id"] for sent in session.chat() for call in sent.get("tool_calls") or ()}  # type: ignore[attr-defined]
    assert {sent["tool_call_id"] for sent in session.chat() if sent["role"] == "tool"} == called


def test_a_model_that_is_down_does_not_stop_it(history: History) -> None:
    session = Session("nano:1", history)
    live = consolidator(history, ModelUnavailable("down"))
    for _ in range(10):
        talk(session, 20)
        live.maybe_consolidate(session, now=NOW)
        assert tokens(session) <= FREE
    end = session.consolidated
    check_spans(history, end)
    raw = "\n".join(entry.content for entry in history.after(0))
    assert raw.count(f"] {NOW.year}-") == end
    assert len(session.summary()) < 10_000


def test_the_agents_own_prompt_counts(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 10)
    live = consolidator(history)
    assert live.maybe_consolidate(session, now=NOW) is None
    assert live.maybe_consolidate(session, now=NOW, other_tokens=2_000)


def test_archive_takes_everything(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 4)
    done = consolidator(history).archive(session, now=NOW)
    assert (done.messages, session.prompt(), session.consolidated) == (8, [], 8)
    assert consolidator(history).archive(session, now=NOW).messages == 0


def test_what_is_said_while_the_model_thinks_is_untouched(history: History) -> None:
    session = Session("nano:1", history)
    for _ in range(40):
        session.add("user", "good morning")

    def slow(messages: Sequence[ChatMessage]) -> str:
        session.add("user", "use Postgres, not MySQL")
        return "- a fact"

    consolidator(history, slow).archive(session, now=NOW)
    assert [message.content for message in session.prompt()] == ["use Postgres, not MySQL"]


def test_in_the_background_the_reply_does_not_wait(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 100)
    begun, go_on = threading.Event(), threading.Event()

    def slow(messages: Sequence[ChatMessage]) -> str:
        begun.set()
        assert go_on.wait(10)
        return "- a fact"

    with consolidator(history, slow) as live:
        future = live.in_background(session, now=NOW)
        assert begun.wait(10)
        session.add("user", "meanwhile")
        assert live.in_background(session, now=NOW) is future
        go_on.set()
        assert future.result(10)
    assert session.prompt()[-1].content == "meanwhile"
    check_spans(history, session.consolidated)


def test_an_error_in_the_background_is_raised_at_the_next_call_once(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 100)
    live = consolidator(history, SpendingLimit("enough"), "- a fact")
    live.in_background(session, now=NOW).exception(10)
    with pytest.raises(SpendingLimit, match="enough"):
        live.maybe_consolidate(session, now=NOW)
    assert live.maybe_consolidate(session, now=NOW)


def test_an_error_that_nobody_saw_is_raised_at_the_end(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 100)
    live = consolidator(history, SpendingLimit("enough"))
    live.in_background(session, now=NOW)
    with pytest.raises(SpendingLimit, match="enough"):
        live.close()


@pytest.mark.slow
def test_asyncio_can_wait_for_it(history: History) -> None:
    session = Session("nano:1", history)
    talk(session, 100)

    async def agent() -> int:
        with consolidator(history) as live:
            done = await asyncio.wrap_future(live.in_background(session, now=NOW))
        return done.messages if done else 0

    assert asyncio.run(agent()) == session.consolidated > 0


@pytest.mark.slow
def test_messages_added_from_many_threads_are_all_there(history: History) -> None:
    session = Session("nano:1", history)
    threads = [threading.Thread(target=talk, args=(session, 50)) for _ in range(4)]
    with consolidator(history) as live:
        for thread in threads:
            thread.start()
        for _ in range(5):
            live.maybe_consolidate(session, now=NOW)
        for thread in threads:
            thread.join()
        live.archive(session, now=NOW)
    assert len(session.messages) == 400
    check_spans(history, 400)


def test_after_a_restart_the_session_goes_on_where_history_says(history: History, tmp_path: Path) -> None:
    messages = conversation(50)
    first = Session("nano:1", history, messages)
    consolidator(history).maybe_consolidate(first, now=NOW)
    second = Session("nano:1", open_history(tmp_path), messages)
    assert second.prompt() == first.prompt()
    assert second.summary() == first.summary()


def test_an_agent_that_kept_nothing_loses_nothing_that_is_said_after(history: History) -> None:
    consolidator(history).consolidate("nano:1", conversation(5), now=NOW)
    session = Session("nano:1", history)
    session.add("user", "a new start")
    assert [message.content for message in session.prompt()] == ["a new start"]
    consolidator(history).archive(session, now=NOW)
    check_spans(history, 11)


def test_chat_gives_back_what_was_added(history: History) -> None:
    session = Session("nano:1", history)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 90_000}}
    given = [
        {"role": "user", "content": [{"type": "text", "text": "what is this?"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "look"}}]},
        {"role": "tool", "content": "a cat", "tool_call_id": "c1"},
    ]
    for message in given:
        session.add(**message)  # type: ignore[arg-type]
    assert session.chat() == given
    assert [message.content for message in session.prompt()] == ["what is this?\n\n[image]", "→ look()", "a cat"]
    assert session.prompt()[1].calls == ("c1",)
    assert session.prompt()[2].answers == "c1"
    assert tokens(session) < 2_000


def test_a_provider_s_own_fields_are_given_back_and_counted(history: History) -> None:
    session = Session("nano:1", history)
    dumped = {"role": "assistant", "content": "42", "function_call": None, "reasoning_content": "hmm " * 500}
    session.add(**dumped)  # type: ignore[arg-type]
    assert session.chat() == [{name: value for name, value in dumped.items() if value is not None}]
    assert [message.content for message in session.prompt()] == ["42"]
    assert tokens(session) > 300


def test_the_tokens_of_a_session_are_never_none(history: History) -> None:
    session = Session("nano:1", history)
    session.add("user", "<|endoftext|>" * 1_000)
    assert tokens(session) > 1_000


def test_a_tools_result_is_cut_as_the_readers_cut_it(history: History) -> None:
    model = ScriptedModel("- a fact")
    session = Session("nano:1", history, [Message("user", "go"), Message("tool", "x" * 100_000)])
    Consolidator(history, model, SETTINGS).archive(session, now=NOW)
    assert model.calls[0].user.count("x") < 2_400


def test_summaries_of_another_session_stay_out(history: History) -> None:
    consolidator(history, "- of Alice").consolidate("nano:alice", conversation(1), now=NOW)
    assert Session("nano:bob", history).summary() == ""


def test_the_summaries_of_a_quiet_session_are_found_however_busy_the_workspace_is(history: History) -> None:
    session = Session("a:quiet", history)
    assert session.summary() == ""
    history.append([NewEntry("summary", "- likes tea", "a:quiet", (0, 2))], now=NOW)
    busy = [NewEntry("summary", f"- fact {number}", f"a:{number % 7}") for number in range(3_000)]
    history.append(busy, now=NOW)
    assert session.summary() == "- likes tea"
    history.append([NewEntry("summary", "- and coffee", "a:quiet", (2, 4))], now=NOW)
    assert session.summary() == "- likes tea\n- and coffee"
