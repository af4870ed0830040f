"""The fleet: nights a minute against the same commands from xargs, what the queue costs, and the look at idle ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream.actions.note import note
from dream.fleet import places
from dream.fleet.engine import Looked, Queue, Waiting, find
from dream.fleet.places import Note, Place, Root
from dream.settings import Settings
from dream.workspace.workspace import Workspace
from tests.benchmarks.measure import Row, peak

NOW = datetime(2026, 11, 21, tzinfo=UTC)
JOBS = 2


def rows(folder: Path, nights: int, idle: int) -> Iterator[Row]:
    """Measure so many nights, and so many idle workspaces, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pattern = _pattern(folder / "pattern")
    ours, other = folder / "ours", folder / "other"
    for root in (ours, other):
        for number in range(nights):
            shutil.copytree(pattern, root / f"w{number:06}")
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
    waiting = [Waiting(Place(root, f"w{number}"), f"t{number % 50}", "", "night") for number in range(nights)]
    began = time.perf_counter()
    queue.put(waiting, NOW)
    cost = (time.perf_counter() - began) / nights * 1e3
    queue.close()
    return Row(f"a night put into the queue, of {nights:,}, against a second", cost, 1_000, "ms", cost / 1_000, 0.01)


def _idle(folder: Path, pattern: Path, count: int) -> Row:
    """Look through workspaces in which nothing is new; against the minute that 100,000 may take."""
    for number in range(count):
        copy = folder / f"t{number // 1_000:03}" / f"w{number:06}"
        (copy / ".dream" / "nightly").mkdir(parents=True)
        for name in ("SOUL.md", "USER.md"):
            shutil.copyfile(pattern / name, copy / name)
        shutil.copytree(pattern / "memory", copy / "memory")
        (copy / "memory" / ".dream_cursor").write_text("1\n", encoding="utf-8")
        known = Note(at=NOW.isoformat(), outcome="committed", look=places.look(copy))
        places.write(copy, places.replace(known, settings=places.settings_look(copy, {})))
    before, looked = peak(), Looked()
    began = time.perf_counter()
    assert not list(find([Root("root", folder)], NOW, {}, looked))
    took = time.perf_counter() - began
    assert looked.workspaces == count
    name = f"{count:,} idle workspaces looked through (+{peak() - before:.0f} MiB), against 0.6 ms each"
    return Row(name, took, count * 0.0006, "s", took / (count * 0.0006), 1.0)
