"""The one door to models. Here is what a model is to the rest of `dream`: messages and tools in, text and calls out."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dream.models import Role
from dream.reports import Usage
from dream.settings import EMBEDDED, is_client
from dream.text.tokens import litellm_folder

Finish = Literal["stop", "length", "tool_calls", "refusal"]
NOTHING_USED = Usage()
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call that a model asked for.

    `arguments` is the parsed object; where they were not a JSON object, it is empty and `problem` says
    why, so that the loop can answer the model.
    """

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt, in the chat-completions shape."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's finished answer. `text` is free of thinking blocks; `model` is the one that answered."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = NOTHING_USED
    model: str = ""


class Model(Protocol):
    """A language model behind one door.

    `window` and `max_output` are tokens: the whole context, and the most it may answer with.
    """

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> int: ...
    @property
    def max_output(self) -> int: ...

    def count(self, text: str) -> int:
        """Count the tokens of `text`; never 0 for text that is not empty, never an error."""
        ...

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        """Answer `messages`, or raise a ModelError or SpendingLimit; the caller's values are not changed."""
        ...


# What a model's window and price are: read straight from the list that LiteLLM ships, for importing LiteLLM would cost
# seconds, and a command that only plans a call must not. A model that is not in the list is simply not known.


UNKNOWN_WINDOW = 32_768  # tokens; what nearly every model of the last years has at least


@dataclass(frozen=True, slots=True)
class Card:
    """One model's figures: tokens, and US dollars a token. None is not known."""

    window: int | None = None
    max_output: int | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    cached_usd: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Price `usage` in dollars, or None where the price is not known."""
        if self.input_usd is None or self.output_usd is None:
            return None
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        return fresh * self.input_usd + cached * cached_usd + usage.output_tokens * self.output_usd


def card(model: str) -> Card:
    """Look `model` up by its whole name, then without its provider; an empty card where it is not listed."""
    if model == EMBEDDED:
        return Card(input_usd=0.0, output_usd=0.0)
    if is_client(model):
        return Card()  # a plan is paid for, and not its tokens
    listed = _list()
    for name in (model, model.partition("/")[2], model.rpartition("/")[2]):
        found = listed.get(name)
        if name and isinstance(found, Mapping):
            return _card(found)
    return Card()


def _card(row: Mapping[str, Any]) -> Card:
    return Card(
        window=_whole(row.get("max_input_tokens")) or _whole(row.get("max_tokens")),
        max_output=_whole(row.get("max_output_tokens")),
        input_usd=_number(row.get("input_cost_per_token")),
        output_usd=_number(row.get("output_cost_per_token")),
        cached_usd=_number(row.get("cache_read_input_token_cost")),
    )


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@functools.cache
def _list() -> Mapping[str, Any]:
    try:
        data = (litellm_folder() / "model_prices_and_context_window_backup.json").read_bytes()
        listed = json.loads(data)
    except (OSError, ValueError):
        return {}
    return listed if isinstance(listed, dict) else {}
