"""Where a session stands while it is consolidated, and what was appended of it."""

from __future__ import annotations

import dataclasses

from dream.consolidate import identity
from dream.models import Entry, Kept, NewEntry, Usage


@dataclasses.dataclass(frozen=True, slots=True)
class Consolidated:
    """What was appended: entries, how many message positions they complete, how many are raw, and the bill.

    `kept` counts the exact things that users said, and how many of them are in the summaries.
    """

    session: str
    entries: tuple[Entry, ...] = ()
    messages: int = 0
    raw: int = 0
    usage: Usage = dataclasses.field(default_factory=Usage)
    kept: Kept = dataclasses.field(default_factory=Kept)

    def __add__(self, other: Consolidated) -> Consolidated:
        return Consolidated(
            self.session,
            self.entries + other.entries,
            self.messages + other.messages,
            self.raw + other.raw,
            self.usage + other.usage,
            self.kept + other.kept,
        )


@dataclasses.dataclass(slots=True)
class Place:
    """How far a session is in history while its entries are made, one after the other.

    `prefix` is the digest of its messages up to `position`; `known` is False where nobody can know it.
    """

    key: str
    position: int
    prefix: str = ""
    known: bool = False

    def identified(self, entries: tuple[NewEntry, ...]) -> list[NewEntry]:
        """Give entries that follow on this place the digest of all up to their end, where their ids are known."""
        prefix, known, found = self.prefix, self.known, []
        for entry in entries:
            known = known and (bool(entry.ids) or entry.span is None or entry.span[0] == entry.span[1])
            prefix = identity.extended(prefix, entry.ids) if known else ""
            kept = entry.ids if known else ""
            found.append(dataclasses.replace(entry, ids=kept, prefix=prefix if kept else ""))
        return found

    def moved(self, entries: tuple[Entry, ...]) -> int:
        """Go on to where `entries` end; return how many messages that completes."""
        before = self.position
        for entry in entries:
            if entry.span is not None and entry.span[1] > self.position:
                self.position, self.prefix, self.known = entry.span[1], entry.prefix, bool(entry.prefix)
        return self.position - before
