"""The gateway against a real HTTP server, with LiteLLM itself in between: one habit of a provider a test."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from dream.errors import (
    AnswerUnusable,
    ModelError,
    ModelInaccessible,
    ModelRejected,
    ModelUnavailable,
    PromptTooLong,
    ToolsUnsupported,
)
from dream.llm import ChatMessage, Completion, Tool, ToolCall
from dream.llm.gateway import LiteLLMModel
from dream.reports import Usage
from dream.settings import Settings
from tests.conftest import Imported
from tests.provider import Provider, Reply, choice, fault, garbage, hang, text, tools

HELLO = [ChatMessage("system", "Be brief."), ChatMessage("user", "Hello")]
EDIT = Tool("edit_file", "Edit a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def ask(
    provider: Provider, *, offer: tuple[Tool, ...] = (), name: str = "openai/scripted", **settings: Any
) -> Completion:
    return model(provider, name=name, **settings).complete(HELLO, tools=offer)


def model(
    provider: Provider, *, name: str = "openai/scripted", waits: list[float] | None = None, **settings: Any
) -> LiteLLMModel:
    sleep = (waits if waits is not None else []).append
    return LiteLLMModel(name, Settings(**settings), api_base=provider.base, api_key="k", sleep=sleep)


def test_an_answer_comes_with_its_text_its_bill_and_the_name_of_the_model(provider: Provider) -> None:
    provider.script(text("Hi!"))

    assert ask(provider) == Completion("Hi!", (), "stop", Usage(1, 10, 5, None), "openai/scripted")


def test_the_request_holds_the_messages_the_bound_on_the_answer_and_nothing_of_ours(provider: Provider) -> None:
    provider.script(text("Hi!"))
    ask(provider, max_output_tokens=77)

    assert provider.bodies() == [
        {
            "model": "scripted",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "max_tokens": 77,
        }
    ]


def test_a_turn_with_tool_calls_is_sent_with_text_and_never_with_null(provider: Provider) -> None:
    provider.script(text("done"))
    turns = [
        *HELLO,
        ChatMessage("assistant", "", (ToolCall("c1", "edit_file", {"path": "USER.md"}),)),
        ChatMessage("tool", "ok", tool_call_id="c1"),
    ]
    model(provider).complete(turns, tools=[EDIT])

    sent = provider.bodies()[0]["messages"]
    assert sent[2] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "edit_file", "arguments": '{"path": "USER.md"}'}}
        ],
    }
    assert sent[3] == {"role": "tool", "content": "ok", "tool_call_id": "c1"}


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), (None, "stop"), ("max_tokens", "length")],
)
def test_each_reason_to_finish_is_ours(provider: Provider, finish: str | None, expected: str) -> None:
    provider.script(text("x", finish=finish))

    assert ask(provider).finish == expected


def test_an_answer_that_ends_in_an_error_is_not_taken_for_text(provider: Provider) -> None:
    provider.script(text("upstream failed", finish="error"))

    with pytest.raises(AnswerUnusable, match=r"broke its answer off \(error\)"):
        ask(provider)


def test_a_refusal_field_is_a_refusal(provider: Provider) -> None:
    provider.script(text(None, refusal="I can't help with that."))

    assert ask(provider).finish == "refusal"


def test_no_text_at_all_is_an_empty_answer(provider: Provider) -> None:
    provider.script(text(None, finish="length"))

    answer = ask(provider)
    assert (answer.text, answer.finish) == ("", "length")


def test_no_choice_is_unusable(provider: Provider) -> None:
    provider.script(Reply({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}))

    with pytest.raises(AnswerUnusable, match="without a choice"):
        ask(provider)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ('{"path": "USER.md"}', {"path": "USER.md"}),
        ({"path": "USER.md"}, {"path": "USER.md"}),
        ('"{\\"path\\": \\"USER.md\\"}"', {"path": "USER.md"}),
        ("", {}),
    ],
    ids=["string", "object", "encoded twice", "empty"],
)
def test_arguments_are_understood_however_they_are_written(
    provider: Provider, sent: object, arguments: dict[str, str]
) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [_call("c1", sent)]}
    provider.script(choice(message, finish="tool_calls"))

    assert ask(provider, offer=(EDIT,)).tool_calls == (ToolCall("c1", "edit_file", arguments),)


def test_broken_arguments_are_a_problem_to_tell_the_model(provider: Provider) -> None:
    provider.script(tools(("edit_file", '{"path": "USER.md", "old_text": "Li')))
    call = ask(provider, offer=(EDIT,)).tool_calls[0]

    assert call.arguments == {}
    assert "not valid JSON" in (call.problem or "")


def test_arguments_that_are_a_bare_list_are_unusable_and_said_so_without_the_prompt(provider: Provider) -> None:
    provider.script(tools(("edit_file", ["USER.md"])))

    with pytest.raises(AnswerUnusable, match=r"Function\.arguments is of the wrong type") as caught:
        ask(provider, offer=(EDIT,))
    assert "received_args" not in str(caught.value)


def test_several_calls_with_one_id_get_an_id_each_beside_their_text(provider: Provider) -> None:
    message = {"role": "assistant", "content": "Two edits.", "tool_calls": [_call("c", {"n": 1}), _call("c", {"n": 2})]}
    provider.script(choice(message, finish="stop"))
    answer = ask(provider, offer=(EDIT,))

    assert [call.id for call in answer.tool_calls] == ["c", "c_2"]
    assert (answer.text, answer.finish) == ("Two edits.", "tool_calls")


def test_reasoning_fields_and_a_leading_thinking_block_are_dropped(provider: Provider) -> None:
    provider.script(text("<think>secret plan</think>\n\n- Lives in Tokyo", reasoning_content="more of it"))

    assert ask(provider).text == "- Lives in Tokyo"


def test_usage_that_is_missing_is_counted_here(provider: Provider) -> None:
    provider.script(text("Hi there, all of you!", usage={}))
    usage = ask(provider).usage

    assert usage.calls == 1
    assert 10 <= usage.input_tokens <= 30
    assert usage.output_tokens == 7


def test_cost_and_cached_tokens_are_read_where_the_price_is_known(provider: Provider) -> None:
    cached = {"prompt_tokens": 10_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 9_000}}
    provider.script(text("Hi", usage=cached | {"total_tokens": 10_100}))
    usage = ask(provider, name="openai/gpt-4o").usage

    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (10_000, 100, 9_000)
    assert usage.cost_usd == pytest.approx(0.01475)


def test_an_answer_of_ten_megabytes_is_not_read(provider: Provider) -> None:
    provider.script(text("x" * 10_000_000))

    with pytest.raises(AnswerUnusable, match="more than 8,000,000 bytes") as caught:
        ask(provider)
    assert caught.value.usage is not None
    assert caught.value.usage.input_tokens > 5


def test_a_packed_answer_is_bounded_by_what_comes_out_of_it(provider: Provider) -> None:
    packed = gzip.compress(b" " * 20_000_000)
    provider.script(Reply(packed, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(AnswerUnusable, match="more than 8,000,000 bytes"):
        ask(provider)

    whole = gzip.compress(json.dumps(text("Hi!").body).encode())
    provider.script(Reply(whole, headers={"Content-Encoding": "gzip"}))
    assert ask(provider).text == "Hi!"


def test_an_answer_far_above_what_was_allowed_is_refused_and_billed(provider: Provider) -> None:
    provider.script(text("one two " * 5_000))

    with pytest.raises(AnswerUnusable, match=r"10,0\d\d tokens where 1,000 were allowed") as caught:
        ask(provider, max_output_tokens=1_000)
    assert caught.value.usage == Usage(1, 10, 5, None)
    provider.script(text("one two " * 900))
    assert ask(provider, max_output_tokens=1_000).finish == "stop"


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["openai/scripted", "anthropic/scripted", "ollama_chat/scripted", "gemini/scripted"])
@pytest.mark.parametrize("status", [302, 307, 308])
def test_no_prompt_is_sent_on_to_another_host(provider: Provider, name: str, status: int) -> None:
    with Provider([text("Mine now.")]) as thief:
        away = thief.base.replace("127.0.0.1", "localhost")
        provider.script(Reply({}, status=status, headers={"Location": f"{away}/chat/completions"}))

        with pytest.raises(ModelInaccessible, match="redirects to http://localhost"):
            ask(provider, name=name)
    assert thief.requests == []
    assert len(provider.requests) == 1


def test_a_redirect_on_the_same_server_is_followed(provider: Provider) -> None:
    provider.script(Reply({}, status=307, headers={"Location": f"{provider.base}/elsewhere"}), text("Hi!"))

    assert ask(provider).text == "Hi!"


def test_the_calls_of_others_in_the_process_are_not_watched(provider: Provider) -> None:
    provider.script(text("Hi!"))
    ask(provider)
    provider.script(text("x" * 9_000_000))

    assert len(httpx.post(provider.base, json={}).content) > 9_000_000


def test_each_try_that_the_provider_took_is_billed(provider: Provider) -> None:
    provider.script(hang(), garbage(), fault(500), text("Hi!"))

    done = ask(provider, retries=3, timeout=2)  # an answer that comes later counts as none

    prompt = done.usage.input_tokens - 10
    assert done.usage.calls == 3
    assert 10 < prompt < 60
    provider.script(hang())
    with pytest.raises(ModelUnavailable) as caught:
        ask(provider, retries=1, timeout=0.3)
    assert caught.value.usage == Usage(2, prompt, 0, None)
    provider.script(fault(429))
    with pytest.raises(ModelUnavailable) as caught:
        ask(provider, retries=1)
    assert caught.value.usage is None


@pytest.mark.few(2)
@pytest.mark.parametrize("status", [429, 500, 503, 529, 409])
def test_a_fault_that_may_pass_is_tried_again_with_growing_waits(provider: Provider, status: int) -> None:
    waits: list[float] = []
    provider.script(fault(status), fault(status), text("at last"))

    assert model(provider, waits=waits, retries=2).complete(HELLO).text == "at last"
    assert (waits, len(provider.requests)) == ([1.0, 2.0], 3)


def test_after_the_last_try_it_says_what_failed_and_no_more_requests_are_made(provider: Provider) -> None:
    provider.script(fault(500, "boom"))

    with pytest.raises(ModelUnavailable, match=r"openai/scripted failed with status 500 \(boom\)"):
        ask(provider, retries=2)
    assert len(provider.requests) == 3


def test_retry_after_is_honoured(provider: Provider) -> None:
    waits: list[float] = []
    provider.script(fault(429, retry_after="7"), text("ok"))
    model(provider, waits=waits).complete(HELLO)

    assert waits == [7.0]


def test_who_asks_for_an_hour_is_not_waited_for(provider: Provider) -> None:
    waits: list[float] = []
    provider.script(fault(429, retry_after="3600"))

    with pytest.raises(ModelUnavailable, match="asks to wait 3600 s"):
        model(provider, waits=waits).complete(HELLO)
    assert (waits, len(provider.requests)) == ([], 1)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("reply", "kind", "sentence"),
    [
        (fault(401, "Incorrect API key"), ModelRejected, r"refused the key \(401.*DREAM_API_KEY or OPENAI_API_KEY"),
        (fault(403, "no access"), ModelRejected, "refused the key"),
        (fault(404, "no such model"), ModelRejected, "There is no model openai/scripted at http.*check model"),
        (fault(402, "Payment required"), ModelRejected, "no credit"),
        (fault(429, "You exceeded your current quota"), ModelRejected, "no credit or quota"),
        (fault(400, "messages parameter is illegal"), ModelRejected, "refused the request .*illegal"),
        (fault(422, "bad field"), ModelRejected, "refused the request"),
        (fault(400, "max_tokens is too large: 99999"), ModelRejected, "lower max_output_tokens"),
        (fault(413, "too big"), PromptTooLong, "set context_window"),
        (fault(400, "This model's maximum context length is 8192 tokens"), PromptTooLong, "longer than the window"),
        (fault(400, "Requested tokens (9) exceed context window of 8"), PromptTooLong, "longer than the window"),
        (fault(400, "prompt is too long: 210000 tokens > 200000 maximum"), PromptTooLong, "longer than the window"),
        (fault(400, "Please reduce the length of the messages"), PromptTooLong, "longer than the window"),
        (fault(429, "Request too large for gpt-4o on tokens per min"), PromptTooLong, "longer than the window"),
    ],
)
def test_what_cannot_pass_by_itself_is_asked_once_and_named(
    provider: Provider, reply: Reply, kind: type[ModelError], sentence: str
) -> None:
    provider.script(reply)

    with pytest.raises(kind, match=sentence):
        ask(provider, retries=5)
    assert len(provider.requests) == 1


def test_a_body_that_is_not_json_is_an_unavailable_model(provider: Provider) -> None:
    provider.script(garbage())

    with pytest.raises(ModelUnavailable, match=r"is no model server.*check api_base"):
        ask(provider, retries=0)


def test_a_server_that_never_answers_is_given_up_in_time(provider: Provider) -> None:
    provider.script(hang())
    started = time.monotonic()

    with pytest.raises(ModelUnavailable, match="did not answer in time; raise timeout"):
        ask(provider, retries=0, timeout=0.3)
    assert time.monotonic() - started < 60  # it would never have answered


def test_a_server_that_drips_its_answer_is_given_up_too(provider: Provider) -> None:
    provider.script(Reply(text("x" * 1_000).body, drip=0.1))
    started = time.monotonic()

    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        ask(provider, retries=0, timeout=0.3)
    assert time.monotonic() - started < 60  # it would have taken minutes


def test_a_refused_connection_says_where_nothing_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    nobody = LiteLLMModel("openai/m", Settings(retries=0), api_base=base, api_key="k")

    with pytest.raises(ModelUnavailable, match=f"could not be reached at {base}.*check api_base"):
        nobody.complete(HELLO)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-5-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_is_named_and_not_retried(name: str, variable: str) -> None:
    waits: list[float] = []

    with pytest.raises(ModelRejected, match=f"needs a key: set DREAM_API_KEY or {variable}"):
        LiteLLMModel(name, Settings(retries=5), sleep=waits.append).complete(HELLO)
    assert waits == []


def test_a_model_name_without_a_provider_is_explained() -> None:
    with pytest.raises(ModelRejected, match="names no provider: write provider/name"):
        LiteLLMModel("no-such-model", Settings()).complete(HELLO)


def test_a_key_that_the_provider_repeats_is_not_in_our_sentence(provider: Provider) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    provider.script(fault(401, f"Incorrect API key provided: {key}"))

    with pytest.raises(ModelRejected) as caught:
        ask(provider)
    assert key not in str(caught.value)


def test_a_model_that_cannot_be_given_tools_is_asked_once_and_remembered(provider: Provider) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        return fault(400, "scripted does not support tools") if "tools" in body else text("plain")

    provider.script(answer)
    asked = model(provider)

    for _ in range(2):
        with pytest.raises(ToolsUnsupported, match="openai/scripted can't call tools"):
            asked.complete(HELLO, tools=[EDIT])
    assert asked.complete(HELLO).text == "plain"
    assert ["tools" in body for body in provider.bodies()] == [True, False]


def test_the_callers_values_are_not_changed(provider: Provider) -> None:
    provider.script(text("Hi"))
    schema = {"type": "object", "properties": {}}
    messages = list(HELLO)
    model(provider).complete(messages, tools=[Tool("t", "d", schema)])

    assert (messages, schema) == (HELLO, {"type": "object", "properties": {}})


def test_its_import_prints_nothing_and_reads_no_dotenv(imported: Imported) -> None:
    assert (imported.printed, imported.leaked) == ("", None)


@pytest.mark.slow
def test_a_call_from_a_fresh_process_prints_nothing_and_reads_no_dotenv(provider: Provider, tmp_path: Path) -> None:
    provider.script(text("Hi", usage={}))
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9/evil\nLEAKED=yes\n")
    code = (
        "import os, sys\n"
        "from dream.settings import Settings\nfrom dream.llm.spending import Meter\n"
        "from dream.llm.spending import open_model\n"
        "from dream.llm import ChatMessage\n"
        f"settings = Settings(model='openai/llama-3-8b', api_base={provider.base!r}, api_key='k')\n"
        "model = open_model(settings, 'phase1', Meter(settings))\n"
        "assert model.window and model.max_output and 'litellm' not in sys.modules\n"
        "assert model.complete([ChatMessage('user', 'hi')]).text == 'Hi'\n"
        "assert 'LEAKED' not in os.environ\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _call(name: str, arguments: object) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "edit_file", "arguments": arguments}}


PREPARED = """
import sys
from dream import Settings
from dream.llm import spending
from dream.llm.gateway import LiteLLMModel
from dream.llm import ChatMessage

name, base = sys.argv[1:]
settings = Settings(model=name, api_base=base, api_key="k")
spending.prepare(settings, "consolidator")
known = set(sys.modules)
model = LiteLLMModel(name, settings, api_base=base, api_key="k")
print(model.complete([ChatMessage("user", "Hello")]).text)
print(*sorted(new for new in set(sys.modules) - known if new.startswith(("litellm", "openai"))))
"""


@pytest.mark.long
def test_a_prepared_model_imports_nothing_of_litellm_any_more(provider: Provider) -> None:
    provider.script(text("Hi!"))
    done = subprocess.run(
        [sys.executable, "-c", PREPARED, "openai/scripted", provider.base], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == ["Hi!", "", ""]


TOGETHER = """
import threading
from dream import Settings
from dream.llm.gateway import LiteLLMModel
from dream.llm import ChatMessage
import sys

model = LiteLLMModel("openai/x", Settings(retries=0), api_base=sys.argv[1], api_key="k")
said = []
ready = threading.Barrier(6)

def ask():
    ready.wait()
    said.append(model.complete([ChatMessage("user", "Hello")]).text)

threads = [threading.Thread(target=ask) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(said)
"""


@pytest.mark.long
def test_six_threads_that_call_a_model_first_of_all_import_litellm_once(provider: Provider) -> None:
    provider.script(text("Hi!"))
    done = subprocess.run([sys.executable, "-c", TOGETHER, provider.base], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(["Hi!"] * 6)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("openai/gpt-5-mini", "needs a key: set DREAM_API_KEY or OPENAI_API_KEY"),
        ("openia/gpt-5-mini", "names no provider: write provider/name"),
        ("chatgpt/gpt-5.5", "has no login here"),
    ],
)
def test_what_cannot_succeed_is_told_before_litellm_is_imported(name: str, why: str) -> None:
    script = (
        "import sys; from dream.chat import ChatMessage; from dream.settings import Settings\n"
        "from dream.llm.gateway import LiteLLMModel; model = LiteLLMModel(sys.argv[1], Settings()); model.prepare()\n"
        "try: model.complete([ChatMessage('user', 'hi')])\n"
        "except Exception as error: print(error, 'litellm' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, check=True)

    assert why in done.stdout
    assert done.stdout.endswith(" False\n")
