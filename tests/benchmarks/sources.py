"""Sources with little to do: 10,000 files with nothing new, as on most nights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream import pipeline
from dream.consolidate import listing
from dream.directory import Workspace
from dream.settings import Settings
from tests.benchmarks.measure import Row, pairs

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False, sources=("claude-code",))
FOLDERS = 200


def rows(folder: Path, files: int) -> Iterator[Row]:
    """Measure it; the floor is os.walk with os.stat."""
    yield _unchanged(folder / "unchanged", files)


def _unchanged(folder: Path, files: int) -> Row:
    projects = folder / ".claude" / "projects"
    for number in range(files):
        path = projects / f"-p{number % FOLDERS}" / f"{number:06}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, _row(number, f"s{number}", "Thanks."))
    workspace = Workspace.create(folder / "ws", now=NOW)

    def ours() -> None:
        opened = Workspace.open(workspace.root)
        found = listing.paths(SETTINGS, opened.root, home=folder, environ={})
        report = pipeline.consolidate(opened, found, settings=SETTINGS, now=NOW, idle=True)
        assert len(found) == files
        assert not report.messages

    pipeline.consolidate(workspace, [projects], settings=SETTINGS, now=NOW)
    mine, floor, ratio = pairs(ours, lambda: _walk(projects), rounds=15)
    return Row(f"{files:,} files with nothing new / os.walk and os.stat", mine * 1e3, floor * 1e3, "ms", ratio, 2)


def _row(number: int, session: str, said: str, pad: str = "") -> str:
    about = {"uuid": f"uuid-of-the-row-{number:08}", "sessionId": session, "timestamp": "2026-11-18T09:00:00Z"}
    return json.dumps({"type": "user", "message": {"role": "user", "content": said}, "pad": pad} | about) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (NOW.timestamp() - 86_400, NOW.timestamp() - 86_400))


def _walk(folder: Path) -> None:
    for here, _, names in os.walk(folder):
        for name in names:
            os.stat(os.path.join(here, name))  # noqa: PTH116, PTH118, the floor
