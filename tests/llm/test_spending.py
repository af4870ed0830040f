"""No bound is passed, also not by two calls at once, and what was used is on the bill."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from dream.errors import AnswerUnusable, ModelRejected, ModelUnavailable, PromptTooLong, SpendingLimit
from dream.llm import Card, ChatMessage, Completion, Tool, ToolCall
from dream.llm.faults import retry_after, wait_before
from dream.llm.spending import Meter, MeteredModel, open_model
from dream.reports import Usage
from dream.settings import Settings
from tests.scripted import ScriptedModel

PRICE = Card(input_usd=1e-6, output_usd=2e-6)
UNKNOWN = Card()
HELLO = [ChatMessage("user", "Hello")]


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 11, 21, 23, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


def meter(*, spent_today: Usage | None = None, clock: Clock | None = None, **bounds: float) -> Meter:
    unbound = dict.fromkeys(("max_call_tokens", "max_run_tokens", "max_day_tokens"), 0)
    settings = Settings(timezone="UTC", **(unbound | bounds))  # type: ignore[arg-type]
    return Meter(settings, spent_today=spent_today, now=clock or Clock())


@pytest.mark.parametrize(
    ("bounds", "setting"),
    [
        ({"max_call_tokens": 149}, "max_call_tokens allows 149 tokens a call"),
        ({"max_run_tokens": 149}, "max_run_tokens allows 149 tokens a run"),
        ({"max_day_tokens": 149}, "max_day_tokens allows 149 tokens a day"),
        ({"max_run_usd": 0.00019}, "max_run_usd allows \\$0.00019 a run"),
        ({"max_day_usd": 0.00019}, "max_day_usd allows \\$0.00019 a day"),
    ],
)
def test_a_call_that_could_pass_a_bound_is_not_made(bounds: dict[str, float], setting: str) -> None:
    with pytest.raises(SpendingLimit, match=setting):
        meter(**bounds).reserve("m", 100, 50, PRICE)


def test_a_call_that_just_fits_is_made() -> None:
    meter(max_call_tokens=150, max_run_tokens=150, max_day_tokens=150).reserve("m", 100, 50, PRICE)
    meter(max_run_usd=0.0002, max_day_usd=0.0002).reserve("m", 100, 50, PRICE)


def test_what_earlier_runs_spent_today_counts_for_the_day_only() -> None:
    used = Usage(3, 900, 50, 0.5)

    with pytest.raises(SpendingLimit, match="950 used in this day"):
        meter(max_day_tokens=1000, spent_today=used).reserve("m", 50, 1, PRICE)
    with pytest.raises(SpendingLimit, match=r"\$0.5000 used in this day"):
        meter(max_day_usd=0.5, spent_today=used).reserve("m", 1, 1, PRICE)
    meter(max_run_tokens=1000, spent_today=used).reserve("m", 50, 1, PRICE)


def test_a_new_day_begins_with_nothing_spent() -> None:
    clock = Clock()
    run = meter(max_day_tokens=1000, spent_today=Usage(1, 950, 0), clock=clock)
    clock.at = datetime(2026, 11, 22, 0, 1, tzinfo=UTC)

    run.record(run.reserve("m", 100, 50, PRICE), Usage(1, 100, 50))
    assert run.usage == Usage(1, 100, 50)


def test_an_unknown_price_is_no_bound_and_makes_the_bill_unknown() -> None:
    run = meter(max_run_usd=0.000001)
    run.record(run.reserve("m", 100, 50, UNKNOWN), Usage(1, 100, 50, None))

    assert run.usage == Usage(1, 100, 50, None)


def test_calls_under_way_hold_their_room() -> None:
    run = meter(max_run_tokens=250)
    first = run.reserve("m", 100, 50, PRICE)
    with pytest.raises(SpendingLimit):
        run.reserve("m", 100, 50, PRICE)
    run.release(first)
    run.reserve("m", 100, 50, PRICE)


def test_many_threads_never_pass_the_bound_together() -> None:
    run = meter(max_run_tokens=1_000)
    stopped: list[SpendingLimit] = []

    def call() -> None:
        for _ in range(20):
            try:
                run.record(run.reserve("m", 9, 1, PRICE), Usage(1, 9, 1))
            except SpendingLimit as error:
                stopped.append(error)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (run.usage.input_tokens + run.usage.output_tokens, len(stopped)) == (1_000, 60)


def test_a_mark_gives_the_bill_of_one_batch() -> None:
    run = meter()
    run.record(run.reserve("m", 1, 1, PRICE), Usage(1, 100, 50, None))
    mark = run.mark()
    run.record(run.reserve("m", 1, 1, PRICE), Usage(1, 7, 3, 0.5))

    assert run.since(mark) == Usage(1, 7, 3, 0.5)
    assert run.usage == Usage(2, 107, 53, None)


def test_the_default_bounds_do_not_stop_the_free_model_but_a_bound_that_was_set_does() -> None:
    Meter(Settings(), spent_today=Usage(1, 10**9, 0)).reserve("embedded", 10**6, 0, PRICE)

    with pytest.raises(SpendingLimit):
        Meter(Settings(max_run_tokens=100)).reserve("embedded", 101, 0, PRICE)
    with pytest.raises(SpendingLimit):
        Meter(Settings()).reserve("openai/m", 10**6, 0, PRICE)


def wrapped(*models: ScriptedModel, run: Meter | None = None) -> MeteredModel:
    return MeteredModel(models, run or meter())


def test_a_fallback_answers_where_the_first_is_unavailable_and_only_then() -> None:
    first, second = ScriptedModel(ModelUnavailable("a is down."), name="a"), ScriptedModel("hi", name="b")

    assert wrapped(first, second).complete(HELLO).model == "b"
    with pytest.raises(ModelRejected):
        wrapped(ScriptedModel(ModelRejected("no")), second).complete(HELLO)


def test_when_all_are_down_each_is_named() -> None:
    first = ScriptedModel(ModelUnavailable("a is down."), name="a")
    second = ScriptedModel(ModelUnavailable("b is down."), name="b")

    with pytest.raises(ModelUnavailable, match=r"^a is down\. Then: b is down\.$"):
        wrapped(first, second).complete(HELLO)


def test_nothing_is_sent_once_a_bound_is_reached() -> None:
    model = ScriptedModel("hi")

    with pytest.raises(SpendingLimit):
        wrapped(model, run=meter(max_run_tokens=100)).complete(HELLO)
    assert model.calls == []


def test_an_unusable_answer_is_billed_all_the_same() -> None:
    run = meter()
    empty = AnswerUnusable("empty")
    empty.usage = Usage(1, 30, 1, 0.1)
    model = ScriptedModel(empty)

    with pytest.raises(AnswerUnusable):
        wrapped(model, run=run).complete(HELLO)
    assert run.usage == Usage(1, 30, 1, 0.1)


def test_the_whole_prompt_counts_with_its_tools_and_earlier_calls() -> None:
    long = "rules " * 4_000
    prompts: list[tuple[list[ChatMessage], list[Tool]]] = [
        ([ChatMessage("system", long), *HELLO], []),
        ([*HELLO, ChatMessage("assistant", "", (ToolCall("c", "t", {"x": long}),))], []),
        (HELLO, [Tool("t", long, {})]),
        (HELLO, [Tool("t", "d", {"description": long})]),
    ]
    for messages, tools in prompts:
        with pytest.raises(SpendingLimit, match="max_call_tokens"):
            wrapped(ScriptedModel("hi"), run=meter(max_call_tokens=4_000)).complete(messages, tools=tools, max_tokens=1)


def test_a_prompt_that_fills_the_window_is_not_sent() -> None:
    model = ScriptedModel("hi", window=4_000)

    with pytest.raises(PromptTooLong, match="no room for an answer in the window of scripted"):
        wrapped(model).complete([ChatMessage("user", "word " * 4_000)])
    assert model.calls == []


def test_the_answer_gets_what_the_prompt_leaves_of_the_window() -> None:
    model = ScriptedModel("hi", window=4_000, max_output=2_000)
    wrapped(model).complete([ChatMessage("user", "我" * 2_000)])

    assert model.calls[0].max_tokens == 4_000 - model.count("我" * 2_000) - 8


def test_the_window_is_the_smallest_of_all_that_may_answer_and_of_the_bound_on_a_call() -> None:
    small, large = ScriptedModel(window=8_000, max_output=500, name="s"), ScriptedModel(window=900_000, name="l")

    assert (wrapped(large, small).window, wrapped(large, small).max_output) == (8_000, 500)
    assert wrapped(large, run=Meter(Settings())).window == Settings().max_call_tokens
    bounded = wrapped(large, run=meter(max_call_tokens=2_000))
    assert (bounded.window, bounded.max_output) == (2_000, 500)


def test_the_key_and_address_of_one_provider_are_not_given_to_another() -> None:
    settings = Settings(
        model="openai/a", api_base="http://127.0.0.1:1/v1", api_key="k", fallbacks=("openai/b", "anthropic/c")
    )
    model = open_model(settings, "phase1", Meter(settings))
    assert isinstance(model, MeteredModel)

    given = [(m.name, m._api_base, m._api_key) for m in model._models]  # type: ignore[attr-defined]
    assert given == [
        ("openai/a", "http://127.0.0.1:1/v1", "k"),
        ("openai/b", "http://127.0.0.1:1/v1", "k"),
        ("anthropic/c", None, None),
    ]


def test_each_job_has_its_own_model_and_unknown_windows_are_32k() -> None:
    settings = Settings(model="openai/gpt-4o", phase2_model="openai/nobody-knows-this", context_window=None)
    run = Meter(settings)

    opened = [open_model(settings, "phase1", run), open_model(settings, "phase2", run)]
    assert [(model.name, model.window) for model in opened] == [
        ("openai/gpt-4o", 128_000),
        ("openai/nobody-knows-this", 32_768),
    ]


@pytest.mark.parametrize(
    ("attempt", "asked", "wait"),
    [(1, None, 1.0), (2, None, 2.0), (3, None, 4.0), (20, None, 60.0), (1, 7.0, 7.0), (3, 0.0, 4.0), (1, 61.0, None)],
)
def test_waits_grow_and_are_bounded(attempt: int, asked: float | None, wait: float | None) -> None:
    assert wait_before(attempt, asked) == wait


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"Retry-After": "Sat, 21 Nov 2026 03:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sat, 21 Nov 2026 02:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_each_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 11, 21, 3, 0, tzinfo=UTC)) == seconds


def test_the_scripted_model_of_the_tests_is_a_model() -> None:
    def echo(messages: Sequence[ChatMessage]) -> str | Completion | Exception:
        return messages[-1].content

    assert ScriptedModel(echo).complete(HELLO).text == "Hello"
