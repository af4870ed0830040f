"""Mend a damaged log without loss: what is no entry is set aside, what stands out of order gets a new cursor.

A line that is readable only with leniency is written as it reads; as it was it is set aside.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from dream.history.chain import Chain, CursorRange, outlined
from dream.history.checksums import FIRST, MORE, checksum, is_as_written, mark, sealed
from dream.history.entries import HIGHEST, BrokenRow, decode, encode, is_ours, is_whole
from dream.workspace.files import beside, lines, put_in_place, temporary_name, write_all

Keep = Callable[[bytes], None]


@dataclass(slots=True)
class Damage:
    """Where a log is damaged, by the offset of the line.

    No entry, odd, out of order, a line that stands twice, or one whose checksum doesn't continue the line before.
    """

    broken: set[int] = field(default_factory=set)
    falling: dict[int, int] = field(default_factory=dict)  # offset → the cursor that does not rise
    twice: set[int] = field(default_factory=set)
    odd: dict[int, bool] = field(default_factory=dict)  # offset → whether more than its line end is odd
    unlinked: int = 0

    def __len__(self) -> int:
        return len(self.broken) + len(self.falling) + len(self.twice) + len(self.odd)


@dataclass(slots=True)
class Late:
    """Lines out of order, for the end of the log, with cursors above `highest`; `last` where its last file is written.

    Out of another file they are set aside too: a crash may come before they stand at the end.
    """

    highest: int
    last: bool = False
    lines: list[bytes] = field(default_factory=list)


def find(descriptor: int, size: int, chain: Chain) -> Damage:
    """Look at every line of a file of the log, following `chain`; raises OSError."""
    damage, highest = Damage(), chain.highest
    for offset, line, row in outlined(descriptor, 0, size):
        if isinstance(row, BrokenRow):
            damage.broken.add(offset)
            chain.damaged(line)
            continue
        if row.flaw or line.endswith(b"\r"):
            damage.odd[offset] = bool(row.flaw)
        cursor = row.cursor
        if cursor <= highest:
            damage.falling[offset] = cursor
        highest = max(highest, cursor)
        damage.unlinked += bool(chain.follow(line, cursor, _everything))
    if damage.falling:
        _tell_copies(descriptor, size, damage)
    return damage


def _everything() -> list[CursorRange]:
    """Return every possible loss, so that a chain reports checksums only."""
    return [(1, HIGHEST)]


def rewrite(descriptor: int, size: int, path: Path, damage: Damage, chain: Chain, late: Late, set_aside: Keep) -> None:
    """Replace `path` by a repaired file, each checksum continuing `chain`; raises OSError.

    Entries out of order go to `late`, in their old order, for the end of the log's last file.
    """

    def write(goal: int, line: bytes, cursor: int) -> None:
        chained = _chained(line, chain)
        chain.follow(chained, cursor, _everything)
        write_all(goal, chained + b"\n")

    with beside(path, temporary := temporary_name(path)) as goal:
        for offset, line in lines(descriptor, 0, size):
            falling = offset in damage.falling
            if (
                offset in damage.broken
                or offset in damage.twice
                or damage.odd.get(offset)
                or (falling and not late.last)
            ):
                set_aside(line)
            if falling:
                late.lines.append(line)
            elif line.strip() and offset not in damage.broken and offset not in damage.twice:
                entry = decode(line)
                write(goal, encode(entry)[:-1] if damage.odd.get(offset) else line.rstrip(b"\r"), entry.cursor)
        for cursor, line in enumerate(late.lines if late.last else (), late.highest + 1):
            write(goal, _renumbered(line, cursor), cursor)
    put_in_place(temporary, path)


@dataclass(slots=True)
class Sealing:
    """Restores the checksums of a log from which text was removed, file by file.

    Only valid checksums are restored: a damaged line is still damaged, and a gap is still a gap.
    """

    before: bytes = FIRST  # the mark of the last line as it was
    after: bytes = FIRST  # and as it is now

    def sealed(self, data: bytes, clean: bytes) -> bytes:
        """Return `clean`, which `data` became, with checksums."""
        whole: set[tuple[bytes, ...]] = set()  # checksums of the undamaged lines
        linked: set[tuple[bytes, ...]] = set()  # of these, the ones that continued the line before
        for line in filter(bytes.strip, data.split(b"\n")):
            if found := checksum(line):
                if is_as_written(line, found) or is_whole(line):
                    whole.add(found.groups())
                if found[1] == self.before:
                    linked.add(found.groups())
            self.before = mark(line)
        done = []
        for line in clean.split(b"\n"):
            if found := checksum(line):
                body = line[: found.start()]
                own = b"%08x" % zlib.crc32(body) if found.groups() in whole else found[2]
                before = self.after if found.groups() in linked else found[1]
                done.append(b'%b,"checksum":"%b-%b"}' % (body, before, own))
            else:
                done.append(line)
            if line.strip():
                self.after = mark(done[-1])
        return b"\n".join(done)


def _chained(line: bytes, chain: Chain) -> bytes:
    """Return a line as an append of its own and, if it is ours, with a checksum that continues `chain`.

    The mark of a common append goes: what came with it may stand elsewhere now. A line without a checksum gets one
    where the lines before it have them.
    """
    found = checksum(line)
    if found is None and not (is_ours(line) and chain.sealed):
        return MORE.sub(b"", line)
    row = line[: found.start()] if found else line.rstrip()[:-1]
    return sealed(MORE.sub(b"", row + b"}"), chain.last.encode())[:-1]


def _tell_copies(descriptor: int, size: int, damage: Damage) -> None:
    """Find the lines out of order that only repeat an earlier line, byte for byte."""
    cursors = set(damage.falling.values())
    seen: set[bytes] = set()
    for offset, line, row in outlined(descriptor, 0, size):
        if isinstance(row, BrokenRow) or row.cursor not in cursors:
            continue
        if offset in damage.falling and line.strip() in seen:
            del damage.falling[offset]
            damage.twice.add(offset)
        seen.add(line.strip())


def _renumbered(line: bytes, cursor: int) -> bytes:
    """Give a line another cursor and keep every other field."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:  # readable only with leniency
        return encode(replace(decode(line), cursor=cursor))[:-1]
    had = row.pop("checksum", None)
    row.pop("more", None)
    data = orjson.dumps({**row, "cursor": cursor})
    return sealed(data, FIRST)[:-1] if had else data
