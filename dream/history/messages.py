"""Messages: what history rests on, word for word, in memory/messages/YYYY-MM.jsonl; agents delete their transcripts.

Each message is there once, however often its transcript is read: it is written under the lock of history, just before
the entry that summarises it. After a crash between the two, its position is one that history has not reached, and it is
not written again when its entry comes. Each line ends in its checksum, and the entry says how many messages were kept
with it, so that changed and missing messages are noticed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from dream.door import check_folder
from dream.errors import HistoryError
from dream.history.checksums import FIRST, checksum, is_as_written, sealed
from dream.workspace import files
from dream.workspace.files import (
    LOST,
    SET_ASIDE,
    Records,
    explained,
    lines,
    lines_backwards,
    opened,
    reason,
    set_aside,
    size_of,
)

if TYPE_CHECKING:
    from dream.models import CommandRun, Message, Report

FOLDER = "messages"
LINE = 1 << 12  # bytes read at a time of one message
SHOWN = 3  # sessions whose messages are gone, by name
LOOKED_BACK = 1 << 24  # bytes at the end of the two newest files in which a crash may have left a message
_NAME = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])\.jsonl")


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message as it is kept: redacted, at its position in its session. `at` is None where nobody knows when.

    `id` is the digest of its identity that its entry has too, `place` the id of where it was said; "" where there is
    none. `ran` is as in `Message`.
    """

    session: str
    position: int
    role: str
    text: str
    at: datetime | None = None
    name: str | None = None
    id: str = ""
    place: str = ""
    ran: CommandRun | None = None


@dataclass(frozen=True, slots=True)
class MessageFlaw:
    """A fault in a file of messages.

    `mends`: a repair mends it; `waits`: the next consolidation appends its entry; `lost`: only a backup may have it.
    """

    path: Path
    text: str
    mends: bool = True
    waits: bool = False
    lost: bool = False


class Messages:
    """The messages kept in the memory directory `memory`; `durable`: they are on disk when `add` returns.

    `report` gets each file that can't be read, once; the other files are read.
    """

    def __init__(self, memory: Path, *, durable: bool = True, report: Report | None = None) -> None:

        self.folder = memory / FOLDER
        self._aside = memory / "archive" / SET_ASIDE
        self._lost = memory / "archive" / LOST
        self._durable = durable
        self._report = report
        self._reported: set[Path] = set()
        self._left: set[tuple[str, int]] | None = None  # messages whose entry was never appended; None: not read yet

    def add(self, said: Iterable[KeptMessage], now: datetime, position: Callable[[str], int]) -> None:
        """Append messages; `position` returns how far a session is in history. The caller holds history's lock.

        Raises HistoryError for what the system refuses.
        """
        path = self.folder / f"{now:%Y-%m}.jsonl"
        with explained("written", path, HistoryError):
            if self._left is None:
                self._left = set()
                for known in {*self.paths()[-2:], path}:
                    if known.exists():
                        _settle(known, self._aside, now)
                        self._left |= _beyond(known, position)
            rows = [one for one in said if (one.session, one.position) not in self._left]
            if rows:
                files.keep_out(self.folder, durable=self._durable)
                files.checkpoint("before messages are kept")
                files.append(path, b"\n".join(map(encode, rows)), durable=self._durable)
                files.checkpoint("after messages are kept")

    def reset(self) -> None:
        """Make the next `add` read the files again: messages were written, but their entry was not appended."""
        self._left = None

    def paths(self) -> list[Path]:
        """Return the files, oldest first; none where the folder is a link or another user's."""
        try:
            check_folder(self.folder)
            return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        except FileNotFoundError:
            return []
        except OSError as fault:
            self._tell(self.folder, fault)
            return []

    def raw(self, path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield each whole line of a file as `raw` does; nothing, and a report, where the file can't be read."""
        try:
            yield from raw(path, start)
        except OSError as fault:
            self._tell(path, fault)

    def at(self, path: Path, offset: int) -> KeptMessage | None:
        """Return the message whose line begins at `offset`; None where none does."""
        try:
            return message_at(path, offset)
        except OSError as fault:
            self._tell(path, fault)
            return None

    def of(self, session: str, positions: Collection[int], at: datetime, *, before: bool = False) -> list[KeptMessage]:
        """Return the messages of a session at `positions`, in order, that were kept with an entry written at `at`.

        With `before` the entry was read again, and its messages were kept in the same month or an earlier one.
        """
        month = self.folder / f"{at:%Y-%m}.jsonl"
        wanted = frozenset(positions)
        found: dict[int, KeptMessage] = {}  # of one that stands there twice, the last
        for path in [one for one in reversed(self.paths()) if one.name <= month.name] if before else [month]:
            try:
                rows = map(decode, _of_session(path, session))
                found = {one.position: one for one in rows if one is not None and one.position in wanted} | found
            except FileNotFoundError:
                continue
            except OSError as fault:
                self._tell(path, fault)
            if len(found) == len(wanted):
                break
        return [found[position] for position in sorted(found)]

    def flaws(self, position: Callable[[str], int], kept: Mapping[str, int]) -> Iterator[MessageFlaw]:
        """Read every byte and yield the faults; `kept` is how many messages of each session were kept."""
        try:
            check_folder(self.folder)
        except FileNotFoundError:
            pass
        except OSError as fault:
            yield MessageFlaw(self.folder, reason(fault), mends=False)
            return
        known: set[tuple[str, int]] = set()
        is_readable = True
        for path in self.paths():
            try:
                yield from _flaws(path, known, position)
            except OSError as fault:
                is_readable = False
                yield MessageFlaw(path, reason(fault), mends=False)
        if is_readable and (gone := self._missing(known, kept)):
            names = ", ".join(islice(gone, SHOWN)) + (f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else "")
            text = _counted(gone.total(), "message is missing", "messages are missing")
            yield MessageFlaw(self.folder, f"{text}, of session {names}", lost=True)

    def _missing(self, known: Iterable[tuple[str, int]], kept: Mapping[str, int]) -> Counter[str]:
        """Return how many messages of each session are missing, without those noted as lost."""
        gone = Counter(kept)
        gone.subtract(session for session, _ in known)
        for row in Records(self._lost):
            if isinstance(row.get("messages"), int):
                gone[str(row.get("session"))] -= row["messages"]
        return +gone

    def repair(self, now: datetime, position: Callable[[str], int], kept: Mapping[str, int]) -> None:
        """Set aside invalid and duplicate lines, and messages whose entry was never appended. Under history's lock.

        A changed message is copied there and stays, with a new checksum; missing ones are noted as lost.
        """

        known: set[tuple[str, int]] = set()
        for path in self.paths():
            with explained("repaired", path, HistoryError):
                _settle(path, self._aside, now)
                judged = list(_judged(path, known, position))
                for line, _, wrong in judged:
                    if wrong:
                        set_aside(self._aside, line, now, f"{FOLDER}/{path.name}")
                if any(wrong for _, _, wrong in judged):
                    left = (_sealed(line) for line, _, wrong in judged if wrong in ("", "changed"))
                    files.replace_file(path, b"".join(line + b"\n" for line in left))
        with explained("repaired", self._lost, HistoryError):
            at = now.astimezone(UTC).isoformat(timespec="seconds")
            for session, count in self._missing(known, kept).items():
                files.append(self._lost, orjson.dumps({"timestamp": at, "session": session, "messages": count}))
        self.reset()

    def _tell(self, path: Path, fault: OSError) -> None:
        if self._report is not None and path not in self._reported:
            from dream.models import Diagnostic

            self._reported.add(path)
            name = str(path.relative_to(self.folder.parent.parent))
            self._report(Diagnostic(name, 0, f"can't be read, and nothing in it is found: {reason(fault)}"))


def raw(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield each whole line from `start` on, with its offset; without its end."""

    with opened(path) as descriptor:
        size = size_of(descriptor)
        for offset, line in lines(descriptor, start, size):
            if offset + len(line) < size:
                yield offset, line


def _of_session(path: Path, session: str) -> Iterator[bytes]:
    """Yield each whole line of a session's messages, in one pass over the file."""
    begins = b"%b," % orjson.dumps({"session": session})[:-1]
    with opened(path) as descriptor:
        data = os.pread(descriptor, size_of(descriptor), 0)
    end = 0
    while (start := data.find(begins, end)) >= 0 and (end := data.find(b"\n", start)) >= 0:
        if start == 0 or data[start - 1 : start] == b"\n":
            yield data[start:end]


def message_at(path: Path, offset: int) -> KeptMessage | None:
    """Return the message whose line begins at `offset`; None where none does. Raises OSError."""
    line = b""
    with opened(path) as descriptor:
        while b"\n" not in line and (part := os.pread(descriptor, LINE, offset + len(line))):
            line += part
    whole, end, _ = line.partition(b"\n")
    return decode(whole) if end else None


def encode(said: KeptMessage) -> bytes:
    """Write a message as a line of JSON, without its end."""
    row: dict[str, Any] = {"session": said.session, "position": said.position}
    if said.at is not None:
        row["timestamp"] = said.at.isoformat(timespec="seconds")
    row["role"] = said.role
    if said.name:
        row["name"] = said.name
    row |= {name: value for name, value in (("id", said.id), ("place", said.place)) if value}
    if said.ran is not None:
        row["ran"] = {"command": said.ran.command, "failed": said.ran.failed}
    return sealed(orjson.dumps(row | {"text": said.text}), FIRST)[:-1]


def _sealed(line: bytes) -> bytes:
    """Return the line of a message with the checksum of its bytes as they are now, where it has one."""
    found = checksum(line)
    return sealed(line[: found.start()] + b"}", FIRST)[:-1] if found else line


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
            str(row.get("id", "")),
            str(row.get("place", "")),
            _ran(row.get("ran")),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _ran(row: Any) -> CommandRun | None:
    if not isinstance(row, dict) or not isinstance(row.get("command"), str):
        return None
    from dream.models import CommandRun

    failed = row.get("failed")
    return CommandRun(row["command"], failed if isinstance(failed, bool) else None)


def of(session: str, position: int, message: Message) -> KeptMessage:
    """Return a prepared message, whose id is the digest of its identity, in the form in which it is kept."""
    role, text, own = message.role, message.content, message.id or ""
    return KeptMessage(session, position, role, text, message.at, message.name, own, ran=message.ran)


def _settle(path: Path, aside: Path, now: datetime) -> None:
    """Complete the last line, or set aside the part that a crash left of it; raises OSError."""
    with opened(path, os.O_RDWR | os.O_APPEND) as descriptor:
        size = size_of(descriptor)
        last = next(lines_backwards(descriptor, 0, size), None)
        if last is None or last[0] + len(last[1]) < size:
            return
        if decode(last[1]) is not None:
            files.write_all(descriptor, b"\n")
        else:
            set_aside(aside, last[1], now, f"{FOLDER}/{path.name}")
            os.ftruncate(descriptor, last[0])


def _beyond(path: Path, position: Callable[[str], int]) -> set[tuple[str, int]]:
    """Return the messages near the end of a file whose positions are beyond those of their sessions in history."""

    left: set[tuple[str, int]] = set()
    known: dict[str, int] = {}
    with opened(path) as descriptor:
        size = size_of(descriptor)
        for offset, line in lines_backwards(descriptor, 0, size):
            said = decode(line)
            if said is not None:
                if said.session not in known:
                    known[said.session] = position(said.session)
                if said.position >= known[said.session]:
                    left.add((said.session, said.position))
            if offset < size - LOOKED_BACK:
                break
    return left


def _judged(
    path: Path, known: set[tuple[str, int]], position: Callable[[str], int]
) -> Iterator[tuple[bytes, str, Literal["", "broken", "twice", "ahead", "changed"]]]:
    """Yield each whole line of a file, its session, and what is wrong with it.

    That is: it is no message, a duplicate, without its entry in history, or not as it was written. `known` are the
    messages before it; its own are added. Raises OSError.
    """
    for _, line in raw(path):
        said = decode(line)
        if said is None:
            yield line, "", "broken"
        elif (said.session, said.position) in known:
            yield line, said.session, "twice"
        else:
            known.add((said.session, said.position))
            is_changed = (found := checksum(line)) is not None and not is_as_written(line, found)
            ahead = said.position >= position(said.session)
            yield line, said.session, "ahead" if ahead else "changed" if is_changed else ""


def _flaws(path: Path, known: set[tuple[str, int]], position: Callable[[str], int]) -> Iterator[MessageFlaw]:
    """Yield the faults of a file; adds its messages to `known`, those of the files before; raises OSError."""
    found, ahead, end = Counter[str](), Counter[str](), 0
    for line, session, wrong in _judged(path, known, position):
        end += len(line) + 1
        found[wrong] += 1
        ahead[session] += wrong == "ahead"
    if end < path.stat().st_size:
        yield MessageFlaw(path, "its last line was cut short")
    if broken := found["broken"]:
        yield MessageFlaw(path, _counted(broken, "line is no message", "lines are no messages"))
    if twice := found["twice"]:
        yield MessageFlaw(path, _counted(twice, "message stands there twice", "messages stand there twice"))
    if changed := found["changed"]:
        yield MessageFlaw(path, _counted(changed, "message is", "messages are") + " not as it was written")
    for session, count in (+ahead).items():
        text = _counted(count, "message waits for its entry", "messages wait for their entry")
        yield MessageFlaw(path, f"{text} of history, in session {session}", waits=True)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
