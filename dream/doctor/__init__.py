"""Check everything on disk; say what is wrong, and mend what can be mended without loss."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from dream.crontime import parse
from dream.doctor.ailment import Ailment
from dream.doctor.log import check_cursors, check_history
from dream.doctor.texts import check_files
from dream.doctor.versions import check_versions
from dream.errors import DreamError
from dream.forget import UNDONE, unfinished
from dream.nights import timers
from dream.settings import Settings
from dream.store import intent, transaction
from dream.store.files import TEMPORARY, sweep
from dream.store.lock import run_lock
from dream.store.workspace import Workspace

__all__ = ["Ailment", "examine"]


def examine(workspace: Workspace, settings: Settings, *, now: datetime, repair: bool = False) -> list[Ailment]:
    """Check versions, history, cursors, memory files, the review queue and the schedule; an empty list is health.

    With `repair` what can be mended without loss is: bytes that are taken out of a file are kept in memory/archive/
    or .dream/, and a change of a memory file is a commit. Raises Busy with `repair` when another run holds the
    workspace.
    """
    if not repair:
        return list(_all(workspace, settings, now, repair=False))
    with run_lock(workspace.private, "dream doctor", now=now):
        return list(_all(workspace, settings, now, repair=True))


def _all(workspace: Workspace, settings: Settings, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    # A commit that is half done first: everything else is judged by what it says.
    yield from _unfinished(workspace, repair=repair)
    yield from check_versions(workspace, now, repair=repair)
    yield from check_history(workspace, now, repair=repair)
    yield from check_cursors(workspace, repair=repair)
    yield from check_files(workspace, settings, now, repair=repair)
    yield from _queue(workspace)
    yield from _leftovers(workspace, repair=repair)
    yield from _schedule(settings)


def _unfinished(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    if (workspace.private / intent.FILE_NAME).exists():
        mended = repair and transaction.recover(workspace)
        yield Ailment(".dream/apply.json", "a commit was cut short by a crash", "the next `dream run` ends it", mended)
    if (since := unfinished(workspace)) is not None:
        text = f"a `dream forget` of {since:%Y-%m-%d %H:%M} did not come to its end"
        yield Ailment(f".dream/{UNDONE}", text, "run it again with the same text")


def _queue(workspace: Workspace) -> Iterator[Ailment]:
    for proposal in workspace.pending():
        if proposal.file is None:
            span = ", ".join(map(str, proposal.entries))
            text = f"entry {span} could not be dreamt: {proposal.reason}"
            yield Ailment("memory/.pending.jsonl", text, "dream review")


def _leftovers(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Name what a killed write left beside its goal; what a living process writes is not old enough to be named."""
    for folder in (workspace.root, workspace.memory, workspace.memory / "archive", workspace.private):
        left = {path for path in folder.glob(f".*{TEMPORARY}") if path.is_file()}
        if not left:
            continue
        if repair:
            sweep(folder)
        for path in sorted(left):
            text = "was left half-written by a process that was killed"
            cure = "dream doctor --repair removes it, unless its process still lives"
            yield Ailment(str(path.relative_to(workspace.root)), text, cure, not path.exists())


def _schedule(settings: Settings) -> Iterator[Ailment]:
    try:
        timers.calendar(parse(settings.schedule))
    except DreamError as error:
        yield Ailment("dream.toml", str(error), "write another one")
