"""What a run will ask, found by rehearsing it: shown as an estimate, or submitted as a batch at half price.

To rehearse a stage is to run it with a model that takes notes, while nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from dream import prompts
from dream.consolidate.consolidator import Consolidator
from dream.consolidate.flight import Talk
from dream.dreaming import draft, phase1, phase2
from dream.dreaming.draft import Brief
from dream.dreaming.dreamer import brief
from dream.errors import ModelError, ModelUnavailable, SpendingLimit
from dream.history.entries import entry_of
from dream.history.messages import KeptMessage
from dream.llm import Card, ChatMessage, Completion, Model, card
from dream.llm.batch import SHARE, BatchDoor, Batched, NoteTaker, Request, provider
from dream.llm.spending import Meter, Reservation, open_model, prompt_tokens
from dream.models import MEMORY_FILES, Entry, NewEntry
from dream.reports import Usage
from dream.settings import EMBEDDED, Job, Settings
from dream.workspace.runs import Batches, ProviderBatch, Unit
from dream.workspace.workspace import Workspace

# Half price at night: first questions go to the provider as one batch, and answers are used when they have come.
#
# A session or a batch of entries goes ahead only when all its questions have been answered, or will never be; until
# then nothing of it moves, so that a crash can neither lose it nor have it summarised twice. When a session has moved
# on meanwhile it asks other questions, and the old answers are left lying.


PATIENCE = timedelta(days=3)  # for a batch that is promised within a day; then its questions are asked in calls
MOST_REQUESTS = 5_000  # in one batch; providers take ten times as many, but ours stand in memory
MOST_BYTES = 50_000_000  # of their text
TOLD = "at half the price; the provider answers within a day, and the next run goes on with it"


class BatchedJob:
    """One job of one run through a provider's `batches`, whose lock the caller holds.

    Whatever was reserved for requests that were never submitted has to be released at the end.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        job: Job,
        meter: Meter,
        model: Model,
        now: datetime,
        batches: Batches,
    ) -> None:
        self._workspace, self._settings, self._job, self._now = workspace, settings, job, now
        self._meter, self._model = meter, model
        self._batches = batches
        self._door = BatchDoor(settings.model_for(job), settings)
        self._units: list[Unit] = []
        self._requests: dict[str, Request] = {}
        self._held: list[Reservation] = []
        self._bytes = 0
        self._waiting = 0
        self.notes: list[str] = []

    @property
    def model(self) -> Model:
        """The model, which uses the answers that have arrived."""
        return Batched(self._model, _AnswersOnDisk(self._batches), self._meter, self._job)

    @property
    def sentence(self) -> str:
        """Return a sentence on what is pending and what went wrong; "" if neither."""
        what = "sessions" if self._job == "consolidator" else "batches of entries"
        waits = [f"{self._waiting} {what} wait for an answer {TOLD}"] if self._waiting else []
        return "; ".join([*self.notes, *waits])

    def ready(self, talks: Iterator[Talk]) -> Iterator[Talk]:
        """Yield the sessions whose answers are there, then submit the requests of the others.

        Where the provider accepts no batch, they go ahead too, in ordinary calls.
        """
        waiting: list[Talk] = []
        for talk in talks:
            if self._settled(talk.key, self._rehearsed(partial(self._consolidate, talk))):
                yield talk
            else:
                waiting.append(talk)
        if self._submit():
            self._waiting = len(waiting)
        else:
            yield from waiting

    def plan(self, cursor: int, brief: Brief) -> None:
        """Submit what phase 1 will ask of the entries past `cursor`."""
        while batch := next(phase1.batches(self._workspace.history.after(cursor), self._model, brief), []):
            batch = self._as_planned(batch)
            cursor = batch[-1].cursor
            span = (batch[0].cursor, cursor)
            settled = self._settled(f"entries {span[0]}-{span[1]}", self._asked(batch, brief), span)
            self._waiting += not settled
            if len(self._requests) >= MOST_REQUESTS:
                break
        if not self._submit():
            self._waiting = 0

    def cut(self, batch: list[Entry], brief: Brief) -> list[Entry]:
        """Return the entries to dream next, cut as they were submitted; none while their answers are pending."""
        batch = self._as_planned(batch)
        waits = any(self._batches.known(one.key) == "waiting" for one in self._asked(batch, brief))
        return [] if waits else batch

    def _as_planned(self, batch: list[Entry]) -> list[Entry]:
        unit = self._batches.unit_from(self._job, batch[0].cursor)
        return [entry for entry in batch if unit is None or entry.cursor <= unit.last]

    def _asked(self, batch: Sequence[Entry], brief: Brief) -> list[Request]:
        told = phase1.that_say_something(batch)
        files = {path: self._workspace.read_file(path) for path in MEMORY_FILES}
        return self._rehearsed(lambda model: phase1.analyse(told, files, model, brief)) if told else []

    def _consolidate(self, talk: Talk, model: Model) -> None:
        history, folder = self._workspace.history, self._workspace.prompts

        def unwritten(new: Sequence[NewEntry], *, now: datetime, said: Sequence[KeptMessage] = ()) -> list[Entry]:
            return [entry_of(one, number, now) for number, one in enumerate(new, history.last_cursor() + 1)]

        consolidator = Consolidator(history, model, self._settings, prompts_folder=folder, append=unwritten)
        for _ in consolidator.steps(talk, now=self._now):
            pass

    def _rehearsed(self, stage: Callable[[Model], object]) -> list[Request]:
        notes = NoteTaker(self._model, "(nothing)" if self._job == "consolidator" else "[SKIP]")
        stage(notes)
        return notes.requests

    def _settled(self, what: str, requests: Sequence[Request], span: tuple[int, int] = (0, 0)) -> bool:
        """Return whether none of `requests` is pending; those that were never sent are queued for submission."""
        known = {one.key: self._batches.known(one.key) for one in requests}
        new = [one for one in requests if known[one.key] is None and one.key not in self._requests]
        if new and self._hold(new):
            self._units.append(Unit(what, tuple(one.key for one in new), *span))
            self._requests |= {one.key: one for one in new}
        return all(state in ("answered", "given up") for state in known.values())

    def _hold(self, requests: Sequence[Request]) -> bool:
        """Reserve the money for `requests` within the bounds; False if they have to wait for another night."""
        if len(self._requests) + len(requests) > MOST_REQUESTS or self._bytes > MOST_BYTES:
            return False
        held: list[Reservation] = []
        try:
            for one in requests:
                tokens = prompt_tokens(self._model, one.messages)
                held.append(self._meter.reserve(self._model.name, tokens, one.max_tokens, _halved(self._model.name)))
        except SpendingLimit as error:
            for one_held in held:
                self._meter.release(one_held)
            self.notes = [str(error)]
            return False
        self._held += held
        self._bytes += sum(len(message.content) for one in requests for message in one.messages)
        return True

    def _submit(self) -> bool:
        """Submit the queued requests; False, with a message, where the provider accepts no batch."""
        units, self._units = self._units, []
        if not units:
            return True
        batch = self._batches.plan(self._job, self._model.name, units, self._now)
        try:
            identity = self._door.submit([self._requests[key] for unit in units for key in unit.requests], batch.tag)
        except ModelError as error:
            self._batches.given_up(batch, str(error))
            self.notes.append(f"no batch was taken, so ordinary calls are made: {error}")
            return False
        finally:
            self.release()
        self._batches.submitted(batch, identity)
        return True

    def release(self) -> None:
        """Release what is still reserved for requests."""
        for held in self._held:
            self._meter.release(held)
        self._held = []

    def collect(self) -> None:
        """Ask for the state of the open batches and take the answers of those that have ended."""
        for model, answer in self._batches.unused(self._now):
            self._meter.record(Reservation(0, 0.0, model), _completion(answer).usage)
        for batch in self._batches.open():
            if batch.job == self._job and batch.model == self._model.name:
                self._ask(batch)

    def _ask(self, batch: ProviderBatch) -> None:
        try:
            if batch.state == "planned":  # a crash came between: it may be with the provider, or not
                identity = self._door.find(batch.tag)
                if identity is None:
                    self._batches.forgotten(batch)
                    return
                self._batches.submitted(batch, identity)
            else:
                identity = batch.id
            standing = self._door.standing(identity)
            if standing.state == "over":
                self._batches.collected(batch, {key: _plain(one) for key, one in self._door.answers(standing.output)})
            elif standing.state == "failed" or self._now - batch.at > PATIENCE:
                self._give_up(batch, standing.reason or "it was not answered in three days")
        except ModelUnavailable as error:
            if self._now - batch.at > PATIENCE:
                self._give_up(batch, str(error))
            else:
                self.notes.append(f"the batch could not be asked for: {error}")
        except ModelError as error:
            self._give_up(batch, str(error))

    def _give_up(self, batch: ProviderBatch, reason: str) -> None:
        self._batches.given_up(batch, reason)
        self.notes.append(f"the batch of {batch.at:%Y-%m-%d} came to nothing, so ordinary calls are made: {reason}")


class _AnswersOnDisk:
    """A model that answers from the answers on disk."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def answer(self, key: str) -> Completion | None:
        found = self._batches.answer(key)
        return None if found is None else _completion(found)

    def use(self, key: str) -> bool:
        return self._batches.use(key)


def _plain(answer: Completion) -> dict[str, Any]:
    used = answer.usage
    return {
        "text": answer.text,
        "finish": answer.finish,
        "model": answer.model,
        "usage": [used.calls, used.input_tokens, used.output_tokens, used.cost_usd, used.cached_tokens],
    }


def _completion(found: Mapping[str, Any]) -> Completion:
    return Completion(found["text"], (), found["finish"], Usage(*found["usage"]), found["model"])


def _halved(model: str) -> Card:
    price = card(model)
    if price.input_usd is None or price.output_usd is None:
        return price
    return Card(input_usd=price.input_usd * SHARE, output_usd=price.output_usd * SHARE)


class Calls:
    """Ordinary calls: each answer comes at once, so nothing is planned and nothing is pending.

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

    Without `asks`, as in a dry run, nothing is submitted to a provider.
    """
    name = settings.model_for(job)
    if not settings.batch or name == EMBEDDED:
        yield Calls(model)
    elif provider(name) is None:
        yield Calls(model, f"{name} has no batches here, so ordinary calls are made")
    elif not asks:
        yield Calls(model)
    else:
        batches = Batches(workspace.private)
        with batches.lock:
            batches.read()
            batched = BatchedJob(workspace, settings, job, meter, model, now, batches)
            batched.collect()
            try:
                yield batched
            finally:
                batched.release()


# What a run will cost, estimated before a model is called.

SKIP_TOKENS = 4  # of the answer [SKIP]
# What an answer comes to cannot be known beforehand. Of the tokens of entries that phase 1 repeats as findings, and of
# those of findings that phase 2 makes tool calls: about what they are in the nights of our benchmark of the bill.
FOUND = 1.0
EDITED = 3.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would cost with the files as they are: `least` if it finds nothing new, `likely` if it finds as usual.

    The input tokens of `least` are exact for the first dream; later ones see what the first have written.
    """

    model: str
    dreams: int = 0
    entries: tuple[int, int] | None = None
    least: Usage = field(default_factory=Usage)
    likely: Usage = field(default_factory=Usage)


def estimate(workspace: Workspace, settings: Settings, now: datetime, max_batches: int | None = None) -> Estimate:
    """Estimate the next run; calls no model and writes nothing. Raises WorkspaceError."""
    meter = Meter(settings)
    first, second = open_model(settings, "phase1", meter), open_model(settings, "phase2", meter)
    about = brief(workspace, settings, now)
    cursor, found = workspace.dream_cursor(), Estimate(settings.models_for(("phase1", "phase2")))
    while max_batches is None or found.dreams < max_batches:
        batch = next(phase1.batches(workspace.history.after(cursor), first, about), [])
        if not batch:
            break
        cursor = batch[-1].cursor
        least, likely = _dream(workspace, batch, first, second, about)
        start = found.entries[0] if found.entries else batch[0].cursor
        found = Estimate(found.model, found.dreams + 1, (start, cursor), found.least + least, found.likely + likely)
    return found


def _dream(
    workspace: Workspace, batch: Sequence[Entry], first: Model, second: Model, about: Brief
) -> tuple[Usage, Usage]:
    told = phase1.that_say_something(batch)
    if not told:
        return Usage(), Usage()
    files = {path: workspace.read_file(path) for path in MEMORY_FILES}
    notes = NoteTaker(first, "[SKIP]")
    phase1.analyse(told, files, notes, about)
    findings = int(FOUND * sum(first.count(entry.content) for entry in told))
    least = _priced(about.settings, "phase1", *_counted(first, notes.requests, SKIP_TOKENS))
    likely = _priced(about.settings, "phase1", *_counted(first, notes.requests, findings // len(notes.requests)))
    system = prompts.load("phase2", about.prompts_folder, language=prompts.language(about.settings.language))
    shown = min(sum(second.count(text) for text in files.values()), draft.WHOLE_TOKENS + findings)
    asked = prompt_tokens(second, [ChatMessage("system", system)], phase2.TOOLS) + shown + findings
    return least, likely + _priced(about.settings, "phase2", 1, asked, min(int(EDITED * findings), second.max_output))


def _counted(model: Model, requests: Sequence[Request], answer: int) -> tuple[int, int, int]:
    asked = sum(prompt_tokens(model, request.messages) for request in requests)
    return len(requests), asked, len(requests) * min(max(answer, SKIP_TOKENS), model.max_output)


def _priced(settings: Settings, job: Job, calls: int, asked: int, answered: int) -> Usage:
    usage = Usage(calls, asked, answered)
    cost = card(settings.model_for(job)).cost(usage)
    half = settings.batch and job == "phase1"
    return replace(usage, cost_usd=None if cost is None else cost * SHARE if half else cost)
