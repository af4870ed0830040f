"""The bill: what it cost to remember, and how much of it a prompt cache can serve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dream.eval.listening import JOBS, Asked, shared
from dream.eval.remembered import Remembered
from dream.models import Kept, Usage
from dream.settings import Job


@dataclass(frozen=True, slots=True)
class Bill:
    """What all conversations cost. `prefix`: by job, the share in per cent of a prompt that begins the one before."""

    conversations: int
    usage: Usage
    seconds: float
    retained: int | None
    prefix: dict[str, float]
    failures: tuple[str, ...]

    @property
    def tokens(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def tokens_per_fact(self) -> float | None:
        """Tokens paid for each question that memory can answer."""
        return self.tokens / self.retained if self.retained else None


def measure(remembered: Sequence[Remembered], retained: int | None) -> Bill:
    """Add up the nights."""
    nights = [night for one in remembered for night in one.nights]
    failed = [night.run.reason for night in nights if night.run.outcome == "failed"]
    failed += [night.consolidated.reason for night in nights if night.consolidated.failed]
    return Bill(
        conversations=len(remembered),
        usage=sum((night.usage for night in nights), Usage()),
        seconds=sum(night.seconds for night in nights),
        retained=retained,
        prefix=dict(_prefixes(remembered)),
        failures=tuple(dict.fromkeys(failed)),
    )


def kept(remembered: Sequence[Remembered]) -> Kept:
    """Add up the exact things that users said, and how many the summaries hold, before and after the tail."""
    return sum((one.kept for one in remembered), Kept())


def _prefixes(remembered: Sequence[Remembered]) -> Iterator[tuple[str, float]]:
    """Compare, for each job, the first prompt of each night with that of the night before."""
    for job in JOBS:
        shares = [shared(_firsts(one, job)) for one in remembered]
        found = [share for share in shares if share is not None]
        if found:
            yield job, 100 * sum(found) / len(found)


def _firsts(one: Remembered, job: Job) -> Iterator[str]:
    for night in one.nights:
        first: Asked | None = next((asked for asked in night.asked if asked.job == job and asked.first), None)
        if first is not None:
            yield first.prompt
