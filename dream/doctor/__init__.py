"""Check everything on disk; say what is wrong, and mend what can be mended without loss."""

from __future__ import annotations

import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from dream.crontime import parse
from dream.doctor.ailment import REPAIR, Ailment
from dream.doctor.log import check_cursor, check_dream_cursor, check_history
from dream.doctor.texts import check_files
from dream.doctor.versions import check_versions
from dream.door import OTHERS
from dream.errors import DreamError
from dream.forget import UNDONE, unfinished
from dream.nights import timers
from dream.settings import Settings
from dream.store import gitdir, idle, intent, transaction
from dream.store.files import TEMPORARY, sweep
from dream.store.gitdiff import strays
from dream.store.gitobjects import FILES
from dream.store.lock import RUN_LOCK, run_lock
from dream.store.workspace import Workspace

__all__ = ["Ailment", "examine"]

LOOKS = 8  # beside a process at work, before what is still wrong is believed
PAUSE = 0.15  # seconds between two looks; longer than a commit takes
SHOWN = 4  # files that one ailment names; of more it says how many


def examine(workspace: Workspace, settings: Settings, *, now: datetime, repair: bool = False) -> list[Ailment]:
    """Check versions, history, cursors, memory files, the review queue and the schedule; an empty list is health.

    With `repair` what can be mended without loss is: bytes that are taken out of a file are kept in memory/archive/
    or .dream/, and a change of a memory file is a commit. Raises Busy with `repair` when another run holds the
    workspace.
    """
    if not repair:
        return _lasting(workspace, partial(_all, workspace, settings, now, repair=False))
    with run_lock(workspace.private, "dream doctor", now=now):
        return list(_all(workspace, settings, now, repair=True))


def _lasting(workspace: Workspace, look: Callable[[], Iterator[Ailment]]) -> list[Ailment]:
    """Return what is wrong at each of several looks: what another process has half done is done at the next.

    Where nobody is at work, or nothing is wrong, that is soon known.
    """
    found = list(look())
    for _ in range(LOOKS):
        if not found:
            break
        at_rest = _is_at_rest(workspace)
        time.sleep(PAUSE)
        again = list(look())
        found = [one for one in again if one in found]
        if at_rest and _is_at_rest(workspace):
            break
    return found


def _is_at_rest(workspace: Workspace) -> bool:
    with suppress(OSError):
        return idle.is_free(workspace.private / RUN_LOCK)
    return True  # on a disk that nobody can write to nobody works


def _all(workspace: Workspace, settings: Settings, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    # A commit that is half done first: everything else is judged by what it says.
    yield from _unfinished(workspace, repair=repair)
    yield from check_versions(workspace, now, repair=repair)
    yield from check_dream_cursor(workspace, repair=repair)  # before history, which gives no cursor below it
    yield from check_history(workspace, now, repair=repair)
    yield from check_cursor(workspace, repair=repair)
    yield from check_files(workspace, settings, now, repair=repair)
    yield from _queue(workspace)
    yield from _leftovers(workspace, repair=repair)
    yield from _open_to_all(workspace, repair=repair)
    yield from _schedule(settings)


def _unfinished(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    if (workspace.private / intent.FILE_NAME).exists():
        mended = repair and transaction.recover(workspace)
        yield Ailment(".dream/apply.json", "a commit was cut short by a crash", "the next `dream run` ends it", mended)
    for one in unfinished(workspace):
        text = f"the `dream forget` number {one.number}, of {one.since:%Y-%m-%d %H:%M}, did not come to its end"
        ends = f"`dream forget --finish {one.number}` ends it" if one.texts else "run it again with the same text"
        yield Ailment(f".dream/{UNDONE}", text, f"{ends}; `dream forget --give-up {one.number}` leaves it at that")


def _queue(workspace: Workspace) -> Iterator[Ailment]:
    for proposal in workspace.pending():
        if proposal.file is None:
            span = ", ".join(map(str, proposal.entries))
            text = f"entry {span} could not be dreamt: {proposal.reason}"
            yield Ailment("memory/.pending.jsonl", text, "dream review")


def _leftovers(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Name what a killed write left beside its goal; what a living process writes is not old enough to be named."""
    for folder in (workspace.root, workspace.memory, workspace.memory / "archive", workspace.private):
        left = set(folder.glob(f".*{TEMPORARY}"))
        if not left:
            continue
        if repair:
            sweep(folder)
        for path in sorted(left):
            text = "was left half-written by a process that was killed"
            cure = "dream doctor --repair removes it, unless its process still lives"
            yield Ailment(str(path.relative_to(workspace.root)), text, cure, not path.exists())
    for path in strays():
        if repair:
            shutil.rmtree(path, ignore_errors=True)
        text = "was left with text of memory by an older dream that was killed"
        yield Ailment(str(path), text, f"{REPAIR} removes it", not path.exists())


def _open_to_all(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Name what everybody may read, as adopted workspaces and older versions have it.

    What stands in a directory that is closed to them nobody reaches; what is open to a group a person has opened.
    """
    found = list(_reachable(workspace))
    if found:
        shown = [str(path.relative_to(workspace.root)) for path in found]
        for path in found if repair else ():
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
        more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
        text = "can be read or changed by everybody on this machine"
        yield Ailment(", ".join(shown[:SHOWN]) + more, text, f"{REPAIR} leaves them to you alone", repair)


def _reachable(workspace: Workspace) -> Iterator[Path]:
    """Yield the files and directories of ours that everybody may read, write or enter; of git only the outermost."""
    if not workspace.root.stat().st_mode & stat.S_IXOTH:
        return
    waiting = [workspace.root / name for name in (*FILES, "dream.toml", "prompts", "memory", ".dream")]
    if git_dir := gitdir.find(workspace.root, workspace.private):
        waiting.append(git_dir)
    while waiting:
        path = waiting.pop(0)
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode) or not mode & stat.S_IRWXO:
                continue
            yield path
            if stat.S_ISDIR(mode) and path.name not in (".git", "git"):
                waiting += sorted(path.iterdir())


def _schedule(settings: Settings) -> Iterator[Ailment]:
    try:
        timers.calendar(parse(settings.schedule))
    except DreamError as error:
        yield Ailment("dream.toml", str(error), "write another one")
