"""All lines of the log, and among them the entries of some sessions: most lines are passed over unparsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

import orjson

from dream.models import Entry
from dream.store.history_archive import opened, size_of
from dream.store.history_bytes import lines, lines_backwards
from dream.store.history_listing import Listing
from dream.store.history_records import BrokenRow, decode, is_ours, outline


@dataclass(frozen=True, slots=True)
class View:
    """The files as one reader sees them: history from `start` to `end`, and the archive before it."""

    descriptor: int
    inode: int
    start: int
    end: int
    archive: Listing

    def lines(self, folder: Path) -> Iterator[bytes]:
        """Yield every line, those of the archive in `folder` first."""
        for file in self.archive.files:
            with opened(folder / file.name) as descriptor:
                yield from (line for _, line in lines(descriptor, 0, size_of(descriptor)))
        yield from (line for _, line in lines(self.descriptor, self.start, self.end))

    def lines_backwards(self, folder: Path) -> Iterator[bytes]:
        """Yield every line from the last to the first."""
        yield from (line for _, line in lines_backwards(self.descriptor, self.start, self.end))
        for file in reversed(self.archive.files):
            with opened(folder / file.name) as descriptor:
                yield from (line for _, line in lines_backwards(descriptor, 0, size_of(descriptor)))


_SESSION = re.compile(rb'"session(?:_key)?"\s*:\s*("(?:[^"\\]|\\.)*")')


def entries(found: Iterable[bytes], sessions: re.Pattern[str], zone: tzinfo | None) -> Iterator[Entry]:
    """Yield the entries among the lines `found` whose whole session key matches `sessions`; none of broken ones."""
    for line in found:
        if not any(_matches(key, sessions) for key in _SESSION.findall(line)):
            continue
        try:
            entry = decode(line, zone)
        except BrokenRow:
            continue
        if entry.session is not None and sessions.fullmatch(entry.session):
            yield entry


def newest_unnamed(newest_first: Iterable[bytes], zone: tzinfo | None) -> datetime | None:
    """Return the time of the first entry that is another program's and names no session; None where there is none."""
    for line in newest_first:
        if is_ours(line) or _SESSION.search(line):
            continue
        with suppress(BrokenRow):
            entry = decode(line, zone)
            if entry.session is None and entry.span is None and entry.kind != "note":
                return entry.at
    return None


def beginning_with(found: Iterable[bytes], first: str) -> list[str]:
    """Return the sessions that begin with the message of digest `first`, each once."""
    mark = f'"ids":"{first}'.encode()
    sessions: dict[str, None] = {}
    for line in found:
        if mark not in line:
            continue
        with suppress(BrokenRow):
            row = outline(line)
            if row.session is not None and row.first == first:
                sessions[row.session] = None
    return list(sessions)


def _matches(quoted: bytes, sessions: re.Pattern[str]) -> bool:
    try:
        return sessions.fullmatch(orjson.loads(quoted)) is not None
    except orjson.JSONDecodeError:
        return True  # a line that is readable only with leniency
