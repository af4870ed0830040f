"""Repair a damaged log without loss: lines that are no entry are set aside, entries out of order get a new cursor.

A line that only a lenient parser reads is written anew, and set aside as it was.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

import orjson

from dream.history.chain import Chain, CursorRange
from dream.history.checksums import FIRST, MORE, checksum, is_as_written, mark, sealed
from dream.history.entries import HIGHEST, BrokenRow, decode, encode, is_ours, is_whole, outline


@dataclass(slots=True)
class Sorted:
    """The lines of a file of the log: those that stay, those to be set aside, and those out of order.

    `mended` counts the lines that do not stay as they are; `unlinked` those whose checksum doesn't continue the line
    before.
    """

    stay: list[bytes] = field(default_factory=list)
    aside: list[bytes] = field(default_factory=list)
    late: list[bytes] = field(default_factory=list)
    mended: int = 0
    unlinked: int = 0


def sort(data: bytes, chain: Chain) -> Sorted:
    """Sort the lines of a file, following `chain`. A line that repeats an earlier one is set aside."""
    found, seen, highest = Sorted(), set[bytes](), chain.highest
    for line in filter(bytes.strip, data.split(b"\n")):
        plain = line.removesuffix(b"\r")
        try:
            row = outline(line)
        except BrokenRow:
            found.aside.append(line)
            chain.damaged(line)
            found.mended += 1
            continue
        if row.cursor <= highest:
            (found.aside if line.strip() in seen else found.late).append(line)
        else:
            found.stay.append(encode(decode(line))[:-1] if row.flaw else plain)
            found.aside += [line] * bool(row.flaw)
        found.mended += row.cursor <= highest or plain != line or bool(row.flaw)
        highest = max(highest, row.cursor)
        seen.add(line.strip())
        found.unlinked += bool(chain.follow(line, row.cursor, _everything))
    return found


def joined(lines: list[bytes], chain: Chain) -> bytes:
    """Return lines as a file whose checksums continue `chain`, each as an append of its own.

    What came with a line may stand elsewhere now. A line without a checksum gets one where the lines before it have
    them.
    """
    done: list[bytes] = []
    for line in lines:
        found = checksum(line)
        if found is None and not (is_ours(line) and chain.sealed):
            done.append(MORE.sub(b"", line))
        else:
            row = line[: found.start()] if found else line.rstrip()[:-1]
            done.append(sealed(MORE.sub(b"", row + b"}"), chain.last.encode())[:-1])
        chain.follow(done[-1], decode(line).cursor, _everything)
    return b"".join(line + b"\n" for line in done)


def renumbered(line: bytes, cursor: int) -> bytes:
    """Give a line another cursor and keep every other field."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:  # readable only with leniency
        return encode(replace(decode(line), cursor=cursor))[:-1]
    had = row.pop("checksum", None)
    row.pop("more", None)
    data = orjson.dumps({**row, "cursor": cursor})
    return sealed(data, FIRST)[:-1] if had else data


def _everything() -> list[CursorRange]:
    """Return every cursor as lost, so that a chain reports faults of checksums only."""
    return [(1, HIGHEST)]


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
