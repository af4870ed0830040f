"""One night: consolidate the configured sources, then dream, under one lock and within one bound of time."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dream import pipeline, sources
from dream.errors import DreamError, SpendingLimit
from dream.models import Usage
from dream.reports import ConsolidateReport, RunReport
from dream.settings import Settings
from dream.store import files
from dream.store.lock import run_lock
from dream.store.workspace import Workspace

FOLDER = "nightly"  # in .dream/: the stamp of the last night, and who serves
STAMP = "last.json"
SERVING = "serving.json"
HOOK_SECONDS = 60  # a notification that takes longer is ended

Progress = Callable[[str], None]


class NightOver(SpendingLimit):
    """The night's bound of time was reached, or the process was asked to stop; the next night goes on from there."""

    SENTENCE = "stopped before the next step, the night is over; the next one goes on here"

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)

    @classmethod
    def said(cls, reason: str) -> bool:
        """Tell whether a run gives this as its reason."""
        return reason == cls.SENTENCE


@dataclass(frozen=True, slots=True)
class NightReport:
    """What one night did. `consolidated` is None where no sources are configured."""

    consolidated: ConsolidateReport | None
    run: RunReport
    problems: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """Return what the command line exits with: the dreams' status, or 1 when only reading failed."""
        failed = self.consolidated is not None and self.consolidated.failed
        return self.run.exit_status or int(failed)

    @property
    def usage(self) -> Usage:
        """Add up what the night cost."""
        return self.run.usage + (self.consolidated.usage if self.consolidated else Usage())


def night(
    workspace: Workspace,
    *,
    settings: Settings,
    now: datetime,
    environ: Mapping[str, str],
    stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress | None = None,
) -> NightReport:
    """Run one night; raises Busy when another one, or another run, holds the workspace.

    `stop` is asked between two dreams, and so is `settings.max_minutes` (0: no bound): what is left waits for the
    next night. Afterwards the night is stamped as done, whatever came of it, and the settings' `on_change` or
    `on_failure` command is run.
    """
    end = clock() + settings.max_minutes * 60 if settings.max_minutes else float("inf")

    def step(what: str) -> None:
        """Between two steps: stop here if the night is over, else go on."""
        if stop() or clock() >= end:
            raise NightOver
        if progress:
            progress(what)

    with run_lock(workspace.private, "dream nightly", now=now):
        # 1. What the agents wrote since the last night becomes history.
        read = _consolidate(workspace, settings, now, environ, step)
        # 2. History becomes memory, one dream at a time.
        dreamt = _dream(workspace, settings, now, step)
        # 3. The night is over, also when it failed: the next one tries again.
        stamp(workspace, now)
    # 4. Whoever wants to know is told.
    report = NightReport(read, dreamt)
    return replace(report, problems=tuple(_tell(report, settings)))


def stamp(workspace: Workspace, now: datetime) -> None:
    """Note that a night was had at `now`."""
    folder = workspace.private / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files.replace(folder / STAMP, orjson.dumps({"at": now.astimezone(UTC).isoformat()}))


def last(workspace: Workspace) -> datetime | None:
    """Tell when the last night was; None when there was none, or its stamp is damaged."""
    try:
        at = datetime.fromisoformat(orjson.loads((workspace.private / FOLDER / STAMP).read_bytes())["at"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def serving(workspace: Workspace, process: int, next_run: datetime) -> None:
    """Note which process serves the workspace and when its next night is, for `status`."""
    folder = workspace.private / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files.replace(folder / SERVING, orjson.dumps({"pid": process, "next_run": next_run.isoformat()}))


def not_serving(workspace: Workspace) -> None:
    """Take the note of `serving` back."""
    (workspace.private / FOLDER / SERVING).unlink(missing_ok=True)


def served(workspace: Workspace) -> datetime | None:
    """Tell when the process that serves the workspace has its next night; None where none does."""
    try:
        note = orjson.loads((workspace.private / FOLDER / SERVING).read_bytes())
        os.kill(int(note["pid"]), 0)
        return datetime.fromisoformat(note["next_run"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _consolidate(
    workspace: Workspace, settings: Settings, now: datetime, environ: Mapping[str, str], step: Progress
) -> ConsolidateReport | None:
    if not settings.sources:
        return None
    try:
        paths = sources.paths(settings, workspace.root, home=Path.home(), environ=environ)
        if not paths:
            return ConsolidateReport(0, 0, None, 0, Usage(), (), "the configured sources hold no transcripts yet")
        report = pipeline.consolidate(workspace, paths, settings=settings, now=now, idle=True, progress=step)
    except DreamError as error:
        # Reading failed; what history holds already is dreamt all the same.
        return ConsolidateReport(0, 0, None, 0, Usage(), (), str(error), failed=True)
    return replace(report, failed=report.failed and not NightOver.said(report.reason))


def _dream(workspace: Workspace, settings: Settings, now: datetime, step: Progress) -> RunReport:
    report = pipeline.run(workspace, settings=settings, now=now, progress=step, locked=True)
    if report.outcome != "failed" or not NightOver.said(report.reason):
        return report
    changed = any(batch.files for batch in report.batches)
    return replace(report, outcome="committed" if changed else "held" if report.held else "nothing")


def _tell(report: NightReport, settings: Settings) -> list[str]:
    """Run the command that the settings name for this ending; return what went wrong with it."""
    failed = report.exit_status not in (0, 3)
    changed = any(batch.commit for batch in report.run.batches)
    command = settings.on_failure if failed else settings.on_change if changed else None
    if not command:
        return []
    words = {
        "outcome": report.run.outcome,
        "reason": report.run.reason,
        "commits": [batch.commit for batch in report.run.batches if batch.commit],
        "held": report.run.held,
    }
    try:
        told = subprocess.run(
            shlex.split(command), input=orjson.dumps(words), capture_output=True, timeout=HOOK_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"The command {command!r} of your settings did not run: {error}."]
    return [f"The command {command!r} of your settings ended with {told.returncode}."] if told.returncode else []
