"""From an edited draft to one commit: the bytes it puts on disk, its message, and edits held because a person saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
    """The workspace as a dream found it: its memory files as bytes and text, archives, and pending proposals."""

    data: Mapping[str, bytes | None]
    texts: Mapping[MemoryFile, str]
    archives: Mapping[str, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    pending: Sequence[Proposal]

    def within(self, place: KnownPlace | None, owners: Sequence[str] = ()) -> Snapshot:
        """Restrict the snapshot to the files that a dream of a place may change: the three files, and the place's two.

        In a dream of a group chat, only owners may change USER.md and the global rules, and nobody the global facts.
        """
        beyond: Sequence[MemoryFile] = MEMORY_FILES
        if place is not None and place.is_group:
            beyond = MEMORY_FILES[:2] if owners else ()
        paths = (*beyond, *(place.files if place else ()))
        return replace(self, texts={path: self.texts.get(path, "") for path in paths})

    def imagining(self, files: Mapping[str, bytes | None]) -> Snapshot:
        """Return the snapshot as if `files` had been written, for a dry run."""
        now = {**self.data, **files}
        texts = _texts(now)
        archives = {path: _text(data, path) for path, data in now.items() if path.startswith("memory/archive/")}
        pending = parse_pending(now.get(PENDING) or b"")
        return Snapshot(now, texts, archives, self.person_lines, pending)


def look(workspace: Workspace, *, uncommitted: bool = False) -> Snapshot:
    """Read the workspace for a dream. Raises WorkspaceError for a memory file that is not UTF-8 text.

    With `uncommitted`, for a dry run, uncommitted lines count as a person's if they would be committed as theirs.
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
    """The files that a dream will write, by path, and notes about them.

    `content` is False when only the cursor would change; then there is no commit. `true` are the proposals that are
    removed from the review queue because memory already says what they would change; `moved` are the archived lines.
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
    withdrawn: Set[int] = frozenset(),
) -> Composed:
    """Compose the change of one dream: the draft within its budgets, new proposals, and the cursor.

    `recent` returns the lines of a file that recent dreams wrote; the proposals numbered `withdrawn` leave the queue.
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
    pending = [item for item in found.pending if item.id not in withdrawn]
    true = come_true(pending, draft.texts)
    notes += [f"what waited as {number} no longer does: it was changed or taken back" for number in sorted(withdrawn)]
    if new or true or withdrawn:
        left = [item for item in pending if item not in true]
        files[PENDING] = render_pending([*left, *new])
    content = bool(files)
    files[CURSOR] = b"%d\n" % cursor
    return Composed(files, content, tuple(notes), tuple(true), tuple(moved))


def _texts(data: Mapping[str, bytes | None]) -> dict[MemoryFile, str]:
    paths = (*MEMORY_FILES, *(path for path in data if memory_file(path) == path and path not in MEMORY_FILES))
    return {path: _text(data.get(path), path) for path in paths}


def _text(data: bytes | None, path: str) -> str:
    return decode(data or b"", Path(path))


# The last step of a dream: its commit message, and the edits held because a person saved the file meanwhile.


@dataclass(slots=True)
class Landing:
    """One dream that is about to be committed.

    `report` has the outcome of each finding; a finding whose file a person saved meanwhile becomes held. `waiting` are
    the proposals that the dream adds to the review queue.
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
        """Queue the edits that conflict with what a person saved meanwhile; the person's version stays."""
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
        """Write the commit message, with the number of lines that each file gains and loses."""
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
