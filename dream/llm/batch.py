"""Requests that a provider answers by tomorrow at half the price: by what they are known, and how answers come back.

The stages know nothing of it. A `NoteTaker` in the model's place notes what they would ask; a `Batched` one gives the
answers that have come back meanwhile, and asks the model at once for all else: retries, and what was not answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dream.llm.model import ChatMessage, Completion, Model, Tool
from dream.llm.spending import Meter, Reservation
from dream.models import Usage

SHARE = 0.5  # of the ordinary price: what every provider with batches asks, and LiteLLM's list says of each
_HISTORY = "\n<history>\n"


@dataclass(frozen=True, slots=True)
class Request:
    """One first question of a stage; a retry is never one, for it needs the answer before it."""

    key: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int


class Answers(Protocol):
    """What has come back from the provider, by the key of its request."""

    def answer(self, key: str) -> Completion | None: ...
    def use(self, key: str) -> bool:
        """Note that an answer was used; tell whether for the first time."""
        ...


def request_key(model: str, messages: Sequence[ChatMessage]) -> str:
    """Return what a request is known by: a digest of the model and of what it was asked.

    Of phase 1 only the instructions and the entries count. The files and the day may be others when the answer comes:
    its findings are settled on the files as they are then, like those of any other dream.
    """
    digest = hashlib.sha256(model.encode("utf-8"))
    for message in messages:
        news = message.content.rfind(_HISTORY)
        text = message.content[max(news, 0) :] if message.content.startswith("<file ") else message.content
        digest.update(f"\0{message.role}\0{text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


class NoteTaker:
    """Notes what `model` would be asked, and answers each time that there is nothing to say. It is a `Model`."""

    def __init__(self, model: Model, answer: str) -> None:
        self._answer = answer
        self._model = model
        self.name, self.window, self.max_output = model.name, model.window, model.max_output
        self.requests: list[Request] = []

    def count(self, text: str) -> int:
        return self._model.count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        room = min(max_tokens or self.max_output, self.max_output)
        self.requests.append(Request(request_key(self.name, messages), tuple(messages), room))
        return Completion(self._answer, model=self.name)


class Batched:
    """`model`, but with the answers that have come back. It is a `Model`; each of them is billed once."""

    def __init__(self, model: Model, answers: Answers, meter: Meter) -> None:
        self._model, self._answers, self._meter = model, answers, meter

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> int:
        return self._model.window

    @property
    def max_output(self) -> int:
        return self._model.max_output

    def count(self, text: str) -> int:
        return self._model.count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        key = request_key(self.name, messages)
        answer = None if tools else self._answers.answer(key)
        if answer is None:
            return self._model.complete(messages, tools=tools, max_tokens=max_tokens)
        if not self._answers.use(key):
            return replace(answer, usage=Usage())
        self._meter.record(Reservation(0, 0.0, self.name), answer.usage)
        return answer
