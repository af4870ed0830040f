"""One night: consolidate the configured sources, then dream, under one lock and within one bound of time.

Most nights are idle, so that the pipeline is loaded only where there is something to read or to dream.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from dream.errors import DreamError, NightOver
from dream.models import FLAT, ConsolidateReport, LeftOut, Progress, RunReport, Step, Usage
from dream.settings import Settings
from dream.workspace import idle, runs
from dream.workspace.files import sweep
from dream.workspace.live import left_behind, quiet_at
from dream.workspace.lock import run_lock
from dream.workspace.workspace import Workspace, absent

if TYPE_CHECKING:
    from dream.workspace.listing import File

HOOK_SECONDS = 60  # a notification that takes longer is ended
READING_SHARE = 0.5  # of a night's time and money, so that a pile of transcripts never leaves none to dream with
OVER = "stopped before the next step, the night is over; the next one goes on here"
READ_ENOUGH = "stopped reading at half of the night's time, to leave the rest to dreaming; the next night goes on here"


@dataclass(frozen=True, slots=True)
class NightReport:
    """What one night did. `consolidated` is None where no sources are configured."""

    run: RunReport = field(metadata=FLAT)
    consolidated: ConsolidateReport | None
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

    `stop` is asked before each file, model call of reading, and dream; so is `settings.max_minutes` (0: no bound):
    what is left waits for the next night. Afterwards the night is stamped as done, whatever came of it but a stop,
    and the settings' `on_change` or `on_failure` command is run.
    """
    begun, minutes = clock(), settings.max_minutes or float("inf")

    def step(share: float, sentence: str) -> Progress:
        def between(what: Step) -> None:
            """Between two steps: stop here if the night, or this share of it, is over; else go on."""
            if not (what.waits or what.ended) and (stop() or clock() >= begun + minutes * 60 * share):
                raise NightOver(OVER if stop() else sentence)
            if progress:
                progress(what)

        return between

    def at() -> datetime:
        return now + timedelta(seconds=clock() - begun)

    missing = absent(workspace.root)
    with run_lock(workspace.private, "dream nightly", now=now):
        # 1. What the agents wrote since the last night becomes history.
        read = _consolidate(workspace, settings, now, environ, step(READING_SHARE, READ_ENOUGH))
        # 2. History becomes memory, one dream at a time.
        dreamt = _dream(workspace, _left(settings, read), at, step(1.0, OVER))
        # 3. The night is over, also when it failed: the next one tries again. One that was stopped goes on after it.
        if not stop():
            runs.stamp(workspace.private, now)
    # 4. Whoever wants to know is told.
    report = NightReport(dreamt, read)
    return replace(report, problems=(*missing, *_tell(report, settings, workspace)))


def _consolidate(
    workspace: Workspace, settings: Settings, now: datetime, environ: Mapping[str, str], step: Progress
) -> ConsolidateReport | None:
    left = left_behind(workspace.private, quiet_at(now, settings))
    if not settings.sources and not left:
        return None
    from dream.workspace import listing

    try:
        paths = listing.paths(settings, workspace.root, home=Path.home(), environ=environ)
        if not paths and not left:
            return ConsolidateReport(0, 0, None, 0, Usage(), (), "the configured sources hold no transcripts yet")
        if not left and (why := _all_is_read(workspace, paths, settings, now)):
            return ConsolidateReport(0, 0, None, 0, Usage(), (), why)
        from dream import pipeline

        bounded = _shared(settings, READING_SHARE)
        return pipeline.consolidate(workspace, paths, settings=bounded, now=now, idle=True, progress=step)
    except DreamError as error:
        # Reading failed; what history holds already is dreamt all the same.
        return ConsolidateReport(0, 0, None, 0, Usage(), (), str(error), failed=True)


def _all_is_read(workspace: Workspace, found: Sequence[File], settings: Settings, now: datetime) -> str | None:
    """Say why nothing is to be read where history holds the files that are quiet, as they stand; leave a record of it.

    None where a cache is to be written too: the pipeline does that.
    """
    from dream.workspace import listing, runs
    from dream.workspace.seen import Seen

    seen = Seen(workspace.history, listing.terms(settings, None))
    unread = seen.unread(found)
    if listing.quiet(unread, now, settings.idle_hours) or not seen.is_settled({one.name for one in found}):
        return None
    why = LeftOut(busy=len(unread), hours=settings.idle_hours).sentence(appended=False)
    sweep(workspace.private)
    model = settings.model_for("consolidator")
    runs.append(
        workspace.private,
        runs.RunRecord(now, datetime.now(UTC), "consolidate", "nothing", why, model=model),
    )
    return why


def _shared(settings: Settings, share: float) -> Settings:
    """Give a share of what a run and a day may cost; 0 stays no bound, and the free model has its own."""
    if settings.model_for("consolidator") == "embedded":
        return settings
    return replace(
        settings,
        max_run_tokens=int(settings.max_run_tokens * share),
        max_day_tokens=int(settings.max_day_tokens * share),
        max_run_usd=settings.max_run_usd * share,
        max_day_usd=settings.max_day_usd * share,
    )


def _left(settings: Settings, read: ConsolidateReport | None) -> Settings:
    """Give what reading has left of what a run may cost."""
    if settings.model_for("phase1") == settings.model_for("phase2") == "embedded":
        return settings
    used = read.usage if read else Usage()
    tokens, usd = used.tokens, used.cost_usd or 0.0
    return replace(
        settings,
        max_run_tokens=max(1, settings.max_run_tokens - tokens) if settings.max_run_tokens else 0,
        max_run_usd=max(1e-9, settings.max_run_usd - usd) if settings.max_run_usd else 0.0,
    )


def _dream(workspace: Workspace, settings: Settings, clock: Callable[[], datetime], step: Progress) -> RunReport:
    try:
        if why := idle.why_nothing(workspace, settings, clock()):
            return RunReport("nothing", (), why)
        from dream import pipeline

        return pipeline.run(workspace, settings=settings, now=clock, progress=step, locked=True)
    except DreamError as error:
        return RunReport("failed", (), str(error), failure_status=error.exit_status)


def _reason(report: NightReport) -> str:
    """Say why a night ended as it did: first of all what failed."""
    read = report.consolidated
    if read is not None and read.failed and report.run.outcome != "failed":
        return read.reason
    return report.run.reason


def _tell(report: NightReport, settings: Settings, workspace: Workspace) -> list[str]:
    """Run the command that the settings name for this ending; return what went wrong with it."""
    failed = report.exit_status not in (0, 3)
    changed = any(batch.commit for batch in report.run.batches)
    command = settings.on_failure if failed else settings.on_change if changed else None
    if not command:
        return []
    words = {
        "workspace": str(workspace.root),
        "outcome": report.run.outcome,
        "reason": _reason(report),
        "commits": [batch.commit for batch in report.run.batches if batch.commit],
        "held": report.run.held,
    }
    try:
        told = subprocess.run(
            shlex.split(command),
            input=orjson.dumps(words),
            cwd=workspace.root,
            capture_output=True,
            timeout=HOOK_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"The command {command!r} of your settings did not run: {error}."]
    return [f"The command {command!r} of your settings ended with {told.returncode}."] if told.returncode else []
