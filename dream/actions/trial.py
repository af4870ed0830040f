"""Try a model on the two example conversations: the whole pipeline in a folder that is deleted afterwards."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from dream import pipeline, trust
from dream.directory import Workspace
from dream.models import MEMORY_FILES, MemoryFile
from dream.reports import Progress, Usage
from dream.settings import Settings


@dataclass(frozen=True, slots=True)
class LookedFor:
    """One thing that some line of memory, or of SOUL.md, should or must not contain, and whether one does."""

    says: str
    wanted: bool
    held: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one conversation: the three files, the checks, and `reason` if the model failed."""

    title: str
    files: Mapping[MemoryFile, str]
    looked: tuple[LookedFor, ...]
    usage: Usage
    outcome: str
    reason: str


def conversations() -> list[dict[str, Any]]:
    """Read the example conversations, which are invented."""
    files = sorted((resources.files("dream") / "trial").iterdir(), key=lambda file: file.name)
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.name.endswith(".json")]


def run(conversation: Mapping[str, Any], settings: Settings, progress: Progress | None = None) -> Trial:
    """Read one conversation with the model of `settings`, and dream of it once."""
    with tempfile.TemporaryDirectory(prefix="dream-trial-") as place:
        folder = Path(place)
        nights = [datetime.fromisoformat(sitting["at"]) for sitting in conversation["sittings"]]
        paths = [_written(folder, number, sitting) for number, sitting in enumerate(conversation["sittings"])]
        now = nights[-1].astimezone(UTC) + timedelta(hours=12)
        workspace = Workspace.create(folder / "workspace", now=nights[0])
        try:
            read = pipeline.consolidate(workspace, paths, settings=settings, now=now, progress=progress)
            dreamt = pipeline.run(workspace, settings=settings, now=now, progress=progress)
        finally:
            trust.forget(workspace.root, trust.state_directory(os.environ))
        files = {path: workspace.read_file(path) for path in MEMORY_FILES}
    failed = next((one for one in (read, dreamt) if one.outcome == "failed"), dreamt)
    looked = tuple(
        LookedFor(one["says"], kind == "wanted", _holds(files, one))
        for kind in ("wanted", "unwanted")
        for one in conversation[kind]
    )
    return Trial(conversation["title"], files, looked, read.usage + dreamt.usage, failed.outcome, failed.reason)


def _written(folder: Path, number: int, sitting: Mapping[str, Any]) -> Path:
    path = folder / f"{number}.jsonl"
    at = sitting["at"]
    rows = ({"role": role, "content": text, "timestamp": at} for role, text in sitting["messages"])
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def _holds(files: Mapping[MemoryFile, str], looked: Mapping[str, Any]) -> bool:
    texts = [files["SOUL.md"]] if looked["where"] == "rules" else files.values()
    lines = (line.casefold() for text in texts for line in text.splitlines())
    return any(all(re.search(pattern, line) for pattern in looked["all"]) for line in lines)
