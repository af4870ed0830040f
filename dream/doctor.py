"""Check everything on disk; say what is wrong, and mend what can be mended without loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from dream import text as texts
from dream import timers
from dream.crontime import parse
from dream.errors import DreamError, GitError
from dream.models import MEMORY_FILES, Diagnostic
from dream.redact import redact
from dream.settings import Settings
from dream.store import transaction
from dream.store.lock import run_lock
from dream.store.workspace import Workspace

Mend = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Ailment:
    """One thing that is wrong. `mended` tells whether it was put right; `cure` is what a person can do."""

    file: str
    text: str
    cure: str = ""
    mended: bool = False


def examine(workspace: Workspace, settings: Settings, *, now: datetime, repair: bool = False) -> list[Ailment]:
    """Check memory files, history, cursor, versions, the review queue and the schedule; nothing found is an empty list.

    With `repair` a commit that a crash cut short is finished and missing versions are made; whatever would lose a byte
    is only said. Raises Busy with `repair` when another run holds the workspace.
    """
    if repair:
        with run_lock(workspace.private, "dream doctor", now=now):
            return [
                *_unfinished(workspace, repair=True),
                *_versions(workspace, now, repair=True),
                *_all(workspace, settings),
            ]
    return [*_unfinished(workspace, repair=False), *_versions(workspace, now, repair=False), *_all(workspace, settings)]


def _all(workspace: Workspace, settings: Settings) -> list[Ailment]:
    return [*_files(workspace, settings), *_history(workspace), *_queue(workspace), *_schedule(settings)]


def _unfinished(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    if not (workspace.private / "apply.json").exists():
        return
    mended = repair and transaction.recover(workspace)
    yield Ailment(".dream/apply.json", "a commit was cut short by a crash", "the next `dream run` finishes it", mended)


def _versions(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    if not workspace.git.exists:
        if repair:
            Workspace.create(workspace.root, now=now)
        yield Ailment(".git", "there are no versions of this workspace", "dream doctor --repair makes them", repair)
        return
    try:
        workspace.git.fsck()
    except GitError as error:
        yield Ailment(".git", str(error), "copy the workspace, then ask git: git fsck --full")


def _files(workspace: Workspace, settings: Settings) -> Iterator[Ailment]:
    for name in MEMORY_FILES:
        try:
            text = workspace.read_file(name)
        except DreamError as error:
            yield Ailment(name, str(error), "mend the file in an editor")
            continue
        if text.startswith("\ufeff"):
            yield Ailment(name, "begins with a byte order mark", "save it as UTF-8 without BOM")
        if "\r\n" in text:
            yield Ailment(
                name, "has CRLF line ends, which stay as they are", "save it with LF if you did not mean them"
            )
        for problem in texts.problems(text.removeprefix("\ufeff").replace("\r\n", "\n")):
            yield Ailment(name, f"holds an unseen character: {problem}", "take it out in an editor")
        _, kinds = redact(text, settings.redact_patterns)
        for kind in kinds:
            yield Ailment(name, f"holds what looks like a secret: {kind}", "take it out, and change the secret")


def _history(workspace: Workspace) -> Iterator[Ailment]:
    found: dict[Diagnostic, None] = {}
    watched = Workspace(workspace.root, report=lambda diagnostic: found.update({diagnostic: None}))
    try:
        last = 0
        for entry in watched.history.after(0):
            last = entry.cursor
        cursor = watched.dream_cursor()
        watched.pending()
        watched.rejected()
    except DreamError as error:
        yield Ailment("memory/history.jsonl", str(error))
        return
    for diagnostic in found:
        where = f"line {diagnostic.line}: " if diagnostic.line else ""
        yield Ailment(diagnostic.file, f"{where}{diagnostic.text}", "it is left out and kept on disk")
    highest = max(last, watched.history.last_cursor())
    if cursor > highest:
        yield Ailment(
            "memory/.dream_cursor",
            f"says entry {cursor} is dreamt, but history ends with {highest}",
            f"write {highest} into it if no newer history was lost",
        )


def _queue(workspace: Workspace) -> Iterator[Ailment]:
    for proposal in workspace.pending():
        if proposal.file is None:
            span = ", ".join(map(str, proposal.entries))
            yield Ailment(
                "memory/.pending.jsonl", f"entry {span} could not be dreamt: {proposal.reason}", "dream review"
            )


def _schedule(settings: Settings) -> Iterator[Ailment]:
    try:
        timers.calendar(parse(settings.schedule))
    except DreamError as error:
        yield Ailment("dream.toml", str(error), "write another one")
