"""Many sessions, one after the other: where it stops, the next run goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from dream.consolidate.consolidator import Consolidator
from dream.consolidate.talk import Consolidated, Talk
from dream.errors import ModelRejected, SpendingLimit
from dream.history.history import History
from dream.llm import ChatMessage
from dream.models import Message, NewEntry, Report
from dream.settings import Settings
from tests.consolidate.conftest import NOW, conversation
from tests.scripted import Answer, ScriptedModel

SETTINGS = Settings(timezone="UTC")


class Told:
    """A script that says which session it was asked about; counts its calls, and ends after `limit`."""

    def __init__(self, limit: int | None = None) -> None:
        self.calls, self._limit = 0, limit

    def __call__(self, messages: Sequence[ChatMessage]) -> str | Exception:
        self.calls += 1
        if self._limit is not None and self.calls > self._limit:
            return SpendingLimit("enough")
        session = re.search(r'session="([^"]+)" messages="(\d+)', messages[-1].content)
        assert session
        return f"- {session[1]} from {session[2]}"


def consolidated(
    history: History,
    answer: Answer,
    talks: Sequence[tuple[str, Sequence[Message]]],
    *,
    report: Report | None = None,
    **options: object,
) -> Iterator[Consolidated]:
    consolidator = Consolidator(history, ScriptedModel(answer, window=4_096), SETTINGS, report=report)
    given = [Talk(key, messages) for key, messages in talks]
    return consolidator.sessions(given, now=NOW, **options)  # type: ignore[arg-type]


def told(history: History) -> list[tuple[str | None, tuple[int, int] | None]]:
    return [(entry.session, entry.span) for entry in history.after(0)]


TALKS = [(f"a:{number}", conversation(4 + number % 3 * 20, 60)) for number in range(8)]


@pytest.mark.slow
def test_a_spending_bound_ends_it_and_the_next_run_goes_on_there(history: History) -> None:
    with pytest.raises(SpendingLimit, match="enough"):
        list(consolidated(history, Told(limit=5), TALKS))
    assert 0 < len(told(history)) <= 5
    list(consolidated(history, Told(), TALKS))
    spans: dict[str, int] = {}
    for session, span in told(history):
        assert session
        assert span
        assert spans.get(session, 0) == span[0]
        spans[session] = span[1]
    assert spans == {key: len(messages) for key, messages in TALKS}


def test_a_stop_ends_it_before_the_next_call(history: History) -> None:
    steps: list[str] = []

    def before(step: str) -> None:
        steps.append(step)
        if len(steps) == 4:
            raise SpendingLimit("the night is over")

    model = Told()
    with pytest.raises(SpendingLimit, match="the night is over"):
        list(consolidated(history, model, TALKS, before=before))
    assert 0 < model.calls == len(told(history)) <= 3


def test_two_files_of_one_session_are_one_session(history: History) -> None:
    said = conversation(3)
    fork = [*said[:2], *[Message("user", f"fork {number}") for number in range(3)]]
    list(consolidated(history, Told(), [("a:1", said), ("a:2", said), ("a:1", fork), ("a:1", said)]))
    spans = told(history)
    assert [span for session, span in spans if session == "a:1"] == [(0, 6), (6, 9)]


def test_a_session_that_another_process_was_quicker_with_is_begun_anew(history: History) -> None:
    said = conversation(2)

    def rival(messages: Sequence[ChatMessage]) -> str:
        if history.position("a:1") == 0:
            Consolidator(history, ScriptedModel("- theirs"), SETTINGS).consolidate("a:1", said[:2], now=NOW)
        return "- ours"

    list(consolidated(history, rival, [("a:1", said)]))
    assert [(entry.content, entry.span) for entry in history.after(0)] == [("- theirs", (0, 2)), ("- ours", (2, 4))]


@pytest.mark.slow
def test_a_message_that_costs_more_than_a_run_may_is_kept_as_it_was_said_the_second_time(history: History) -> None:
    said = [Message("user", "word " * 20_000), Message("user", "hello")]
    with pytest.raises(SpendingLimit):
        list(consolidated(history, Told(limit=2), [("a:1", said)]))
    assert told(history) == []
    with pytest.raises(SpendingLimit):
        list(consolidated(history, Told(limit=2), [("a:1", said)]))
    assert {entry.kind for entry in history.after(0)} == {"raw"}
    assert history.position("a:1") == 1
    list(consolidated(history, Told(limit=2), [("a:1", said)]))
    assert history.last(1)[0].content == "- a:1 from 1"


def test_a_model_that_is_down_is_not_asked_for_every_session(history: History) -> None:
    calls: list[int] = []

    def down(messages: Sequence[ChatMessage]) -> Exception:
        calls.append(1)
        return ModelRejected("no")

    list(consolidated(history, down, [(f"b:{number}", conversation(2)) for number in range(40)]))
    assert len(calls) <= 16
    assert len(told(history)) == 40


def test_entries_of_other_writers_do_not_disturb(history: History) -> None:
    history.append([NewEntry("note", "- said directly")], now=NOW)
    list(consolidated(history, Told(), TALKS[:2]))
    assert [entry.cursor for entry in history.after(0)] == list(range(1, len(told(history)) + 1))
