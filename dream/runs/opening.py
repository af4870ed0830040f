"""What a run asks: its models, on one meter, by ordinary calls or by a provider's batches at half the price."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from dream.consolidate.flight import Talk
from dream.dreaming.dreamer import Models
from dream.llm.model import Model
from dream.llm.open import open_model
from dream.llm.spending import FREE, Meter
from dream.models import Entry
from dream.phases.brief import Brief
from dream.phases.structured import SCHEMA
from dream.reports import Progress, Step
from dream.settings import Job, Settings
from dream.store.bills import Bills
from dream.store.workspace import Workspace

if TYPE_CHECKING:
    from dream.runs.batching import BatchedJob


def open_models(workspace: Workspace, settings: Settings, now: datetime, progress: Progress) -> Models:
    """Open the models of both phases on one meter, which knows what the day has cost so far."""
    meter = open_meter(workspace, settings, now, progress)
    schema = SCHEMA if settings.structured else None
    return Models(open_model(settings, "phase1", meter, schema=schema), open_model(settings, "phase2", meter), meter)


def open_meter(workspace: Workspace, settings: Settings, now: datetime, progress: Progress | None = None) -> Meter:
    """Open a meter that knows what the day has cost so far, and notes each call's bill as soon as it is answered.

    `progress` is told of each model that is asked and not on this machine.
    """
    bills = Bills(workspace.private)

    def asks(model: str) -> None:
        if progress is not None and model != FREE:
            progress(Step(model, waits=True))

    return Meter(settings, spent_today=bills.spent(now, settings.zone()).paid_today, book=bills.add, asks=asks)


class Calls:
    """Ordinary calls: an answer comes at once, so nothing is planned and nothing waits.

    `sentence` says why there are no batches, where the settings ask for them.
    """

    def __init__(self, model: Model, sentence: str = "") -> None:
        self.model = model
        self.sentence = sentence

    def ready(self, talks: Iterator[Talk]) -> Iterator[Talk]:
        """Return the sessions that can go ahead: all of them."""
        return talks

    def plan(self, cursor: int, brief: Brief) -> None:
        """Plan nothing."""

    def cut(self, batch: list[Entry], brief: Brief) -> list[Entry]:
        """Return the entries to dream next, of those that follow: all of them."""
        return batch


@contextmanager
def half_price(
    workspace: Workspace,
    settings: Settings,
    job: Job,
    meter: Meter,
    model: Model,
    now: datetime,
    *,
    asks: bool = True,
) -> Iterator[Calls | BatchedJob]:
    """Open the provider's batches for `job`, where the settings ask for them and there are any; else ordinary calls.

    Without `asks`, as in a dry run, nothing is handed to a provider.
    """
    if not settings.batch:
        yield Calls(model)
        return
    from dream.runs import batching

    if asks and batching.wanted(settings, job):
        with batching.BatchedJob(workspace, settings, job, meter, model, now) as night:
            yield night
    else:
        yield Calls(model, batching.why_not(settings, job))
