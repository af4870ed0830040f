"""From an edited draft to one commit: the bytes it puts on disk, its message, and what is held as a person saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dream.dreaming.authors import person_lines
from dream.dreaming.budget import archived, fit_budget
from dream.dreaming.draft import Draft, added
from dream.dreaming.phase2 import Edited
from dream.dreaming.queue import come_true, held_back
from dream.memory import memory_file
from dream.models import MEMORY_FILES, MemoryFile, Outcome, Proposal
from dream.reports import BatchReport, LineCount
from dream.settings import Settings
from dream.versions import log, read_memory
from dream.versions.log import Moved
from dream.versions.transaction import Held
from dream.workspace.files import decode
from dream.workspace.places import KnownPlace
from dream.workspace.review_files import PENDING, ProposalNumbers, parse_pending, render_pending

if TYPE_CHECKING:
    from dream.directory import Workspace

# From an edited draft to the bytes that one commit puts on disk: files, archive, pending and cursor.


CURSOR = "memory/.dream_cursor"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The workspace as a dream found it: its memory files as bytes and text, archives, and what waits for a person."""

    data: Mapping[str, bytes | None]
    texts: Mapping[MemoryFile, str]
    archives: Mapping[str, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    pending: Sequence[Proposal]

    def within(self, place: KnownPlace | None, owners: Sequence[str] = ()) -> Snapshot:
        """Return what a dream of what was said in a place may change: the three files, and its own two.

        In a group chat USER.md and the rules for everywhere are the owners', and the facts nobody's.
        """
        beyond: Sequence[MemoryFile] = MEMORY_FILES
        if place is not None and place.is_group:
            beyond = MEMORY_FILES[:2] if owners else ()
        paths = (*beyond, *(place.files if place else ()))
        return replace(self, texts={path: self.texts.get(path, "") for path in paths})

    def imagining(self, files: Mapping[str, bytes | None]) -> Snapshot:
        """Return the workspace as it would be had `files` been written; for a dry run."""
        now = {**self.data, **files}
        texts = _texts(now)
        archives = {path: _text(data, path) for path, data in now.items() if path.startswith("memory/archive/")}
        pending = parse_pending(now.get(PENDING) or b"")
        return Snapshot(now, texts, archives, self.person_lines, pending)


def look(workspace: Workspace, *, uncommitted: bool = False) -> Snapshot:
    """Read what a dream must know of the workspace. Raises WorkspaceError for a memory file that is not UTF-8 text.

    With `uncommitted`, for a dry run, what is in no commit yet counts as a person's where it will be in theirs.
    """
    data: dict[str, bytes | None] = dict(read_memory(workspace.root))
    texts = _texts(data)
    archives = {path: _text(content, path) for path, content in data.items() if path not in texts}
    git = workspace.git
    head = git.head() if git.exists else None
    person = person_lines(git) if head else {}
    lines = {path: person.get(path, frozenset()) for path in texts}
    if uncommitted and not workspace.agent:
        committed = git.read_all(head) if head else {}
        lines = {path: lines[path] | set(added(_text(committed.get(path), path), texts[path])) for path in texts}
    return Snapshot(data, texts, archives, lines, workspace.pending())


@dataclass(frozen=True, slots=True)
class Composed:
    """What a dream wants on disk, by path, and what there is to say about it.

    `content` is False when nothing but the cursor would change; then there is no commit. `true` are the proposals
    that leave the review queue, because nothing is left of them to do; `moved` is what left a file for the archive.
    """

    files: Mapping[str, bytes | None]
    content: bool
    notes: tuple[str, ...]
    true: tuple[Proposal, ...] = ()
    moved: tuple[Moved, ...] = ()


def compose(
    found: Snapshot,
    draft: Draft,
    new: Sequence[Proposal],
    cursor: int,
    settings: Settings,
    day: date,
    recent: Callable[[MemoryFile], frozenset[str]],
    withdrawn: Sequence[Proposal] = (),
) -> Composed:
    """Compose the change of one dream: the draft within its budgets, new proposals, and the cursor.

    `recent` tells which lines of a file the dreams of the last days wrote; `withdrawn` proposals leave the queue.
    """
    files: dict[str, bytes | None] = {}
    notes: list[str] = []
    moved: list[Moved] = []
    for path, before in found.texts.items():
        text = draft.texts[path]
        if text == before:
            continue
        person = found.person_lines.get(path, frozenset())
        fitted = fit_budget(path, before, text, person, settings, day, partial(recent, path))
        if fitted is not None:
            text = fitted.text
        if fitted is not None and fitted.moved:
            archive = archived(found.archives.get(fitted.archive, ""), fitted, day)
            files[fitted.archive] = archive.encode("utf-8")
            moved.append(Moved(path, fitted.archive, fitted.moved))
            notes.append(f"{path} was over its budget: {len(fitted.moved)} older lines moved to {fitted.archive}")
        files[path] = text.encode("utf-8")
    true = [item for item in come_true(found.pending, draft.texts) if item not in withdrawn]
    notes += [
        f"what waited as {item.id} no longer does: the user changed or took back what it says" for item in withdrawn
    ]
    if new or true or withdrawn:
        left = [item for item in found.pending if item not in true and item not in withdrawn]
        files[PENDING] = render_pending([*left, *new])
    content = bool(files)
    files[CURSOR] = b"%d\n" % cursor
    return Composed(files, content, tuple(notes), tuple(true), tuple(moved))


def _texts(data: Mapping[str, bytes | None]) -> dict[MemoryFile, str]:
    paths = (*MEMORY_FILES, *(path for path in data if memory_file(path) == path and path not in MEMORY_FILES))
    return {path: _text(data.get(path), path) for path in paths}


def _text(data: bytes | None, path: str) -> str:
    return decode(data or b"", Path(path))


# A dream's last step to disk: what its commit says, and what waits where a person saved a file at that moment.


@dataclass(slots=True)
class Landing:
    """One dream on its way into a commit.

    `report` says what became of each finding, also after the commit: what had to give way to a person is held.
    `waiting` are the proposals that the dream adds to the review queue.
    """

    report: BatchReport
    found: Snapshot
    edited: Edited
    waiting: Sequence[Proposal]
    numbers: ProposalNumbers
    model: str
    now: datetime
    note: str
    moved: Sequence[Moved] = ()
    batch: str = ""
    sessions: int = 0  # that the entries come from

    def hold(self, stopped: Sequence[Held]) -> Mapping[str, bytes | None]:
        """Queue the edits of files that a person saved meanwhile and that would not merge: theirs stays."""
        paths = {item.path for item in stopped}
        true = tuple(item for item in self.report.true if item.file not in paths)
        queue = [*(item for item in self.found.pending if item not in true), *self.waiting]
        last = self.numbers.last(queue)
        late = held_back(self.edited.draft, self.edited.outcomes, paths, queue, last, self.now)
        late = [replace(item, batch=self.batch) for item in late]
        self.numbers.given(late)
        outcomes = tuple(_held_back(outcome, paths) for outcome in self.report.outcomes)
        self.report = replace(self.report, outcomes=outcomes, true=true)
        return {PENDING: render_pending([*queue, *late])}

    def message(self, counts: Mapping[str, LineCount]) -> str:
        """Write the commit's message; its figures are those of the lines that each file gains and loses."""
        return log.build(
            "dream",
            counts,
            entries=None if self.note == log.TIDY else self.report.entries,
            outcomes=self.report.outcomes,
            model=self.model,
            usage=self.report.usage,
            note=self.note,
            moved=self.moved,
            trailers={log.BATCH: self.batch} if self.batch else None,
            sessions=self.sessions,
        )


def _held_back(outcome: Outcome, paths: set[str]) -> Outcome:
    if outcome.state == "applied" and outcome.finding.file in paths:
        return Outcome(outcome.finding, "held", "a person saved the file meanwhile")
    return outcome
