"""Speed of a sync against plain git: `pytest -m bench tests/sync -s`."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.history.messages import KeptMessage
from dream.models import NewEntry
from dream.versions.branches import FOLDER
from tests.benchmarks.measure import pairs
from tests.benchmarks.versions import grown
from tests.sync.world import Machine, family, rounds

COMMITS, SESSIONS, LONG = 10_000, 100, 1_000


@pytest.mark.bench
def test_a_sync_with_nothing_new_takes_as_long_as_a_fetch(tmp_path: Path) -> None:
    """Within one process: what Python needs to start is the same for every command."""
    laptop, server = family(tmp_path)
    for number in range(20):
        laptop.add(f"Fact {number}")
        laptop.note(f"Note {number}")
    rounds(laptop, server)
    assert laptop.sync().outcome == "nothing"
    copy = laptop.workspace.private / FOLDER
    fetch = ["git", f"--git-dir={copy}", "fetch", "--quiet", laptop.remote, "+refs/heads/dream/*:refs/remotes/*"]

    ours, floor, _ = pairs(laptop.sync, lambda: subprocess.run(fetch, check=True), 15)
    print(f"\nnothing new: {ours * 1e3:.1f} ms, git fetch {floor * 1e3:.1f} ms, ratio {ours / floor:.2f}", end="")
    assert ours < 1.5 * floor


@pytest.mark.bench
def test_a_large_memory_joins_in_half_a_minute(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git")
    with laptop.here():
        laptop.workspace = grown(laptop.folder / "ws", COMMITS)
    for session in range(SESSIONS):
        said = [
            KeptMessage(
                f"s{session}", place, "user", f"Message {place} of talk {session}, said in passing", laptop.clock
            )
            for place in range(LONG)
        ]
        with laptop.here() as workspace:
            entry = NewEntry("summary", f"- Talk {session}", session=f"s{session}", span=(0, LONG))
            workspace.history.append([entry], now=laptop.clock, said=said)
    begun = time.perf_counter()
    laptop.sync()
    sent = time.perf_counter() - begun
    begun = time.perf_counter()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()
    came = time.perf_counter() - begun
    print(f"\n{COMMITS:,} commits, {SESSIONS * LONG:,} messages: sent in {sent:.1f} s, joined in {came:.1f} s", end="")
    assert server.memory() == laptop.memory()
    assert isinstance(server.workspace, Workspace)
    assert max(sent, came) < 30
