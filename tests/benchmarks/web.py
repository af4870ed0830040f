"""The page: the first one and each other, and the export, of a workspace of many changes and entries."""

from __future__ import annotations

import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx

from dream.directory import Workspace
from dream.memory import DREAM_CURSOR
from dream.models import NewEntry
from dream.workspace.files import replace_file
from tests.benchmarks.measure import Row, seconds
from tests.benchmarks.versions import grown

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
ROUNDS = 7
PAGES = (
    *("/", "/memory", "/review", "/timeline", "/timeline?q=fact+77", "/timeline?page=100", "/timeline?kind=hand"),
    *("/change/HEAD~9", "/nights", "/search?q=fact+777"),
    *("/restore?sha=HEAD~9&mode=before", "/restore?sha=HEAD~9&mode=only"),
)


def rows(folder: Path, commits: int, entries: int) -> Iterator[Row]:
    """Measure in `folder`."""
    workspace = grown(folder / "ws", commits)
    _filled(workspace, entries)
    size = f"{commits:,} changes, {entries:,} entries"
    command = [sys.executable, "-m", "dream", "web", "-w", str(workspace.root)]
    yield from _served(command, size)


def _filled(workspace: Workspace, entries: int) -> None:
    """Fill history, and say that all of it is dreamt."""
    for first in range(0, entries, 1_000):
        numbers = range(first, first + 1_000)
        new = [NewEntry("summary", f"- fact {n}", f"claude-code:{n // 10}", (n % 10, n % 10 + 1)) for n in numbers]
        workspace.history.append(new, now=NOW)
    replace_file(workspace.root / DREAM_CURSOR, b"%d\n" % entries)
    workspace.search("fact")  # its index is there: a night has read and searched before somebody looks
    workspace.history.close()


def _served(command: list[str], size: str) -> Iterator[Row]:
    """Time each page of a server in a process of its own."""
    line = [*command, "--no-open", "--port", "0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        root = address.partition("/?")[0]
        while not _answers(root):
            time.sleep(0.05)
        with httpx.Client(base_url=root, trust_env=False) as client:
            first_page = seconds(lambda: client.get(address, follow_redirects=True)) * 1e3
            yield Row(f"the first page, {size}", first_page, 200, "ms", first_page, 200)
            while "still being read" in client.get("/timeline").text:
                time.sleep(0.2)
            line_page = re.findall(r'href="(/line[^"]*)"', client.get("/memory").text)[-1].replace("&amp;", "&")
            taken, sizes = {}, []
            for page in (*PAGES, line_page):
                taken[page] = statistics.median(seconds(lambda p=page: client.get(p)) for _ in range(ROUNDS)) * 1e3
                answer = client.get(page)
                assert answer.status_code == 200, answer.text
                sizes.append(len(answer.content) / 1e3)
        server.send_signal(signal.SIGINT)
    slowest = max(taken, key=lambda page: taken[page])
    yield Row(f"the slowest page, {slowest[:20]}", taken[slowest], 300, "ms", taken[slowest], 300)
    yield Row("the largest page", max(sizes), 100, "kB", max(sizes), 100)


def _answers(root: str) -> bool:
    """Tell whether the server has begun: without a token it refuses."""
    return httpx.get(root, trust_env=False).status_code == 403
