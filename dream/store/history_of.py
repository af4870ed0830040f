"""The entries of some sessions among those of all others: most lines are passed over without being parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo

import orjson

from dream.models import Entry
from dream.store.history_records import BrokenRow, decode

_SESSION = re.compile(rb'"session(?:_key)?"\s*:\s*("(?:[^"\\]|\\.)*")')


def entries(lines: Iterable[bytes], sessions: re.Pattern[str], zone: tzinfo | None) -> Iterator[Entry]:
    """Yield the entries among `lines` whose whole session key matches `sessions`; broken lines are passed over."""
    for line in lines:
        if not any(_matches(found, sessions) for found in _SESSION.findall(line)):
            continue
        try:
            entry = decode(line, zone)
        except BrokenRow:
            continue
        if entry.session is not None and sessions.fullmatch(entry.session):
            yield entry


def _matches(quoted: bytes, sessions: re.Pattern[str]) -> bool:
    try:
        return sessions.fullmatch(orjson.loads(quoted)) is not None
    except orjson.JSONDecodeError:
        return True  # a line that is readable only with leniency
