"""Models as the settings name them, and what their calls may cost: bounds per call, per run and per day."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from dream.errors import ModelError, ModelInaccessible, ModelUnavailable, PromptTooLong, SpendingLimit
from dream.llm import Card, ChatMessage, Completion, Model, Tool, card
from dream.reports import Progress, Step, Usage
from dream.settings import EMBEDDED, Job, Settings, is_client

if TYPE_CHECKING:
    from dream.workspace.bills import Bills

FREE = EMBEDDED  # the free model; a bound on costs does not count its tokens
PAID = "paid"  # all others
LEAST_ANSWER = 256  # tokens; an answer with less room than this would be useless
MESSAGE_TOKENS = 4  # tokens that the chat format adds to each message: role and marks
_DEFAULTS = Settings()

Book = Callable[[str, Usage, datetime, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """What a running call may use at most, so that calls at the same time can't pass a bound together."""

    tokens: int
    usd: float
    model: str = ""
    job: str = ""


class Meter:
    """The bill of one run, safe to share between threads.

    `spent_today` is what earlier runs of the local day used, without the free `embedded` model; it is reset when the
    day changes during the run. `book` gets the model, usage, time and job of each call as soon as it is answered;
    `asks` gets the model's name before each call, and the most that it may cost, with all tokens counted as input;
    `unanswered` gets the model's name when neither it nor a fallback answered.
    `reserve` the whole prompt and the longest answer before a call; afterwards `record` what it used, or `release` the
    reservation of a call that failed.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        spent_today: Usage | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        book: Book | None = None,
        asks: Callable[[str, Usage], None] | None = None,
        unanswered: Callable[[str], None] = lambda model: None,
    ) -> None:
        self._settings = settings
        self._now = now
        self._book = book
        self._asks = asks
        self.unanswered = unanswered
        self._lock = threading.Lock()
        self._records: list[tuple[str, Usage]] = []
        self._open: set[Reservation] = set()
        self._day = self._today()
        self._run = {FREE: Usage(), PAID: Usage()}
        self._of_day = {FREE: Usage(), PAID: _known(spent_today or Usage())}

    @property
    def usage(self) -> Usage:
        """What the run has used so far."""
        return self.since(0)

    def mark(self) -> int:
        """Return this moment, for `since`."""
        with self._lock:
            return len(self._records)

    def since(self, mark: int) -> Usage:
        """Sum up the usage after `mark`: the bill of one batch, for example."""
        with self._lock:
            return sum((usage for _, usage in self._records[mark:]), Usage())

    def models(self, mark: int) -> tuple[str, ...]:
        """Name the models that answered after `mark`, each once: fallbacks too."""
        with self._lock:
            return tuple(dict.fromkeys(model for model, _ in self._records[mark:]))

    def reserve(self, model: str, input_tokens: int, output_tokens: int, price: Card, job: str = "") -> Reservation:
        """Reserve the most that a call may use, or raise SpendingLimit with the setting whose bound it would pass."""
        asked = Usage(calls=1, input_tokens=input_tokens, output_tokens=output_tokens)
        cost = price.cost(asked)
        held = Reservation(input_tokens + output_tokens, cost or 0.0, model, job)
        with self._lock:
            self._turn_day()
            self._check(model, held)
            self._open.add(held)
        if self._asks is not None:
            self._asks(model, Usage(calls=1, input_tokens=held.tokens, cost_usd=cost))
        return held

    def record(self, held: Reservation, usage: Usage) -> None:
        """Replace the amount reserved for a call by its usage."""
        with self._lock:
            self._turn_day()
            self._open.discard(held)
            self._records.append((held.model, usage))
            kind = FREE if held.model == FREE else PAID
            self._run[kind] += _known(usage)
            self._of_day[kind] += _known(usage)
        if self._book is not None:  # not under the lock: it waits for the disk, and other calls need not
            self._book(held.model, usage, self._now(), held.job)

    def release(self, held: Reservation) -> None:
        """Drop the reservation of a call that failed."""
        with self._lock:
            self._open.discard(held)

    def _check(self, model: str, held: Reservation) -> None:
        tokens = held.tokens + sum(other.tokens for other in self._open)
        usd = held.usd + sum(other.usd for other in self._open)
        run, day = self._run[PAID], self._of_day[PAID]
        if model == FREE:
            run, day = run + self._run[FREE], day + self._of_day[FREE]
        for setting, what, used, more in (
            ("max_call_tokens", "call", 0, held.tokens),
            ("max_run_tokens", "run", run.tokens, tokens),
            ("max_day_tokens", "day", day.tokens, tokens),
        ):
            bound = self.bound(setting, model)
            if bound and used + more > bound:
                raise SpendingLimit(_sentence(setting, what, f"{used:,}", f"{more:,}", f"{bound:,.0f} tokens"))
        for setting, what, spent, cost in (
            ("max_run_usd", "run", run.cost_usd or 0.0, usd),
            ("max_day_usd", "day", day.cost_usd or 0.0, usd),
        ):
            bound = self.bound(setting, model)
            if bound and cost and spent + cost > bound:
                raise SpendingLimit(_sentence(setting, what, f"${spent:.4f}", f"${cost:.4f}", f"${bound:g}"))

    def bound(self, setting: str, model: str) -> float:
        """Return a bound for `model`; 0 is none. The default ones are against bills: the free `embedded` has none."""
        if model == FREE and getattr(self._settings, setting) == getattr(_DEFAULTS, setting):
            return 0
        bound: float = self._settings.day_tokens if setting == "max_day_tokens" else getattr(self._settings, setting)
        return bound

    def _turn_day(self) -> None:
        today = self._today()
        if today != self._day:
            self._day, self._of_day = today, {FREE: Usage(), PAID: Usage()}

    def _today(self) -> date:
        return self._now().astimezone(self._settings.zone()).date()


class MeteredModel:
    """A model and its fallbacks, behind one meter.

    `window` and `max_output` are the smallest of all of them, and of what one call may cost, so that a prompt cut
    to them fits whichever answers.
    """

    def __init__(self, models: Sequence[Model], meter: Meter, job: str = "") -> None:
        self._models = tuple(models)
        self._meter = meter
        self._job = job

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def window(self) -> int:
        window = min(model.window for model in self._models)
        bound = int(self._meter.bound("max_call_tokens", self.name))
        return min(window, bound) if bound else window

    @property
    def max_output(self) -> int:
        return min(*(model.max_output for model in self._models), max(LEAST_ANSWER, self.window // 4))

    def count(self, text: str) -> int:
        return self._models[0].count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        """Answer with the first model that is available; raise SpendingLimit before a call that costs too much."""
        faults: list[str] = []
        for model in self._models:
            try:
                return self._ask(model, messages, tools, max_tokens)
            except ModelUnavailable as error:
                faults.append(str(error))
                last = error
            except ModelInaccessible:
                self._meter.unanswered(model.name)
                raise
        self._meter.unanswered(self._models[-1].name)
        if len(faults) == 1:
            raise last
        raise ModelUnavailable(" Then: ".join(faults)) from last

    def _ask(
        self, model: Model, messages: Sequence[ChatMessage], tools: Sequence[Tool], max_tokens: int | None
    ) -> Completion:
        prompt = prompt_tokens(model, messages, tools)
        room = _room(model, prompt, min(max_tokens or model.max_output, model.max_output))
        held = self._meter.reserve(model.name, prompt, room, card(model.name), self._job)
        try:
            completion = model.complete(messages, tools=tools, max_tokens=room)
        except ModelError as error:
            if error.usage is not None:  # the prompt was taken, and is billed, though nothing of use came back
                self._meter.record(held, error.usage)
            raise
        else:
            self._meter.record(held, completion.usage)
            return completion
        finally:
            self._meter.release(held)


def prompt_tokens(model: Model, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()) -> int:
    """Count the whole prompt as `model` will read it: every message, every tool call, every tool's schema."""
    texts = [message.content for message in messages]
    for message in messages:
        texts += [call.name + json.dumps(dict(call.arguments), ensure_ascii=False) for call in message.tool_calls]
    texts += [tool.name + tool.description + json.dumps(dict(tool.parameters)) for tool in tools]
    return sum(model.count(text) for text in texts) + MESSAGE_TOKENS * (len(messages) + len(tools) + 1)


def _room(model: Model, prompt: int, wanted: int) -> int:
    """Return the tokens that are left for the answer; servers refuse a sum above the window, or cut the prompt."""
    room = min(wanted, model.window - prompt)
    if room < min(wanted, LEAST_ANSWER):
        raise PromptTooLong(
            f"The prompt of {prompt:,} tokens leaves no room for an answer in the window of {model.name} "
            f"({model.window:,} tokens); set context_window if it is larger."
        )
    return room


def _known(usage: Usage) -> Usage:
    """Return `usage` with a price that is not known as none, so that the others can be summed up."""
    return replace(usage, cost_usd=usage.cost_usd or 0.0)


def _sentence(setting: str, what: str, used: str, more: str, bound: str) -> str:
    begun = "" if what == "call" else f"{used} used in this {what}, "
    return (
        f"Stopped before a model call: {begun}up to {more} more for the call, and {setting} allows {bound} a {what}; "
        f"raise {setting} (0 is no bound) or go on later."
    )


# Open the model that the settings name for a job. Nothing heavy is imported until it is called.


def open_meter(bills: Bills, settings: Settings, now: datetime, progress: Progress | None = None) -> Meter:
    """Open a meter that starts with what the day has cost so far, and saves each call's bill as soon as it is answered.

    `progress` gets a step before and after each call of a model that is not `embedded`, and for one that no model
    answered.
    """

    def asks(model: str, most: Usage) -> None:
        if progress is not None and model != FREE:
            progress(Step(model, waits=True, bill=most))

    def book(model: str, usage: Usage, at: datetime, job: str) -> None:
        bills.add(model, usage, at, job)
        if progress is not None and model != FREE:
            progress(Step(model, bill=usage))

    def unanswered(model: str) -> None:
        if progress is not None:
            progress(Step(model, fault=True))

    spent = bills.paid_today(now, settings.zone())
    return Meter(settings, spent_today=spent, book=book, asks=asks, unanswered=unanswered)


def open_model(settings: Settings, job: Job, meter: Meter) -> Model:
    """Return the model for `job` with its fallbacks behind it; what it uses is booked on `meter`."""
    first = settings.model_for(job)
    names = list(dict.fromkeys((first, *settings.fallbacks)))
    return MeteredModel([_one(name, first, settings) for name in names], meter, job)


def prepare(settings: Settings, job: Job) -> None:
    """Import here and now what the calls for `job` need; nothing for `embedded`.

    LiteLLM imports much of itself when it is first called, and two threads that do so at once can fail. So whoever
    lets a thread of their own call models prepares it before.
    """
    for name in {settings.model_for(job), *settings.fallbacks} - {EMBEDDED, *settings.clients}:
        from dream.llm.gateway import LiteLLMModel

        LiteLLMModel(name, settings).prepare()


def _one(name: str, first: str, settings: Settings) -> Model:
    if name == EMBEDDED:
        from dream.embedded import EmbeddedModel

        return EmbeddedModel()
    if is_client(name):
        from dream.llm.clients import ClientModel

        return ClientModel(name, settings)
    from dream.llm.gateway import LiteLLMModel

    base, key = settings.access(name, first)
    return LiteLLMModel(name, settings, api_base=base, api_key=key)
