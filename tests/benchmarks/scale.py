"""Consolidating at scale: many sessions against a provider that answers after 200 ms."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from dream import pipeline
from dream.directory import Workspace
from dream.settings import Settings
from tests.benchmarks.measure import Row, python, seconds

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
LATENCY = 0.2  # seconds
SYLLABLES = "ba be co da di fo ga ho ka le lo ma me ni no pa ra ro sa se si ta te to vi wa ze".split()
# A process of its own, so that the provider's time is not ours.
SERVER = """
import json, re, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
def answered(asked):  # a summary that holds what was said, for one that does not is asked for again
    said = re.findall(rb"In session [0-9]+ we talk of harbour [0-9]+", asked)
    return json.dumps({
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": f"- {said[-1].decode()} {{1}}" if said else "- Likes tea"}}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 5, "total_tokens": 505},
    }).encode()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the answer waits 40 ms for the acknowledgement of its headers
    def do_POST(self):
        answer = answered(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(%s)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *words): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
"""


# A process of its own, so that its memory is its own: sessions of 200 kB, written before it begins.
LARGE = """
import time
from pathlib import Path
from dream import pipeline
from dream.settings import Settings
from dream.directory import Workspace
from tests.benchmarks.measure import peak
from tests.benchmarks.scale import NOW, settings
folder = Path({folder!r})
workspace, began = Workspace.open(folder / "ws"), time.process_time()
report = pipeline.consolidate(workspace, [folder / "chats"], settings=settings({address!r}), now=NOW)
assert report.sessions == {sessions} and not report.raw, report
used = time.process_time() - began
print(peak(), used / report.usage.calls * 1e3)
"""
TURNS, WORDS = 200, 180  # messages of a long session, and words of each


def settings(address: str) -> Settings:
    """Return the settings under which all of this is measured: no bound of spending ends it."""
    free = {"max_run_tokens": 0, "max_day_tokens": 0}
    return Settings(model="openai/m", api_base=address, api_key="k", timezone="UTC", **free)


def rows(folder: Path, sessions: int) -> Iterator[Row]:
    """Measure in `folder`."""
    with _server(LATENCY) as address:
        _consolidate(_talked(folder / "warm", 1), settings(address))  # LiteLLM is imported, the tokenizer loaded
        workspace = _talked(folder / "many", sessions)
        taken = seconds(lambda: _consolidate(workspace, settings(address)))
    ideal = sessions * LATENCY
    name = f"{sessions:,} sessions consolidated, a call of {LATENCY * 1000:.0f} ms each"
    yield Row(name, taken, ideal, "s", taken / ideal, 1.1)
    yield from _large(folder, sessions)


def _large(folder: Path, sessions: int) -> Iterator[Row]:
    """Weigh a process that consolidates long sessions, and one that consolidates a tenth of them."""
    held = []
    for number in (sessions // 10, sessions):
        place = folder / f"long-{number}"
        size = _talked_long(place, number)
        with _server(0) as address:
            said = python(LARGE.format(folder=str(place), sessions=number, address=address))
        held.append(float(said.split()[0]))
        shutil.rmtree(place)
    cpu = float(said.split()[1])
    name = f"memory for {sessions:,} sessions, {size / 1e6:,.0f} MB, against a tenth of them"
    yield Row(name, held[1], held[0], "MiB", held[1] / held[0], 1.2)
    yield Row(
        "processor time a call of 8,000 tokens, against its wait", cpu, LATENCY * 1e3, "ms", cpu / LATENCY / 1e3, 1
    )


@contextmanager
def _server(latency: float) -> Iterator[str]:
    """Start the provider, and yield its address."""
    server = subprocess.Popen([sys.executable, "-c", SERVER % latency], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()
        server.wait()


def _talked_long(folder: Path, sessions: int) -> int:
    """Make a workspace with long transcripts beside it; return their bytes."""
    Workspace.create(folder / "ws", now=NOW)
    chats = folder / "chats"
    chats.mkdir(parents=True)
    drawn = random.Random(7)
    words = [f"{first}{second}" for first in SYLLABLES for second in SYLLABLES]
    written = 0
    for number in range(sessions):
        said = [
            {"role": ("user", "assistant")[turn % 2], "content": _sentences(drawn, words), "timestamp": 1_795_000_000}
            for turn in range(TURNS)
        ]
        written += (chats / f"{number:05}.json").write_text(json.dumps(said), encoding="utf-8")
    return written


def _sentences(drawn: random.Random, words: list[str]) -> str:
    return " ".join(" ".join(drawn.choices(words, k=12)).capitalize() + "." for _ in range(WORDS // 12))


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


def _consolidate(workspace: Workspace, given: Settings) -> None:
    chats = workspace.root.parent / "chats"
    report = pipeline.consolidate(workspace, [chats], settings=given, now=NOW)
    assert report.sessions == report.usage.calls == len(list(chats.iterdir()))
    assert not report.raw
