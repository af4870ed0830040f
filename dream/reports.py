"""What a run did, what it cost and what it could not use: the values that the command line shows and a run records.

A program reads them as JSON, which `shape` makes from the values themselves: to such a value a field may be added, but
none is renamed. On most nights no stage runs, so their values, which are in `models`, are not needed for this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from dream.models import Diagnostic, Outcome, Proposal, State

# Metadata of a field that JSON has not under its own name: left out, or with its own fields in its place.
HIDDEN: Mapping[str, str | None] = {"json": None}
FLAT: Mapping[str, str | None] = {"json": ""}
NOTHING_NEW = "nothing new: history holds every message that was read"  # the reason of a consolidation
RunOutcome = Literal["committed", "nothing", "held", "failed"]
ConsolidateOutcome = Literal["appended", "nothing", "failed", "refused"]


def named(name: str) -> Mapping[str, str | None]:
    """Return the metadata of a field that JSON has under another name."""
    return {"json": name}


def shape(value: object) -> Any:
    """Return a value as JSON has it: a dataclass is an object of its fields, a time is in ISO 8601, nothing is null."""
    if is_dataclass(value):
        row: dict[str, Any] = {}
        for one in fields(value):
            name = one.metadata.get("json", one.name)
            if name is not None:
                shaped = shape(getattr(value, one.name))
                row |= {name: shaped} if name else shaped
        return row
    if isinstance(value, Mapping):
        return {str(name): shape(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shape(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, PurePath) else value


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls cost: calls, tokens in and out, and US dollars (None: the price is not known)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Count the tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class LineCount:
    """How many lines of a file a change added and removed."""

    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How many of the exact things that users said are in the summary, before and after the tail was added."""

    said: int = 0
    before: int = 0
    after: int = 0

    def __add__(self, other: Fidelity) -> Fidelity:
        return Fidelity(self.said + other.said, self.before + other.before, self.after + other.after)


@dataclass(frozen=True, slots=True)
class Step:
    """What long work does next, in words; `share` of all its work is done, where that is known.

    With `waits`, `what` is the model that is about to be asked for it, and `bill` the most that the call may cost;
    without, `bill` is what a call that was answered did cost; with `fault`, its provider did not answer. `ended` is
    the dream that has just ended.
    """

    what: str
    share: float | None = None
    waits: bool = False
    ended: BatchReport | None = None
    bill: Usage | None = None
    fault: bool = False


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One dream. `entries` is the first and the last cursor; `files` counts lines by path.

    `commit` is None when nothing changed, or in a dry run; `diff` is filled in a dry run only. `true` are the
    proposals, of this run or an earlier one, that nothing was left of to do.
    """

    entries: tuple[int, int]
    outcomes: tuple[Outcome, ...] = field(metadata=named("findings"))
    files: Mapping[str, LineCount]
    usage: Usage
    commit: str | None = None
    set_aside: bool = False
    notes: tuple[str, ...] = ()
    diff: str = ""
    true: tuple[Proposal, ...] = field(default=(), metadata=HIDDEN)

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

    command: ClassVar = "run"

    outcome: RunOutcome
    batches: tuple[BatchReport, ...]
    reason: str
    usage: Usage = field(default_factory=Usage)
    failure_status: int = field(default=1, metadata=HIDDEN)
    models: str = ""

    @property
    def entries(self) -> tuple[int, int] | None:
        """The first and the last entry that was dreamt, if any was."""
        return (self.batches[0].entries[0], self.batches[-1].entries[1]) if self.batches else None

    @property
    def findings(self) -> Mapping[State, int]:
        """Count the findings by what became of them."""
        return Counter(outcome.state for batch in self.batches for outcome in batch.outcomes)

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits that were made, oldest first."""
        return tuple(batch.commit for batch in self.batches if batch.commit)

    @property
    def held(self) -> int:
        """Count what this run left for a person to decide."""
        return sum(batch.held for batch in self.batches)

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command line."""
        if self.outcome == "failed":
            return self.failure_status
        return 3 if self.held else 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many files were not read although nothing is wrong with them, and why.

    `busy` were written to within the last `hours`; of the files that were read, `silent` held no message, mostly
    because all in them was a sub-agent's or a scheduled one's.
    """

    busy: int = 0
    silent: int = 0
    hours: float = 0.0

    def sentence(self, *, appended: bool) -> str:
        """Return why a consolidation did no more: what is pending and, if nothing was appended, what never will be."""
        parts = []
        if self.busy:
            what = "1 transcript waits, it was" if self.busy == 1 else f"{self.busy:,} transcripts wait, they were"
            parts.append(f"{what} written to within the last {self.hours:g} hours (idle_hours)")
        if not appended and self.silent:
            what = "1 transcript holds" if self.silent == 1 else f"{self.silent:,} transcripts hold"
            parts.append(f"{what} nothing that a person and an agent said")
        if not parts:
            return "" if appended else NOTHING_NEW
        return "; ".join(parts if appended else ("nothing new", *parts))


@dataclass(frozen=True, slots=True)
class ConsolidateReport:
    """What was read and appended: sessions with something new, messages, first and last cursor, raw entries.

    It is `refused` if what a person named holds no transcript. `models` names the one that was to be asked. `kept`
    counts the exact things that users said, and how many of them are in the summaries.
    """

    command: ClassVar = "consolidate"
    findings: ClassVar[Mapping[State, int]] = {}
    commits: ClassVar[tuple[str, ...]] = ()

    outcome: ConsolidateOutcome = "nothing"
    sessions: int = 0
    messages: int = 0
    entries: tuple[int, int] | None = None
    raw: int = 0
    usage: Usage = field(default_factory=Usage)
    diagnostics: tuple[Diagnostic, ...] = ()
    reason: str = ""
    models: str = ""
    kept: Fidelity = field(default_factory=Fidelity, metadata=HIDDEN)

    @property
    def failed(self) -> bool:
        """Return whether it ended before all was read, for a reason that a person has to resolve."""
        return self.outcome in ("failed", "refused")
