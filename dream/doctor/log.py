"""History and the two cursors beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from dream.doctor.ailment import REPAIR, Ailment
from dream.errors import DreamError, GitError
from dream.models import Diagnostic
from dream.store.files import read_bytes, replace
from dream.store.history_archive import opened
from dream.store.history_writer import read_cursor
from dream.store.workspace import DREAM_CURSOR, Workspace

CHUNK = 1 << 20
KEPT = "passed over and kept"
_LOG = "memory/history.jsonl"


def check_history(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Name every line that is not as it should be, and what is gone.

    `repair` sets aside, renumbers, writes down what can be read, and notes what is gone as lost.
    """
    found = list(_flaws(workspace))
    crlf = _has_crlf(workspace.root / _LOG)
    if repair and (found or crlf):
        workspace.history.repair(now=now)
    left = {one.text for one in _flaws(workspace)} if repair and found else set()
    for one in found:
        where = f"line {one.line}: " if one.line else ""
        lost = "missing" in one.text
        cure = f"look in a backup for it; {REPAIR} notes it as lost" if lost else f"{REPAIR}; until then it is {KEPT}"
        mended = repair and one.text not in left
        noted = "; noted in memory/archive/lost.jsonl" if lost and mended else ""
        yield Ailment(one.file, where + one.text + noted, cure, mended)
    if crlf:
        yield Ailment(_LOG, "has lines that end in CRLF", REPAIR, repair)


def check_dream_cursor(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Compare `.dream_cursor` with history and with the last commit."""
    found: list[Diagnostic] = []
    watched = Workspace(workspace.root, report=found.append)
    try:
        cursor, committed = watched.dream_cursor(), _committed(watched)
    except DreamError as error:
        yield Ailment(DREAM_CURSOR, str(error))
        return
    says = [one.text for one in found if one.file == DREAM_CURSOR]
    if not says and cursor < committed:
        says = [f"says {cursor}, but the last commit was made at entry {committed}"]
        cursor = committed
    for text in says:
        if repair:
            replace(workspace.root / DREAM_CURSOR, b"%d\n" % cursor)
        yield Ailment(DREAM_CURSOR, text, f"{REPAIR} writes {cursor} into it", repair)


def _flaws(workspace: Workspace) -> Iterator[Diagnostic]:
    """Read all of history and what is held, and yield what is wrong with it."""
    found: dict[Diagnostic, None] = {}
    watched = Workspace(workspace.root, report=lambda diagnostic: found.update({diagnostic: None}))
    try:
        found.update(dict.fromkeys(watched.history.flaws()))
        if torn := watched.history.cut_short():
            found[torn] = None
        watched.pending()
        watched.rejected()
    except DreamError as error:
        found[Diagnostic(_LOG, 0, str(error))] = None
    yield from found


def _has_crlf(path: Path) -> bool:
    try:
        with opened(path) as descriptor, open(descriptor, "rb", closefd=False) as log:
            before = b""
            while chunk := log.read(CHUNK):
                if b"\r\n" in before[-1:] + chunk:
                    return True
                before = chunk
    except OSError:
        return False
    return False


def check_cursor(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Check the highest cursor ever given out: a lower one would be taken for true by nanobot."""
    path = workspace.memory / ".cursor"
    newest = next(workspace.history.backwards(), None)
    given = read_cursor(path)
    highest = newest.cursor if newest else 0
    if given >= highest:
        return
    says = (read_bytes(path) or b"")[:40]
    if repair:
        replace(path, b"%d\n" % highest)
    yield Ailment("memory/.cursor", f"holds {says!r}, but history ends with entry {highest}", REPAIR, repair)


def _committed(workspace: Workspace) -> int:
    try:
        if not workspace.git.exists or workspace.git.head() is None:
            return 0
    except GitError:  # the check of the versions names it
        return 0
    data = (workspace.git.read("HEAD", DREAM_CURSOR) or b"").strip()
    return int(data) if data.isdigit() and len(data) < 20 else 0
