"""The pipeline: transcripts become history, and history becomes memory.

    transcript ─▶ session ─▶ consolidator ─▶ history ─▶ phase 1 ─▶ phase 2 ─▶ guards ─▶ commit

`consolidate()` is the first half and only ever appends. `run()` is the second; each of its dreams is one
commit of files and cursor together, or changes nothing. Each leaves a record, also where there was nothing to do:
that is so on most nights, so the stages, which take long to import, are imported where they begin.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dream import adoption
from dream.directory import Workspace
from dream.errors import DreamError, ModelError, NightOver, SpendingLimit, TranscriptError
from dream.reports import BatchReport, ConsolidateReport, Fidelity, LeftOut, Progress, RunReport, Step, Usage
from dream.settings import EMBEDDED, Settings
from dream.text.safe import span
from dream.workspace import runs
from dream.workspace.bills import Bills
from dream.workspace.files import sweep
from dream.workspace.lock import run_lock

if TYPE_CHECKING:
    from dream.consolidate.feed import Feed
    from dream.consolidate.listing import File
    from dream.consolidate.reread import Reread, Rereading
    from dream.consolidate.talk import Consolidated, Talk
    from dream.dreaming.dreamer import Dreamer, Models
    from dream.llm import Model
    from dream.models import Diagnostic, Outcome, Proposal, Report

Clock = Callable[[], datetime]
EMPTY = "history is empty: `dream consolidate PATH` fills it from transcripts"
LIVE = "no live session has been consolidated yet: that comes when one is long enough, or over"
INTERRUPTED = "ended by Ctrl-C; what was done before stays"
AnyReport = TypeVar("AnyReport", ConsolidateReport, RunReport)


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
    paths = list(paths)
    with _failure_recorded(workspace, settings, now, paths):
        sweep(workspace.private)  # of what a killed or refused write left there
        # 1. The files to read: what is named, or has gone quiet, and is not in history as it stands.
        from dream.consolidate.feed import Feed
        from dream.workspace.live import left_behind, quiet_at

        left = left_behind(workspace.private, quiet_at(now, settings)) if idle else []
        feed = Feed(workspace.history, settings, format, diagnostics.append, progress=progress or _nobody)
        files = feed.find(paths, quiet_at=now if idle else None)
        # 2. Of each session, what history does not hold is summarised, or kept as it was said.
        try:
            talks = feed.talks(files) if files else None
            done, stopped = _summarised(workspace, feed, talks, left, settings, now, model)
        # 3. What is now in history as a whole is not opened again.
        finally:
            feed.close()
    # 4. Every run leaves a record.
    report = _summed_up(done, diagnostics, stopped, feed.left_out())
    return _recorded(workspace, replace(report, models=settings.model_for("consolidator")), now)


def reread(
    workspace: Workspace,
    wanted: Rereading,
    *,
    settings: Settings,
    now: datetime,
    progress: Progress | None = None,
    model: Model | None = None,
) -> ConsolidateReport:
    """Read the `wanted` messages again with the current model; the new entries wait in history to be dreamt.

    The caller holds the run lock. The rereading is noted until all of it is read: if a bound, a kill, or a model that
    cannot be reached stops it, the next night continues it.
    """
    from dream.consolidate import reread as again

    # 1. Note the rereading, and which entries belong to it: those that history holds when it begins.
    name = model.name if model else settings.model_for("consolidator")
    if not wanted.upto:
        wanted = replace(wanted, model=name, upto=workspace.history.last_cursor())
    again.note(workspace.private, wanted)
    diagnostics: list[Diagnostic] = []
    sessions: set[str] = set()
    read, stopped = ConsolidateReport(models=name), None
    try:
        # 2. Summarise stretch after stretch; each is in history before the next is read.
        for one in _read_again(workspace, wanted, settings, now, progress or _nobody, model, diagnostics.append):
            sessions.add(one.session)
            read = _with(read, one)
        # 3. Nothing is left for the next night to read.
        again.over(workspace.private)
    except (SpendingLimit, ModelError) as error:
        stopped = error
    # 4. Every run leaves a record.
    if stopped is not None and not isinstance(stopped, NightOver):
        read = replace(read, outcome="failed")
    reason = str(stopped or ("" if read.entries else "nothing is left to be read again"))
    report = replace(read, sessions=len(sessions), diagnostics=tuple(diagnostics), reason=reason)
    return _recorded(workspace, report, now)


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
    report says why. With `dry_run` nothing is written, not even a record, but for what a call cost. `locked`: the
    caller holds the lock. `progress` is told of each dream before and after it, and of each model that is asked. With a
    clock as `now` each commit carries its own time.
    Raises Busy when another run holds the workspace.
    """
    # A dry run that costs nothing has nothing to note: it goes without the lock where the disk can't be written to.
    writes = not (dry_run and _is_free(settings)) or os.access(workspace.private, os.W_OK)
    with run_lock(workspace.private) if writes and not locked else nullcontext():
        clock = now if callable(now) else partial(_same, now)
        now = clock()
        try:
            # 1. What a crash cut short is finished; what a person typed gets a commit of its own.
            if not dry_run:
                _settle(workspace, now)
            # 2. On most nights all of history has been dreamt.
            if why := nothing_to_dream(workspace):
                report = RunReport("nothing", (), why)
            # 3. Else the entries past the cursor are dreamt, a batch at a time: findings, draft, guards, commit.
            else:
                with workspace.git.reading() if workspace.git.exists else nullcontext():
                    report = _dreamt(workspace, settings, clock, max_batches, dry_run, progress or _nobody, models)
        except DreamError as error:
            report = RunReport("failed", (), str(error), failure_status=error.exit_status)
        # 4. Every run leaves a record, also one that did nothing: it says why.
        return report if dry_run else _recorded(workspace, report, now)


def nothing_to_dream(workspace: Workspace) -> str | None:
    """Return why no entry is to be dreamt; None where one is."""
    last, dreamt = workspace.history.last_cursor(), workspace.dream_cursor()
    if last > dreamt:
        return None
    if not last:
        from dream.workspace.live import holds_any

        return LIVE if holds_any(workspace.private) else EMPTY
    return f"no entry after {dreamt}: all of history has been dreamt"


# The first half: sessions become entries.


def _summarised(
    workspace: Workspace,
    feed: Feed,
    talks: Iterator[Talk] | None,
    left: Sequence[str],
    settings: Settings,
    now: datetime,
    model: Model | None,
) -> tuple[list[Consolidated], SpendingLimit | None]:
    """Bring `talks` into history, and the sessions that stopped agents have `left` behind.

    Return what was appended, and the bound that ended it early, if any. Where there is nothing to bring, no model is
    opened.
    """
    done: list[Consolidated] = []
    if talks is None and not left:
        return done, None
    from dream.consolidate.consolidator import Consolidator
    from dream.consolidate.session import Session
    from dream.llm.spending import open_meter, open_model

    try:
        meter = open_meter(Bills(workspace.private), settings, now, feed.progress)
        asked = model or open_model(settings, "consolidator", meter)
        consolidator = Consolidator(
            workspace.history,
            asked,
            settings,
            prompts_folder=workspace.prompts,
            report=feed.report,
            places=workspace.places(),
        )
        done.extend(consolidator.sessions(talks or (), now=now, before=feed.consolidates))
        for key in left:
            feed.consolidates(key)
            done.append(consolidator.archive(Session(key, workspace.history), now=now, can_wait=True))
    except SpendingLimit as error:
        return done, error
    return done, None


def _read_again(
    workspace: Workspace,
    wanted: Rereading,
    settings: Settings,
    now: datetime,
    watch: Progress,
    model: Model | None,
    report: Report,
) -> Iterator[Reread]:
    """Read `wanted` again, stretch after stretch, with `model` or the one of the settings."""
    from dream.consolidate import reread as again
    from dream.llm.spending import open_meter, open_model

    meter = open_meter(Bills(workspace.private), settings, now, watch)
    yield from again.read_again(
        workspace.history,
        wanted,
        model or open_model(settings, "consolidator", meter),
        settings,
        now=now,
        folder=workspace.prompts,
        report=report,
        before=lambda session: watch(Step(f"reading {session} again")),
    )


def _with(read: ConsolidateReport, one: Reread) -> ConsolidateReport:
    """Add one stretch that was read again to the report."""
    read = replace(read, messages=read.messages + one.messages, usage=read.usage + one.usage)
    if not one.entries:
        return read
    first = read.entries[0] if read.entries else one.entries[0].cursor
    return replace(read, outcome="appended", entries=(first, one.entries[-1].cursor))


def _summed_up(
    done: Sequence[Consolidated],
    diagnostics: Sequence[Diagnostic],
    stopped: SpendingLimit | None,
    left_out: LeftOut,
) -> ConsolidateReport:
    """Sum up a consolidation that was `stopped` at a bound, or not."""
    entries = [entry.cursor for step in done for entry in step.entries]
    failed = stopped is not None and not isinstance(stopped, NightOver)
    why = str(stopped or "") or left_out.sentence(appended=bool(entries))
    return ConsolidateReport(
        outcome="failed" if failed else "appended" if entries else "nothing",
        sessions=len({step.session for step in done if step.entries}),
        messages=sum(step.messages for step in done),
        entries=(min(entries), max(entries)) if entries else None,
        raw=sum(step.raw for step in done),
        usage=sum((step.usage for step in done), Usage()),
        diagnostics=tuple(diagnostics),
        reason="; ".join(filter(None, (_unheard(diagnostics), why))),
        kept=sum((step.kept for step in done), Fidelity()),
    )


def _unheard(diagnostics: Sequence[Diagnostic]) -> str:
    """Name the transcripts in which no user was heard: `status` tells it too, when nobody saw the night itself."""
    if not diagnostics:
        return ""
    from dream.models import Unheard

    files = [one.file for one in diagnostics if isinstance(one, Unheard)]
    if not files:
        return ""
    more = f" and {len(files) - 1:,} more transcripts" if len(files) > 1 else ""
    return f"nothing of the user's was read in {files[0]}{more}"


# The second half: entries become memory.


def _settle(workspace: Workspace, now: datetime) -> None:
    """Bring files and versions together; another program's workspace, which has no versions of ours, is adopted.

    What such a program has written to its notes since goes into history.
    """
    if not workspace.git.exists:
        workspace.complete(now)
    adoption.take_in_notes(workspace, now)
    for folder in (workspace.private, workspace.memory, workspace.history.archive_path):
        sweep(folder)
    if not workspace.git.is_at_rest:
        from dream.versions import transaction

        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)


def _dreamt(
    workspace: Workspace,
    settings: Settings,
    clock: Clock,
    max_batches: int | None,
    dry_run: bool,
    watch: Progress,
    models: Models | None,
) -> RunReport:
    """Dream batch after batch, then tidy up; what goes wrong ends it, and the dreams before it stay."""
    from dream.dreaming.dreamer import Dreamer
    from dream.versions import transaction

    now = clock()
    models = models or _open_models(workspace, settings, now, watch, dry_run=dry_run)
    batches: list[BatchReport] = []
    failure = None
    try:
        dreamer = Dreamer(workspace, models, settings, now, dry_run, clock)
        for batch in _dreams(workspace, dreamer, max_batches, watch):
            batches.append(batch)
            watch(Step("", ended=batch))
        # Dreamt history over its budget moves to the archive; loose git objects are packed.
        if batches and not dry_run:
            with suppress(ModelError):  # a model that fails at tidying up is asked again on another night
                if max_batches is None and (tidied := dreamer.tidy()) is not None:
                    batches.append(tidied)
                    watch(Step("", ended=tidied))
            workspace.history.archive(workspace.dream_cursor(), settings.history_tokens, now=now)
            transaction.pack(workspace)
    except DreamError as error:
        failure = error
    except KeyboardInterrupt:
        if not dry_run:
            _recorded(workspace, replace(_ended(workspace, batches, None, models), reason=INTERRUPTED), now)
        raise
    return _ended(workspace, batches, failure, models)


def _open_models(
    workspace: Workspace, settings: Settings, now: datetime, progress: Progress, *, dry_run: bool
) -> Models:
    """Open the models of both phases on one meter."""
    from dream.dreaming.dreamer import Models
    from dream.llm.spending import Meter, open_meter, open_model

    bills = Bills(workspace.private)
    free = dry_run and _is_free(settings)
    meter = Meter(settings) if free else open_meter(bills, settings, now, progress)
    return Models(open_model(settings, "phase1", meter), open_model(settings, "phase2", meter), meter)


def _is_free(settings: Settings) -> bool:
    return settings.models_for(("phase1", "phase2")) == EMBEDDED


def _dreams(workspace: Workspace, dreamer: Dreamer, most: int | None, progress: Progress) -> Iterator[BatchReport]:
    """Yield each dream as it ends, up to `most`; a batch that was split to be tried again is none."""
    first, last = workspace.dream_cursor(), workspace.history.last_cursor()
    while (most is None or most > 0) and (batch := dreamer.next_batch()):
        share = (batch[0].cursor - 1 - first) / max(last - first, 1)
        which = span((batch[0].cursor, batch[-1].cursor))
        progress(Step(f"dreaming {which} of {last}", None if most else share))
        if (report := dreamer.dream(batch)) is not None:
            most = None if most is None else most - 1
            yield report


def _ended(
    workspace: Workspace, dreams: Sequence[BatchReport], failure: DreamError | None, models: Models
) -> RunReport:
    """Sum up a run of dreams by `models` that `failure` ended, or not.

    A bound of time, or one of money after a dream that changed something, is no failure.
    """
    batches, usage, names = _settled(dreams), models.meter.usage, models.names()
    changed, held = any(batch.files for batch in batches), sum(batch.held for batch in batches)
    bound = isinstance(failure, NightOver) or (isinstance(failure, SpendingLimit) and changed)
    if failure is not None and not bound:
        return RunReport("failed", batches, str(failure), usage, failure.exit_status, names)
    reason = f"{held} held for review: `dream review` shows them" if held else ""
    if failure is not None:
        reason = str(failure) if changed or not held else reason
    elif not batches:
        reason = nothing_to_dream(workspace) or ""
    else:
        reason = reason or ("" if changed else nothing_new(batches))
    return RunReport("committed" if changed else "held" if held else "nothing", batches, reason, usage, models=names)


def _settled(batches: Sequence[BatchReport]) -> tuple[BatchReport, ...]:
    """Return the dreams of one run as they ended: what one held and a later one wrote after all waits for nobody."""
    ended: list[BatchReport] = []
    for number, batch in enumerate(batches):
        true = [proposal for later in batches[number:] for proposal in later.true]
        outcomes = tuple(_as_ended(outcome, true) for outcome in batch.outcomes)
        ended.append(replace(batch, outcomes=outcomes))
    return tuple(ended)


def _as_ended(outcome: Outcome, true: Sequence[Proposal]) -> Outcome:
    from dream.dreaming.queue import is_about

    if any(is_about(proposal, outcome) for proposal in true):
        return replace(outcome, state="present", reason="held at first; a later dream of this run wrote it")
    return outcome


def nothing_new(batches: Sequence[BatchReport]) -> str:
    """Return why dreams changed nothing: there was nothing new, or all that was found was refused."""
    outcomes = [outcome for batch in batches for outcome in batch.outcomes]
    if not outcomes or any(outcome.state != "refused" for outcome in outcomes):
        return f"the entries up to {batches[-1].entries[1]} held nothing new for memory"
    words = {1: "the only finding was", 2: "both findings were"}
    which = words.get(len(outcomes), f"all {len(outcomes)} findings were")
    return f"{which} refused: {outcomes[0].reason}"


# The record that each half leaves.


def _recorded(workspace: Workspace, report: AnyReport, started: datetime) -> AnyReport:
    runs.record(workspace.private, report, started, _clock())
    return report


@contextmanager
def _failure_recorded(
    workspace: Workspace, settings: Settings, started: datetime, paths: Sequence[Path | File]
) -> Iterator[None]:
    """Leave a record of a consolidation that ends in a DreamError or by Ctrl-C, and raise that on.

    Where a person named what is read, that there is none is told to them, and no fault of the workspace: it is
    recorded as refused.
    """
    names = settings.model_for("consolidator")
    try:
        yield
    except KeyboardInterrupt:
        _recorded(workspace, ConsolidateReport(reason=INTERRUPTED, models=names), started)
        raise
    except DreamError as error:
        attended = all(isinstance(path, Path) or path.named for path in paths)
        refused = attended and isinstance(error, TranscriptError)
        reason = str(error)
        for piped in (path.name for path in paths if not isinstance(path, Path) and path.session):
            reason = reason.replace(piped, "standard input")
        report = ConsolidateReport(outcome="refused" if refused else "failed", reason=reason, models=names)
        with suppress(DreamError):  # the first error is the one to be told
            _recorded(workspace, report, started)
        raise


def _nobody(step: Step) -> None:
    """Nobody watches."""


def _same(now: datetime) -> datetime:
    return now


def _clock() -> datetime:
    return datetime.now(UTC)
