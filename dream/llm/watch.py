"""The wire of a model call, watched: an answer is bounded while it is read, and nothing is sent on to another host.

LiteLLM makes HTTP clients of its own, of several kinds, that follow redirects and read whatever comes. All of them
end in httpx's transport, so the watch sits there; it looks at requests that are made within `watched` and at no
others: what an agent in the same process sends is none of its business.

It imports httpx, a tenth of a second, so it is imported only when a model is called.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx

_WATCH: ContextVar[Watch | None] = ContextVar("dream_watch", default=None)


class Watch:
    """The limit of one call's answer, `most` bytes; and why the call was ended, if it was."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.too_large = False
        self.elsewhere = ""  # the address of another host that the answer sends us on to
        self.given_up = False  # nobody waits for the answer any more


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Watch the requests that this thread makes inside."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def install() -> None:
    """Put the watch into httpx, once in a process; not safe to be called by two threads at the same time."""
    transport: Any = httpx.HTTPTransport
    if not getattr(transport.handle_request, "watched_by_dream", False):
        transport.handle_request = _watching(transport.handle_request)


def _watching(plain: Callable[[Any, httpx.Request], httpx.Response]) -> Callable[[Any, httpx.Request], httpx.Response]:
    def handle_request(self: Any, request: httpx.Request) -> httpx.Response:
        watch = _WATCH.get()
        if watch is None:
            return plain(self, request)
        request.headers["Accept-Encoding"] = "identity"  # so that what is read is what was sent
        response = plain(self, request)
        if response.has_redirect_location and not _stays(request.url, response.headers["Location"]):
            watch.elsewhere = str(request.url.join(response.headers["Location"]).copy_with(query=None))
            response.close()
            raise httpx.ReadError("ended by dream: redirected to another host")
        packed = response.headers.get("Content-Encoding", "identity").lower() in ("gzip", "x-gzip", "deflate")
        if packed:
            del response.headers["Content-Encoding"]
        response.stream = _Bounded(response.stream, watch, packed)
        return response

    handle_request.watched_by_dream = True  # type: ignore[attr-defined]
    return handle_request


class _Bounded(httpx.SyncByteStream):
    """The bytes of an answer, unpacked if need be, until they are too many or the caller has given up."""

    def __init__(self, stream: Any, watch: Watch, packed: bool) -> None:
        self._stream, self._watch = stream, watch
        self._unpacking = zlib.decompressobj(wbits=47) if packed else None  # gzip or zlib, as it turns out

    def __iter__(self) -> Iterator[bytes]:
        left = self._watch.most
        for chunk in self._stream:
            piece = self._unpacking.decompress(chunk, left + 1) if self._unpacking else chunk
            left -= len(piece)
            if left < 0 or self._watch.given_up:
                self._watch.too_large = left < 0
                raise httpx.ReadError("ended by dream: more than is read of an answer")
            yield piece

    def close(self) -> None:
        self._stream.close()


def _stays(asked: httpx.URL, location: str) -> bool:
    """Return whether a redirect leads to the same server, or to its HTTPS port."""
    target = asked.join(location)
    if target.host != asked.host:
        return False
    upgraded = (asked.scheme, target.scheme) == ("http", "https") and asked.port is None and target.port is None
    return upgraded or (target.scheme, target.port) == (asked.scheme, asked.port)
