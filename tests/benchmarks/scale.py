"""Consolidating at scale: many sessions, several calls in flight, against a provider that answers after 200 ms."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream import pipeline
from dream.settings import Settings
from dream.store.workspace import Workspace
from tests.benchmarks.measure import Row, seconds

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
LATENCY = 0.2  # seconds
PARALLEL = 8
# A process of its own, so that the provider's time is not ours.
SERVER = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
ANSWER = json.dumps({
    "id": "x", "object": "chat.completion", "created": 0, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "- Likes tea"}}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 5, "total_tokens": 505},
}).encode()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the answer waits 40 ms for the acknowledgement of its headers
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(%s)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)
    def log_message(self, *words): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
"""


def rows(folder: Path, sessions: int) -> Iterator[Row]:
    """Measure in `folder`."""
    server = subprocess.Popen([sys.executable, "-c", SERVER % LATENCY], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        settings = Settings(model="openai/m", api_base=address, api_key="k", parallel=PARALLEL, timezone="UTC")
        _consolidate(_talked(folder / "warm", 1), settings)  # LiteLLM is imported, the tokenizer loaded
        workspace = _talked(folder / "many", sessions)
        taken = seconds(lambda: _consolidate(workspace, settings))
    finally:
        server.kill()
    ideal = sessions / PARALLEL * LATENCY
    name = f"{sessions:,} sessions consolidated, {PARALLEL} calls of {LATENCY * 1000:.0f} ms in flight"
    yield Row(name, taken, ideal, "s", taken / ideal, 1.1)


def _talked(folder: Path, sessions: int) -> Workspace:
    """Make a workspace with a folder of transcripts beside it."""
    workspace = Workspace.create(folder / "ws", now=NOW)
    chats = folder / "chats"
    chats.mkdir(parents=True)
    for number in range(sessions):
        said = [
            {"role": role, "content": f"In session {number} we talk of harbour {number}.", "timestamp": 1_795_000_000}
            for role in ("user", "assistant") * 5
        ]
        (chats / f"{number:05}.json").write_text(json.dumps(said), encoding="utf-8")
    return workspace


def _consolidate(workspace: Workspace, settings: Settings) -> None:
    chats = workspace.root.parent / "chats"
    report = pipeline.consolidate(workspace, [chats], settings=settings, now=NOW)
    assert report.sessions == len(list(chats.iterdir()))
    assert not report.raw
