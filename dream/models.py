"""The values that the stages hand to each other. Frozen, and free of what touches the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, repeat
from typing import Final, Literal

from dream import memory

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["summary", "raw", "note", "nothing"]
Voice = Literal["user", "agent", "tool", "pasted", "other", "note"]  # "other": another person of several who talk
State = Literal["applied", "present", "held", "refused"]
MemoryFile = str  # a path in the workspace: one of MEMORY_FILES, or places/NAME/SOUL.md or MEMORY.md
FileLine = tuple[MemoryFile, str]  # a memory file, and a line of it
MEMORY_FILES = memory.MEMORY_FILES
IMPORT, ALONE = IMPORTS = ("import", "import-alone")  # guards that hold what another tool remembers; one line by itself
HANGS: Final = "hangs"  # the guard of a question: does a line still hold, after what it rested on changed
FORGET = "forget"  # the guard of a wish to forget: no edit of a file, its words are the `old_text`


@dataclass(frozen=True, slots=True)
class CommandRun:
    """The command of an agent's tool call, as the call has it, and whether its result is an error.

    `failed` is None where the client does not say.
    """

    command: str
    failed: bool | None = None


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
    `cwd` is the working directory at that message, as the agent wrote it, and `chat` the key of a chat in which several
    people may write; both are empty where the transcript does not say.
    `ran` is what a tool's result is the result of, where that is a command. `automated` says that a program sent a
    user's message: then `name` is what kind of program, and nobody's.
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
    cwd: str = ""
    chat: str = ""
    ran: CommandRun | None = None
    automated: bool = False


@dataclass(frozen=True, slots=True)
class EntryLine:
    """What one line of an entry rests on: made once, when the entry is written, and never guessed again.

    `cites` are positions of messages in the session, ascending. `voice` is None where nobody knows: in rows of other
    programs, and of a line whose citation does not hold. `quote` are the user's own words, where the line is a wish, a
    rule or a correction. `by` names who said it, where several people talk.
    """

    cites: tuple[int, ...] = ()
    voice: Voice | None = None
    quote: str = ""
    by: str = ""


UNKNOWN_LINE = EntryLine()


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A history entry that has no cursor yet.

    `span` is the half-open range of message positions in `session` that this entry stands for. `ids` are the
    digests of those messages' identities, joined, and `prefix` is the digest of all from the session's first to the
    end of the span; both are empty where nobody knows the identities. `said` is when the last of its messages was,
    aware, where that is known. `lines` has a value for each line of the content, or none where nothing is known of any.
    `place` is the id of where it was said, empty for nowhere in particular.
    `kept` counts the messages that were kept together with it. `rereads` are the cursors of entries whose messages were
    read again for it: it replaces them. `batch` is the id that the dreams of one rereading share.
    """

    kind: Kind
    content: str
    session: str | None = None
    span: tuple[int, int] | None = None
    tokens: int = 0
    model: str | None = None
    ids: str = ""
    prefix: str = ""
    said: datetime | None = None
    lines: tuple[EntryLine, ...] = ()
    place: str = ""
    kept: int = 0
    rereads: tuple[int, ...] = ()
    batch: str = ""

    @property
    def imported(self) -> bool:
        """Return whether another tool remembered it: it was accepted, or waits in review, and no dream weighs it."""
        return (self.session or "").startswith(f"{IMPORT}:")

    @property
    def unconfirmed(self) -> bool:
        """Return whether it is nobody's word: another tool remembered it, and no person has accepted it here."""
        return self.imported and all(line.voice is None for line in self.lines)

    @property
    def by_agent(self) -> bool:
        """Return whether an agent noted it by itself; what it says then has nobody's word."""
        return self.kind == "note" and any(line.voice == "agent" for line in self.lines)

    def rows(self) -> Iterator[tuple[str, EntryLine]]:
        """Yield each line of the content with what it rests on; a note without lines is the user's."""
        unknown = EntryLine(voice="user") if self.kind == "note" else UNKNOWN_LINE
        rows = self.content.split("\n")
        yield from zip(rows, chain(self.lines, repeat(unknown)), strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(NewEntry):
    """One line of history. `at` is aware; `cursor` is positive, strictly increasing and never reused.

    `machine` is the id of the machine that wrote it, "" where nobody knows.
    """

    cursor: int
    at: datetime
    machine: str = ""

    @property
    def when(self) -> datetime:
        """When it was said; for an entry that doesn't know, when it was written."""
        return self.said or self.at


@dataclass(frozen=True, slots=True)
class Finding:
    """One `[FILE] fact` line of phase 1.

    `remove` marks a `[FILE-REMOVE]` line: `text` is then the line to take out, or the reason.
    `entries` are the cursors that the finding rests on, ascending. `heading` is the one that a fact goes under, as in
    `[MEMORY/Decisions] fact`, where phase 1 names it. `line` is the line of the file that it takes out, or whose place
    it takes, where phase 1 names one. `review` says that phase 1 wants a person to look at it first. `waits` is the id
    of the pending proposal whose place it takes, or which it withdraws; 0 for none.
    """

    file: MemoryFile
    text: str
    entries: tuple[int, ...]
    remove: bool = False
    heading: str = ""
    line: str = ""
    because: str = ""
    review: bool = False
    waits: int = field(default=0, metadata={"json": None})


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
    entry that could not be dreamt, or a wish to forget. `guard` names the check that stopped it. `batch` is the
    id of what proposed it: one run, or one import.
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
    batch: str = ""
    under: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A fact that a person took back: one line of `.rejected.jsonl`. No later dream writes it again.

    With `removal` it is the other way round: a line that a person would not have removed. It may be replaced by a
    newer fact, but no later dream takes it away. A `lifted` one ends an earlier one of the same text.
    """

    at: datetime
    file: MemoryFile
    text: str
    source: str
    removal: bool = False
    lifted: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something in a file that could not be used as it stands. `line` counts from 1; 0 is the whole file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class Unread(Diagnostic):
    """What a person named and what could not be read, or not to its end: the command goes on, and fails in the end."""

    __slots__ = ()


class Unheard(Diagnostic):
    """A transcript that holds messages of which none of the user's was read."""

    __slots__ = ()


Report = Callable[[Diagnostic], None]
