"""A model whose answers a test writes, behind the same door as any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dream.llm import ChatMessage, Completion, Json, Tool, ToolCall
from dream.reports import Usage
from dream.text import tokens

# What a script may hold: text, a whole answer, an error to raise, or a function of the messages that gives one of them.
Answer = str | Completion | Exception | Callable[[Sequence[ChatMessage]], "str | Completion | Exception"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was made."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...]
    max_tokens: int | None

    @property
    def user(self) -> str:
        """The data section of the prompt: what the last user message says."""
        return [message.content for message in self.messages if message.role == "user"][-1]


class ScriptedModel:
    """Gives `answers` in order and then the last one again; records `calls`. It is a `dream.llm.Model`."""

    def __init__(self, *answers: Answer, name: str = "scripted", window: int = 32_768, max_output: int = 4_096) -> None:
        self.answers: list[Answer] = list(answers)
        self.calls: list[Call] = []
        self.name = name
        self.window = window
        self.max_output = max_output

    def count(self, text: str) -> int:
        return tokens.estimate(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        call = Call(tuple(messages), tuple(tools), max_tokens)
        self.calls.append(call)
        if not self.answers:
            raise AssertionError("the script of this model is empty")
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        given = answer if isinstance(answer, str | Completion | Exception) else answer(call.messages)
        if isinstance(given, Exception):
            raise given
        return self._finished(call, Completion(given) if isinstance(given, str) else given)

    def _finished(self, call: Call, completion: Completion) -> Completion:
        """Fill in the bill and the name where the test left them out."""
        sent = sum(self.count(message.content) for message in call.messages)
        usage = Usage(calls=1, input_tokens=sent, output_tokens=self.count(completion.text), cost_usd=None)
        own = completion.usage if completion.usage != Usage() else usage
        return replace(completion, usage=own, model=completion.model or self.name)


def tool_calls(*calls: tuple[str, Mapping[str, Json]], text: str = "") -> Completion:
    """Write an answer that calls tools, given as `(name, arguments)`."""
    made = tuple(ToolCall(f"call_{number}", name, dict(given)) for number, (name, given) in enumerate(calls, 1))
    return Completion(text, made, "tool_calls")
