"""The one door to models, and what their windows and prices are."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dream.chat import NOTHING_USED, ChatMessage, Completion, Finish, Json, Model, Tool, ToolCall
from dream.reports import Usage
from dream.settings import EMBEDDED, is_client
from dream.text.tokens import litellm_folder

__all__ = ["NOTHING_USED", "ChatMessage", "Completion", "Finish", "Json", "Model", "Tool", "ToolCall"]

# What a model's window and price are: read straight from the list that LiteLLM ships, for importing LiteLLM would cost
# seconds, and a command that only plans a call must not. A model that is not in the list is simply not known.


UNKNOWN_WINDOW = 32_768  # tokens; what nearly every model of the last years has at least


@dataclass(frozen=True, slots=True)
class Card:
    """One model's figures: tokens, and US dollars a token. None is not known."""

    window: int | None = None
    max_output: int | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    cached_usd: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Price `usage` in dollars, or None where the price is not known."""
        if self.input_usd is None or self.output_usd is None:
            return None
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        return fresh * self.input_usd + cached * cached_usd + usage.output_tokens * self.output_usd


def card(model: str) -> Card:
    """Look `model` up by its whole name, then without its provider; an empty card where it is not listed."""
    if model == EMBEDDED:
        return Card(input_usd=0.0, output_usd=0.0)
    if is_client(model):
        return Card()  # a plan is paid for, and not its tokens
    listed = _list()
    for name in (model, model.partition("/")[2], model.rpartition("/")[2]):
        found = listed.get(name)
        if name and isinstance(found, Mapping):
            return _card(found)
    return Card()


def known_names() -> Mapping[str, Any]:
    """Return what LiteLLM lists, by the names of the models."""
    return _list()


def _card(row: Mapping[str, Any]) -> Card:
    return Card(
        window=_whole(row.get("max_input_tokens")) or _whole(row.get("max_tokens")),
        max_output=_whole(row.get("max_output_tokens")),
        input_usd=_number(row.get("input_cost_per_token")),
        output_usd=_number(row.get("output_cost_per_token")),
        cached_usd=_number(row.get("cache_read_input_token_cost")),
    )


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@functools.cache
def _list() -> Mapping[str, Any]:
    try:
        data = (litellm_folder() / "model_prices_and_context_window_backup.json").read_bytes()
        listed = json.loads(data)
    except (OSError, ValueError):
        return {}
    return listed if isinstance(listed, dict) else {}
