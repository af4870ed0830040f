"""How often a model that fails is asked again: a night with the provider down must not be spent on waiting."""

from __future__ import annotations

from datetime import datetime, timedelta

from dream.errors import ModelError, ModelUnavailable

PATIENCE = 6  # with calls that fail in a row
UNAVAILABLE_COST = 3  # each such call has waited through its retries already
REJECTED_COST = 1  # quick, and may be about one chunk only
RECOVERY = timedelta(minutes=10)  # after which a live agent's model is tried again


class Patience:
    """What is left of the patience with one model. Time is the caller's `now`, which stands still in a batch run."""

    def __init__(self) -> None:
        self._left = PATIENCE
        self._failed_at: datetime | None = None

    def lost(self, now: datetime) -> bool:
        """Tell whether the model is not to be asked at `now`."""
        return self._left <= 0 and self._failed_at is not None and now - self._failed_at < RECOVERY

    def answered(self) -> None:
        """Note that the model answered, whatever it said."""
        self._left = PATIENCE

    def failed(self, error: ModelError, now: datetime) -> None:
        """Note that a call ended in `error`."""
        self._left -= UNAVAILABLE_COST if isinstance(error, ModelUnavailable) else REJECTED_COST
        self._failed_at = now
