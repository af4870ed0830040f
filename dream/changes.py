"""From an edited draft to the bytes that one commit puts on disk: files, archive, pending and cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime

from dream import prompts
from dream.errors import WorkspaceError
from dream.models import MEMORY_FILES, Finding, MemoryFile, Outcome, Proposal
from dream.phases import budget
from dream.phases.draft import Draft
from dream.phases.editing import HeldEdit
from dream.phases.guards import Verdict
from dream.settings import Settings
from dream.store import authors, handedits
from dream.store.review_files import PENDING, parse_pending, render_pending
from dream.store.workspace import Workspace

CURSOR = "memory/.dream_cursor"


@dataclass(frozen=True, slots=True)
class Found:
    """The workspace as a dream found it: its memory files as bytes and text, archives, and what waits for a person."""

    data: Mapping[str, bytes | None]
    texts: Mapping[MemoryFile, str]
    archives: Mapping[str, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    pending: Sequence[Proposal]

    def imagining(self, files: Mapping[str, bytes | None]) -> Found:
        """Return the workspace as it would be had `files` been written; for a dry run."""
        now = {**self.data, **files}
        texts = {path: _text(now.get(path), path) for path in MEMORY_FILES}
        archives = {path: _text(data, path) for path, data in now.items() if path.startswith("memory/archive/")}
        pending = parse_pending(now.get(PENDING) or b"")
        return Found(now, texts, archives, self.person_lines, pending)


def look(workspace: Workspace) -> Found:
    """Read what a dream must know of the workspace. Raises WorkspaceError for a memory file that is not UTF-8 text."""
    data: dict[str, bytes | None] = dict(handedits.read(workspace.root))
    texts = {path: _text(data.get(path), path) for path in MEMORY_FILES}
    archives = {path: _text(content, path) for path, content in data.items() if path not in texts}
    person = authors.person_lines(workspace.git)
    return Found(
        data, texts, archives, {path: person.get(path, frozenset()) for path in MEMORY_FILES}, workspace.pending()
    )


@dataclass(frozen=True, slots=True)
class Change:
    """What a dream wants on disk, by path, and what there is to say about it.

    `content` is False when nothing but the cursor would change; then there is no commit.
    """

    files: Mapping[str, bytes | None]
    content: bool
    notes: tuple[str, ...]


def compose(
    found: Found,
    draft: Draft,
    proposals: Sequence[Proposal],
    cursor: int,
    settings: Settings,
    day: date,
) -> Change:
    """Compose the change of one dream: the draft within its budgets, new proposals, and the cursor."""
    files: dict[str, bytes | None] = {}
    notes: list[str] = []
    for path in MEMORY_FILES:
        before, text = found.texts[path], draft.texts[path]
        if text == before:
            continue
        fitted = budget.fit(path, before, text, found.person_lines.get(path, frozenset()), settings, day)
        if fitted is not None:
            text = fitted.text
            archive = budget.archived(found.archives.get(fitted.archive, ""), fitted, day)
            files[fitted.archive] = archive.encode("utf-8")
            notes.append(f"{path} was over its budget: {len(fitted.moved)} older lines moved to {fitted.archive}")
        files[path] = text.encode("utf-8")
    if proposals:
        files[PENDING] = render_pending([*found.pending, *proposals])
    content = bool(files)
    files[CURSOR] = b"%d\n" % cursor
    return Change(files, content, tuple(notes))


def proposals(
    held: Sequence[HeldEdit], findings: Sequence[Finding], pending: Sequence[Proposal], now: datetime
) -> list[Proposal]:
    """Turn held edits into numbered proposals; one that waits already is not queued again."""
    waiting = {(item.file, item.old_text, item.new_text) for item in pending}
    number = max((item.id for item in pending), default=0)
    queued: list[Proposal] = []
    for item in held:
        key = (item.edit.file, item.edit.old_text, item.edit.new_text)
        if key in waiting:
            continue
        waiting.add(key)
        number += 1
        about = [findings[place - 1] for place in item.edit.findings]
        queued.append(
            Proposal(
                id=number,
                at=now,
                file=item.edit.file,
                old_text=item.edit.old_text,
                new_text=item.edit.new_text,
                guard=item.verdict.guard,
                reason=item.verdict.reason,
                findings=tuple(prompts.finding(finding) for finding in about),
                entries=tuple(sorted({cursor for finding in about for cursor in finding.entries})),
            )
        )
    return queued


def held_back(
    draft: Draft, outcomes: Sequence[Outcome], paths: Set[str], pending: Sequence[Proposal], now: datetime
) -> list[Proposal]:
    """Queue the draft's edits of files that a person saved while the dream ran, where theirs had to stay."""
    verdict = Verdict("held", "person-edit", "a person saved the file while the dream ran")
    held = [HeldEdit(edit, verdict) for edit in draft.edits if edit.file in paths]
    return proposals(held, [outcome.finding for outcome in outcomes], pending, now)


def set_aside(cursor: int, reason: str, pending: Sequence[Proposal], now: datetime) -> Proposal:
    """Queue an entry that could not be dreamt, so that a person sees it."""
    number = max((item.id for item in pending), default=0) + 1
    return Proposal(number, now, None, "", "", "entry", reason, (), (cursor,))


def _text(data: bytes | None, path: str) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise WorkspaceError(
            f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8 and run again. Nothing was changed."
        ) from error
