"""How a run ended, in one word and one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

from dream.consolidate.flight import Consolidated
from dream.dreaming.dreamer import Models
from dream.dreaming.proposals import is_about
from dream.errors import DreamError, NightOver, SpendingLimit, TranscriptError
from dream.models import (
    BatchReport,
    ConsolidateReport,
    Diagnostic,
    Kept,
    LeftOut,
    Outcome,
    Proposal,
    RunReport,
    Unheard,
    Usage,
)
from dream.settings import Settings
from dream.workspace import idle, runs
from dream.workspace.runs import RunRecord
from dream.workspace.workspace import Workspace


def consolidated(
    done: Sequence[Consolidated],
    diagnostics: Sequence[Diagnostic],
    stopped: SpendingLimit | None,
    waits: str,
    left_out: LeftOut,
) -> ConsolidateReport:
    """Sum up a consolidation that was `stopped` at a bound, or not; `waits` says what waits for a provider."""
    entries = [entry.cursor for step in done for entry in step.entries]
    why = str(stopped or "") or waits or left_out.sentence(appended=bool(entries))
    return ConsolidateReport(
        sessions=len({step.session for step in done if step.entries}),
        messages=sum(step.messages for step in done),
        entries=(min(entries), max(entries)) if entries else None,
        raw=sum(step.raw for step in done),
        usage=sum((step.usage for step in done), Usage()),
        diagnostics=tuple(diagnostics),
        reason="; ".join(filter(None, (_unheard(diagnostics), why))),
        failed=stopped is not None and not isinstance(stopped, NightOver),
        kept=sum((step.kept for step in done), Kept()),
    )


def _unheard(diagnostics: Sequence[Diagnostic]) -> str:
    """Name the transcripts in which no user was heard: `status` tells it too, when nobody saw the night itself."""
    files = [one.file for one in diagnostics if isinstance(one, Unheard)]
    if not files:
        return ""
    more = f" and {len(files) - 1:,} more transcripts" if len(files) > 1 else ""
    return f"nothing of the user's was read in {files[0]}{more}"


def ran(
    workspace: Workspace, dreams: Sequence[BatchReport], failure: DreamError | None, waits: str, models: Models
) -> RunReport:
    """Sum up a run of dreams by `models` that `failure` ended, or not; `waits` says what waits for a provider.

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
        reason = waits or _why_nothing(workspace)
    else:
        reason = "; ".join(filter(None, (reason or ("" if changed else _nothing_new(batches)), waits)))
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
    if any(is_about(proposal, outcome) for proposal in true):
        return replace(outcome, state="present", reason="held at first; a later dream of this run wrote it")
    return outcome


def _nothing_new(batches: Sequence[BatchReport]) -> str:
    """Say why dreams changed nothing: there was nothing new, or all that was found was refused."""
    outcomes = [outcome for batch in batches for outcome in batch.outcomes]
    if not outcomes or any(outcome.state != "refused" for outcome in outcomes):
        return f"the entries up to {batches[-1].entries[1]} held nothing new for memory"
    all_of_them = f"all {len(outcomes)} findings were"
    which = {1: "the only finding was", 2: "both findings were"}.get(len(outcomes), all_of_them)
    return f"{which} refused: {outcomes[0].reason}"


def _why_nothing(workspace: Workspace) -> str:
    if workspace.history.last_cursor() == 0:
        return idle.EMPTY
    return idle.DREAMT.format(workspace.dream_cursor())


# From what a run reported to the line that it leaves in the run record.


def consolidation_record(report: ConsolidateReport, model: str, started: datetime, ended: datetime) -> RunRecord:
    """Record a consolidation."""
    return RunRecord(
        started=started,
        ended=ended,
        command="consolidate",
        outcome="failed" if report.failed else "appended" if report.entries else "nothing",
        reason=report.reason,
        entries=report.entries,
        usage=report.usage,
        model=model,
    )


@contextmanager
def failure_recorded(
    workspace: Workspace, settings: Settings, started: datetime, *, attended: bool = False
) -> Iterator[None]:
    """Leave a record of a consolidation that ends in a DreamError, and raise that on.

    With `attended`, a person named what is read: that there is none is told to them, and no fault of the workspace, so
    that it is recorded as refused.
    """
    try:
        yield
    except DreamError as error:
        outcome = "refused" if attended and isinstance(error, TranscriptError) else "failed"
        ended, model = datetime.now(UTC), settings.model_for("consolidator")
        with suppress(DreamError):  # the first error is the one to be told
            runs.append(workspace.private, RunRecord(started, ended, "consolidate", outcome, str(error), model=model))
        raise


def run_record(report: RunReport, models: Models, started: datetime, ended: datetime) -> RunRecord:
    """Record a run of dreams."""
    first = min((batch.entries[0] for batch in report.batches), default=0)
    last = max((batch.entries[1] for batch in report.batches), default=0)
    return RunRecord(
        started=started,
        ended=ended,
        command="run",
        outcome=report.outcome,
        reason=report.reason,
        entries=(first, last) if report.batches else None,
        findings=dict(Counter(outcome.state for batch in report.batches for outcome in batch.outcomes)),
        usage=report.usage,
        commits=tuple(batch.commit for batch in report.batches if batch.commit),
        model=models.names(),
    )
