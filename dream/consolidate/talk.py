"""A session to consolidate, how far it is in history, and what was appended of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dream.consolidate import identity
from dream.history import messages
from dream.history.messages import KeptMessage
from dream.models import Entry, Message, NewEntry
from dream.reports import Fidelity, Usage


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What was appended: entries, how many message positions they complete, how many are raw, and the bill.

    `kept` counts the exact things that users said, and how many of them are in the summaries.
    """

    session: str
    entries: tuple[Entry, ...] = ()
    messages: int = 0
    raw: int = 0
    usage: Usage = field(default_factory=Usage)
    kept: Fidelity = field(default_factory=Fidelity)

    def __add__(self, other: Consolidated) -> Consolidated:
        return Consolidated(
            self.session,
            self.entries + other.entries,
            self.messages + other.messages,
            self.raw + other.raw,
            self.usage + other.usage,
            self.kept + other.kept,
        )


@dataclass(slots=True)
class Reached:
    """How far a session is in history while its entries are made, one after the other.

    `prefix` is the digest of its messages up to `position`; `known` is False where nobody can know it. `read` are the
    messages that were read and whose entries have not landed yet, by position.
    """

    key: str
    position: int
    prefix: str = ""
    known: bool = False
    read: dict[int, Message] = field(default_factory=dict)

    def said(self, entries: Sequence[NewEntry]) -> list[KeptMessage]:
        """Take out the messages that `entries` complete."""
        end = max((entry.span[1] for entry in entries if entry.span is not None), default=0)
        done = sorted(at for at in self.read if at < end)
        return [messages.of(self.key, at, self.read.pop(at)) for at in done]

    def identified(self, entries: tuple[NewEntry, ...]) -> list[NewEntry]:
        """Return `entries`, which follow on this place, with the digest of all up to their end where ids are known."""
        prefix, known, found = self.prefix, self.known, []
        for entry in entries:
            known = known and (bool(entry.ids) or entry.span is None or entry.span[0] == entry.span[1])
            prefix = identity.extended(prefix, entry.ids) if known else ""
            kept = entry.ids if known else ""
            found.append(replace(entry, ids=kept, prefix=prefix if kept else ""))
        return found

    def moved(self, entries: tuple[Entry, ...]) -> int:
        """Move on to where `entries` end; return how many messages that completes."""
        before = self.position
        for entry in entries:
            if entry.span is not None and entry.span[1] > self.position:
                self.position, self.prefix, self.known = entry.span[1], entry.prefix, bool(entry.prefix)
        return self.position - before


@dataclass(frozen=True, slots=True)
class Talk:
    """A session to consolidate: its messages, which can be read again."""

    key: str
    messages: Iterable[Message]
