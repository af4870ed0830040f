"""One night: consolidate the configured sources, then dream, under one lock and within one bound of time."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import orjson

from dream import pipeline
from dream.consolidate import listing
from dream.directory import Workspace, absent
from dream.errors import DreamError, NightOver
from dream.reports import FLAT, ConsolidateReport, Progress, RunReport, Step, Usage
from dream.settings import EMBEDDED, Settings
from dream.workspace import runs, stamp
from dream.workspace.bills import Bills
from dream.workspace.live import left_behind, quiet_at
from dream.workspace.lock import run_lock

REREADING = "reread.json"  # in .dream/, while `dream reread` is not finished
NATIVE = "native.json"  # in .dream/, where a client's own file has a block of memory
HOOK_SECONDS = 60  # a notification that takes longer is ended
READING_SHARE = 0.5  # of a night's time and money, so that a pile of transcripts never leaves none to dream with
OVER = "stopped before the next step because the night is over; the next night continues here"
READ_ENOUGH = "stopped reading at half of the night's time, to leave time to dream; the next night continues here"


@dataclass(frozen=True, slots=True)
class NightReport:
    """What one night did. `consolidated` is None where no sources are configured."""

    run: RunReport = field(metadata=FLAT)
    consolidated: ConsolidateReport | None
    problems: tuple[str, ...] = ()
    embedded: Usage = field(default_factory=Usage)  # what the vectors cost
    reread: ConsolidateReport | None = None  # what a rereading came to that was under way

    @property
    def exit_status(self) -> int:
        """Return what the command line exits with: the dreams' status, or 1 when only reading failed.

        A failure goes before held edits: these wait in any case, and a failure that nobody sees is never mended.
        """
        failed = self.consolidated is not None and self.consolidated.failed
        status = self.run.exit_status
        return 1 if failed and status in (0, 3) else status

    @property
    def usage(self) -> Usage:
        """Add up what the night cost."""
        read = (one.usage for one in (self.consolidated, self.reread) if one)
        return sum(read, self.run.usage + self.embedded)


def night(
    workspace: Workspace,
    *,
    settings: Settings,
    now: datetime,
    environ: Mapping[str, str],
    stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress | None = None,
    read: ConsolidateReport | None = None,
) -> NightReport:
    """Run one night; raises Busy when another one, or another run, holds the workspace.

    With `read`, the report of `reading`, it only dreams, with what reading has left of the night's bounds. Before each
    file, model call of reading, and dream it ends if `stop` returns true or `settings.max_minutes` (0: no bound) have
    passed; the next night does the rest. Afterwards the night is noted as done, unless it was stopped, and the
    settings' `on_change` or `on_failure` command is run.
    """
    begun = clock()
    step = _steps(settings, stop, clock, progress)

    def at() -> datetime:
        return now + timedelta(seconds=clock() - begun)

    missing = absent(workspace.root)
    with run_lock(workspace.private, "dream nightly", now=now):
        # 0. Take in what other machines wrote; a night without network goes on without it.
        synced = _sync(workspace, settings, at(), takes=True)
        # 1. Consolidate what agents wrote since the last night.
        if read is None:
            read = _consolidate(workspace, settings, now, environ, step(READING_SHARE, READ_ENOUGH))
        # 2. Continue a rereading that was stopped.
        again = _read_again(workspace, _left(settings, read), at(), step(READING_SHARE, READ_ENOUGH))
        # 3. Dream new history into memory, batch by batch.
        dreamt = _dream(workspace, _left(_left(settings, read), again), at, step(1.0, OVER))
        # 4. Make vectors of new messages, if an embedding model is set.
        embedded, trouble = _embed(workspace, _left(_left(settings, read), dreamt), at, step(1.0, OVER))
        # 5. Send the changes to the other machines.
        synced += [one for one in _sync(workspace, settings, at(), takes=False) if one not in synced]
        # 6. Update the blocks of memory in clients' own files.
        kept_up = _kept_up(workspace)
        # 7. Note the night as done, also a failed one: the next night retries. One that was stopped is started again.
        if not stop():
            stamp.stamp(workspace.private, now)
    # 8. Run the hook command of the settings, and collect the problems.
    report = NightReport(dreamt, read, embedded=embedded, reread=again)
    unread = listing.unread_agents(workspace, settings, at(), home=Path.home(), environ=environ)
    problems = (*missing, *synced, *trouble, *kept_up, *unread, *_tell(report, settings, workspace))
    return replace(report, problems=problems)


def reading(
    workspace: Workspace,
    *,
    settings: Settings,
    now: datetime,
    environ: Mapping[str, str],
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> ConsolidateReport:
    """Do the first half of a night, whose report `night` takes as `read`; raises Busy like it."""
    step = _steps(settings, stop, time.monotonic, progress)
    with run_lock(workspace.private, "dream nightly", now=now):
        read = _consolidate(workspace, settings, now, environ, step(READING_SHARE, READ_ENOUGH))
    return read or ConsolidateReport(reason="no sources configured")


def _steps(
    settings: Settings, stop: Callable[[], bool], clock: Callable[[], float], progress: Progress | None
) -> Callable[[float, str], Progress]:
    """Return a function that makes a progress callback, which raises NightOver after a share of the night's time."""
    begun, minutes = clock(), settings.max_minutes or float("inf")

    def step(share: float, sentence: str) -> Progress:
        def between(what: Step) -> None:
            """Raise NightOver between two steps if the night, or this share of it, is over; else report the step."""
            if not (what.waits or what.ended or what.bill or what.fault) and (
                stop() or clock() >= begun + minutes * 60 * share
            ):
                raise NightOver(OVER if stop() else sentence)
            if progress:
                progress(what)

        return between

    return step


def _sync(workspace: Workspace, settings: Settings, now: datetime, *, takes: bool) -> list[str]:
    """Sync with the remote that a person has agreed to; return what went wrong, which ends no night."""
    if not settings.sync:
        return []
    from dream.actions import membership, sync

    us = membership.member(workspace)
    if us is None or us.url != settings.sync:
        return [f"Not synced: nobody has agreed to {settings.sync} on this machine yet; run `dream sync` once."]
    try:
        done = sync.sync(workspace, settings.sync, settings=settings, now=now, locked=True, takes=takes)
    except DreamError as error:
        return [f"Not synced: {error}"]
    return list(done.problems)


def _consolidate(
    workspace: Workspace, settings: Settings, now: datetime, environ: Mapping[str, str], step: Progress
) -> ConsolidateReport | None:
    if not settings.sources and not left_behind(workspace.private, quiet_at(now, settings)):
        return None
    wrong: list[DreamError] = []
    paths = listing.paths(settings, workspace.root, home=Path.home(), environ=environ, wrong=wrong.append)
    try:
        bounded = _shared(settings, READING_SHARE)
        read = pipeline.consolidate(workspace, paths, settings=bounded, now=now, idle=True, progress=step)
    except DreamError as error:
        # Reading failed; the night still dreams what is in history.
        return ConsolidateReport(outcome="failed", reason=str(error))
    if not wrong or read.failed:
        return read
    # The other sources were read; `dream status` shows the missing one as a failure.
    failed = ConsolidateReport(outcome="failed", reason=" ".join(map(str, wrong)), models=read.models)
    runs.record(workspace.private, failed, now, now)
    return replace(read, outcome="failed", reason=failed.reason)


def _kept_up(workspace: Workspace) -> list[str]:
    """Update the blocks of memory in clients' own files; return what went wrong."""
    if not (workspace.private / NATIVE).exists():  # in most workspaces, and what writes it takes long to import
        return []
    from dream.transfer import native

    return native.refresh(workspace)


def _shared(settings: Settings, share: float) -> Settings:
    """Return settings with a share of the bounds of a run and a day; 0 stays no bound, and `embedded` needs none."""
    if settings.model_for("consolidator") == EMBEDDED:
        return settings
    return replace(
        settings,
        max_run_tokens=int(settings.max_run_tokens * share),
        max_day_tokens=int(settings.day_tokens * share),
        max_run_usd=settings.max_run_usd * share,
        max_day_usd=settings.max_day_usd * share,
    )


def _left(settings: Settings, read: ConsolidateReport | RunReport | None) -> Settings:
    """Return settings whose bounds of a run are reduced by what reading, or dreaming, has used."""
    if settings.model_for("phase1") == settings.model_for("phase2") == EMBEDDED:
        return settings
    used = read.usage if read else Usage()
    tokens, usd = used.tokens, used.cost_usd or 0.0
    return replace(
        settings,
        max_run_tokens=max(1, settings.max_run_tokens - tokens) if settings.max_run_tokens else 0,
        max_run_usd=max(1e-9, settings.max_run_usd - usd) if settings.max_run_usd else 0.0,
    )


def _read_again(workspace: Workspace, settings: Settings, now: datetime, step: Progress) -> ConsolidateReport | None:
    """Continue an unfinished rereading, and return its report."""
    if not (workspace.private / REREADING).exists():  # as on most nights
        return None
    from dream.consolidate.reread import noted

    wanted = noted(workspace.private)
    if wanted is None:
        return None
    return pipeline.reread(workspace, wanted, settings=settings, now=now, progress=step)


def _dream(workspace: Workspace, settings: Settings, clock: Callable[[], datetime], step: Progress) -> RunReport:
    try:
        return pipeline.run(workspace, settings=settings, now=clock, progress=step, locked=True)
    except DreamError as error:
        return RunReport("failed", (), str(error), failure_status=error.exit_status)


def _embed(
    workspace: Workspace, settings: Settings, clock: Callable[[], datetime], step: Progress
) -> tuple[Usage, list[str]]:
    """Make missing vectors; return what they cost, and what went wrong, which ends no night."""
    if not settings.embedding_model:
        return Usage(), []
    from dream.llm.spending import open_meter
    from dream.recall.vectors import embed

    meter = open_meter(Bills(workspace.private), settings, clock(), step)
    try:
        embed(workspace.history, settings, meter, lambda: step(Step("search by meaning")))
    except NightOver:
        return meter.usage, []
    except DreamError as error:
        return meter.usage, [f"Search goes by words alone where vectors are missing: {error}"]
    return meter.usage, []


def _tell(report: NightReport, settings: Settings, workspace: Workspace) -> list[str]:
    """Run `on_change` or `on_failure` of the settings, if it applies; return what went wrong with it."""
    failed = report.exit_status not in (0, 3)
    command = settings.on_failure if failed else settings.on_change if report.run.commits else None
    if not command:
        return []
    import subprocess

    read = report.consolidated  # its failure is the reason, if the run did not fail
    why = read if read is not None and read.failed and report.run.outcome != "failed" else report.run
    words = {
        "workspace": str(workspace.root),
        "outcome": report.run.outcome,
        "reason": why.reason,
        "commits": report.run.commits,
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
