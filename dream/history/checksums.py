"""The checksum of a line: a change shows in the line itself, a missing line in the next one.

A line of ours ends in `"checksum":"<before>-<own>"`, two CRC-32 in hex: `<own>` is of the line's bytes up to that
field, `<before>` is the own one of the line before (of one without, nanobot's, the CRC-32 of all its bytes). A CRC and
no cryptographic hash: who can write the log can write checksums too; it is there for what disks, editors and other
programs do, and costs 0.3 µs. A message has no line before it.
"""

from __future__ import annotations

import re
import zlib

# Keys of ours, last in their line: quotes within text are escaped.
MORE = re.compile(rb',"more":(\d{1,9})(?=(?:,"checksum":"[0-9a-f-]{17}")?\}\s*$)')
CHECKSUM = re.compile(rb',\s*"checksum"\s*:\s*"([0-9a-f]{8})-([0-9a-f]{8})"\s*\}\s*$')
_FIELD = 32  # bytes of the checksum as we write it, to the end of the line
_END = 72  # bytes in which both keys fit
OWN = slice(-11, -3)  # where a whole line of ours has its own checksum
FIRST = b"00000000"  # used as the previous line's checksum for the first line


def sealed(row: bytes, before: bytes) -> bytes:
    """Return the JSON object `row` as a line with a checksum added."""
    body = row[:-1]
    return b'%b,"checksum":"%b-%08x"}\n' % (body, before, zlib.crc32(body))


def checksum(line: bytes) -> re.Match[bytes] | None:
    """Find the checksum of a line: of the line before, and its own."""
    return CHECKSUM.match(line, len(line) - _FIELD) or CHECKSUM.search(line, max(0, len(line) - _END))


def mark(line: bytes) -> bytes:
    """Return the part of the next line's checksum that identifies this line."""
    return marked(line, checksum(line))


def marked(line: bytes, found: re.Match[bytes] | None) -> bytes:
    """Return the `mark` of a line in which that checksum was found."""
    return found[2] if found else b"%08x" % zlib.crc32(line.strip())


def is_as_written(line: bytes, found: re.Match[bytes]) -> bool:
    """Return whether a line still has the bytes that its checksum, `found` in it, is of."""
    return int(found[2], 16) == zlib.crc32(line[: found.start()])


def more_after(line: bytes) -> int:
    """Return how many lines of the same append follow this one (0: it is the last, or the only one)."""
    found = MORE.search(line, max(0, len(line) - _END))
    return int(found[1]) if found else 0
