"""Metrics and spans for OpenTelemetry, where its API is installed: counts and names of models, and no tenant's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dream.fleet.limits import Ledger
from dream.fleet.night import Limits, Told
from dream.fleet.places import Place
from dream.models import Usage

NAME = "dream.fleet"


def counted(ledger: Ledger) -> Limits:
    """Return the limits, which also count each call's tokens by the usual names of `gen_ai`."""
    try:
        from opentelemetry import metrics
    except ImportError:
        return ledger
    tokens = metrics.get_meter(NAME).create_histogram(
        "gen_ai.client.token.usage", unit="{token}", description="Tokens of model calls, in and out"
    )
    return _Counted(ledger, tokens)


class _Counted:
    def __init__(self, ledger: Ledger, tokens: Any) -> None:
        self._ledger = ledger
        self._tokens = tokens

    def take(self, tenant: str, day: str, model: str, most: Usage, stop: Callable[[], bool]) -> float | str:
        """Wait for leave."""
        return self._ledger.take(tenant, day, model, most, stop)

    def paid(self, tenant: str, day: str, model: str, most: Usage, took: float, bill: Usage) -> None:
        """Book and count the bill."""
        self._ledger.paid(tenant, day, model, most, took, bill)
        provider, _, name = model.rpartition("/")
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name, "gen_ai.provider.name": provider}
        self._tokens.record(bill.input_tokens, about | {"gen_ai.token.type": "input"})
        self._tokens.record(bill.output_tokens, about | {"gen_ai.token.type": "output"})


def told(tell: Callable[[Place, Told], None]) -> Callable[[Place, Told], None]:
    """Return `tell`, which also counts nights and leaves a span of each."""
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return tell
    nights = metrics.get_meter(NAME).create_counter("dream.nights", description="Nights by outcome")
    tracer = trace.get_tracer(NAME)

    def counted_too(place: Place, how: Told) -> None:
        import time

        end = time.time_ns()
        about = {"dream.outcome": str(how["outcome"]), "gen_ai.operation.name": "invoke_agent"}
        about_tokens = {
            "gen_ai.usage.input_tokens": how.get("tokens_in", 0),
            "gen_ai.usage.output_tokens": how.get("tokens_out", 0),
        }
        span = tracer.start_span(
            "dream.night", start_time=end - int(how.get("seconds", 0) * 1e9), attributes=about | about_tokens
        )
        span.end(end)
        nights.add(1, {"dream.outcome": str(how["outcome"])})
        tell(place, how)

    return counted_too
