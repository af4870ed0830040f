"""The pipeline: transcripts become history, and history becomes memory.

    transcript ─▶ session ─▶ consolidator ─▶ history ─▶ phase 1 ─▶ phase 2 ─▶ guards ─▶ commit

`consolidate()` is the first half and only ever appends. `run()` is the second; each of its dreams is one
commit of files and cursor together, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dream import ending
from dream.consolidate.consolidator import Consolidator
from dream.consolidate.feed import Feed
from dream.consolidate.flight import Consolidated, Talk
from dream.consolidate.session import Session
from dream.dreaming.dreamer import Dreamer, Models, brief
from dream.ending import consolidation_record, failure_recorded, run_record
from dream.errors import DreamError, SpendingLimit
from dream.llm.model import Model
from dream.llm.open import open_model
from dream.models import BatchReport, ConsolidateReport, Diagnostic, Progress, RunReport, Step
from dream.opening import half_price, open_meter, open_models
from dream.settings import Settings
from dream.versions import transaction
from dream.workspace import runs
from dream.workspace.files import sweep
from dream.workspace.listing import File
from dream.workspace.live import left_behind, quiet_at
from dream.workspace.lock import run_lock
from dream.workspace.workspace import Workspace

Clock = Callable[[], datetime]


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
    Raises ModelInaccessible where the key, the model's name or the account is at fault: what is read waits.
    At a spending bound it stops before the next model call; what is appended stays, and `reason` says so.
    """
    diagnostics: list[Diagnostic] = []
    watch, paths = progress or _nobody, list(paths)
    with failure_recorded(
        workspace, settings, now, attended=all(isinstance(path, Path) or path.named for path in paths)
    ):
        sweep(workspace.private)  # of what a killed or refused write left there
        # 1. The files to read: what is named, or has gone quiet, and is not in history as it stands.
        feed = Feed(workspace.history, settings, format, diagnostics.append, clock=_clock, progress=watch)
        files = feed.find(paths, quiet_at=now if idle else None)
        # 2. Of each session, what history does not hold is summarised, or kept as it was said.
        try:
            talks = feed.talks(files) if files else None
            left = left_behind(workspace.private, quiet_at(now, settings)) if idle else []
            done, waits, stopped = _summarised(workspace, feed, talks, left, settings, now, model)
        # 3. What is now in history as a whole is not opened again.
        finally:
            feed.close()
    # 4. Every run leaves a record.
    report = ending.consolidated(done, diagnostics, stopped, waits, feed.left_out(subagents=not done))
    runs.append(workspace.private, consolidation_record(report, settings.model_for("consolidator"), now, _clock()))
    return report


def run(
    workspace: Workspace,
    *,
    settings: Settings,
    now: datetime | Clock,
    max_batches: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    models: Models | None = None,
    locked: bool = False,
) -> RunReport:
    """Dream until nothing is left, or `max_batches` times; each dream is one commit.

    What goes wrong ends the run: the dreams before it stay, the one that failed changed nothing, and the
    report says why. With `dry_run` nothing is written, not even a record. `locked`: the caller holds the lock.
    `progress` is told of each dream before and after it, and of each model that is asked. With a clock as `now` each
    commit carries its own time.
    Raises Busy when another run holds the workspace.
    """
    with nullcontext() if locked else run_lock(workspace.private):
        watch, clock = progress or _nobody, now if callable(now) else partial(_same, now)
        now = clock()
        models = models or open_models(workspace, settings, now, watch)
        batches: list[BatchReport] = []
        waits, failure = "", None
        try:
            # 1. What a crash cut short is finished; what a person typed gets a commit of its own.
            if not dry_run:
                _settle(workspace, now)
            # 2. The entries past the cursor are dreamt, a batch at a time: findings, draft, guards, commit.
            with half_price(workspace, settings, "phase1", models.meter, models.phase1, now, asks=not dry_run) as calls:
                calls.plan(workspace.dream_cursor(), brief(workspace, settings, now))
                asking = replace(models, phase1=calls.model)
                dreamer = Dreamer(workspace, asking, settings, now, dry_run, calls.cut, clock)
                for batch in _dreams(workspace, dreamer, max_batches, watch):
                    batches.append(batch)
                    watch(Step("", ended=batch))
                waits = calls.sentence
            # 3. Dreamt history over its budget moves to the archive; loose git objects are packed.
            if batches and not dry_run:
                workspace.history.archive(workspace.dream_cursor(), settings.history_tokens, now=now)
                transaction.pack(workspace)
        except DreamError as error:
            failure = error
        # 4. Every run leaves a record, also one that did nothing: it says why.
        report = ending.ran(workspace, batches, failure, waits, models)
        if not dry_run:
            runs.append(workspace.private, run_record(report, models, now, _clock()))
        return report


def _settle(workspace: Workspace, now: datetime) -> None:
    """Bring files and versions together; another program's workspace, which has no versions of ours, is adopted.

    What such a program has written to its notes since goes into history.
    """
    if not workspace.git.exists:
        workspace.complete(now)
    workspace.take_in_notes(now)
    transaction.recover(workspace)
    transaction.commit_hand_edits(workspace, now)


def _summarised(
    workspace: Workspace,
    feed: Feed,
    talks: Iterator[Talk] | None,
    left: Sequence[str],
    settings: Settings,
    now: datetime,
    model: Model | None,
) -> tuple[list[Consolidated], str, SpendingLimit | None]:
    """Bring `talks` into history, and the sessions that stopped agents have `left` behind.

    Return what was appended, why something waits, and the bound that ended it early, if any. Where there is nothing to
    bring, no model is opened.
    """
    done: list[Consolidated] = []
    if talks is None and not left:
        return done, "", None
    try:
        meter = open_meter(workspace, settings, now, feed.progress)
        asked = model or open_model(settings, "consolidator", meter)
        with half_price(workspace, settings, "consolidator", meter, asked, now) as calls:
            folder = workspace.prompts
            consolidator = Consolidator(
                workspace.history, calls.model, settings, prompts_folder=folder, report=feed.report
            )
            in_flight = 1 if settings.model_for("consolidator") == "embedded" else settings.parallel
            ready = calls.ready(talks) if talks is not None else ()
            done.extend(consolidator.sessions(ready, now=now, parallel=in_flight, before=feed.consolidates))
            at_once = Consolidator(workspace.history, asked, settings, prompts_folder=folder, report=feed.report)
            for key in left:
                feed.consolidates(key)
                done.append(at_once.archive(Session(key, workspace.history), now=now, can_wait=True))
            return done, calls.sentence, None
    except SpendingLimit as error:
        return done, "", error


def _dreams(workspace: Workspace, dreamer: Dreamer, most: int | None, progress: Progress) -> Iterator[BatchReport]:
    """Yield each dream as it ends, up to `most`; a batch that was split to be tried again is none."""
    first, last = workspace.dream_cursor(), workspace.history.last_cursor()
    while (most is None or most > 0) and (batch := dreamer.next_batch()):
        share = (batch[0].cursor - 1 - first) / max(last - first, 1)
        begin, end = batch[0].cursor, batch[-1].cursor
        which = f"entry {end}" if begin == end else f"entries {begin}–{end}"
        progress(Step(f"dreaming {which} of {last}", None if most else share))
        if (report := dreamer.dream(batch)) is not None:
            most = None if most is None else most - 1
            yield report


def _nobody(step: Step) -> None:
    """Nobody watches."""


def _same(now: datetime) -> datetime:
    return now


def _clock() -> datetime:
    return datetime.now(UTC)
