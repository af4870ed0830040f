"""What all of history adds up to, kept beside it so that nobody reads the whole log twice.

`.dream/positions.json` says which bytes of which file it covers. It is a cache: caught up from there by
every reader, built anew where it doesn't match what is on disk, and never more than what the log says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from dream.door import contents
from dream.errors import WorkspaceError
from dream.history.log import Chain, Lost, lines
from dream.history.records import DERIVED, OWN, BrokenRow, Outline, legible_cursor, outline, outlined
from dream.models import Entry
from dream.workspace.files import replace_file

FILE_NAME = "positions.json"
VERSION = 4
WITNESS = 64  # bytes before the covered end that must be as they were
SAVE_AFTER = 1 << 18  # bytes caught up before the cache is worth writing

Flaws = Callable[[int, str], None]
Key = tuple[int, int]


@dataclass(slots=True)
class Sums:
    """What the entries of one history file add up to, as far as `covered`.

    Cursors rise from `ordered_from` on, and are all above `before`, the highest that stands earlier. `lost` is the
    highest that can still be read in a line which is no entry any more: it was given out.
    """

    inode: int = 0
    start: int = 0
    covered: int = 0
    witness: bytes = b""
    highest: int = 0
    ordered_from: int = 0
    before: int = 0
    lost: int = 0
    entries: int = 0
    tokens: int = 0
    chain: Chain = field(default_factory=Chain)
    positions: dict[str, int] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)  # session → digest of its messages up to its position
    # Digest of a session's first message → session; and a key with "~" behind it → a key that was derived from it.
    firsts: dict[str, str] = field(default_factory=dict)

    def add(self, row: Outline, offset: int, length: int) -> bool:
        """Count one entry; False if its cursor does not rise."""
        self.entries += 1
        self.tokens += row.tokens
        if row.session is not None and row.end > self.positions.get(row.session, 0):
            self.positions[row.session] = row.end
            self.prefixes[row.session] = row.prefix
            if row.first:
                self.firsts.setdefault(row.first, row.session)
                if derived := DERIVED.fullmatch(row.session):
                    self.firsts.setdefault(f"{derived[1]}~", row.session)
        if row.cursor > self.highest:
            self.highest = row.cursor
            return True
        self.before, self.ordered_from = self.highest, offset + length
        return False

    def leave(self, part: Sums, end: int, inode: int) -> None:
        """Become the sums of what stands behind byte `end` once it is a file of its own; `part` is what stood before.

        What a session's newest entry said goes with that entry; its first message is remembered of the part.
        """
        self.inode, self.covered = inode, self.covered - end
        self.witness = self.witness[-self.covered :] if self.covered else b""
        self.entries -= part.entries
        self.tokens -= part.tokens
        self.before, self.ordered_from = (self.before, self.ordered_from - end) if self.ordered_from > end else (0, 0)
        for session, position in part.positions.items():
            if self.positions.get(session) == position:
                del self.positions[session], self.prefixes[session]
        for first in part.firsts:
            self.firsts.pop(first, None)

    def matches(self, descriptor: int, inode: int, start: int, end: int) -> bool:
        """Tell whether these sums are a beginning of the open file as it stands."""
        if (self.inode, self.start) != (inode, start) or self.covered > end:
            return False
        return (
            not self.witness
            or os.pread(descriptor, len(self.witness), self.covered - len(self.witness)) == self.witness
        )


class Index:
    """The sums of history.jsonl and the positions in its archive; not safe between threads by itself."""

    def __init__(self, private: Path) -> None:
        self._path = private / FILE_NAME
        self._saved = 0  # bytes covered when the cache was last written
        self._size = 0  # bytes of the cache itself: rewriting it may not cost more than what it saves
        self.now = Sums()
        self.archived: dict[str, int] = {}  # name → size of each archive file that is counted in
        self.archived_key: Key | None = None  # of the directory whose files these are
        self.counted: object = None  # the list of files that was counted in last
        self.archived_positions: dict[str, int] = {}
        self.archived_prefixes: dict[str, str] = {}
        self.archived_firsts: dict[str, str] = {}
        self.archived_chain = Chain()  # to the end of the archive, where history goes on
        self._load()

    def position(self, session: str) -> int:
        """Return the highest span end of `session` as far as it is covered."""
        return max(self.now.positions.get(session, 0), self.archived_positions.get(session, 0))

    def tail(self, session: str) -> tuple[int, str]:
        """Return the position of `session` and the digest of its messages up to there, "" where it is not known."""
        now, archived = self.now.positions.get(session, 0), self.archived_positions.get(session, 0)
        if now >= archived:
            return now, self.now.prefixes.get(session, "")
        return archived, self.archived_prefixes.get(session, "")

    def beginning_with(self, first: str) -> str | None:
        """Return the session whose first message has the digest `first`, or one that was derived from `<key>~`."""
        return self.archived_firsts.get(first) or self.now.firsts.get(first)

    def positions(self) -> dict[str, int]:
        """Return the highest span end of every session."""
        if not self.archived_positions:
            return dict(self.now.positions)
        merged = dict(self.archived_positions)
        for session, end in self.now.positions.items():
            merged[session] = max(end, merged.get(session, 0))
        return merged

    def refresh(self, descriptor: int, inode: int, start: int, end: int, flaws: Flaws, lost: Lost) -> None:
        """Catch up with the open history file between `start` and `end`, where its sound part ends."""
        sums = self.now
        if not sums.matches(descriptor, inode, start, end):
            chain = self.archived_chain.copy()
            sums = self.now = Sums(inode=inode, start=start, covered=start, ordered_from=start, chain=chain)
            self._saved = 0
        if sums.covered < end:
            scan(sums, descriptor, end, flaws, lost)
        self.save_if_due()

    def refresh_archive(self, files: Mapping[str, int], key: Key | None, read: Callable[[str, Sums], None]) -> None:
        """Count in the archive files that are new; start over when one has changed or gone."""
        if files == self.archived and key is None:
            return
        if any(files.get(name) != size for name, size in self.archived.items()):
            self.forget()  # of history too: what it shares with a moved entry stands with the archive alone
        for name in [name for name in files if name not in self.archived]:  # the oldest first, as in the log
            sums = Sums(chain=self.archived_chain.copy())
            read(name, sums)
            self._archive(name, files[name], sums)
        self.archived_key = key
        self.save()

    def moved(self, name: str, end: int, part: Sums, *, inode: int) -> None:
        """Count the entries up to byte `end` of history, whose sums are `part`, as those of the archive file `name`.

        History is the file `inode` from now on, and holds the rest.
        """
        self._archive(name, end, part)
        self.now.leave(part, end, inode)

    def _archive(self, name: str, size: int, sums: Sums) -> None:
        for session, end in sums.positions.items():
            if end > self.archived_positions.get(session, 0):
                self.archived_positions[session] = end
                self.archived_prefixes[session] = sums.prefixes[session]
        for first, session in sums.firsts.items():
            self.archived_firsts.setdefault(first, session)
        self.archived[name] = size
        self.archived_chain = sums.chain

    def appended(self, inode: int, data: bytes, entries: Iterable[Entry], *, size: int) -> None:
        """Count in what was just appended at `size`, behind all that is covered."""
        sums = self.now
        sums.inode = inode
        for entry in entries:
            sums.add(outlined(entry), size, len(data))
        sums.covered = size + len(data)
        sums.witness = data[-WITNESS:]
        sums.chain.stands_at(sums.highest, data[OWN].decode())
        if sums.covered > self._saved + SAVE_AFTER:
            self.save_if_due()

    def save_if_due(self) -> None:
        """Write the cache when enough has been added to it."""
        if abs(self.now.covered - self._saved) > max(SAVE_AFTER, self._size):
            self.save()

    def save(self) -> None:
        """Write the cache; a private directory that can't be written costs time later, and nothing else."""
        data = orjson.dumps(self._state(), option=orjson.OPT_APPEND_NEWLINE)
        self._saved, self._size = self.now.covered, len(data)
        with suppress(WorkspaceError):
            replace_file(self._path, data, durable=False)

    def forget(self) -> None:
        """Start over from what is on disk."""
        self.now, self._saved = Sums(), 0
        self._forget_archive()

    def _forget_archive(self) -> None:
        self.archived_key = self.counted = None
        self.archived_chain = Chain()
        self.archived, self.archived_positions, self.archived_prefixes, self.archived_firsts = {}, {}, {}, {}

    def _state(self) -> dict[str, Any]:
        sums = {name: getattr(self.now, name) for name in Sums.__dataclass_fields__}
        sums["witness"] = self.now.witness.hex()
        return {
            "version": VERSION,
            "history": sums,
            "archived": self.archived,
            "archived_key": self.archived_key,
            "archived_positions": self.archived_positions,
            "archived_prefixes": self.archived_prefixes,
            "archived_firsts": self.archived_firsts,
            "archived_chain": self.archived_chain,
        }

    def _load(self) -> None:
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            data = contents(self._path)
            state = orjson.loads(data)
            if state["version"] != VERSION:
                return
            state["history"]["witness"] = bytes.fromhex(state["history"]["witness"])
            state["history"]["chain"] = Chain(**state["history"]["chain"])
            sums, chain = Sums(**state["history"]), Chain(**state["archived_chain"])
            names = ("archived", "archived_positions", "archived_prefixes", "archived_firsts")
            found = [dict(state[name]) for name in names]
            key = state.get("archived_key")
            self.now, self.archived_key = sums, (key[0], key[1]) if key else None
            self.archived_chain = chain
            self.archived, self.archived_positions, self.archived_prefixes, self.archived_firsts = found
            self._saved, self._size = sums.covered, len(data)


def scan(sums: Sums, descriptor: int, end: int, flaws: Flaws, lost: Lost) -> None:
    """Add to `sums` the entries from where it ends to `end`.

    `flaws` gets (offset, why) of every odd line and of every loss that is not among the `lost`, which are asked for
    where one shows.
    """
    for offset, line in lines(descriptor, sums.covered, end):
        if not line.strip():
            continue
        try:
            row = outline(line)
        except BrokenRow as fault:
            sums.lost = max(sums.lost, legible_cursor(line))
            sums.chain.damaged(line)
            flaws(offset, str(fault))
            continue
        if row.flaw:
            flaws(offset, row.flaw)
        if not sums.add(row, offset, len(line) + 1):
            flaws(offset, out_of_order(row.cursor, sums.highest))
        if said := sums.chain.follow(line, row.cursor, lost):
            flaws(offset, said)
    sums.covered = end
    kept = min(WITNESS, end - sums.start)
    sums.witness = os.pread(descriptor, kept, end - kept)


def out_of_order(cursor: int, highest: int) -> str:
    """Say that an entry's cursor does not rise."""
    return f"entry {cursor} comes after entry {highest}; `dream doctor --repair` renumbers it"
