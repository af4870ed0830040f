"""Interleaved timing: A B A B …, medians, and the ratio pair by pair, so that a noisy machine hurts both alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `ours` and `other` are in `unit`; `ratio` is what the aim speaks of.

    `real` is what the real peer takes for the same, in `unit`, where it was asked.
    """

    name: str
    ours: float
    other: float
    unit: str
    ratio: float
    aim: float
    at_least: bool = False
    real: float | None = None

    @property
    def met(self) -> bool:
        """Whether the ratio is where it should be."""
        return self.ratio >= self.aim if self.at_least else self.ratio <= self.aim


def peak() -> float:
    """Return the most memory that this process has held, in MiB.

    Not from getrusage(2), which begins with what the process held that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def seconds(deed: Callable[[], object]) -> float:
    """Time one call of `deed`."""
    began = time.perf_counter()
    deed()
    return time.perf_counter() - began


def median(deed: Callable[[], object], rounds: int) -> float:
    """Time `deed` after one warm-up; return the median in seconds."""
    deed()
    return statistics.median(seconds(deed) for _ in range(rounds))


def pairs(ours: Callable[[], object], other: Callable[[], object], rounds: int = 7) -> tuple[float, float, float]:
    """Time both in turn, after one warm-up each; return their medians in seconds and the median of ours / other."""
    return three(ours, other, None, rounds)[:3]


def three(
    ours: Callable[[], object], other: Callable[[], object], real: Callable[[], float] | None, rounds: int = 7
) -> tuple[float, float, float, float | None]:
    """Do what `pairs` does, and in the same turns `real`, which returns its own seconds; add the median of them."""
    ours()
    other()
    itself = [real()][:0] if real else []
    taken = []
    for _ in range(rounds):
        taken.append((seconds(ours), seconds(other)))
        itself += [real()] if real else []
    return (
        statistics.median(one for one, _ in taken),
        statistics.median(two for _, two in taken),
        statistics.median(one / two for one, two in taken),
        statistics.median(itself) if itself else None,
    )


def command(*arguments: str, environ: Mapping[str, str] | None = None) -> Callable[[], object]:
    """Return a deed that runs a whole process, quietly."""
    return lambda: subprocess.run(arguments, env=environ, check=False, capture_output=True, stdin=subprocess.DEVNULL)


def compiled(folder: Path) -> dict[str, str]:
    """Return an environment in which programs are compiled once, as where they are installed, into `folder`."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environ | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def python(code: str) -> str:
    """Run `code` in a fresh interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()
