"""Vectors: what messages mean beside their words, where an embedding model is set; and such models.

They stand in the index, by the hash of the text, so that none is made twice; with another model, or when the index
goes (`forget` takes it along), they are made anew. Each message also has a sketch, the signs of its vector: all of them
are compared with the query's, and of the nearest the vectors themselves.
"""

from __future__ import annotations

import heapq
import math
import operator
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

from dream.errors import AnswerUnusable
from dream.llm import card
from dream.llm.spending import Meter
from dream.recall.search_index import PART, SearchIndex, caught_up
from dream.reports import Usage
from dream.settings import Settings
from dream.workspace.index import VECTOR_TABLES

if TYPE_CHECKING:
    from dream.history.history import History

TEXTS, LONGEST = 64, 100_000  # texts and characters of one call
NEAREST = 100  # messages whose sketches are most like the query's
CHARS = 6_000  # characters of a text that are embedded: within the window of every embedding model
MOST_BYTES = 1 << 26  # of an answer


def embed(history: History, settings: Settings, meter: Meter, between: Callable[[], None] = lambda: None) -> None:
    """Make the vectors that a history lacks, by the model that the settings name: what a night does for search.

    `between` is called before each call of the model. Raises what the embedder does; vectors made before are kept.
    """
    with caught_up(history) as index:
        if embedder := open_embedder(settings, meter):
            take_in(index, embedder, between)


def take_in(index: SearchIndex, embedder: LiteLLMEmbedder, between: Callable[[], None] = lambda: None) -> int:
    """Make the missing vectors of messages; return how many the model was asked for. Needs an index that is caught up.

    `between` is called before each call of the model. Raises what the embedder does; vectors made before are kept.
    """
    if not index.size():
        return 0
    index.change(lambda db: _of_model(db, embedder.name))
    asked = 0
    while batch := index.without_vector(TEXTS):
        texts: dict[int, str] = {}
        for found in batch:
            said = index.said(found)
            texts[found.number] = said.text[:CHARS] if said else ""
            if sum(map(len, texts.values())) > LONGEST:
                break
        digests = {number: blake2b(text.encode(), digest_size=16).digest() for number, text in texts.items()}
        known = set(index.vectors(digests.values()))
        new = {digest: texts[number] for number, digest in digests.items() if digest not in known}
        made: list[bytes] = []
        if new:
            between()
            made = embedder.embed(list(new.values()))
            asked += len(new)
        rows = list(zip(new, made, strict=True))
        if index.change(partial(_write, rows=rows, digests=digests)) is None:
            break
    return asked


def meant(index: SearchIndex, embedder: LiteLLMEmbedder, query: str) -> tuple[bytes, list[int]]:
    """Return the query's vector and the numbers of the messages whose sketches are nearest to its own."""
    [vector] = embedder.embed([query])
    wanted, width = int.from_bytes(sketch(vector)), len(sketch(vector))

    def near() -> Iterator[tuple[int, int]]:
        for part, data in index.sketches():
            for place, start in enumerate(range(0, len(data), width)):
                differing = (int.from_bytes(data[start : start + width]) ^ wanted).bit_count()
                yield differing, part * PART + place

    return vector, [number for _, number in heapq.nsmallest(NEAREST, near())]


def likenesses(index: SearchIndex, vector: bytes, numbers: Iterable[int]) -> dict[int, float]:
    """Return how like a vector those of messages are, where there are any; never below 0."""
    return {number: max(0.0, likeness(vector, other)) for number, other in index.vectors_of(numbers)}


def sketch(vector: bytes) -> bytes:
    """Return the signs of a vector, a bit for each dimension."""
    bits = int("".join("1" if one < 128 else "0" for one in vector) or "0", 2)
    return bits.to_bytes((len(vector) + 7) // 8)


def _of_model(db: sqlite3.Connection, name: str) -> bool:
    known = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'recall_model'").fetchone()
    if known is None:
        for statement in VECTOR_TABLES:
            db.execute(statement)
    if db.execute("SELECT name FROM recall_model").fetchone() != (name,):
        for table in ("model", "vector", "digest", "sketch"):
            db.execute(f"DELETE FROM recall_{table}")
        db.execute("INSERT INTO recall_model VALUES (?)", (name,))
    return True


def _write(db: sqlite3.Connection, rows: list[tuple[bytes, bytes]], digests: dict[int, bytes]) -> bool:
    db.executemany("INSERT OR IGNORE INTO recall_vector VALUES (?, ?)", rows)
    first = db.execute("SELECT coalesce(max(doc), -1) + 1 FROM recall_digest").fetchone()[0]
    if min(digests) != first:  # another process was here
        return True
    sketches: dict[int, bytes] = {}
    for number, digest in digests.items():
        vector = db.execute("SELECT vector FROM recall_vector WHERE digest = ?", (digest,)).fetchone()[0]
        db.execute("INSERT INTO recall_digest VALUES (?, ?)", (number, digest))
        sketches[number // PART] = sketches.get(number // PART, b"") + sketch(vector)
    db.executemany(
        "INSERT INTO recall_sketch VALUES (?, ?) ON CONFLICT (part)"
        " DO UPDATE SET data = CAST(data || excluded.data AS BLOB)",
        sketches.items(),
    )
    return True


# Embeddings: texts as vectors, by any LiteLLM model.


def open_embedder(settings: Settings, meter: Meter, *, retries: int | None = None) -> LiteLLMEmbedder | None:
    """Return what the setting `embedding_model` names, None where it names nothing; calls are booked on `meter`."""
    if not settings.embedding_model:
        return None
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
