"""The values that the stages hand to each other. Frozen, and free of what touches the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["summary", "raw", "note", "nothing"]
State = Literal["applied", "present", "held", "refused"]
MemoryFile = Literal["SOUL.md", "USER.md", "memory/MEMORY.md"]

MEMORY_FILES: tuple[MemoryFile, ...] = ("SOUL.md", "USER.md", "memory/MEMORY.md")
TAGS: Mapping[str, MemoryFile] = dict(zip(("SOUL", "USER", "MEMORY"), MEMORY_FILES, strict=True))  # in findings


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
    the user pasted, ? nobody known; empty where no summary was cited. `kept` counts the messages that were kept
    together with it.
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
    kept: int = 0

    @property
    def by_agent(self) -> bool:
        """Return whether an agent noted it by itself; what it says then has nobody's word."""
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

    finding: Finding = field(metadata={"json": ""})  # as reports.FLAT
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that a guard stopped and that waits for a person: one line of `.pending.jsonl`.

    `old_text` empty means an append; `new_text` empty means a removal. A proposal without a `file` is an
    entry that could not be dreamt. `guard` names the check that stopped it.
    """

    id: int
    at: datetime = field(metadata={"json": "time"})
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
