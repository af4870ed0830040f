"""Metrics and spans for OpenTelemetry, where its API is installed: counts and names of models, and no tenant's name."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from dream.fleet.limits import Ledger
from dream.fleet.night import Limits, Told, bill
from dream.fleet.places import Place
from dream.models import Usage

NAME = "dream.fleet"


def counted(ledger: Ledger) -> Limits:
    """Return the limits, which also tell of each call by the usual names of `gen_ai`."""
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return ledger
    return _Counted(ledger, metrics.get_meter(NAME), trace.get_tracer(NAME))


class _Counted:
    """A call is measured from when it may be made to its bill; one that is not billed is not told of."""

    def __init__(self, ledger: Ledger, meter: Any, tracer: Any) -> None:
        self._ledger = ledger
        self._tracer = tracer
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of model calls")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "Seconds of model calls")
        self._open: dict[tuple[int, str], list[int]] = {}  # when calls began, by thread and model

    def take(self, tenant: str, day: str, model: str, most: Usage, stop: Callable[[], bool]) -> float | str:
        """Wait for leave."""
        took = self._ledger.take(tenant, day, model, most, stop)
        if isinstance(took, float):
            self._open.setdefault((threading.get_ident(), model), []).append(time.time_ns())
        return took

    def paid(self, tenant: str, day: str, model: str, most: Usage, took: float, bill: Usage) -> None:
        """Book the bill, and tell of the call."""
        self._ledger.paid(tenant, day, model, most, took, bill)
        began, end = self._open[threading.get_ident(), model].pop(0), time.time_ns()
        if not bill.calls:
            return
        provider, _, name = model.rpartition("/")
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name, "gen_ai.provider.name": provider}
        tokens = {"input": bill.input_tokens, "output": bill.output_tokens}
        self._seconds.record((end - began) / 1e9, about)
        for kind, count in tokens.items():
            self._tokens.record(count, about | {"gen_ai.token.type": kind})
        used = {f"gen_ai.usage.{kind}_tokens": count for kind, count in tokens.items()}
        self._tracer.start_span(f"chat {name}", start_time=began, attributes=about | used).end(end)


def told(tell: Callable[[Place, Told], None]) -> Callable[[Place, Told], None]:
    """Return `tell`, which also counts nights and leaves a span of each."""
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return tell
    nights = metrics.get_meter(NAME).create_counter("dream.nights", description="Nights by outcome")
    tracer = trace.get_tracer(NAME)

    def counted_too(place: Place, how: Told) -> None:
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
        tell(place, how)

    return counted_too
