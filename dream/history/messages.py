"""Messages: what history rests on, word for word, in memory/messages/YYYY-MM.jsonl; agents delete their transcripts.

A message stands there once, whatever was read how often: it is written under the lock of history, just before the
entry that it belongs to, so that after a crash between the two the next append knows it by its place at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from dream.errors import HistoryError
from dream.history.archive import opened, size_of
from dream.history.log import lines, lines_backwards
from dream.models import Message
from dream.workspace import files
from dream.workspace.files import explained

FOLDER = "messages"


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message as it is kept: redacted, at its position in its session. `at` is None where nobody knows when."""

    session: str
    position: int
    role: str
    text: str
    at: datetime | None = None
    name: str | None = None


class Messages:
    """The messages kept in the memory directory `memory`; `durable`: they are on disk when `add` returns."""

    def __init__(self, memory: Path, *, durable: bool = True) -> None:
        self.folder = memory / FOLDER
        self._durable = durable
        self._left: set[tuple[str, int]] | None = None  # by a crash: kept, and their entry never came

    def add(self, said: Iterable[KeptMessage], now: datetime, position: Callable[[str], int]) -> None:
        """Keep messages; `position` says how far a session is in history. The caller holds history's lock.

        Raises HistoryError for what the system refuses.
        """
        path = self.folder / f"{now:%Y-%m}.jsonl"
        with explained("written", path, HistoryError):
            if self._left is None:
                self._left = _left(path, position)
            rows = [one for one in said if (one.session, one.position) not in self._left]
            if rows:
                if not self.folder.exists():  # no git is to take notice, a project's around the workspace either
                    files.replace_file(self.folder / ".gitignore", b"*\n", durable=self._durable)
                files.checkpoint("before messages are kept")
                files.append(path, b"\n".join(map(encode, rows)), durable=self._durable)
                files.checkpoint("after messages are kept")

    def paths(self) -> list[Path]:
        """Return the files, oldest first."""
        try:
            return sorted(self.folder.glob("????-??.jsonl"))
        except OSError:
            return []


def raw(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield each whole line from `start` on, with its offset; without its end."""
    with opened(path) as descriptor:
        size = size_of(descriptor)
        for offset, line in lines(descriptor, start, size):
            if offset + len(line) < size:
                yield offset, line


def message_at(path: Path, offset: int) -> KeptMessage | None:
    """Return the message whose line begins at `offset`."""
    return next((decode(line) for _, line in raw(path, offset)), None)


def encode(said: KeptMessage) -> bytes:
    """Write a message as a line of JSON, without its end."""
    row: dict[str, Any] = {"session": said.session, "position": said.position}
    if said.at is not None:
        row["timestamp"] = said.at.isoformat(timespec="seconds")
    row["role"] = said.role
    if said.name:
        row["name"] = said.name
    return orjson.dumps(row | {"text": said.text})


def decode(line: bytes) -> KeptMessage | None:
    """Read a line; None where it is no message."""
    try:
        row = orjson.loads(line)
        when = row.get("timestamp")
        return KeptMessage(
            str(row["session"]),
            int(row["position"]),
            str(row["role"]),
            str(row["text"]),
            datetime.fromisoformat(when) if when else None,
            row.get("name"),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None


def of(session: str, position: int, message: Message) -> KeptMessage:
    """Return a prepared message as it is kept."""
    return KeptMessage(session, position, message.role, message.content, message.at, message.name)


def _left(path: Path, position: Callable[[str], int]) -> set[tuple[str, int]]:
    """Return what stands at the end of the file beyond where the sessions of history are."""
    left: set[tuple[str, int]] = set()
    try:
        with opened(path) as descriptor:
            for _, line in lines_backwards(descriptor, 0, size_of(descriptor)):
                said = decode(line)
                if said is not None:
                    if said.position < position(said.session):
                        break
                    left.add((said.session, said.position))
    except FileNotFoundError:
        pass
    return left
