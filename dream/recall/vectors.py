"""Vectors: what messages mean beside their words, for who has named an embedding model.

They stand in the index, by the hash of the text, so that none is made twice; with another model, or when the index
goes (`forget` takes it along), they are made anew. Each message also has a sketch, the signs of its vector: all of them
are compared with the query's, and of the nearest the vectors themselves.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from dream.llm.embedding import CHARS, Embedder, likeness, open_embedder
from dream.recall.index import PART, Index, caught_up

if TYPE_CHECKING:
    from dream.history.history import History
    from dream.llm.spending import Meter
    from dream.settings import Settings

TEXTS, LONGEST = 64, 100_000  # texts and characters of one call
NEAREST = 100  # messages whose sketches are most like the query's
_TABLES = (
    "CREATE TABLE recall_model (name TEXT NOT NULL)",
    "CREATE TABLE recall_vector (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
)


def embed(history: History, settings: Settings, meter: Meter, between: Callable[[], None] = lambda: None) -> None:
    """Make the vectors that a history lacks, by the model that the settings name: what a night does for search.

    `between` is called before each call of the model. Raises what the embedder does; what is made by then stays.
    """
    with caught_up(history) as index:
        if embedder := open_embedder(settings, meter):
            take_in(index, embedder, between)


def take_in(index: Index, embedder: Embedder, between: Callable[[], None] = lambda: None) -> int:
    """Make the vectors of all messages that have none; return how many were asked for. The index is caught up.

    `between` is called before each call of the model. Raises what the embedder does; what is made by then stays.
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


def meant(index: Index, embedder: Embedder, query: str) -> tuple[bytes, list[int]]:
    """Return the query's vector and the numbers of the messages whose sketches are nearest to its own."""
    [vector] = embedder.embed([query])
    wanted, width = int.from_bytes(sketch(vector)), len(sketch(vector))

    def near() -> Iterator[tuple[int, int]]:
        for part, data in index.sketches():
            for place, start in enumerate(range(0, len(data), width)):
                differing = (int.from_bytes(data[start : start + width]) ^ wanted).bit_count()
                yield differing, part * PART + place

    return vector, [number for _, number in heapq.nsmallest(NEAREST, near())]


def likenesses(index: Index, vector: bytes, numbers: Iterable[int]) -> dict[int, float]:
    """Return how like a vector those of messages are, where there are any; never below 0."""
    return {number: max(0.0, likeness(vector, other)) for number, other in index.vectors_of(numbers)}


def sketch(vector: bytes) -> bytes:
    """Return the signs of a vector, a bit for each dimension."""
    bits = int("".join("1" if one < 128 else "0" for one in vector) or "0", 2)
    return bits.to_bytes((len(vector) + 7) // 8)


def _of_model(db: sqlite3.Connection, name: str) -> bool:
    known = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'recall_model'").fetchone()
    if known is None:
        for statement in _TABLES:
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
