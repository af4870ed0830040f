"""When a transcript's last message was, told from its end alone: good enough to put files in order before reading."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, tzinfo

from dream.transcripts import parsing, times

LOOK_BYTES = 1 << 16  # at the end, and at the beginning where no time stands there

_NAMES = rb"timestamp|captured_at|created_?at|updated_?at|last_?updated|(?:create|update)_time|datetime|date|time|ts"
_TIME = re.compile(rb'"(?:' + _NAMES + rb')"\s*:\s*("[^"\\]{8,40}"|\d{9,20}(?:\.\d+)?)', re.IGNORECASE)


def newest(name: str, zone: tzinfo, modified: int) -> datetime:
    """Return the last time that the file `name` tells; when it was `modified` (ns since the epoch) if it tells none."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a named pipe would keep us waiting
        try:
            size = os.fstat(descriptor).st_size
            for start in dict.fromkeys((max(size - LOOK_BYTES, 0), 0)):
                told = [_time(found, zone) for found in _TIME.findall(os.pread(descriptor, LOOK_BYTES, start))]
                if known := [moment for moment in told if moment is not None]:
                    return max(known)
        finally:
            os.close(descriptor)
    except OSError:
        pass  # it is read all the same, and what is wrong with it is said then
    return datetime.fromtimestamp(modified / 1e9, UTC)


def _time(found: bytes, zone: tzinfo) -> datetime | None:
    try:
        return times.parse(parsing.value(found)[0], zone)
    except parsing.Broken:
        return None
