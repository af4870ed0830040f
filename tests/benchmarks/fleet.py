"""The fleet: nights a minute against xargs, small tenants beside a large one, the share of a limit used, idle ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from dream.actions.note import note
from dream.directory import Workspace
from dream.fleet import members
from dream.fleet.engine import Queue
from dream.fleet.limits import BURST, Ledger
from dream.fleet.members import Member, Note, Root
from dream.fleet.news import Looked, Waiting, find
from dream.fleet.nursery import Asked, GrantedCall
from dream.reports import Usage
from dream.settings import Settings
from tests.benchmarks.measure import Row, peak
from tests.workspaces import copied

NOW = datetime(2026, 11, 21, tzinfo=UTC)
JOBS = 2


def rows(folder: Path, nights: int, idle: int) -> Iterator[Row]:
    """Measure so many nights, and so many idle workspaces, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pattern = _pattern(folder / "pattern")
    ours, other = folder / "ours", folder / "other"
    for root in (ours, other):
        for number in range(nights):
            copied(pattern, root / f"w{number:06}")
    dream = (sys.executable, "-m", "dream")
    each = f"ls -d {other}/* | xargs -P {JOBS} -I{{}} {' '.join(dream)} nightly -q -w {{}}"
    plain = _timed(["sh", "-c", each])
    fleet = _timed([*dream, "fleet", "run", str(ours), "-j", str(JOBS), "--quiet"])
    yield Row(
        f"{nights:,} nights with embedded, {JOBS} at a time, against xargs -P {JOBS} of dream nightly",
        nights / fleet * 60,
        nights / plain * 60,
        "a minute",
        plain / fleet,
        0.9,
        at_least=True,
    )
    yield _queue(folder / "queue", 2_000)
    yield _beside(folder / "beside", pattern)
    yield _share(folder / "calls", "calls", 10_000)
    yield _share(folder / "tokens", "tokens", 10_000)
    yield _idle(folder / "idle", pattern, idle)


def _timed(line: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(line, check=True, env=_environ(), stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _pattern(folder: Path) -> Path:
    workspace = Workspace.create(folder, now=NOW)
    note(workspace, "I live in Paris, and I am allergic to peanuts.", settings=Settings(), now=NOW)
    workspace.history.close()
    return folder


def _queue(folder: Path, nights: int) -> Row:
    """Put nights into the queue; what a night costs there, against a second of its own work."""
    folder.mkdir()
    queue = Queue(f"sqlite:///{folder / 'fleet.sqlite'}")
    root = Root("root", folder)
    waiting = [Waiting(Member(root, f"w{number}"), f"t{number % 50}", "", "night") for number in range(nights)]
    began = time.perf_counter()
    queue.put(waiting, NOW)
    cost = (time.perf_counter() - began) / nights * 1e3
    queue.close()
    return Row(f"a night put into the queue, of {nights:,}, against a second", cost, 1_000, "ms", cost / 1_000, 0.01)


def _idle(folder: Path, pattern: Path, count: int) -> Row:
    """Look through workspaces in which nothing is new; against the minute that 100,000 may take."""
    for number in range(count):
        copy = folder / f"t{number // 1_000:03}" / f"w{number:06}"
        (copy / ".dream").mkdir(parents=True)
        for name in ("SOUL.md", "USER.md"):
            shutil.copyfile(pattern / name, copy / name)
        shutil.copytree(pattern / "memory", copy / "memory")
        (copy / "memory" / ".dream_cursor").write_text("1\n", encoding="utf-8")
        known = Note(at=NOW.isoformat(), outcome="committed", look=members.look(copy))
        one = Member(Root("root", folder), str(copy.relative_to(folder)))
        members.write(one, members.replace(known, settings=members.settings_look(copy, {})))
    before, looked = peak(), Looked()
    began = time.perf_counter()
    assert not list(find([Root("root", folder)], NOW, {}, looked))
    took = time.perf_counter() - began
    assert looked.workspaces == count
    name = f"{count:,} idle workspaces looked through (+{peak() - before:.0f} MiB), against 0.6 ms each"
    return Row(name, took, count * 0.0006, "s", took / (count * 0.0006), 1.0)


SMALL, LARGE = 20, 100  # tenants with one workspace, and the workspaces of one tenant


def _beside(folder: Path, pattern: Path) -> Row:
    """Count the nights until small tenants have had theirs, beside one with a hundred times the work of each."""
    for number in range(LARGE):
        copied(pattern, folder / "large" / f"w{number:03}")
    for number in range(SMALL):
        copied(pattern, folder / f"small{number:02}")
    line = [sys.executable, "-m", "dream", "fleet", "run", str(folder), "-j", str(JOBS)]
    told = subprocess.run(line, check=True, env=_environ(), capture_output=True, text=True).stdout.splitlines()
    last = max(number for number, one in enumerate(told, 1) if one.startswith("small"))
    name = f"nights until {SMALL} tenants have had theirs beside one with {LARGE} times the work, against without"
    return Row(name, last, SMALL, "nights", last / SMALL, 1.1)


RATE = 100  # calls a second that the simulated provider allows
ANSWER = 0.2  # seconds it takes
CALLERS = (4, 12)  # workers, and nights of each at a time
MOST, USED = Usage(1, 4_000, 0, 0.004), Usage(1, 900, 100, 0.001)  # what is asked for, and what it comes to


def _share(folder: Path, bound: str, workspaces: int) -> Row:
    """Let workers make a call for each workspace under one limit; what they use of it between the first and the last.

    The limiter is the real one, on SQLite; the provider's answer is a wait.
    """
    folder.mkdir()
    url = f"sqlite:///{folder / 'fleet.sqlite'}"
    ledger = Ledger(url)
    amount = {"calls": RATE, "tokens": RATE * USED.tokens}
    ledger.set({f"bound:{bound}:m": 60 * amount[bound], "bound:day:tokens": 1e9})
    ledger.close()
    workers, jobs = CALLERS
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        parts = [range(part, workspaces, workers) for part in range(workers)]
        at = sorted(one for called in pool.map(_call, [url] * workers, parts, [jobs] * workers) for one in called)
    saved = BURST * RATE  # what may be saved up is no share of the time
    used = (len(at) - saved) / (at[-1] - at[0])
    name = f"calls a second for {workspaces:,} workspaces, {workers} workers, against a limit of {bound}"
    return Row(name, used, RATE, "a second", used / RATE, 0.95, at_least=True)


def _call(url: str, workspaces: range, jobs: int) -> list[float]:
    ledger = Ledger(url)
    at: list[float] = []

    def call(number: int) -> None:
        call = ledger.take(Asked(f"t{number % 500}", "day", "m", MOST), lambda: False)
        assert isinstance(call, GrantedCall)
        at.append(time.time())
        time.sleep(ANSWER)
        ledger.paid(call, USED)

    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(call, workspaces))
    ledger.close()
    return at
