"""From what a run reported to the line that it leaves in the run record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from dream.dreaming.dreamer import Models
from dream.errors import DreamError, TranscriptError
from dream.reports import ConsolidateReport, RunReport
from dream.settings import Settings
from dream.store import runs
from dream.store.runs import RunRecord
from dream.store.workspace import Workspace


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
