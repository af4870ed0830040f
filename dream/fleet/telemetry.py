"""Metrics and spans for OpenTelemetry, where its API is installed: counts and names of models, and no tenant's name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dream.fleet.engine import Queue
from dream.fleet.limits import Ledger
from dream.fleet.members import Member
from dream.fleet.nursery import Account, Asked, GrantedCall, Limits, bill
from dream.reports import Usage

NAME = "dream.fleet"


def measured(queue: Queue) -> Limits:
    """Wrap the limits so that calls are measured under the usual `gen_ai` names, and observe the queue."""
    telemetry = _telemetry()
    if telemetry is None:
        return queue.ledger
    _observe(queue, telemetry[0])
    return _Measured(queue.ledger, *telemetry)


def _telemetry() -> tuple[Any, Any] | None:
    """Return a meter and a tracer; None without OpenTelemetry's API."""
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return None
    return metrics.get_meter(NAME), trace.get_tracer(NAME)


def _observe(queue: Queue, meter: Any) -> None:
    from opentelemetry.metrics import Observation

    def gauge(name: str, unit: str, about: str, value: Callable[[], float]) -> None:
        meter.create_observable_gauge(name, [lambda options: [Observation(value())]], unit, about)

    gauge("dream.queue.backlog", "{night}", "Nights that wait", lambda: queue.waiting().get("enqueued", 0))
    gauge("dream.queue.oldest", "s", "Wait of the night that waits longest", queue.oldest)
    gauge("dream.queue.lost", "{night}", "Nights that the queue has lost", lambda: queue.waiting().get("error", 0))
    gauge("dream.queue.errors", "{error}", "Times that the database did not answer", lambda: queue.ledger.errors)
    aside = "Workspaces that are set aside, when they were last looked at"
    gauge("dream.set_aside", "{workspace}", aside, lambda: sum(queue.ledger.get("aside:").values()))


class _Measured:
    """Measures a call from its permission to its bill; a call without a bill is not measured."""

    def __init__(self, ledger: Ledger, meter: Any, tracer: Any) -> None:
        self._ledger = ledger
        self._tracer = tracer
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of model calls")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "Seconds of model calls")
        self._begun: dict[str, int] = {}  # by call

    def take(self, asked: Asked, stop: Callable[[], bool]) -> GrantedCall | str:
        """Wait until the call may be made."""
        taken = self._ledger.take(asked, stop)
        if isinstance(taken, GrantedCall):
            self._begun[taken.id] = time.time_ns()
        return taken

    def fault(self, asked: Asked) -> None:
        """Note that a provider did not answer."""
        self._ledger.fault(asked)

    def paid(self, call: GrantedCall, bill: Usage) -> None:
        """Book the bill, and measure the call."""
        began, end = self._begun.pop(call.id), time.time_ns()
        self._ledger.paid(call, bill)
        if not bill.calls:
            return
        provider, _, name = call.asked.model.rpartition("/")
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name, "gen_ai.provider.name": provider}
        tokens = {"input": bill.input_tokens, "output": bill.output_tokens}
        self._seconds.record((end - began) / 1e9, about)
        for kind, count in tokens.items():
            self._tokens.record(count, about | {"gen_ai.token.type": kind})
        used = {f"gen_ai.usage.{kind}_tokens": count for kind, count in tokens.items()}
        self._tracer.start_span(f"chat {name}", start_time=began, attributes=about | used).end(end)


def traced(tell: Callable[[Member, Account], None]) -> Callable[[Member, Account], None]:
    """Wrap `tell` so that it also counts nights and records a span of each."""
    telemetry = _telemetry()
    if telemetry is None:
        return tell
    meter, tracer = telemetry
    nights = meter.create_counter("dream.nights", description="Nights by outcome")

    def also_traced(member: Member, how: Account) -> None:
        end, used = time.time_ns(), bill(how)
        about = {
            "dream.outcome": str(how["outcome"]),
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.usage.input_tokens": used.input_tokens,
            "gen_ai.usage.output_tokens": used.output_tokens,
        }
        began = end - int(how.get("seconds", 0) * 1e9)
        tracer.start_span("dream.night", start_time=began, attributes=about).end(end)
        nights.add(1, {"dream.outcome": str(how["outcome"])})
        tell(member, how)

    return also_traced
