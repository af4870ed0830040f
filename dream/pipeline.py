"""The pipeline: transcripts become history, and history becomes memory.

    transcript ─▶ session ─▶ consolidator ─▶ history ─▶ phase 1 ─▶ phase 2 ─▶ guards ─▶ commit

`consolidate()` is the first half and only ever appends. `run()` is the second; each of its dreams is one
commit of files and cursor together, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dream import listing
from dream.consolidate.archive import Consolidated
from dream.consolidate.consolidator import Consolidator
from dream.consolidate.fidelity import Kept
from dream.dreaming import Dreamer, Models, brief
from dream.errors import DreamError, NightOver, SpendingLimit
from dream.feed import Feed
from dream.listing import File
from dream.llm.model import Model
from dream.llm.open import open_model
from dream.llm.spending import Meter
from dream.models import Diagnostic, Outcome, Usage
from dream.phases.structured import SCHEMA
from dream.records import consolidation_record, run_record
from dream.reports import BatchReport, ConsolidateReport, RunReport, settled
from dream.settings import Job, Settings
from dream.store import idle, packing, runs, transaction
from dream.store.bills import Bills
from dream.store.files import sweep
from dream.store.lock import run_lock
from dream.store.seen import Seen
from dream.store.workspace import Workspace

if TYPE_CHECKING:
    from dream.batching import Night

Progress = Callable[[str], None]


def consolidate(
    workspace: Workspace,
    paths: Iterable[Path | File],
    *,
    settings: Settings,
    now: datetime,
    format: str | None = None,  # noqa: A002 - the flag is called --format
    idle: bool = False,
    progress: Progress | None = None,
    model: Model | None = None,
) -> ConsolidateReport:
    """Read the transcripts at `paths` and append to history what it does not hold yet.

    With `idle`, files written to within `settings.idle_hours` before `now` wait for the next time. A file found in a
    directory that is unchanged since all of it went into history is not opened. `progress` is called before each file
    and model call, and may end it there by raising SpendingLimit.
    A transcript that cannot be read is a diagnostic as long as another can; else TranscriptError.
    At a spending bound it stops before the next model call; what is appended stays, and `reason` says so.
    """
    diagnostics: list[Diagnostic] = []
    done: list[Consolidated] = []
    meter = open_meter(workspace, settings, now)
    asked = model or open_model(settings, "consolidator", meter)
    waits = ""
    watch = progress or _nobody
    reason, failed = "", False
    sweep(workspace.private)  # of what a killed or refused write left there
    # 1. The files to read: what is named, or has gone quiet, and is not in history as it stands.
    listed = listing.files(paths, diagnostics.append, subagents=settings.include_subagents)
    seen, history = Seen(workspace.private, listing.terms(settings, format)), workspace.history
    found = listing.fresh(listing.quiet(listed, now, settings.idle_hours) if idle else listed, seen, history)
    reader = Feed(settings, format, diagnostics.append, history=history, seen=seen, clock=_clock, progress=watch)
    try:
        with _half_price(workspace, settings, "consolidator", meter, asked, now) as batches:
            consolidator = Consolidator(
                workspace.history,
                batches.model if batches else asked,
                settings,
                prompts_folder=workspace.prompts,
                report=diagnostics.append,
            )
            # 2. Each session is a stream of messages; what cannot be used of it is a diagnostic.
            talks = batches.ready(reader.talks(found)) if batches else reader.talks(found)
            # 3. What history does not hold of it is summarised, or kept as it was said; then it is appended.
            done.extend(consolidator.sessions(talks, now=now, parallel=_parallel(settings), before=watch))
            waits = batches.sentence if batches else _no_batches(settings, "consolidator")
    except SpendingLimit as error:
        reason, failed = str(error), not isinstance(error, NightOver)
    finally:
        reader.close(listed)
    # 4. Every run leaves a record.
    report = _consolidated(done, diagnostics, reason or waits, failed)
    runs.append(workspace.private, consolidation_record(report, settings.model_for("consolidator"), now, _clock()))
    return report


def run(
    workspace: Workspace,
    *,
    settings: Settings,
    now: datetime,
    max_batches: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    models: Models | None = None,
    locked: bool = False,
) -> RunReport:
    """Dream until nothing is left, or `max_batches` times; each dream is one commit.

    What goes wrong ends the run: the dreams before it stay, the one that failed changed nothing, and the
    report says why. With `dry_run` nothing is written, not even a record. `locked`: the caller holds the lock.
    Raises Busy when another run holds the workspace.
    """
    with nullcontext() if locked else run_lock(workspace.private):
        batches: list[BatchReport] = []
        failure: DreamError | None = None
        waits = ""
        models = models or open_models(workspace, settings, now)
        try:
            # 1. A commit that a crash cut short is finished; what a person typed gets a commit of its own.
            if not dry_run:
                transaction.recover(workspace)
                transaction.commit_hand_edits(workspace, now)
            # 2. The entries past the cursor are dreamt, a batch at a time: findings, draft, guards, commit.
            with _half_price(workspace, settings, "phase1", models.meter, models.phase1, now, dry_run) as ahead:
                dreamer = _dreamer(workspace, models, settings, now, dry_run, ahead)
                while (max_batches is None or len(batches) < max_batches) and (batch := dreamer.next_batch()):
                    if progress:
                        progress(f"dreaming entries {batch[0].cursor}–{batch[-1].cursor}")
                    if (report := dreamer.dream(batch)) is not None:
                        batches.append(report)
                waits = ahead.sentence if ahead else _no_batches(settings, "phase1")
            # 3. Dreamt history over its budget moves to the archive; loose git objects are packed.
            if batches and not dry_run:
                workspace.history.archive(workspace.dream_cursor(), settings.history_tokens, now=now)
                packing.pack(workspace)
        except DreamError as error:
            failure = error
        # 4. Every run leaves a record, also one that did nothing: it says why.
        ran = _ran(workspace, settled(batches), failure, models.meter.usage)
        ran = ran if failure or not waits else replace(ran, reason="; ".join(filter(None, (_said(ran), waits))))
        if not dry_run:
            runs.append(workspace.private, run_record(ran, models, now, _clock()))
        return ran


def open_models(workspace: Workspace, settings: Settings, now: datetime) -> Models:
    """Open the models of both phases on one meter, which knows what the day has cost so far."""
    meter = open_meter(workspace, settings, now)
    schema = SCHEMA if settings.structured else None
    return Models(open_model(settings, "phase1", meter, schema=schema), open_model(settings, "phase2", meter), meter)


def open_meter(workspace: Workspace, settings: Settings, now: datetime) -> Meter:
    """Open a meter that knows what the day has cost so far, and notes each call's bill as soon as it is answered."""
    bills = Bills(workspace.private)
    return Meter(settings, spent_today=bills.spent(now, settings.zone()).paid_today, book=bills.add)


@contextmanager
def _half_price(
    workspace: Workspace,
    settings: Settings,
    job: Job,
    meter: Meter,
    model: Model,
    now: datetime,
    dry_run: bool = False,
) -> Iterator[Night | None]:
    """Open the provider's batches for `job`, where the settings ask for them and there are any."""
    if dry_run or not settings.batch:
        yield None
        return
    from dream import batching

    if not batching.wanted(settings, job):
        yield None
        return
    with batching.Night(workspace, settings, job, meter, model, now) as night:
        yield night


def _no_batches(settings: Settings, job: Job) -> str:
    """Say why there are no batches, where the settings ask for them."""
    if not settings.batch:
        return ""
    from dream.batching import why_not

    return why_not(settings, job)


def _dreamer(
    workspace: Workspace, models: Models, settings: Settings, now: datetime, dry_run: bool, ahead: Night | None
) -> Dreamer:
    if ahead is None:
        return Dreamer(workspace, models, settings, now, dry_run)
    ahead.plan(workspace.dream_cursor(), brief(workspace, settings, now))
    return Dreamer(workspace, replace(models, phase1=ahead.model), settings, now, dry_run, ahead.cut)


def _said(report: RunReport) -> str:
    """Return the reason of a run, but for "nothing to dream" where something waits."""
    return report.reason if report.batches else ""


def _parallel(settings: Settings) -> int:
    return 1 if settings.model_for("consolidator") == "embedded" else settings.parallel


def _nobody(step: str) -> None:
    """Nobody watches."""


def _clock() -> datetime:
    return datetime.now(UTC)


def _consolidated(
    done: list[Consolidated], diagnostics: list[Diagnostic], reason: str, failed: bool
) -> ConsolidateReport:
    entries = [entry.cursor for step in done for entry in step.entries]
    return ConsolidateReport(
        sessions=len({step.session for step in done if step.entries}),
        messages=sum(step.messages for step in done),
        entries=(min(entries), max(entries)) if entries else None,
        raw=sum(step.raw for step in done),
        usage=sum((step.usage for step in done), Usage()),
        diagnostics=tuple(diagnostics),
        reason=reason or ("" if entries else "nothing new: history holds every message that was read"),
        failed=failed,
        kept=sum((step.kept for step in done), Kept()),
    )


def _ran(workspace: Workspace, batches: tuple[BatchReport, ...], failure: DreamError | None, usage: Usage) -> RunReport:
    """Say how a run ended, in one word and one sentence."""
    if isinstance(failure, SpendingLimit) and any(batch.files for batch in batches):
        return RunReport("committed", batches, str(failure), usage)
    if failure is not None and not isinstance(failure, NightOver):
        return RunReport("failed", batches, str(failure), usage, failure.exit_status)
    held = sum(batch.held for batch in batches)
    if any(batch.files for batch in batches):
        reason = f"{held} held for review: `dream review` shows them" if held else ""
        return RunReport("committed", batches, str(failure or reason), usage)
    if held:
        return RunReport("held", batches, f"{held} held for review: `dream review` shows them", usage)
    if batches:
        last = batches[-1].entries[1]
        if failure is not None:
            return RunReport("nothing", batches, str(failure), usage)
        outcomes = [outcome for batch in batches for outcome in batch.outcomes]
        return RunReport("nothing", batches, _nothing_new(last, outcomes), usage)
    return RunReport("nothing", (), str(failure or _why_nothing(workspace)), usage)


def _nothing_new(last: int, settled: list[Outcome]) -> str:
    """Say why dreams changed nothing: there was nothing new, or all that was found was refused."""
    if not settled or any(outcome.state != "refused" for outcome in settled):
        return f"the entries up to {last} held nothing new for memory"
    which = f"all {len(settled)} findings were" if len(settled) > 1 else "the only finding was"
    return f"{which} refused: {settled[0].reason}"


def _why_nothing(workspace: Workspace) -> str:
    cursor = workspace.dream_cursor()
    if workspace.history.last_cursor() == 0:
        return idle.EMPTY
    return idle.DREAMT.format(cursor)
