"""Work off the reply's path: one piece at a time for a key, and no error is ever swallowed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Background(Generic[Result]):
    """A thread of its own, started when it is first needed; the interpreter waits for it at its exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._futures: dict[str, Future[Result]] = {}

    def start(self, key: str, work: Callable[[], Result]) -> Future[Result]:
        """Start `work`, or return the future of what is under way for `key`; raises what `key` failed with before."""
        with self._lock:
            under_way = self._futures.get(key)
            if under_way is not None and not under_way.done():
                return under_way
            self._raise(key)
            self._pool = self._pool or ThreadPoolExecutor(max_workers=1, thread_name_prefix="dream")
            self._futures[key] = self._pool.submit(work)
            return self._futures[key]

    def raise_error(self, key: str) -> None:
        """Raise what the finished work for `key` failed with, once."""
        with self._lock:
            future = self._futures.get(key)
            if future is not None and future.done():
                self._raise(key)

    def close(self) -> None:
        """Wait for all work, then raise the first error that nobody has seen."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        with self._lock:
            for key in list(self._futures):
                self._raise(key)

    def _raise(self, key: str) -> None:
        future = self._futures.pop(key, None)
        error = future.exception() if future is not None else None
        if error is not None:
            raise error
