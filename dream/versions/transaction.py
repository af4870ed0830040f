"""The commit is the transaction: files, cursor, pending and rejected change together or not at all.

Order: an intent in .dream/apply.json, then HEAD moves (that is the commit point), then each file is swapped in,
then the intent goes. After a crash `recover` finishes what HEAD already says and drops what it doesn't.
A person may save a file at any of these instants: theirs is merged, or stays.
The caller holds the run lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from dream.errors import Conflict, DreamError, GitError
from dream.memory import KNOWN_PLACES
from dream.reports import LineCount
from dream.versions import (
    ARCHIVE,
    INTENT,
    STATE,
    UNDONE,
    applied,
    changed,
    is_memory,
    is_versioned,
    log,
    read_all,
    read_memory,
)
from dream.versions.diff import compare, merge
from dream.versions.git import DREAM, PERSON, is_sha
from dream.versions.swap import ASIDE, swap
from dream.workspace import files, places, review_files
from dream.workspace import format as workspace_format

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.models import MemoryFile

# How often a commit is retried because a person committed at the same moment.
ATTEMPTS = 5
BUSY = "Somebody keeps committing in the workspace; run the command again when that has ended."
CommitMessage = Callable[
    [Mapping[str, LineCount]], str
]  # makes a message from the lines that each file gains and loses


@dataclass(frozen=True, slots=True)
class Held:
    """A change that gave way to a person's: `base` is what it was made from, `wanted` what it would have written."""

    path: str
    base: bytes | None
    wanted: bytes | None
    reason: str


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit did. `sha` is None when nothing was left to change; `hand` is the person's own commit before it."""

    sha: str | None
    files: Mapping[str, LineCount] = field(default_factory=dict)
    merged: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    hand: str | None = None


Hold = Callable[[Sequence[Held]], Mapping[str, bytes | None]]


def commit(
    workspace: Workspace,
    changes: Mapping[str, bytes | None],
    *,
    expected: Mapping[str, bytes | None],
    message: CommitMessage,
    now: datetime,
    hold: Hold | None = None,
) -> Committed:
    """Commit `changes` (new content by path, None deletes) and bring them to disk; both or neither.

    `expected` holds the files as they were when the work on `changes` began. What a person saved since then gets
    a commit of its own first, and the change is merged into it; where both touch the same lines theirs stays and
    ours is returned as held. `hold` turns what is held into further changes for the same commit: the review queue.
    Raises WorkspaceError or GitError, and then files and HEAD are as they were, but for the person's commit.
    """
    for attempt in range(ATTEMPTS):
        settled = _settle(workspace, now)
        head, present = settled.head, settled.files
        ready, merged, held = _fit(changes, expected, present)
        if held and hold:
            ready |= hold(held)
        done = Committed(None, {}, tuple(merged), tuple(held), settled.hand)
        ready = {path: data for path, data in ready.items() if present.get(path) != data}
        if not ready:
            return done
        ready |= workspace_format.wanted(present)
        ready = places.wanted(workspace.root, present) | ready
        old = {path: present.get(path) for path in ready}
        counts = compare(old, ready).files
        new = write(workspace, ready, message(counts), head, now)
        late = publish(workspace, head, new, old, ready, again=attempt + 1 < ATTEMPTS)
        if late is None:
            continue
        readable = {path: count for path, count in counts.items() if is_memory(path)}
        done = replace(done, sha=new, files=readable, held=(*held, *late))
        if late:  # a person's save won after HEAD had moved: theirs gets its commit, ours goes to the review queue
            _settle(workspace, now)
            if hold:
                commit(workspace, hold(done.held), expected={}, message=message, now=now)
        return done
    raise GitError(BUSY)


def commit_hand_edits(workspace: Workspace, now: datetime, *, by_person: bool = False) -> str | None:
    """Commit what a person (or the agent) changed in the memory files as theirs; return None when nothing differs.

    Bytes are taken as they are, whatever their encoding; a file that is gone is a deletion.
    Raises WorkspaceError for a directory, a link or a special file in the place of a memory file.
    """
    return _settle(workspace, now, by_person=by_person).hand


def replace_head(workspace: Workspace, head: str, new: str, changes: Mapping[str, bytes | None]) -> None:
    """Let a history that was written anew and ends in `new` take the place of `head`, with the files it `changes`.

    Raises GitError where HEAD is no longer `head`; then nothing has changed.
    """
    old = workspace.git.read_all(head)
    if publish(workspace, head, new, {path: old.get(path) for path in changes}, changes) is None:
        raise GitError("Somebody committed in the workspace at the same moment; run the command again.")


def recover(workspace: Workspace) -> bool:
    """Finish or drop a commit that a crash cut short; return whether there was one. Without one it is cheap."""
    for directory in (workspace.private, workspace.root / "memory"):
        files.sweep(directory)
    git = workspace.git
    if not (workspace.private / INTENT).exists():
        for path, mended in lost_decisions(workspace).items():
            files.replace_file(workspace.root / path, mended.data)
            workspace.history.tell(path, f"{mended.text}; put back")
        return False
    git.clear_locks(_intent_time(workspace.private))
    found = _read_intent(workspace.private)
    if found is not None and found.new:
        _finish(workspace, found)
    for directory in (workspace.root, workspace.root / ARCHIVE):
        files.sweep(directory)
    _remove_intent(workspace.private)
    return True


@dataclass(frozen=True, slots=True)
class LostDecisions:
    """What a file of decisions should hold, and a sentence on what it lacks."""

    data: bytes
    text: str


def lost_decisions(workspace: Workspace) -> dict[str, LostDecisions]:
    """Return what the last commit holds of .pending.jsonl and .rejected.jsonl and the disk lacks, by path.

    Only a commit of ours changes them; while one is being made, or a text is being forgotten, nothing is lost.
    """
    git = workspace.git
    head = git.head() if git.exists else None
    if head is None or any((workspace.private / name).exists() for name in (INTENT, UNDONE)):
        return {}
    found = {}
    for path in review_files.FILES:
        data, committed = files.read_bytes(workspace.root / path) or b"", git.read(head, path) or b""
        if committed != data and (count := len(review_files.lacking(path, data, committed))):
            text = f"lacks {count} {'line' if count == 1 else 'lines'} of the last commit"
            found[path] = LostDecisions(review_files.joined(path, data, committed), text)
    return found if git.head() == head else {}


def pack(workspace: Workspace) -> None:
    """Let git pack loose objects when they have become many."""
    with _under_intent(workspace, None):
        workspace.git.pack()
    _remove_intent(workspace.private)


def write(
    workspace: Workspace,
    changes: Mapping[str, bytes | None],
    message: str,
    head: str | None,
    now: datetime,
    author: tuple[str, str] = DREAM,
) -> str:
    """Write a commit's objects on top of `head` and return its sha; `publish` makes it the present state."""
    with _under_intent(workspace, head):
        return workspace.git.write(changes, message, parent=head, now=now, author=author)


def publish(
    workspace: Workspace,
    head: str | None,
    new: str,
    old: Mapping[str, bytes | None],
    ready: Mapping[str, bytes | None],
    *,
    again: bool = False,
) -> list[Held] | None:
    """Make a written commit the present state; return what is held, or None when all must be begun anew.

    That is when HEAD has moved; with `again` also where a person's save got in the way: theirs is committed first.
    """
    if not _move_head(workspace, _Intent(head, new, tuple(ready))):
        return None
    placed: list[_Placed] = []
    try:
        late = _bring_to_disk(workspace, old, ready, placed, stop=again)
    except DreamError:
        _take_back(workspace, head, new, placed)
        raise
    if late and again and head is not None:
        if not _take_back(workspace, head, new, placed):
            raise GitError(BUSY)  # the intent stays, and the next command goes on from it
        return None
    workspace.git.refresh_index(ready, new)
    _remove_intent(workspace.private)
    return late


# Before the change: a person's own edits get their commit, and the change is fitted to what is there then.


@dataclass(frozen=True, slots=True)
class _Settled:
    """The state after a person's changes were committed: disk and HEAD agree. `hand` is None when there were none."""

    hand: str | None
    head: str | None
    files: Mapping[str, bytes]


def _settle(workspace: Workspace, now: datetime, *, by_person: bool = False) -> _Settled:
    """Commit the differences between disk and HEAD as the agent's who edits this workspace, else as a person's."""
    while True:
        head, present = workspace.git.snapshot()
        committed = {path: data for path, data in present.items() if is_memory(path)}
        changes = changed(committed, read_memory(workspace.root))
        if not changes:
            return _Settled(None, head, present)
        counts = compare({path: present.get(path) for path in changes}, changes).files
        agent = "" if by_person else re.sub(r"[^\w .:-]", "", workspace.agent).strip(" .:-")[:40]
        message = log.build("hand", counts, trailers={"Dream-Author": agent} if agent else None)
        author = (agent, "agent@localhost") if agent else PERSON
        new = write(workspace, changes, message, head, now, author=author)
        if _move_head(workspace, _Intent(head, new, index=tuple(changes)), "hand"):
            workspace.git.refresh_index(changes, new)
            _remove_intent(workspace.private)
            return _Settled(new, new, applied(present, changes))


def _fit(
    changes: Mapping[str, bytes | None], expected: Mapping[str, bytes | None], present: Mapping[str, bytes]
) -> tuple[dict[str, bytes | None], list[str], list[Held]]:
    """Fit `changes`, made from `expected`, to what is there now: (what can be written, paths merged, held)."""
    ready: dict[str, bytes | None] = {}
    merged, held = [], []
    for path, wanted in changes.items():
        theirs = present.get(path)
        base = expected.get(path, theirs)
        if theirs == base or not is_memory(path):
            ready[path] = wanted
            continue
        try:
            ready[path] = merge(base, theirs, wanted)
            merged.append(path)
        except Conflict as conflict:
            held.append(Held(path, base, wanted, f"a person changed {path} while the dream ran: {conflict}"))
    return ready, merged, held


# The intent: what a crash would cut short, noted before it is begun.


@dataclass(frozen=True, slots=True)
class _Intent:
    """HEAD goes from `old` to `new`, then `files` go to disk, then git's index learns of them and of `index`.

    While its objects are being made the new commit has no name: `new` is empty, and HEAD can't be there yet.
    """

    old: str | None
    new: str
    files: tuple[str, ...] = ()
    index: tuple[str, ...] = ()


def _write_intent(private: Path, intent: _Intent) -> None:
    """Note what is about to be done; on disk on return. Raises WorkspaceError where a newer program has written."""
    workspace_format.check(private.parent)
    files.checkpoint("before intent")
    files.replace_file(private / INTENT, orjson.dumps(asdict(intent)), durable=bool(intent.new))
    files.checkpoint("after intent")


def _read_intent(private: Path) -> _Intent | None:
    """Return the intent that a crash left, or None; one that cannot be read never got as far as HEAD.

    One that names anything but commits and versioned files is none of ours: what it names is not touched.
    """
    data = files.read_bytes(private / INTENT)
    try:
        row = orjson.loads(data or b"null")
        found = _Intent(row["old"], row["new"], tuple(row["files"]), tuple(row["index"])) if row else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    if found is None or not all(sha in (None, "") or is_sha(sha) for sha in (found.old, found.new)):
        return None
    named = (*found.files, *found.index)
    return found if all(isinstance(path, str) and is_versioned(path) for path in named) else None


def _intent_time(private: Path) -> float:
    """Return when the intent was noted, in seconds of the epoch."""
    with files.explained("read", private / INTENT):
        return (private / INTENT).stat().st_mtime


def _remove_intent(private: Path) -> None:
    """Remove the intent: all is done, or nothing was."""
    files.checkpoint("before intent is removed")
    with files.explained("removed", private / INTENT):
        (private / INTENT).unlink(missing_ok=True)
    files.checkpoint("after intent is removed")


@contextmanager
def _under_intent(workspace: Workspace, head: str | None) -> Iterator[None]:
    """Note on disk that git runs, so that its locks are removed if it is killed; the note stays."""
    _write_intent(workspace.private, _Intent(head, ""))
    try:
        yield
    except GitError:
        with suppress(DreamError):  # where the disk refuses that too, the intent stays for `recover`
            workspace.git.clear_locks(_intent_time(workspace.private))
            _remove_intent(workspace.private)
        raise


def _move_head(workspace: Workspace, intent: _Intent, reason: str = "dream") -> bool:
    """Note `intent` and move HEAD; where it can't be moved the note goes again. Return whether it moved."""
    _write_intent(workspace.private, intent)
    try:
        moved = workspace.git.move_head(intent.new, intent.old, reason)
    except GitError:
        _remove_intent(workspace.private)
        raise
    if not moved:
        _remove_intent(workspace.private)
    return moved


# From HEAD to disk, and back.


@dataclass(frozen=True, slots=True)
class _Placed:
    """What a file holds now, and what it held before."""

    path: str
    now: bytes | None
    before: bytes | None


def _bring_to_disk(
    workspace: Workspace,
    old: Mapping[str, bytes | None],
    ready: Mapping[str, bytes | None],
    placed: list[_Placed],
    *,
    stop: bool = False,
) -> list[Held]:
    """Write each file, dream's own state last, and note it in `placed`.

    With `stop`, no further than a save that doesn't merge.
    """
    held = []
    for path, wanted in sorted(ready.items(), key=lambda item: not is_memory(item[0])):
        files.checkpoint(f"before swap of {path}")
        placed.append(_Placed(path, wanted, old.get(path)))  # at once: what fails midway is taken back too
        if is_memory(path):
            done = _swap_in(workspace.root, path, old.get(path), wanted)
            if isinstance(done, Held):
                placed.pop()
                held.append(done)
                if stop:
                    break
            else:
                placed[-1] = done
        else:
            _write_state(workspace, path, wanted)
        files.checkpoint(f"after swap of {path}")
    return held


def _swap_in(root: Path, path: str, old: bytes | None, new: bytes | None) -> Held | _Placed:
    """Put `new` in the place of `old`; what a person saved in between is merged, or stays."""
    expected, wanted = old, new
    while (found := swap(root / path, expected, wanted)) not in (expected, wanted):
        try:
            wanted = merge(old, found, new)
        except Conflict as conflict:
            return Held(path, old, new, f"a person saved {path} while it was written: {conflict}")
        expected = found
    return _Placed(path, wanted, expected)


def _write_state(workspace: Workspace, path: str, data: bytes | None) -> None:
    there = workspace.root / path
    if path == KNOWN_PLACES:
        places.write(workspace.root, workspace.private, data or b"")
    elif data is not None:
        files.replace_file(there, data)
    else:
        with files.explained("removed", there):
            there.unlink(missing_ok=True)


def _take_back(workspace: Workspace, head: str | None, new: str, placed: Sequence[_Placed]) -> bool:
    """Undo a commit with the files that were written; where that fails, the intent stays for `recover`."""
    if head is None:
        return False
    with suppress(DreamError):
        for one in reversed(placed):
            if is_memory(one.path):
                swap(workspace.root / one.path, one.now, one.before)
            else:
                _write_state(workspace, one.path, one.before)
        if workspace.git.move_head(head, new):
            _remove_intent(workspace.private)
            return True
    return False


def _finish(workspace: Workspace, found: _Intent) -> None:
    """Bring to disk what HEAD already says; where HEAD never got there, nothing was changed.

    Where a person's save since then doesn't merge, the commit is taken back: its entries are dreamt again, on theirs.
    """
    git = workspace.git
    head = git.head()
    if head is None or not (head == found.new or git.is_ancestor(found.new, head)):
        return
    old = git.read_all(found.old) if found.old else {}
    new = git.read_all(found.new)
    ready = {path: new.get(path) for path in found.files}
    for path in ready:
        _drop_second_name(workspace.root / path)
    swapped = _has_state(workspace.root, old, ready)
    placed: list[_Placed] = []
    held = _bring_to_disk(workspace, {path: old.get(path) for path in ready}, ready, placed)
    if held and head == found.new and found.old and not swapped:
        if not _take_back(workspace, found.old, found.new, placed):
            raise GitError(BUSY)  # the intent stays, and the next command goes on from it
        return
    git.refresh_index((*found.files, *found.index), found.new)


def _drop_second_name(path: Path) -> None:
    """Undo the one state of a killed swap that `swap` refuses: a new file that still has its temporary name too."""
    aside = path.with_name(f".{path.name}{ASIDE}")
    with suppress(FileNotFoundError):
        if aside.samefile(path):
            aside.unlink()


def _has_state(root: Path, old: Mapping[str, bytes], ready: Mapping[str, bytes | None]) -> bool:
    """Return whether a commit's own state, which comes to disk last, is there: a person's save came after it all."""
    mixed = KNOWN_PLACES  # it may hold more by now
    state = [path for path, data in ready.items() if not is_memory(path) and path != mixed and data != old.get(path)]
    return bool(state) and all(files.read_bytes(root / path) == ready[path] for path in state)


# The first commits of a workspace, made or adopted: dream's state and templates, then what a person had there.


def begin(workspace: Workspace, templates: Mapping[MemoryFile, bytes], now: datetime) -> str:
    """Give a workspace its repository and its first commit, and return HEAD.

    First a commit of kind `init`: dream's own state as it lies there, the cursor of an adopted workspace too, so that
    a restore knows it, and `templates` for the files that are missing. Then what is found there is the person's, a
    commit of kind `hand`.
    """
    workspace.git.ensure()
    recover(workspace)
    for _ in range(ATTEMPTS):
        head, present = workspace.git.snapshot()
        there = read_all(workspace.root)
        wanted: dict[str, bytes] = {
            path: data for path, data in templates.items() if path not in present and path not in there
        }
        wanted |= {path: data for path, data in there.items() if path in STATE and present.get(path) != data}
        if head is None or wanted:
            _init(workspace, head, present, wanted, now)
        elif commit_hand_edits(workspace, now, by_person=True) is None:
            return head
    raise GitError(BUSY)


def _init(
    workspace: Workspace, head: str | None, present: Mapping[str, bytes], wanted: Mapping[str, bytes], now: datetime
) -> None:
    """Commit `wanted`, which may be nothing, as kind `init`; does nothing where HEAD has moved."""
    counts = compare({path: present[path] for path in wanted if path in present}, wanted).files
    new = write(workspace, wanted, log.build("init", counts), head, now)
    old = {path: data if path in STATE else None for path, data in wanted.items()}
    publish(workspace, head, new, old, wanted)
