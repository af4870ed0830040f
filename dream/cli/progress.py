"""Progress on stderr: a moving line on a terminal, elsewhere a line every half a minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dream import text as texts
from dream.cli import output
from dream.reports import Step

Progress = Callable[[Step], None]
EVERY = 30.0  # seconds between two lines in a pipe; what takes less says nothing there
TICK = 0.5  # seconds between two looks of the moving line
EARLY = 3.0  # seconds before which nobody can say how long it will take


@contextmanager
def progress(what: str, *, quiet: bool = False, lines: bool = True) -> Iterator[Progress | None]:
    """Give a function that shows what is being done; None where nobody watches: `quiet`, or no `lines` in a pipe."""
    if quiet or not (lines or sys.stderr.isatty()):
        yield None
    elif sys.stderr.isatty():
        with _moving(Pace(Step(what))) as pace:
            yield pace.see
    else:
        yield _Lines(Pace(Step(what))).see


class Pace:
    """What is being done, since when, and how long the rest will take; safe to share between threads.

    `clock` counts seconds.
    """

    def __init__(self, step: Step, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._step = step
        self._begun = clock()  # when the part that was done by the first step that knew one was behind it
        self._share: float | None = None
        self._asked: tuple[str, float] | None = None

    def see(self, step: Step) -> None:
        """Take note of a step."""
        now = self._clock()
        if step.ended:
            return
        if step.waits:
            self._asked = (step.what, now)
            return
        if self._share is None and step.share is not None:
            self._share, self._begun = step.share, now
        self._step, self._asked = step, None

    def text(self) -> str:
        """Say what is being done, how long the rest will take, and for which model it waits."""
        parts, left = [self._step.what], self._left()
        if left is not None:
            parts.append(f"about {_lasting(left)} left")
        if self._asked is not None:
            model, since = self._asked
            parts.append(f"waiting for {model}, {_lasting(self._clock() - since)}")
        return " · ".join(parts)

    def _left(self) -> float | None:
        """Reckon the seconds that are left from those that the part which is done has taken."""
        spent, share = self._clock() - self._begun, self._step.share
        if share is None or self._share is None or share <= self._share or spent < EARLY:
            return None
        return spent * (1 - share) / (share - self._share)


class _Lines:
    """Progress in a pipe."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._told = time.monotonic()

    def see(self, step: Step) -> None:
        """Take note of a step, and tell of it where the last line is old enough."""
        self._pace.see(step)
        if time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            output.problem(self._pace.text())


@contextmanager
def _moving(pace: Pace) -> Iterator[Pace]:
    """Show `pace` on the terminal's last line, which gives way to whatever is printed meanwhile."""
    over = threading.Event()

    def move() -> None:
        while not over.wait(TICK):
            output.passing(texts.clean(pace.text()))

    mover = threading.Thread(target=move, daemon=True)
    mover.start()
    try:
        yield pace
    finally:
        over.set()
        mover.join()
        output.passing("")


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
