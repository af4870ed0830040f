"""The two files of decisions: what waits for a person, and what one took back. JSON lines, bytes in and out.

Both are versioned, so it is the commit that writes them; here they are read and rendered only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from dream.errors import GitError
from dream.memory import memory_file
from dream.models import Diagnostic, MemoryFile, Proposal, Rejected, Report
from dream.workspace.files import number, read_bytes, replace_file

if TYPE_CHECKING:
    from dream.versions.store import GitStore

PENDING = "memory/.pending.jsonl"
REJECTED = "memory/.rejected.jsonl"

FILES = (PENDING, REJECTED)

T = TypeVar("T")
FILE_NAME = "last_proposal"
_ID = re.compile(rb'^\+\{"id":(\d{1,15}),', re.MULTILINE)


def parse_pending(data: bytes, report: Report | None = None) -> list[Proposal]:
    """Read proposals; a line that is none is reported and left out."""
    return _parsed(data, PENDING, _proposal, report)


def parse_rejected(data: bytes, report: Report | None = None) -> list[Rejected]:
    """Read rejected facts; a line that is none is reported and left out."""
    return _parsed(data, REJECTED, _rejected, report)


def in_force(rows: Iterable[Rejected]) -> list[Rejected]:
    """Return the rejected facts that no later row lifts."""
    found: list[Rejected] = []
    for row in rows:
        if row.lifted:
            found = [one for one in found if (one.file, one.text, one.removal) != (row.file, row.text, row.removal)]
        else:
            found.append(row)
    return found


def lacking(path: str, data: bytes, committed: bytes) -> Sequence[Proposal | Rejected]:
    """Return what `committed`, an earlier content of the file at `path`, holds and `data` doesn't."""
    parse: Callable[[bytes], Sequence[Proposal | Rejected]] = parse_pending if path == PENDING else parse_rejected
    there = parse(data)
    return [one for one in parse(committed) if one not in there]


def joined(path: str, data: bytes, committed: bytes) -> bytes:
    """Return what both contents of the file at `path` hold; under one number that of `committed` counts."""
    if path == PENDING:
        rows = {one.id: one for one in (*parse_pending(data), *parse_pending(committed))}
        return render_pending(rows[number] for number in sorted(rows))
    lost = [one for one in lacking(path, data, committed) if isinstance(one, Rejected)]
    return grown(data, lost)


def _parsed(data: bytes, file: str, read: Callable[[dict[str, Any]], T], report: Report | None) -> list[T]:
    found = []
    for at, line in enumerate(data.split(b"\n"), 1):
        try:
            if line.strip():
                found.append(read(_row(line)))
        except (ValueError, TypeError, KeyError) as fault:
            if report is not None:
                text = f"has no field {fault}" if isinstance(fault, KeyError) else str(fault)
                report(Diagnostic(file, at, f"the line is left out: {text}"))
    return found


def render_pending(proposals: Iterable[Proposal]) -> bytes:
    """Write proposals as JSON lines."""
    return b"".join(_line(_plain(proposal)) for proposal in proposals)


def grown(data: bytes, facts: Iterable[Rejected]) -> bytes:
    """Return the file of rejected facts with `facts` after what is there, byte for byte; it only ever grows."""
    whole = data if not data or data.endswith(b"\n") else data + b"\n"
    return whole + b"".join(_line(_plain(fact)) for fact in facts)


def _plain(value: Proposal | Rejected) -> dict[str, Any]:
    row = asdict(value)
    return {name: one for name, one in row.items() if name not in ("removal", "lifted", "batch", "under") or one}


def _line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _row(line: bytes) -> dict[str, Any]:
    row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    if not isinstance(row, dict):
        raise TypeError("it is not a JSON object")
    return row


def _proposal(row: dict[str, Any]) -> Proposal:
    return Proposal(
        id=int(row["id"]),
        at=_time(row["at"]),
        file=None if row["file"] is None else _file(row["file"]),
        old_text=_text(row["old_text"]),
        new_text=_text(row["new_text"]),
        guard=_text(row["guard"]),
        reason=_text(row["reason"]),
        findings=tuple(_text(finding) for finding in row["findings"]),
        entries=tuple(int(cursor) for cursor in row["entries"]),
        batch=_text(row.get("batch", "")),
        under=_text(row.get("under", "")),
    )


def _rejected(row: dict[str, Any]) -> Rejected:
    removal = row.get("removal", False) is True
    lifted = row.get("lifted", False) is True
    return Rejected(_time(row["at"]), _file(row["file"]), _text(row["text"]), _text(row["source"]), removal, lifted)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def _time(value: object) -> datetime:
    return datetime.fromisoformat(_text(value)).astimezone(UTC)


def _file(value: object) -> MemoryFile:
    if (file := memory_file(value)) is not None and file == value:
        return file
    raise ValueError(f"{value!r:.40} is not a memory file")


# The numbers of proposals: none is given twice while the repository lives, whatever is decided or restored.


class ProposalNumbers:
    """The highest number ever given, kept in the workspace's .dream directory beside the versions.

    It is not versioned itself, for a restore must not take it back. Where it is lost or damaged, the versions of
    the review queue say it again.
    """

    def __init__(self, git: GitStore, private: Path) -> None:
        self._git = git
        self._path = private / FILE_NAME

    def last(self, pending: Iterable[Proposal]) -> int:
        """Return the highest number that was ever given; `pending` waits now."""
        known = number(read_bytes(self._path) or b"")
        return max([self._committed() if known is None else known, *(item.id for item in pending)])

    def given(self, new: Iterable[Proposal]) -> None:
        """Note the numbers of `new`, on disk before any of them is seen; raises WorkspaceError."""
        if numbers := [item.id for item in new]:
            replace_file(self._path, b"%d\n" % max(numbers))

    def _committed(self) -> int:
        try:
            patches = self._git.patches_of(PENDING)
        except GitError:  # nothing is committed yet
            return 0
        return max((int(found) for found in _ID.findall(patches)), default=0)
