"""From an edited draft to one commit: the bytes it puts on disk, its message, and what waits where a person saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from typing import Any

from dream import prompts
from dream.dreaming import budget
from dream.dreaming.draft import Draft, added, gone, lines
from dream.dreaming.editing import HeldEdit
from dream.dreaming.guards import Verdict
from dream.dreaming.phase2 import Edited
from dream.errors import WorkspaceError
from dream.language.likeness import same_fact
from dream.language.words import without_said_on
from dream.models import MEMORY_FILES, BatchReport, Finding, LineCount, MemoryFile, Outcome, Proposal
from dream.settings import Settings
from dream.versions import is_memory, log, read_memory
from dream.versions.diff import PLAIN
from dream.versions.log import Moved, kind_of
from dream.versions.store import GitStore
from dream.versions.transaction import Held
from dream.workspace.index import Index
from dream.workspace.review_files import PENDING, ProposalNumbers, parse_pending, render_pending
from dream.workspace.workspace import Workspace

# What waits for a person: held edits become numbered proposals, and what has come true leaves the queue. Pure.


def queued(
    held: Sequence[HeldEdit], findings: Sequence[Finding], pending: Sequence[Proposal], last: int, now: datetime
) -> list[Proposal]:
    """Turn held edits into proposals, numbered from after `last`; one that waits already is not queued again."""
    waiting = {(item.file, item.old_text, item.new_text) for item in pending}
    new: list[Proposal] = []
    for item in held:
        key = (item.edit.file, item.edit.old_text, item.edit.new_text)
        if key in waiting:
            continue
        waiting.add(key)
        about = [findings[place - 1] for place in item.edit.findings]
        new.append(
            Proposal(
                id=last + len(new) + 1,
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
    return new


def held_back(
    draft: Draft, outcomes: Sequence[Outcome], paths: Set[str], pending: Sequence[Proposal], last: int, now: datetime
) -> list[Proposal]:
    """Queue the draft's edits of files that a person saved while the dream ran, where theirs had to stay."""
    verdict = Verdict("held", "person-edit", "a person saved the file while the dream ran")
    held = [HeldEdit(edit, verdict) for edit in draft.edits if edit.file in paths]
    return queued(held, [outcome.finding for outcome in outcomes], pending, last, now)


def set_aside(cursor: int, reason: str, last: int, now: datetime) -> Proposal:
    """Queue an entry that could not be dreamt, so that a person sees it."""
    return Proposal(last + 1, now, None, "", "", "entry", reason, (), (cursor,))


def come_true(pending: Sequence[Proposal], texts: Mapping[MemoryFile, str]) -> list[Proposal]:
    """List the proposals that nothing is left of to do: what they add stands in `texts`, what they remove is gone."""
    return [item for item in pending if item.file is not None and _is_true(item, texts[item.file])]


def withdrawn(
    findings: Sequence[Finding], pending: Sequence[Proposal], texts: Mapping[MemoryFile, str], vouched: Set[int]
) -> tuple[tuple[Finding, ...], tuple[Proposal, ...]]:
    """Part findings from those that take back what only waits, and return these proposals: a person need not decide.

    Such a removal names no line of the file, and rests on an entry in which the user spoke, of the `vouched` ones.
    """
    left: list[Finding] = []
    taken: dict[int, Proposal] = {}
    for finding in findings:
        back = [item for item in pending if finding.remove and item.file == finding.file and _says(item, finding.text)]
        stands = any(same_fact(finding.text, line) for line in lines(texts[finding.file]))
        if not back or stands:
            left.append(finding)
        elif not vouched.isdisjoint(finding.entries):
            taken.update((item.id, item) for item in back)
    return tuple(left), tuple(taken.values())


def _says(proposal: Proposal, text: str) -> bool:
    """Return whether what waits adds what a removal takes back."""
    waiting = [_uncited(one).partition("] ") for one in proposal.findings]
    return any(not tag.endswith("-REMOVE") and same_fact(fact, text) for tag, _, fact in waiting)


def told(pending: Sequence[Proposal]) -> list[str]:
    """Return the findings that wait, as phase 1 is told of them: without the entries that they rest on."""
    return list(dict.fromkeys(_uncited(one)[:300] for item in pending for one in item.findings))


def is_about(proposal: Proposal, outcome: Outcome) -> bool:
    """Return whether a held finding is what `proposal` would have done."""
    told = prompts.finding(outcome.finding)
    return outcome.state == "held" and any(_uncited(told) == _uncited(other) for other in proposal.findings)


def _is_true(proposal: Proposal, text: str) -> bool:
    new, old = added(proposal.old_text, proposal.new_text), gone(proposal.old_text, proposal.new_text)
    here = {_undated(line) for line in lines(text)}
    return bool(new or old) and here.issuperset(map(_undated, new)) and here.isdisjoint(map(_undated, old))


def _undated(line: str) -> str:
    return without_said_on(line).strip()


def _uncited(finding: str) -> str:
    return finding.rpartition(" {")[0]


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

    def imagining(self, files: Mapping[str, bytes | None]) -> Snapshot:
        """Return the workspace as it would be had `files` been written; for a dry run."""
        now = {**self.data, **files}
        texts = {path: _text(now.get(path), path) for path in MEMORY_FILES}
        archives = {path: _text(data, path) for path, data in now.items() if path.startswith("memory/archive/")}
        pending = parse_pending(now.get(PENDING) or b"")
        return Snapshot(now, texts, archives, self.person_lines, pending)


def look(workspace: Workspace, *, uncommitted: bool = False) -> Snapshot:
    """Read what a dream must know of the workspace. Raises WorkspaceError for a memory file that is not UTF-8 text.

    With `uncommitted`, for a dry run, what is in no commit yet counts as a person's where it will be in theirs.
    """
    data: dict[str, bytes | None] = dict(read_memory(workspace.root))
    texts = {path: _text(data.get(path), path) for path in MEMORY_FILES}
    archives = {path: _text(content, path) for path, content in data.items() if path not in texts}
    git = workspace.git
    head = git.head() if git.exists else None
    person = person_lines(git) if head else {}
    lines = {path: person.get(path, frozenset()) for path in MEMORY_FILES}
    if uncommitted and not workspace.agent:
        committed = git.read_all(head) if head else {}
        lines = {path: lines[path] | set(added(_text(committed.get(path), path), texts[path])) for path in MEMORY_FILES}
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
    for path in MEMORY_FILES:
        before, text = found.texts[path], draft.texts[path]
        if text == before:
            continue
        person = found.person_lines.get(path, frozenset())
        fitted = budget.fit(path, before, text, person, settings, day, partial(recent, path))
        if fitted is not None:
            text = fitted.text
        if fitted is not None and fitted.moved:
            archive = budget.archived(found.archives.get(fitted.archive, ""), fitted, day)
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


def _text(data: bytes | None, path: str) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise WorkspaceError(
            f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8 and run again. Nothing was changed."
        ) from error


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

    def hold(self, stopped: Sequence[Held]) -> Mapping[str, bytes | None]:
        """Queue the edits of files that a person saved meanwhile and that would not merge: theirs stays."""
        paths = {item.path for item in stopped}
        true = tuple(item for item in self.report.true if item.file not in paths)
        queue = [*(item for item in self.found.pending if item not in true), *self.waiting]
        last = self.numbers.last(queue)
        late = held_back(self.edited.draft, self.edited.outcomes, paths, queue, last, self.now)
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
        )


def _held_back(outcome: Outcome, paths: set[str]) -> Outcome:
    if outcome.state == "applied" and outcome.finding.file in paths:
        return Outcome(outcome.finding, "held", "a person saved the file meanwhile")
    return outcome


# Which lines a person wrote: what their own commits added, by file.
#
# The answer is kept in the index with the commit it holds for, so that only newer commits are ever read.


AUTHORS = "authors"
_HUNK = re.compile(rb"@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,([0-9]+))? @@")
# Commits that are not dream's own are a person's too: they may well use git in their workspace.
_OURS = "^Dream-Kind: (dream|restore|init)$"
_DREAMT = re.compile(_OURS.encode(), re.MULTILINE)
_NOT_DREAMT = ("--extended-regexp", "--invert-grep", f"--grep={_OURS}")
_FORMAT = (
    "--format=%x1e%s%x1f%(trailers:key=Dream-Kind,valueonly,separator=%x1d)"
    "%x1f%(trailers:key=Dream-Author,valueonly,separator=%x1d)%x1f"
)


def person_lines(git: GitStore) -> dict[str, frozenset[str]]:
    """Return, for each memory file, the text of every line that a person ever added to it.

    Lines are compared without the white space at their end; blank ones don't count. Templates of `dream init`, what a
    dream wrote and what an agent did by its own tools are not among them; what stood in a workspace when it was
    adopted is.
    """
    head = git.head()
    index = Index(git.private)
    known, lines = _known(index.document(AUTHORS))
    if head == known or head is None:
        return lines
    new = git.since(known, head) if known is not None else None
    if known is not None and new is None and not git.is_ancestor(known, head):
        known, lines = None, {}
    is_dreamt = new is not None and all(map(_DREAMT.search, new))  # as after most nights: then git has nothing to tell
    for path, line in () if is_dreamt else _added(git, head, known):
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            lines[path] = lines.get(path, frozenset()) | {text}
    kept = {name: sorted(texts) for name, texts in sorted(lines.items())}
    index.keep(**{AUTHORS: {"head": head, "lines": kept}})
    return lines


def _added(git: GitStore, head: str, known: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield (path, line) for all that commits of a person added since `known`."""
    revisions = [head, *([f"^{known}"] if known else [])]
    arguments = ("log", _FORMAT, "--patch", "--unified=0", *PLAIN, *_NOT_DREAMT, "--end-of-options", *revisions, "--")
    for record in git.git.run(*arguments).split(b"\x1e")[1:]:
        subject, trailer, agent, patch = [*record.split(b"\x1f", 3), b"", b"", b""][:4]
        kind = kind_of(subject.decode("utf-8", "replace"), trailer.decode("utf-8", "replace"))
        if kind in (None, "hand") and not agent.strip():
            yield from _plus_lines(patch)


def _plus_lines(patch: bytes) -> Iterator[tuple[str, bytes]]:
    path, remaining = "", 0
    for line in patch.split(b"\n"):
        if remaining and line.startswith(b"+"):
            remaining -= 1
            if is_memory(path):
                yield path, line[1:]
        elif not remaining and line.startswith(b"+++ b/"):
            path = line[6:].rstrip(b"\t").decode("utf-8", "replace")
        elif found := _HUNK.match(line):
            remaining = int(found[1]) if found[1] is not None else 1


def _known(kept: Any) -> tuple[str | None, dict[str, frozenset[str]]]:
    try:
        return kept["head"], {name: frozenset(lines) for name, lines in kept["lines"].items()}
    except (KeyError, TypeError, AttributeError):
        return None, {}
