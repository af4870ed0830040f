"""Several calls are in flight, and history comes out as if there were one."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from dream.consolidate.consolidator import Consolidator
from dream.consolidate.flight import Consolidated, Talk
from dream.errors import ModelRejected, SpendingLimit
from dream.history.history import History
from dream.llm import ChatMessage
from dream.models import Message, NewEntry, Report
from dream.settings import Settings
from tests.consolidate.conftest import NOW, conversation
from tests.scripted import Answer, ScriptedModel

SETTINGS = Settings(timezone="UTC")


class Slow:
    """A script whose answers take their time, the first ones longest; counts how many are under way."""

    def __init__(self, seconds: float = 0.02, limit: int | None = None) -> None:
        self.under_way = self.most = self.calls = 0
        self._seconds, self._limit, self._lock = seconds, limit, threading.Lock()

    def __call__(self, messages: Sequence[ChatMessage]) -> str | Exception:
        with self._lock:
            self.calls += 1
            if self._limit is not None and self.calls > self._limit:
                return SpendingLimit("enough")
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            wait = self._seconds * (5 - self.calls % 5)
        time.sleep(wait)
        with self._lock:
            self.under_way -= 1
        session = re.search(r'session="([^"]+)" messages="(\d+)', messages[-1].content)
        assert session
        return f"- {session[1]} from {session[2]}"


def fly(
    history: History,
    answer: Answer,
    talks: Sequence[tuple[str, Sequence[Message]]],
    *,
    parallel: int = 4,
    report: Report | None = None,
    **options: object,
) -> Iterator[Consolidated]:
    consolidator = Consolidator(history, ScriptedModel(answer, window=4_096), SETTINGS, report=report)
    given = [Talk(key, messages, lambda: None) for key, messages in talks]
    return consolidator.sessions(given, now=NOW, parallel=parallel, **options)  # type: ignore[arg-type]


def told(history: History) -> list[tuple[str | None, tuple[int, int] | None]]:
    return [(entry.session, entry.span) for entry in history.after(0)]


TALKS = [(f"a:{number}", conversation(4 + number % 3 * 20, 60)) for number in range(8)]


def test_calls_are_in_flight_together_and_entries_come_in_the_order_of_the_sessions(history: History) -> None:
    slow = Slow()
    done = list(fly(history, slow, TALKS))
    assert slow.most == 4
    order = [session for session, _ in told(history)]
    assert order == sorted(order)
    assert sum(step.messages for step in done) == sum(len(messages) for _, messages in TALKS)
    assert all(history.position(key) == len(messages) for key, messages in TALKS)


@pytest.mark.slow
def test_history_is_the_same_with_one_call_at_a_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.consolidate.conftest import open_history

    texts = []
    for parallel in (1, 4):
        with open_history(tmp_path_factory.mktemp("ws")) as history:
            list(fly(history, Slow(0), TALKS, parallel=parallel))
            texts.append(history.path.read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 4])
def test_a_spending_bound_ends_it_and_the_next_run_goes_on_there(history: History, parallel: int) -> None:
    with pytest.raises(SpendingLimit, match="enough"):
        list(fly(history, Slow(limit=5), TALKS, parallel=parallel))
    assert 0 < len(told(history)) <= 5
    list(fly(history, Slow(), TALKS, parallel=parallel))
    spans: dict[str, int] = {}
    for session, span in told(history):
        assert session
        assert span
        assert spans.get(session, 0) == span[0]
        spans[session] = span[1]
    assert spans == {key: len(messages) for key, messages in TALKS}


@pytest.mark.few(1)
@pytest.mark.parametrize("parallel", [1, 4])
def test_a_stop_lets_what_is_under_way_land(history: History, parallel: int) -> None:
    steps: list[str] = []

    def before(step: str) -> None:
        steps.append(step)
        if len(steps) == 4:
            raise SpendingLimit("the night is over")

    slow = Slow()
    with pytest.raises(SpendingLimit, match="the night is over"):
        list(fly(history, slow, TALKS, parallel=parallel, before=before))
    assert 0 < slow.calls == len(told(history)) <= 3


def test_two_files_of_one_session_wait_for_each_other(history: History) -> None:
    said = conversation(3)
    fork = [*said[:2], *[Message("user", f"fork {number}") for number in range(3)]]
    list(fly(history, Slow(), [("a:1", said), ("a:2", said), ("a:1", fork), ("a:1", said)]))
    spans = told(history)
    assert [span for session, span in spans if session == "a:1"] == [(0, 6)]
    assert [span for session, span in spans if session and session.startswith("a:1~")] == [(0, 3)]


def test_a_session_that_another_process_was_quicker_with_is_begun_anew(history: History) -> None:
    said = conversation(2)

    def rival(messages: Sequence[ChatMessage]) -> str:
        if history.position("a:1") == 0:
            Consolidator(history, ScriptedModel("- theirs"), SETTINGS).consolidate("a:1", said[:2], now=NOW)
        return "- ours"

    list(fly(history, rival, [("a:1", said)]))
    assert [(entry.content, entry.span) for entry in history.after(0)] == [("- theirs", (0, 2)), ("- ours", (2, 4))]


@pytest.mark.slow
def test_a_message_that_costs_more_than_a_run_may_is_kept_as_it_was_said_the_second_time(history: History) -> None:
    said = [Message("user", "word " * 20_000), Message("user", "hello")]
    with pytest.raises(SpendingLimit):
        list(fly(history, Slow(0, limit=2), [("a:1", said)], parallel=1))
    assert told(history) == []
    with pytest.raises(SpendingLimit):
        list(fly(history, Slow(0, limit=2), [("a:1", said)], parallel=1))
    assert {entry.kind for entry in history.after(0)} == {"raw"}
    assert history.position("a:1") == 1
    list(fly(history, Slow(0, limit=2), [("a:1", said)], parallel=1))
    assert history.last(1)[0].content == "- a:1 from 1"


def test_a_model_that_is_down_is_not_asked_by_every_thread(history: History) -> None:
    calls: list[int] = []

    def down(messages: Sequence[ChatMessage]) -> Exception:
        calls.append(1)
        return ModelRejected("no")

    list(fly(history, down, [(f"b:{number}", conversation(2)) for number in range(40)]))
    assert len(calls) <= 16
    assert len(told(history)) == 40


def test_entries_of_other_writers_do_not_disturb(history: History) -> None:
    history.append([NewEntry("note", "- said directly")], now=NOW)
    list(fly(history, Slow(0), TALKS[:2]))
    assert [entry.cursor for entry in history.after(0)] == list(range(1, len(told(history)) + 1))
