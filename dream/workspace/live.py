"""The file of a live session: what was said and is not in history yet, so that a killed agent loses none of it.

`.dream/live/<digest of the key>.jsonl`: first who writes it, `{"key", "pid", "since"}`, then a JSON object a message,
`{"position", "at", "sent"}`, `sent` as the agent gave it, secrets and all, with `cwd` and `chat` where it was said in a
project or a group: it is private to this user, and gone as soon as history holds it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dream.door import make_folder, open_file
from dream.settings import Settings
from dream.workspace import files

FOLDER = "live"  # in .dream/


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """One message at its position in the session: when it was added, as the agent gave it, and where it was said."""

    position: int
    at: datetime
    sent: dict[str, Any]
    cwd: str = ""
    chat: str = ""


class LiveFile:
    """The file of session `key`. What was appended is on disk when `append` returns, unless `durable` is off.

    Agents that share a key share its file: each is told by `held` what the others have added, so that no two messages
    stand at one position.
    """

    def __init__(self, private: Path, key: str, *, durable: bool) -> None:
        digest = blake2b(key.encode("utf-8", "replace"), digest_size=12).hexdigest()
        self.path = private / FOLDER / f"{digest}.jsonl"
        self._key = key
        self._durable = durable
        self._known = (0, 0, 0)  # inode, bytes and time of the file as we left it; other ones are another agent's
        self._descriptor = -1

    def read(self) -> list[LiveMessage]:
        """Return what it holds, in order; a line that a kill cut short was never added."""
        return list(_rows(files.read_bytes(self.path) or b"")) if self.path.exists() else []

    @contextmanager
    def held(self) -> Iterator[list[LiveMessage] | None]:
        """Keep other agents of this key off for the block; yields what they have added since, None for nothing.

        Raises WorkspaceError where the file can't be read or written.
        """
        with files.explained("written", self.path):
            self._descriptor = _locked(self.path)
        try:
            yield None if _state(self._descriptor) == self._known else self.read()
        finally:
            os.close(self._descriptor)  # and so unlocks it
            self._descriptor = -1

    def append(self, said: LiveMessage, earlier: Iterable[LiveMessage]) -> None:
        """Add a message; `earlier` are those before it that history lacks, for a file that others have changed."""
        if _state(self._descriptor) != self._known:
            self.keep([*earlier, said])
            return
        with files.explained("written", self.path):
            os.lseek(self._descriptor, 0, os.SEEK_END)
            files.write_all(self._descriptor, _line(said))
            if self._durable:
                os.fsync(self._descriptor)
            self._known = _state(self._descriptor)  # not where it failed: then all is written anew

    def keep(self, said: Iterable[LiveMessage]) -> None:
        """Let it hold just these; without any it goes."""
        rows = [_line(one) for one in said]
        self._known = (0, 0, 0)
        if not rows:
            self.path.unlink(missing_ok=True)
            return
        who = {"key": self._key, "pid": os.getpid(), "since": files.since_when(os.getpid())}
        with files.explained("written", self.path):
            temporary = files.temporary_name(self.path)
            fresh = files.create(temporary, like=self.path)
            try:
                fcntl.flock(fresh, fcntl.LOCK_EX)  # before it has the name, so that nobody comes in between
                files.write_all(fresh, b"".join([json.dumps(who).encode() + b"\n", *rows]))
                if self._durable:
                    os.fsync(fresh)
                files.put_in_place(temporary, self.path, durable=self._durable)
            except BaseException:
                os.close(fresh)
                temporary.unlink(missing_ok=True)
                raise
            os.close(self._descriptor)  # whoever waited for it sees that it has the name no more
            self._descriptor = fresh
            self._known = _state(fresh)

    def is_shared(self) -> bool:
        """Return whether another process has begun the file, and runs."""
        with suppress(ValueError, TypeError, KeyError):
            process, since, _ = _head(self.path)
            return process != os.getpid() and files.alive(process, since=since)
        return False


def _locked(path: Path) -> int:
    """Open the file, made where there is none, and lock it; the one that has the name when the lock is ours."""
    make_folder(path.parent)
    while True:
        descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if path.lstat().st_ino == os.fstat(descriptor).st_ino:
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def on_disk(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as it is read from the file again: what is no JSON value has become text."""
    return dict(json.loads(json.dumps(sent, default=str)))


def quiet_at(now: datetime, settings: Settings) -> datetime:
    """Return the moment since when nothing may have been said in a session that is over."""
    return now - timedelta(hours=settings.idle_hours)


def left_behind(private: Path, before: datetime) -> list[str]:
    """Return the keys of sessions whose agent is gone, and to which nothing was added since `before`."""
    found: list[str] = []
    folder = private / FOLDER
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        quiet = datetime.fromtimestamp(path.stat().st_mtime, UTC) <= before
        with suppress(ValueError, TypeError, KeyError):
            process, since, key = _head(path) if quiet else (os.getpid(), "", "")
            if not files.alive(process, since=since):
                found.append(key)
    return found


def holds_any(private: Path) -> bool:
    """Return whether anything was said in a live session that is not in history yet."""
    folder = private / FOLDER
    return folder.is_dir() and any(folder.glob("*.jsonl"))


def _head(path: Path) -> tuple[int, str, str]:
    """Read who writes the file: number and beginning of the process, and the session's key."""
    who = json.loads((files.read_bytes(path) or b"").partition(b"\n")[0])
    return int(who["pid"]), str(who.get("since", "")), str(who["key"])


def _state(file: int | Path) -> tuple[int, int, int]:
    status = os.stat(file)  # noqa: PTH116  # of a descriptor too
    return status.st_ino, status.st_size, status.st_mtime_ns


def _line(said: LiveMessage) -> bytes:
    row: dict[str, Any] = {"position": said.position, "at": said.at.isoformat(), "sent": said.sent}
    row |= {name: value for name, value in (("cwd", said.cwd), ("chat", said.chat)) if value}
    return json.dumps(row, default=str).encode() + b"\n"  # escaped: an unpaired surrogate is no UTF-8


def _rows(data: bytes) -> Iterator[LiveMessage]:
    for line in data.split(b"\n")[1:]:
        with suppress(ValueError, TypeError, KeyError):
            row = json.loads(line)
            where = str(row.get("cwd", "")), str(row.get("chat", ""))
            yield LiveMessage(int(row["position"]), datetime.fromisoformat(row["at"]), dict(row["sent"]), *where)
