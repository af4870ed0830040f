"""A scripted provider: a real HTTP server on loopback that speaks the OpenAI chat-completions protocol.

Give it answers in order; it records every request. An answer is a `Reply`, or a function from the request's body to
one, so that a test can answer by what it was asked. When the script is used up the last answer is given again.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer. `seconds` is the wait before it; `hang` holds the connection open until the server stops."""

    body: object = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    hang: bool = False
    drip: float = 0.0  # seconds between single bytes of the body


Script = Reply | Callable[[Body], Reply]


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was sent."""

    path: str
    headers: Mapping[str, str]
    body: Body
    at: float  # monotonic seconds


def text(
    content: str | None, *, finish: str | None = "stop", usage: Mapping[str, Any] | None = None, **message: Any
) -> Reply:
    """Answer with text. `message` adds fields such as `reasoning_content` or `refusal`."""
    return choice({"role": "assistant", "content": content} | message, finish=finish, usage=usage)


def tools(*calls: tuple[str, object], content: str | None = None, finish: str | None = "tool_calls") -> Reply:
    """Answer with tool calls `(name, arguments)`; arguments are sent as they are, a mapping as JSON text."""
    listed = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given) if isinstance(given, dict) else given},
        }
        for number, (name, given) in enumerate(calls, 1)
    ]
    return choice({"role": "assistant", "content": content, "tool_calls": listed}, finish=finish)


def choice(message: Mapping[str, Any], *, finish: str | None = "stop", usage: Mapping[str, Any] | None = None) -> Reply:
    """Answer with one whole message. No usage given: 10 tokens in, 5 out; an empty mapping: none is sent."""
    body: Body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": dict(message), "finish_reason": finish}],
    }
    counted = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} if usage is None else usage
    return Reply(body | ({"usage": dict(counted)} if counted else {}))


def fault(
    status: int, message: str = "scripted fault", *, retry_after: str | None = None, code: str | None = None
) -> Reply:
    """Answer with an error in OpenAI's shape."""
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return Reply({"error": {"message": message, "type": "error", "code": code}}, status=status, headers=headers)


def garbage(data: bytes = b"<html>not JSON</html>") -> Reply:
    """Answer 200 with a body that is not JSON."""
    return Reply(data)


def hang() -> Reply:
    """Take the request and never answer."""
    return Reply(hang=True)


class Provider:
    """The server; use it as a context manager. `base` is the `api_base` to give to LiteLLM."""

    def __init__(self, answers: Iterable[Script] = ()) -> None:
        self.answers: list[Script] = list(answers)
        self.requests: list[Request] = []
        self.answered: list[Reply] = []  # that somebody still waited for
        self._used = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def script(self, *answers: Script) -> None:
        """Give these answers from now on."""
        with self._lock:
            self.answers, self._used = list(answers), 0

    def bodies(self) -> list[Body]:
        """Return the bodies of all requests so far."""
        return [request.body for request in self.requests]

    def prompts(self) -> list[str]:
        """Return the user's text of each request so far."""
        return ["\n".join(str(m["content"]) for m in body["messages"] if m["role"] == "user") for body in self.bodies()]

    def take(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if not self.answers:
                return fault(500, "the script of this test is empty")
            answer = self.answers[min(self._used, len(self.answers) - 1)]
            self._used += 1
        return answer if isinstance(answer, Reply) else answer(request.body)

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def wait_until_stopped(self, seconds: float | None = None) -> None:
        self._stopped.wait(seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    provider: Provider


class _Handler(BaseHTTPRequestHandler):
    @property
    def provider(self) -> Provider:
        assert isinstance(self.server, _Server)
        return self.server.provider

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        if self.provider.stopped:  # a connection kept open must not outlive the server
            self.close_connection = True
            return
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(data) if data else {}
        reply = self.provider.take(Request(self.path, dict(self.headers), body, time.monotonic()))
        if reply.hang:
            self.provider.wait_until_stopped()
            self.close_connection = True
            return
        if reply.seconds:
            self.provider.wait_until_stopped(reply.seconds)
            if self._is_alone():
                self.close_connection = True
                return
        self.provider.answered.append(reply)
        self._send(reply)

    def _is_alone(self) -> bool:
        """Return whether the client has gone away while it waited."""
        try:
            peeked: bytes = self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        return not peeked

    def do_GET(self) -> None:
        self._send(self.provider.take(Request(self.path, dict(self.headers), {}, time.monotonic())))

    def _send(self, reply: Reply) -> None:
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in [data] if not reply.drip else [data[i : i + 1] for i in range(len(data))]:
            if reply.drip:
                self.provider.wait_until_stopped(reply.drip)
            self.wfile.write(piece)

    def log_message(self, *args: object) -> None:
        """Stay silent."""

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up; that is what some tests want
