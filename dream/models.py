"""The values that the stages hand to each other, and what a run reports. Frozen, and free of what touches the world.

A program reads them as JSON, which `shape` makes from the values themselves: to such a value a field may be added, but
none is renamed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from itertools import zip_longest
from pathlib import PurePath
from typing import Any, ClassVar, Literal

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["summary", "raw", "note", "nothing"]
State = Literal["applied", "present", "held", "refused"]
MemoryFile = Literal["SOUL.md", "USER.md", "memory/MEMORY.md"]

MEMORY_FILES: tuple[MemoryFile, ...] = ("SOUL.md", "USER.md", "memory/MEMORY.md")
TAGS: Mapping[str, MemoryFile] = dict(zip(("SOUL", "USER", "MEMORY"), MEMORY_FILES, strict=True))  # in findings

# Metadata of a field that JSON has not under its own name: left out, or with its own fields in its place.
HIDDEN: Mapping[str, str | None] = {"json": None}
FLAT: Mapping[str, str | None] = {"json": ""}


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
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, PurePath) else value


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session, as a reader or a live agent gives it.

    `content` is text only: a tool call stands in it as one short line, an image of the user's as `[image]`; a tool's
    long result is cut in its middle. `whole` is what it says in full where `content` is shorter, else empty; neither
    is redacted yet.
    `calls` are the ids of the tool calls that an assistant message makes; `answers` is the id that a
    tool message answers. A cut never separates the two.
    `at` is aware UTC, or None where the transcript does not say.
    `id` is the message's identity in its transcript, stable across reads, or None.
    `summarised` says that its agent has done so already, into its own history.
    """

    role: Role
    content: str
    at: datetime | None = None
    name: str | None = None
    id: str | None = None
    calls: tuple[str, ...] = ()
    answers: str | None = None
    summarised: bool = False
    whole: str = ""


# Who said a line of an entry, and the field of its row in history that numbers those lines, from 1.
VOICES = {
    "u": "by_user",  # the user's own messages bear it out
    "o": "by_others",  # only a tool's output or pasted text bears it out
    "t": "by_tool",  # a tool said it first, even if the agent repeats it
    "p": "by_paste",  # so did pasted text
    "a": "by_agent",  # an agent noted it by itself
}


def voices(content: str, numbers: Mapping[str, Iterable[int]]) -> tuple[str, ...]:
    """Return the voices of each line of `content` from the `numbers` of the lines, from 1, of each voice."""
    codes = [""] * (content.count("\n") + 1)
    for voice, lines in numbers.items():
        for number in lines:
            if number <= len(codes):
                codes[number - 1] += voice
    return tuple(codes) if any(codes) else ()


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A history entry that has no cursor yet.

    `span` is the half-open range of message positions in `session` that this entry stands for. `ids` are the
    digests of those messages' identities, joined, and `prefix` is the digest of all from the session's first to the
    end of the span; both are empty where nobody knows the identities. `voices` tells for each line who said it, in
    the letters of VOICES; it is empty where nobody looked, and where nothing is known of any line.
    `said` is when the last of its messages was, aware, where that is known. `rests` holds for each line who vouches
    for it and the positions of the messages that it rests on, `u118,120`: u the user, a the agent, t a tool, p what
    the user pasted, ? nobody known; empty where no summary was cited.
    """

    kind: Kind
    content: str
    session: str | None = None
    span: tuple[int, int] | None = None
    tokens: int = 0
    model: str | None = None
    ids: str = ""
    prefix: str = ""
    voices: tuple[str, ...] = ()
    said: datetime | None = None
    rests: tuple[str, ...] = ()
    speakers: tuple[tuple[str, ...], ...] = ()

    @property
    def by_agent(self) -> bool:
        """Whether an agent noted it by itself; what it says then has nobody's word."""
        return any("a" in voices for voices in self.voices)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line of the content with its voices; of a note of the user's, all of which they said, `u`."""
        voices = self.voices
        if self.kind == "note":
            voices = ("a" if self.by_agent else "u",) * (self.content.count("\n") + 1)
        return zip_longest(self.content.split("\n"), voices, fillvalue="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(NewEntry):
    """One line of history. `at` is aware; `cursor` is positive, strictly increasing and never reused."""

    cursor: int
    at: datetime

    @property
    def when(self) -> datetime:
        """When it was said; for an entry that doesn't know, when it was written."""
        return self.said or self.at


def span(entries: tuple[int, int]) -> str:
    """Name a range of entries by its first and last cursor: `entry 4`, `entries 4–9`."""
    first, last = entries
    return f"entry {first}" if first == last else f"entries {first}–{last}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One `[FILE] fact` line of phase 1.

    `remove` marks a `[FILE-REMOVE]` line: `text` is then the line to take out, or the reason.
    `entries` are the cursors that the finding rests on, ascending. `heading` is the one that a fact goes under, as in
    `[MEMORY/Decisions] fact`, where phase 1 names it.
    """

    file: MemoryFile
    text: str
    entries: tuple[int, ...]
    remove: bool = False
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one finding, checked against the draft. `reason` is empty for `applied`."""

    finding: Finding = field(metadata=FLAT)
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that a guard stopped and that waits for a person: one line of `.pending.jsonl`.

    `old_text` empty means an append; `new_text` empty means a removal. A proposal without a `file` is an
    entry that could not be dreamt. `guard` names the check that stopped it.
    """

    id: int
    at: datetime = field(metadata=named("time"))
    file: MemoryFile | None
    old_text: str
    new_text: str
    guard: str
    reason: str
    findings: tuple[str, ...]
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A fact that a person took back: one line of `.rejected.jsonl`. No later dream writes it again.

    With `removal` it is the other way round: a line that a person would not have removed. It may be replaced by a
    newer fact, but no later dream takes it away.
    """

    at: datetime
    file: MemoryFile
    text: str
    source: str
    removal: bool = False


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
class Diagnostic:
    """Something in a file that could not be used as it stands. `line` counts from 1; 0 is the whole file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class Unheard(Diagnostic):
    """A transcript that holds messages of which none of the user's was read."""

    __slots__ = ()


Report = Callable[[Diagnostic], None]


# What a run did, as values: the command line prints them, `--json` serialises them, the library returns them.


NOTHING_NEW = "nothing new: history holds every message that was read"  # the reason of a consolidation

RunOutcome = Literal["committed", "nothing", "held", "failed"]
ConsolidateOutcome = Literal["appended", "nothing", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class Step:
    """What long work does next, in words; `share` of all its work is done, where that is known.

    With `waits`, `what` is the model that is about to be asked for it, and `bill` the most that the call may cost;
    without, `bill` is what a call that was answered did cost. `ended` is the dream that has just ended.
    """

    what: str
    share: float | None = None
    waits: bool = False
    ended: BatchReport | None = None
    bill: Usage | None = None


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
        """Return why a consolidation did no more: what waits, and where nothing was appended, what never will be."""
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

    It is `refused` where what a person named holds no transcript. `models` names the one that was to be asked. `kept`
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
        """Whether it ended before all was read, for a reason that a person has to see to."""
        return self.outcome in ("failed", "refused")
