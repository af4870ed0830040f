"""Git: one dream, the list of changes, one change and a restore, from ten to ten thousand commits."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream import pipeline
from dream.actions.restore import restore
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.settings import Settings
from tests.benchmarks.measure import Row, pairs
from tests.scripted import ScriptedModel

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC")
BEGAN = 1_700_000_000
DREAMS = 10


def rows(folder: Path, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Measure in `folder`."""
    for size in sizes:
        workspace = grown(folder / str(size), size)
        yield _dream(workspace, size)
        yield from _reading(workspace, size)
        yield from _disk(workspace, size)


def grown(folder: Path, commits: int) -> Workspace:
    """Make a workspace with `commits` dreams behind it; one change in a hundred is a person's."""
    workspace = Workspace.create(folder, now=NOW)
    git = ["git", "-C", str(folder)]
    lines: list[str] = []
    stream: list[bytes] = []
    for number in range(1, commits + 1):
        lines = [*lines[-150:], f"- fact {number} of the user's long life\n"]
        kind = "hand" if number % 100 == 0 else "dream"
        message = f"{kind}: 1 file, +1 −0\n\nDream-Kind: {kind}\nDream-Entries: {number}-{number}\n".encode()
        text = "".join(lines).encode()
        stream += [
            b"commit refs/heads/bench\ncommitter dream <dream@localhost> %d +0000\n" % (BEGAN + number * 60),
            b"data %d\n%s\n" % (len(message), message),
            b"from HEAD^0\n" if number == 1 else b"",
            b"M 100644 inline USER.md\ndata %d\n%s\n" % (len(text), text),
            b"M 100644 inline memory/.dream_cursor\ndata 2\n0\n\n",
        ]
    subprocess.run([*git, "fast-import", "--quiet"], input=b"".join(stream), check=True)
    subprocess.run([*git, "reset", "-q", "--hard", "bench"], check=True)
    subprocess.run([*git, "gc", "-q"], check=True)
    return workspace


def _dream(workspace: Workspace, size: int) -> Row:
    """Time a run with one dream in it; the models answer at once."""
    taken: list[float] = []
    for number in range(9):
        workspace.history.append([NewEntry("summary", f"- fact {number}")], now=NOW)
        models = Models(ScriptedModel(f"[MEMORY] Harbour {number} is open"), ScriptedModel("done"), Meter(SETTINGS))
        began = time.perf_counter()
        pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models)
        taken.append(time.perf_counter() - began)
    ours = statistics.median(taken[2:]) * 1e3
    return Row(f"one dream without its models, at {size:,} commits", ours, ours, "ms", ours, 100)


def _disk(workspace: Workspace, size: int) -> Iterator[Row]:
    """Weigh what a dream adds to the repository until `git gc` packs it, and all of it by the number of changes."""
    _run(workspace, 1)
    before = _weight(workspace)
    _run(workspace, DREAMS)
    loose = (_weight(workspace) - before) / DREAMS
    subprocess.run(["git", "-C", str(workspace.root), "gc", "-q"], check=True)
    packed = _weight(workspace) / (size + DREAMS)
    yield Row(f"disk a dream takes until it is packed, at {size:,} commits", loose, loose, "KiB", loose, 40)
    yield Row(f"disk a dream takes once packed, at {size:,} commits", packed, packed, "KiB", packed, 8)


def _weight(workspace: Workspace) -> float:
    """Return the KiB that the repository takes on disk, in whole blocks."""
    return sum(path.lstat().st_blocks for path in (workspace.root / ".git").rglob("*")) / 2


def _run(workspace: Workspace, dreams: int) -> None:
    for number in range(dreams):
        workspace.history.append([NewEntry("summary", f"- fact {number}")], now=NOW)
        models = Models(ScriptedModel(f"[MEMORY] Quay {number} is open"), ScriptedModel("done"), Meter(SETTINGS))
        pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models)


def _reading(workspace: Workspace, size: int) -> Iterator[Row]:
    git = ["git", "-C", str(workspace.root)]

    def plain(*commands: tuple[str, ...]) -> None:
        for words in commands:
            subprocess.run([*git, *words], check=True, capture_output=True)

    sha = workspace.git.log(5)[-1].sha
    few = ("log", "-20", "--numstat", "--format=%H %P %cI %s %B", "--grep=^Dream-Kind: ")
    ours, other, ratio = pairs(lambda: workspace.git.log(20), lambda: plain(few))
    yield Row(f"the last 20 changes of {size:,}", ours * 1e3, other * 1e3, "ms", ratio, 1.5)
    # A name must be unique, of a change of ours, and reachable: three commands, whoever asks.
    named = (
        ("rev-parse", f"--disambiguate={sha[:12]}"),
        ("cat-file", "-p", sha),
        ("merge-base", "--is-ancestor", sha, "HEAD"),
    )
    show = ("show", "--patch", "--numstat", sha)
    ours, other, ratio = pairs(lambda: workspace.git.show(workspace.git.resolve(sha[:12])), lambda: plain(*named, show))
    yield Row(f"one change of {size:,}", ours * 1e3, other * 1e3, "ms", ratio, 1.5)
    blobs = ("archive", "--format=tar", f"{sha}^", "USER.md", "memory/MEMORY.md")
    diff = ("diff", "--numstat", "--patch", f"{sha}^", "HEAD")
    ours, other, ratio = pairs(
        lambda: restore(workspace, sha, dry_run=True, now=NOW), lambda: plain(*named, show, blobs, diff)
    )
    yield Row(f"a restore's preview at {size:,}", ours * 1e3, other * 1e3, "ms", ratio, 1.5)
