"""The shipped conversation, and the whole pipeline on it: twelve days of a person and a coding assistant, three nights.

The sessions are in Claude Code's format, one file each. Everything in them is invented, the password too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from dream import pipeline, transcripts
from dream.language import tokens
from dream.models import MEMORY_FILES, ConsolidateReport, Diagnostic, MemoryFile, Progress, RunReport, named
from dream.settings import Settings
from dream.workspace.workspace import Workspace

# The nights, each with the sessions that had gone quiet by then.
NIGHTS: tuple[tuple[datetime, tuple[str, ...]], ...] = (
    (datetime(2026, 11, 5, 3, tzinfo=UTC), ("1-monday.jsonl", "2-wednesday.jsonl")),
    (datetime(2026, 11, 9, 3, tzinfo=UTC), ("3-friday.jsonl", "4-sunday.jsonl")),
    (datetime(2026, 11, 14, 3, tzinfo=UTC), ("5-wednesday.jsonl", "6-friday.jsonl")),
)
# Whatever is configured, the demo needs no key and gives the same on every machine.
SETTINGS = Settings(model="embedded", timezone="UTC")


@dataclass(frozen=True, slots=True)
class DemoNight:
    """One night of the demo."""

    at: datetime = field(metadata=named("time"))
    consolidated: ConsolidateReport
    run: RunReport


@dataclass(frozen=True, slots=True)
class Played:
    """What the demo did: how much was said in all, the nights, the files, and the diff of the last dream."""

    workspace: Path
    sessions: int
    messages: int
    tokens: int
    nights: tuple[DemoNight, ...]
    files: dict[MemoryFile, str]
    diff: str


def play(directory: Path, watch: Progress | None = None) -> Played:
    """Make a workspace in `directory`, which has to be empty or new, and have three nights in it.

    Only the door to models and the clock differ from real nights: the `embedded` model, and the nights of the story.
    """
    workspace = Workspace.create(directory, now=NIGHTS[0][0])
    nights = tuple(_night(workspace, at, names, watch) for at, names in NIGHTS)
    commits = [batch.commit for night in nights for batch in night.run.batches if batch.commit]
    return Played(
        workspace=workspace.root,
        sessions=sum(night.consolidated.sessions for night in nights),
        messages=sum(night.consolidated.messages for night in nights),
        tokens=sum(_said(path) for _, names in NIGHTS for path in _paths(names)),
        nights=nights,
        files={name: workspace.read_file(name) for name in MEMORY_FILES},
        diff=workspace.git.show(commits[-1]).diff if commits else "",
    )


def _night(workspace: Workspace, at: datetime, names: tuple[str, ...], watch: Progress | None) -> DemoNight:
    read = pipeline.consolidate(workspace, _paths(names), settings=SETTINGS, now=at, progress=watch)
    return DemoNight(at, read, pipeline.run(workspace, settings=SETTINGS, now=at, progress=watch))


def _paths(names: tuple[str, ...]) -> list[Path]:
    folder = resources.files("dream") / "demo"
    return [Path(str(folder / name)) for name in names]


def _said(path: Path) -> int:
    problems: list[Diagnostic] = []
    messages = transcripts.read(path, zone=UTC, report=problems.append)
    return sum(tokens.estimate(message.content) for _, message in messages)
