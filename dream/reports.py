"""What a run did, as values: the command line prints them, `--json` serialises them, the library returns them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dream.models import Diagnostic, Kept, Outcome, Proposal, Usage

NOTHING_NEW = "nothing new: history holds every message that was read"  # the reason of a consolidation

RunOutcome = Literal["committed", "nothing", "held", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """What long work does next, in words; `share` of all its work is done, where that is known.

    With `waits`, `what` is the model that has been asked for it. `ended` is the dream that has just ended.
    """

    what: str
    share: float | None = None
    waits: bool = False
    ended: BatchReport | None = None


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One dream. `entries` is the first and the last cursor; `files` counts lines as (added, removed).

    `commit` is None when nothing changed, or in a dry run; `diff` is filled in a dry run only. `true` are the
    proposals, of this run or an earlier one, that nothing was left of to do.
    """

    entries: tuple[int, int]
    outcomes: tuple[Outcome, ...]
    files: Mapping[str, tuple[int, int]]
    usage: Usage
    commit: str | None = None
    set_aside: bool = False
    notes: tuple[str, ...] = ()
    diff: str = ""
    true: tuple[Proposal, ...] = ()

    @property
    def held(self) -> int:
        """Count the findings and entries that wait for a person."""
        return sum(outcome.state == "held" for outcome in self.outcomes) + self.set_aside


@dataclass(frozen=True, slots=True)
class RunReport:
    """All dreams of one run, how it ended, why in one sentence, and what it cost with its failed calls.

    `exit_status` is the one that the failure asks for, 3 when something is held, else 0. `models` names those that
    answered, also a fallback.
    """

    outcome: RunOutcome
    batches: tuple[BatchReport, ...]
    reason: str
    usage: Usage = field(default_factory=Usage)
    failure_status: int = 1
    models: str = ""

    @property
    def held(self) -> int:
        """Count what this run left for a person."""
        return sum(batch.held for batch in self.batches)

    @property
    def exit_status(self) -> int:
        """Return what the command line exits with."""
        if self.outcome == "failed":
            return self.failure_status
        return 3 if self.held else 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many files were not read, and why, where nothing is wrong with them.

    `busy` were written to within the last `hours`; `subagents` are sub-agents'; of the files that were read, `silent`
    held no message, mostly because all in them was a sub-agent's or a scheduled one's.
    """

    busy: int = 0
    subagents: int = 0
    silent: int = 0
    hours: float = 0.0

    def sentence(self, *, appended: bool) -> str:
        """Say why a consolidation ended without more: what waits, and where nothing was appended, what never will."""
        parts = []
        if self.busy:
            what = "1 transcript waits, it was" if self.busy == 1 else f"{self.busy:,} transcripts wait, they were"
            parts.append(f"{what} written to within the last {self.hours:g} hours (idle_hours)")
        if not appended and self.subagents:
            parts.append(f"sub-agents' transcripts are left out, {self.subagents:,} here (include_subagents)")
        if not appended and self.silent:
            what = "1 transcript holds" if self.silent == 1 else f"{self.silent:,} transcripts hold"
            parts.append(f"{what} nothing that a person and an agent said")
        if not parts:
            return "" if appended else NOTHING_NEW
        return "; ".join(parts if appended else ("nothing new", *parts))


@dataclass(frozen=True, slots=True)
class ConsolidateReport:
    """What was read and appended: sessions with something new, messages, first and last cursor, raw entries.

    `kept` counts the exact things that users said, and how many of them are in the summaries.
    """

    sessions: int
    messages: int
    entries: tuple[int, int] | None
    raw: int
    usage: Usage
    diagnostics: tuple[Diagnostic, ...]
    reason: str = ""
    failed: bool = False
    kept: Kept = field(default_factory=Kept)
