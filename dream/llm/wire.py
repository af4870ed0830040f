"""Our values in the chat-completions shape, and back. Pure; what a provider's answer means is read in `answers`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dream.llm.answers import RawAnswer
from dream.llm.model import ChatMessage, Tool
from dream.llm.written import RawCall
from dream.models import Usage

# Providers whose cache has to be asked for; elsewhere it works by itself, or the mark could be refused.
_MARKED = ("anthropic/", "bedrock/", "vertex_ai/", "openrouter/")
_CACHED = {"type": "ephemeral"}  # for five minutes: the rounds of one dream, not the next night


def messages(asked: Sequence[ChatMessage], model: str) -> list[dict[str, Any]]:
    """Return messages as they are sent to `model`, with marks on what its provider's cache shall keep.

    The system message is marked, and tools with it. The last message is from the second round on: a write costs a
    quarter more, which only a conversation that goes on pays back.
    """
    sent = [_message(one) for one in asked]
    if "claude" in model.lower() and model.lower().startswith((*_MARKED, "claude")):
        if sent and sent[0]["role"] == "system":
            sent[0] = _marked(sent[0])
        if len(sent) > 1 and any(one["role"] == "assistant" for one in sent):
            sent[-1] = _marked(sent[-1])
    return sent


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    if not message["content"]:  # an empty block is refused
        return message
    if message["role"] == "tool":  # LiteLLM reads it here, and puts it on the result's block
        return message | {"cache_control": _CACHED}
    return message | {"content": [{"type": "text", "text": message["content"], "cache_control": _CACHED}]}


def _message(message: ChatMessage) -> dict[str, Any]:
    # Content is "" and never null beside tool calls: templates of local servers fail on null.
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def tool(one: Tool) -> dict[str, Any]:
    """Return a tool as it is offered."""
    function = {"name": one.name, "description": one.description, "parameters": dict(one.parameters)}
    return {"type": "function", "function": function}


def raw_answer(choice: Any) -> RawAnswer:
    """Take what we read of a response's choice."""
    message = choice.message
    own = getattr(message, "provider_specific_fields", None) or {}
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    content = message.content
    return RawAnswer(
        content=content if isinstance(content, str) else None,
        calls=tuple(RawCall(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()),
        refusal=own.get("refusal") or getattr(message, "refusal", None),
        finish=choice.finish_reason,
        native_finish=native if isinstance(native, str) else None,
    )


def usage(response: Any) -> Usage:
    """Take the tokens of a response; zeros where the provider didn't say."""
    told = getattr(response, "usage", None)
    details = getattr(told, "prompt_tokens_details", None)
    return Usage(
        calls=1,
        input_tokens=_whole(getattr(told, "prompt_tokens", 0)),
        output_tokens=_whole(getattr(told, "completion_tokens", 0)),
        cached_tokens=_whole(getattr(details, "cached_tokens", 0)),
    )


def _whole(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0
