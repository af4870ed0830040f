"""Batches at a provider that speaks OpenAI's protocol for them, through LiteLLM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dream.errors import ModelError
from dream.llm.answers import RawAnswer, read_answer
from dream.llm.batch import SHARE, Request
from dream.llm.catalog import card
from dream.llm.gateway import LiteLLMModel
from dream.llm.model import Completion
from dream.llm.shielded import shielded
from dream.models import Usage
from dream.settings import Settings
from dream.text import mend_surrogates

# Those whose files and batches LiteLLM speaks in one form. Its create_batch knows no Anthropic (1.105, November 2026).
PROVIDERS = ("openai", "azure")
WINDOW: Literal["24h"] = "24h"  # the only one there is
MAX_FILE_BYTES = 200_000_000  # of a batch's answers: the provider's own bound of a batch
# Models that refuse max_tokens, which LiteLLM renames in ordinary calls only.
_RENAMED = ("gpt-5", "o1", "o3", "o4")


@dataclass(frozen=True, slots=True)
class Standing:
    """How a batch stands: still at work, over with its answers in the file `output`, or failed for `reason`."""

    state: Literal["waiting", "over", "failed"]
    output: str = ""
    reason: str = ""


def provider(model: str) -> str | None:
    """Name the provider of `model` if it takes batches."""
    first, named, rest = model.partition("/")
    if not named:
        return "openai" if card(model).input_usd is not None and model.startswith(("gpt-", *_RENAMED)) else None
    return first if first in PROVIDERS and rest else None


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
        """Ask how a batch stands."""
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
