"""Batches: requests that a provider answers by tomorrow at half the price, and how their answers come back.

The stages know nothing of it. A `NoteTaker` in the model's place notes what they would ask; a `Batched` one gives the
answers that have come back meanwhile, and asks the model at once for all else: retries, and what was not answered.
`BatchDoor` is the provider, who speaks OpenAI's protocol for batches; it is reached through LiteLLM.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from dream.errors import ModelError
from dream.language.text import mend_surrogates
from dream.llm import ChatMessage, Completion, Model, Tool, card
from dream.llm.answers import RawAnswer, read_answer
from dream.llm.gateway import LiteLLMModel, shielded
from dream.llm.spending import Meter, Reservation
from dream.reports import Usage
from dream.settings import EMBEDDED, Settings

SHARE = 0.5  # of the ordinary price: what every provider with batches asks, and LiteLLM's list says of each
# Those whose files and batches LiteLLM speaks in one form. Its create_batch knows no Anthropic (1.105, November 2026).
PROVIDERS = ("openai", "azure")
WINDOW: Literal["24h"] = "24h"  # the only one there is
MAX_FILE_BYTES = 200_000_000  # of a batch's answers: the provider's own bound of a batch
# Models that refuse max_tokens, which LiteLLM renames in ordinary calls only.
_RENAMED = ("gpt-5", "o1", "o3", "o4")
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
        """Note that an answer was used; return whether for the first time."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a batch: still at work, over with its answers in the file `output`, or failed for `reason`."""

    state: Literal["waiting", "over", "failed"]
    output: str = ""
    reason: str = ""


class _InItsPlace:
    """What stands in the place of `model`, and counts as it does."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name, self.window, self.max_output = model.name, model.window, model.max_output

    def count(self, text: str) -> int:
        return self._model.count(text)


class NoteTaker(_InItsPlace):
    """A `Model` that notes what `model` would be asked, and gives each time the same `answer`."""

    def __init__(self, model: Model, answer: str) -> None:
        super().__init__(model)
        self._answer = answer
        self.requests: list[Request] = []

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        room = min(max_tokens or self.max_output, self.max_output)
        self.requests.append(Request(request_key(self.name, messages), tuple(messages), room))
        return Completion(self._answer, model=EMBEDDED)  # which is taken at its word: nothing is asked for again


class Batched(_InItsPlace):
    """A `Model` that is `model`, but gives the answers that have come back; each of them is billed once."""

    def __init__(self, model: Model, answers: Answers, meter: Meter, job: str) -> None:
        super().__init__(model)
        self._answers, self._meter, self._job = answers, meter, job

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        key = request_key(self.name, messages)
        answer = None if tools else self._answers.answer(key)
        if answer is None:
            return self._model.complete(messages, tools=tools, max_tokens=max_tokens)
        if not self._answers.use(key):
            return replace(answer, usage=Usage())
        self._meter.record(Reservation(0, 0.0, self.name, self._job), answer.usage)
        return answer


class BatchDoor:
    """The provider of one model. Everything raises ModelUnavailable or ModelRejected."""

    def __init__(self, model: str, settings: Settings) -> None:
        self._name = model
        self._bare = model.partition("/")[2] or model
        self._gateway = LiteLLMModel(model, settings)
        self._patterns = settings.redact_patterns
        self._common: dict[str, Any] = {
            "custom_llm_provider": provider(model),
            "timeout": settings.timeout,
            "max_retries": 0,
        }
        if settings.api_base:
            self._common["api_base"] = settings.api_base
        if settings.api_key:
            self._common["api_key"] = settings.api_key

    def submit(self, requests: Sequence[Request], tag: str) -> str:
        """Hand over `requests` as one batch that is known by `tag`; return the provider's name for it."""
        data = b"".join(self._line(request) for request in requests)
        file = self._gateway.through(
            lambda litellm: litellm.create_file(file=(f"dream-{tag}.jsonl", data), purpose="batch", **self._common)
        )
        batch = self._gateway.through(
            lambda litellm: litellm.create_batch(
                completion_window=WINDOW,
                endpoint="/v1/chat/completions",
                input_file_id=file.id,
                metadata={"dream": tag},
                **self._common,
            )
        )
        return str(batch.id)

    def find(self, tag: str) -> str | None:
        """Look for a batch that was handed over as `tag`; None where there is none, or the provider keeps no list."""
        try:
            found = self._gateway.through(lambda litellm: litellm.list_batches(limit=100, **self._common))
        except ModelError:
            return None
        tags = ((batch.id, getattr(batch, "metadata", None) or {}) for batch in getattr(found, "data", None) or ())
        return next((str(identity) for identity, metadata in tags if dict(metadata).get("dream") == tag), None)

    def standing(self, identity: str) -> Standing:
        """Ask for the state of a batch."""
        batch = self._gateway.through(lambda litellm: litellm.retrieve_batch(batch_id=identity, **self._common))
        output = str(getattr(batch, "output_file_id", None) or "")
        if batch.status in ("completed", "expired", "cancelled") and output:
            return Standing("over", output)
        if batch.status in ("completed", "expired", "cancelled", "failed"):
            return Standing("failed", reason=f"the provider says that it is {batch.status}")
        return Standing("waiting")

    def answers(self, output: str) -> Iterator[tuple[str, Completion]]:
        """Read the answers of a batch that is over, by request; what failed is not among them."""
        content = self._gateway.through(
            lambda litellm: litellm.file_content(file_id=output, **self._common), most=MAX_FILE_BYTES
        )
        for line in bytes(content.content).splitlines():
            found = self._read(line)
            if found is not None:
                yield found

    def _line(self, request: Request) -> bytes:
        room = "max_completion_tokens" if self._bare.startswith(_RENAMED) else "max_tokens"
        sent = shielded(request.messages, self._patterns)
        said = [{"role": one.role, "content": mend_surrogates(one.content)} for one in sent]
        body = {"model": self._bare, "messages": said, room: request.max_tokens}
        row = {"custom_id": request.key, "method": "POST", "url": "/v1/chat/completions", "body": body}
        return json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n"

    def _read(self, line: bytes) -> tuple[str, Completion] | None:
        """Read one line of the output; None for a request that failed, what is no answer, and one far too long."""
        try:
            row = json.loads(line)
            body, key = row["response"]["body"], str(row["custom_id"])
            choice, told = body["choices"][0], body.get("usage") or {}
            message = choice["message"]
            raw = RawAnswer(message.get("content"), (), message.get("refusal"), choice.get("finish_reason"))
            cached = (told.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            usage = Usage(1, int(told.get("prompt_tokens") or 0), int(told.get("completion_tokens") or 0), None, cached)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            return None
        answer = read_answer(raw, [])
        if row["response"].get("status_code") != 200 or answer.failed:
            return None
        if self._gateway.far_above([answer.text], self._gateway.max_output):
            return None
        cost = card(self._name).cost(usage)
        usage = replace(usage, cost_usd=None if cost is None else cost * SHARE)
        return key, Completion(answer.text, (), answer.finish, usage, self._name)


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


def provider(model: str) -> str | None:
    """Name the provider of `model` if it takes batches."""
    first, named, rest = model.partition("/")
    if not named:
        return "openai" if card(model).input_usd is not None and model.startswith(("gpt-", *_RENAMED)) else None
    return first if first in PROVIDERS and rest else None
