"""How long to wait before a model is asked again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime

FIRST_WAIT = 1.0  # seconds; doubled with each try
LONGEST_WAIT = 60.0  # seconds; who asks for more is not waited for


class Pause:
    """Until when nobody asks a model that is overloaded: what one of several threads was told holds for all.

    Moments are monotonic seconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end = 0.0

    def last(self, until: float) -> None:
        """Let the pause last until `until` at least."""
        with self._lock:
            self._end = max(self._end, until)

    def left(self, now: float) -> float:
        """Return the seconds that are left of it."""
        with self._lock:
            return max(0.0, self._end - now)


def wait_before(attempt: int, asked: float | None) -> float | None:
    """Return the seconds to wait after failed try number `attempt` (from 1), or None: not worth waiting for.

    `asked` is the provider's Retry-After. The waits only ever grow.
    """
    own = min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT)
    if asked is None:
        return own
    return max(own, asked) if asked <= LONGEST_WAIT else None


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read a Retry-After header (seconds or an HTTP date) in seconds, or None where there is no usable one."""
    lower = {name.lower(): value for name, value in headers.items()}
    if "retry-after-ms" in lower:
        milliseconds = _seconds(lower["retry-after-ms"])
        return None if milliseconds is None else milliseconds / 1000
    value = lower.get("retry-after")
    return None if value is None else _seconds(value) if _seconds(value) is not None else _until(value, now)


def _seconds(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until(value: str, now: datetime | None) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
