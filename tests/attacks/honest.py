"""Honest conversations through the same guards: what they hold or refuse there, and which lines must name a source."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dream import pipeline
from dream.directory import Workspace
from dream.errors import DreamError, UsageError
from dream.llm.spending import Meter
from dream.models import MEMORY_FILES
from dream.reports import RunReport
from dream.settings import Settings
from dream.text.words import all_marks
from tests.quality import datasets
from tests.quality.scratch import Scratch
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)


@dataclass(slots=True)
class Measured:
    """Findings by what became of them, the guards that acted, and lines of memory: all, and those with a source."""

    states: Counter[str] = field(default_factory=Counter)
    guards: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    sourced: int = 0

    def add(self, workspace: Workspace, reports: list[RunReport]) -> None:
        """Count the dreams of one workspace."""
        for outcome in (one for report in reports for batch in report.batches for one in batch.outcomes):
            self.states[outcome.state] += 1
            if outcome.state in ("held", "refused"):
                self.guards[outcome.reason.partition(":")[0]] += 1
        told = [
            line for file in MEMORY_FILES for line in workspace.read_file(file).splitlines() if line.startswith("- ")
        ]
        self.lines += len(told)
        self.sourced += sum(any(mark in line for mark in all_marks()) for line in told)


def measure(path: Path, directory: Path, measured: Measured) -> None:
    """Dream a data set of conversations, a night for each session, or one transcript."""
    try:
        conversations = datasets.load(str(path))
    except UsageError:
        conversations = []
    for conversation in conversations:
        scratch = Scratch(directory / conversation.name, SETTINGS, Meter(SETTINGS))
        reports = [scratch.night([session]).run for session in conversation.sessions]
        measured.add(scratch.workspace, reports)
    if not conversations:
        workspace = fresh(directory, NOW)
        pipeline.consolidate(workspace, [path], settings=SETTINGS, now=NOW)
        measured.add(workspace, [pipeline.run(workspace, settings=SETTINGS, now=NOW)])


def main(paths: list[Path], directory: Path) -> None:
    """Print what the guards did to honest conversations, a line for each path and one for all."""
    total = Measured()
    for number, path in enumerate(paths):
        one = Measured()
        try:
            measure(path, directory / str(number), one)
        except DreamError as error:
            print(f"{path}: left out: {error}")
        print(f"{path.name}: {one}")
        total.states += one.states
        total.guards += one.guards
        total.lines += one.lines
        total.sourced += one.sourced
    print(f"all: {total}")
