"""Embeddings: texts as vectors, by any LiteLLM model, or by a table of word vectors on this machine."""

from __future__ import annotations

import importlib
import json
import math
import operator
from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from dream.errors import AnswerUnusable, ModelInaccessible
from dream.llm import card
from dream.llm.spending import Meter
from dream.models import Usage
from dream.settings import Settings

STATIC = "static"
CHARS = 6_000  # of a text that are looked at: within the window of every embedding model
MOST_BYTES = 1 << 26  # of an answer
_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")


def open_embedder(settings: Settings, meter: Meter, *, retries: int | None = None) -> Embedder | None:
    """Return what the setting `embedding_model` names, None where it names nothing; calls are booked on `meter`."""
    if not settings.embedding_model:
        return None
    if settings.embedding_model == STATIC:
        return StaticEmbedder()
    return LiteLLMEmbedder(settings if retries is None else replace(settings, retries=retries), meter)


def packed(vector: Sequence[float]) -> bytes:
    """Return a vector in a byte a dimension: its direction, not its length."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return array("b", [round(127 * one / most) for one in vector]).tobytes()


def likeness(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors; 0 where they are not of one size."""
    if len(one) != len(other):
        return 0.0
    a, b = array("b", one), array("b", other)
    size = math.sqrt(sum(map(operator.mul, a, a)) * sum(map(operator.mul, b, b)))
    return sum(map(operator.mul, a, b)) / size if size else 0.0


class LiteLLMEmbedder:
    """An embedding model that LiteLLM can call: without secrets, within the bounds, on the bill."""

    def __init__(self, settings: Settings, meter: Meter) -> None:
        from dream.llm.gateway import LiteLLMModel

        self.name = settings.embedding_model or ""
        self._settings, self._meter = settings, meter
        base, key = settings.access(self.name, settings.model)
        self._access = {"api_base": base, "api_key": key}
        self._door = LiteLLMModel(self.name, settings, api_base=base, api_key=key)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vectors of texts; raises ModelError, and SpendingLimit before the call."""
        from dream.llm.gateway import redacted

        sent = [redacted(text[:CHARS], self._settings.redact_patterns) or "-" for text in texts]
        tokens = sum(map(self._door.count, sent))
        held = self._meter.reserve(self.name, tokens, 0, card(self.name), "search")
        try:
            response = self._asked(sent)
        except BaseException:
            self._meter.release(held)
            raise
        told = getattr(getattr(response, "usage", None), "prompt_tokens", None)
        usage = Usage(1, told if isinstance(told, int) and told > 0 else tokens, 0)
        self._meter.record(held, replace(usage, cost_usd=card(self.name).cost(usage)))
        return self._read(response, len(sent))

    def _asked(self, sent: list[str]) -> Any:
        request = {
            "model": self.name,
            "input": sent,
            "timeout": self._settings.timeout,
            "max_retries": 0,
            "encoding_format": "float",
            **{name: value for name, value in self._access.items() if value},
        }

        return self._door.patiently(
            lambda: self._door.through(lambda litellm: litellm.embedding(**request), most=MOST_BYTES)
        )

    def _read(self, response: Any, wanted: int) -> list[bytes]:
        try:
            rows = sorted(response.data, key=lambda row: row["index"])
            vectors = [[float(one) for one in row["embedding"]] for row in rows]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise AnswerUnusable(f"{self.name} answered with no embeddings.") from error
        sizes = {len(vector) for vector in vectors}
        if len(vectors) != wanted or len(sizes) != 1 or not all(map(math.isfinite, chain(*vectors))):
            raise AnswerUnusable(f"{self.name} answered with {len(vectors)} embeddings for {wanted} texts.")
        return [packed(vector) for vector in vectors]


class StaticEmbedder:
    """The table of static word vectors that wordllama ships: on this machine, for English, nothing is sent."""

    name = STATIC

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the means of the vectors of each text's tokens; raises ModelInaccessible without the package."""
        table, tokenizer = _static_table()
        rows = [tokenizer.encode(text[:CHARS], add_special_tokens=False).ids for text in texts]
        return [packed(table[ids].mean(axis=0).tolist() if ids else [0.0] * table.shape[1]) for ids in rows]


# What makes vectors of texts. A vector is as many bytes as it has dimensions, each a signed number.
Embedder = LiteLLMEmbedder | StaticEmbedder


@cache
def _static_table() -> tuple[Any, Any]:
    """Read the vectors by token, and the tokenizer, once: each search opens an embedder, and reading takes 0.3 s.

    wordllama's own `load` would ask a hub for what its wheel holds.
    """
    found = find_spec("wordllama")
    if found is None or found.origin is None:
        raise ModelInaccessible(
            "embedding_model = \"static\" needs a package: pip install 'dream-memory[static]', "
            "or pip install '.[static]' in a checkout; or name another model."
        )
    weights, tokenizer = (Path(found.origin).parent / name for name in _FILES)
    tables = importlib.import_module("safetensors.numpy").load_file(str(weights))
    made = importlib.import_module("tokenizers").Tokenizer.from_str(json.dumps(json.loads(tokenizer.read_bytes())))
    return tables["embedding.weight"].astype("float32"), made
