"""What leaves this machine holds no secret, wherever in a prompt it stands: a memory file, a tool's answer, a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from dream.llm.model import ChatMessage, Json, ToolCall
from dream.redact import redact


def shielded(messages: Sequence[ChatMessage], patterns: Sequence[str]) -> list[ChatMessage]:
    """Return `messages` with a mark in the place of each secret; `patterns` are those of the settings."""
    known = tuple(patterns)
    return [
        replace(
            message,
            content=_marked(message.content, known),
            tool_calls=tuple(_call(call, known) for call in message.tool_calls),
        )
        for message in messages
    ]


def _call(call: ToolCall, patterns: tuple[str, ...]) -> ToolCall:
    arguments = _value(dict(call.arguments), patterns)
    return replace(call, arguments=arguments if isinstance(arguments, Mapping) else {})


def _value(value: Json, patterns: tuple[str, ...]) -> Json:
    if isinstance(value, str):
        return _marked(value, patterns)
    if isinstance(value, list):
        return [_value(one, patterns) for one in value]
    if isinstance(value, dict):
        return {name: _value(one, patterns) for name, one in value.items()}
    return value


@lru_cache(maxsize=64)
def _marked(text: str, patterns: tuple[str, ...]) -> str:
    return redact(text, patterns)[0]
