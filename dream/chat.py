"""What a model is to the rest of `dream`: messages and tools in, text and calls out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from dream.models import Role
from dream.reports import Usage

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
