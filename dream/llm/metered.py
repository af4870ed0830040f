"""The wrapper that every model goes through: spending is checked, usage recorded, fallbacks are tried in order."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dream.errors import ModelError, ModelUnavailable, PromptTooLong
from dream.llm.catalog import card
from dream.llm.model import ChatMessage, Completion, Model, Tool
from dream.llm.spending import Meter

LEAST_ANSWER = 256  # tokens; with less room than this nothing of use could be said
MESSAGE_TOKENS = 4  # what the chat format adds to each message: role and marks


class MeteredModel:
    """A model and its fallbacks, behind one meter.

    `window` and `max_output` are the smallest of all of them, and of what one call may cost, so that a prompt cut
    to them fits whichever answers.
    """

    def __init__(self, models: Sequence[Model], meter: Meter) -> None:
        self._models = tuple(models)
        self._meter = meter

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def window(self) -> int:
        window = min(model.window for model in self._models)
        bound = int(self._meter.bound("max_call_tokens", self.name))
        return min(window, bound) if bound else window

    @property
    def max_output(self) -> int:
        return min(*(model.max_output for model in self._models), max(LEAST_ANSWER, self.window // 4))

    def count(self, text: str) -> int:
        return self._models[0].count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        """Answer with the first model that is available; raise SpendingLimit before a call that costs too much."""
        faults: list[str] = []
        for model in self._models:
            try:
                return self._ask(model, messages, tools, max_tokens)
            except ModelUnavailable as error:
                faults.append(str(error))
                last = error
        if len(faults) == 1:
            raise last
        raise ModelUnavailable(" Then: ".join(faults)) from last

    def _ask(
        self, model: Model, messages: Sequence[ChatMessage], tools: Sequence[Tool], max_tokens: int | None
    ) -> Completion:
        prompt = prompt_tokens(model, messages, tools)
        room = _room(model, prompt, min(max_tokens or model.max_output, model.max_output))
        held = self._meter.reserve(model.name, prompt, room, card(model.name))
        try:
            completion = model.complete(messages, tools=tools, max_tokens=room)
        except ModelError as error:
            if error.usage is not None:  # the prompt was taken, and is billed, though nothing of use came back
                self._meter.record(held, error.usage)
            raise
        else:
            self._meter.record(held, completion.usage)
            return completion
        finally:
            self._meter.release(held)


def _room(model: Model, prompt: int, wanted: int) -> int:
    """Return the tokens that are left for the answer; servers refuse a sum above the window, or cut the prompt."""
    room = min(wanted, model.window - prompt)
    if room < min(wanted, LEAST_ANSWER):
        raise PromptTooLong(
            f"The prompt of {prompt:,} tokens leaves no room for an answer in the window of {model.name} "
            f"({model.window:,} tokens); set context_window if it is larger."
        )
    return room


def prompt_tokens(model: Model, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()) -> int:
    """Count the whole prompt as `model` will read it: every message, every tool call, every tool's schema."""
    texts = [message.content for message in messages]
    for message in messages:
        texts += [call.name + json.dumps(dict(call.arguments), ensure_ascii=False) for call in message.tool_calls]
    texts += [tool.name + tool.description + json.dumps(dict(tool.parameters)) for tool in tools]
    return sum(model.count(text) for text in texts) + MESSAGE_TOKENS * (len(messages) + len(tools) + 1)
