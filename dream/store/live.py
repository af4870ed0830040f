"""The file of a live session: what was said and is not in history yet, so that a killed agent loses none of it.

`.dream/live/<digest of the key>.jsonl`: first who writes it, `{"key", "pid"}`, then a JSON object a message,
`{"position", "at", "sent"}`, `sent` as the agent gave it, secrets and all: it is private to this user, and gone as soon
as history holds it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dream.door import open_file
from dream.settings import Settings
from dream.store import files

FOLDER = "live"  # in .dream/


@dataclass(frozen=True, slots=True)
class Said:
    """One message at its position in the session: when it was added, and as the agent gave it."""

    position: int
    at: datetime
    sent: dict[str, Any]


class LiveFile:
    """The file of session `key`. What was appended is on disk when `append` returns, unless `durable` is off."""

    def __init__(self, private: Path, key: str, *, durable: bool) -> None:
        digest = blake2b(key.encode("utf-8", "replace"), digest_size=12).hexdigest()
        self.path = private / FOLDER / f"{digest}.jsonl"
        self._key = key
        self._durable = durable
        self._ours = False  # written by us as a whole: what is appended follows on it

    def read(self) -> list[Said]:
        """Return what it holds, in order; a line that a kill cut short was never added."""
        return list(_rows(files.read_bytes(self.path) or b"")) if self.path.exists() else []

    def append(self, said: Said, earlier: Iterable[Said]) -> None:
        """Add a message; `earlier` are those before it that history lacks, for a file that this is the first of."""
        if not self._ours:
            self.keep([*earlier, said])
            return
        with files.explained("written", self.path):
            descriptor = open_file(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                files.write_all(descriptor, _line(said))
                if self._durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def keep(self, said: Iterable[Said]) -> None:
        """Let it hold just these; without any it goes."""
        rows = [_line(one) for one in said]
        self._ours = bool(rows)
        if rows:
            head = json.dumps({"key": self._key, "pid": os.getpid()}).encode() + b"\n"
            files.replace(self.path, b"".join([head, *rows]), durable=self._durable)
        else:
            self.path.unlink(missing_ok=True)


def quiet_at(now: datetime, settings: Settings) -> datetime:
    """Return the moment since when nothing may have been said in a session that is over."""
    return now - timedelta(hours=settings.idle_hours)


def left_behind(private: Path, before: datetime) -> list[str]:
    """Return the keys of sessions whose agent is gone, and to which nothing was added since `before`."""
    found: list[str] = []
    folder = private / FOLDER
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        quiet = datetime.fromtimestamp(path.stat().st_mtime, UTC) <= before
        head = (files.read_bytes(path) or b"").partition(b"\n")[0] if quiet else b""
        with suppress(ValueError, TypeError, KeyError):
            who = json.loads(head)
            if not files.alive(int(who["pid"])):
                found.append(str(who["key"]))
    return found


def _line(said: Said) -> bytes:
    row = {"position": said.position, "at": said.at.isoformat(), "sent": said.sent}
    return json.dumps(row, default=str).encode() + b"\n"  # escaped: an unpaired surrogate is no UTF-8


def _rows(data: bytes) -> Iterator[Said]:
    for line in data.split(b"\n")[1:]:
        with suppress(ValueError, TypeError, KeyError):
            row = json.loads(line)
            yield Said(int(row["position"]), datetime.fromisoformat(row["at"]), dict(row["sent"]))
