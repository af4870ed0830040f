"""Anthropic's own protocol, through LiteLLM, on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from dream.errors import AnswerUnusable, PromptTooLong
from dream.llm import ChatMessage, Tool, ToolCall
from dream.llm.gateway import LiteLLMModel
from dream.settings import Settings
from tests.provider import Provider, Reply

EDIT = Tool("edit_file", "Edit a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
TURNS = [
    ChatMessage("system", "Be brief."),
    ChatMessage("user", "Edit."),
    ChatMessage("assistant", "", (ToolCall("c1", "edit_file", {"path": "USER.md"}),)),
    ChatMessage("tool", "ok", tool_call_id="c1"),
]


def answer(*content: dict[str, Any], stop: str = "end_turn") -> Reply:
    usage = {
        "input_tokens": 1_000,
        "output_tokens": 100,
        "cache_read_input_tokens": 9_000,
        "cache_creation_input_tokens": 0,
    }
    body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": list(content)}
    return Reply(body | {"stop_reason": stop, "stop_sequence": None, "usage": usage})


def model(provider: Provider) -> LiteLLMModel:
    base = provider.base.removesuffix("/v1")
    return LiteLLMModel("anthropic/claude-sonnet-4-5", Settings(), api_base=base, api_key="k")


def test_a_tool_call_comes_with_a_bounded_request_and_a_bill_that_knows_the_cache(provider: Provider) -> None:
    provider.script(
        answer({"type": "tool_use", "id": "t1", "name": "edit_file", "input": {"path": "SOUL.md"}}, stop="tool_use")
    )
    completion = model(provider).complete(TURNS, tools=[EDIT])

    assert completion.tool_calls == (ToolCall("t1", "edit_file", {"path": "SOUL.md"}),)
    assert completion.finish == "tool_calls"
    assert (completion.usage.input_tokens, completion.usage.cached_tokens) == (10_000, 9_000)
    assert completion.usage.cost_usd == pytest.approx(0.0072)
    assert provider.bodies()[0]["max_tokens"] == 4_096


@pytest.mark.parametrize(("stop", "finish"), [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "refusal")])
def test_each_reason_to_stop_is_ours(provider: Provider, stop: str, finish: str) -> None:
    provider.script(answer({"type": "text", "text": "hi"}, stop=stop))

    assert model(provider).complete(TURNS, tools=[EDIT]).finish == finish


def test_a_prompt_that_is_too_long_is_known_by_anthropics_words(provider: Provider) -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}
    provider.script(Reply({"type": "error", "error": error}, status=400))

    with pytest.raises(PromptTooLong):
        model(provider).complete(TURNS)


MARK = {"type": "ephemeral"}


def test_the_stable_part_is_marked_for_the_cache_and_a_first_rounds_data_is_not(provider: Provider) -> None:
    provider.script(answer({"type": "text", "text": "done"}))
    model(provider).complete(TURNS[:2], tools=[EDIT])

    body = provider.bodies()[0]
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert "cache_control" not in str(body["messages"])


def test_a_conversation_that_goes_on_is_marked_at_its_end(provider: Provider) -> None:
    provider.script(answer({"type": "text", "text": "done"}))
    model(provider).complete(TURNS, tools=[EDIT])
    model(provider).complete([*TURNS, ChatMessage("user", "Finding 2 is not settled.")], tools=[EDIT])

    first, second = provider.bodies()
    assert first["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "ok", "cache_control": MARK}
    ]
    assert second["messages"][-1]["content"][-1] == {
        "type": "text", "text": "Finding 2 is not settled.", "cache_control": MARK
    }  # fmt: skip


def test_another_provider_is_sent_plain_text(provider: Provider) -> None:
    provider.script(Reply({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}))
    other = LiteLLMModel("openai/claude-by-proxy", Settings(retries=0), api_base=provider.base, api_key="k")

    with pytest.raises(AnswerUnusable):
        other.complete(TURNS, tools=[EDIT])
    assert "cache_control" not in str(provider.bodies())
