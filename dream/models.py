"""The values that the stages hand to each other. Frozen, and free of behaviour that touches the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["summary", "raw", "note", "nothing"]
State = Literal["applied", "present", "held", "refused"]
MemoryFile = Literal["SOUL.md", "USER.md", "memory/MEMORY.md"]

MEMORY_FILES: tuple[MemoryFile, ...] = ("SOUL.md", "USER.md", "memory/MEMORY.md")


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


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A history entry that has no cursor yet.

    `span` is the half-open range of message positions in `session` that this entry stands for. `ids` are the
    digests of those messages' identities, joined, and `prefix` is the digest of all from the session's first to the
    end of the span; both are empty where nobody knows the identities. `by_user` are the numbers, from 1, of the lines
    that the user's own messages bear out, `by_others` of those that only a tool's output or pasted text does, `by_tool`
    and `by_paste` of those that either said first, even if the agent repeats them; empty also where nobody looked.
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
    by_user: tuple[int, ...] = ()
    by_others: tuple[int, ...] = ()
    by_tool: tuple[int, ...] = ()
    by_paste: tuple[int, ...] = ()
    said: datetime | None = None
    rests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of history. `at` is aware; `cursor` is positive, strictly increasing and never reused."""

    cursor: int
    at: datetime
    kind: Kind
    content: str
    session: str | None = None
    span: tuple[int, int] | None = None
    tokens: int = 0
    model: str | None = None
    ids: str = ""
    prefix: str = ""
    by_user: tuple[int, ...] = ()
    by_others: tuple[int, ...] = ()
    by_tool: tuple[int, ...] = ()
    by_paste: tuple[int, ...] = ()
    said: datetime | None = None
    rests: tuple[str, ...] = ()

    @property
    def when(self) -> datetime:
        """When it was said; for an entry that doesn't know, when it was written."""
        return self.said or self.at


@dataclass(frozen=True, slots=True)
class Finding:
    """One `[FILE] fact` line of phase 1.

    `remove` marks a `[FILE-REMOVE]` line: `text` is then the line to take out, or the reason.
    `entries` are the cursors that the finding rests on, ascending.
    """

    file: MemoryFile
    text: str
    entries: tuple[int, ...]
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one finding, checked against the draft. `reason` is empty for `applied`."""

    finding: Finding
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that a guard stopped and that waits for a person: one line of `.pending.jsonl`.

    `old_text` empty means an append; `new_text` empty means a removal. A proposal without a `file` is an
    entry that could not be dreamt. `guard` names the check that stopped it.
    """

    id: int
    at: datetime
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
class Kept:
    """How many of the exact things that users said are in the summary, before and after the tail was added."""

    said: int = 0
    before: int = 0
    after: int = 0

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.said + other.said, self.before + other.before, self.after + other.after)


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
