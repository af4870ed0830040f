"""The commit is the transaction: files, cursor, pending and rejected change together or not at all.

Order: an intent in .dream/apply.json, then HEAD moves (that is the commit point), then each file is swapped in,
then the intent goes. After a crash `recover` finishes what HEAD already says and drops what it doesn't.
A person may save a file at any of these instants: theirs is merged, or stays.
The caller holds the run lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from dream.errors import Conflict, DreamError, GitError
from dream.models import LineCount
from dream.versions import handedits
from dream.versions.diff import Diff
from dream.versions.diff import merge as merge_lines
from dream.versions.handedits import Place
from dream.versions.objects import ARCHIVE, is_memory
from dream.versions.swap import ASIDE, swap
from dream.workspace import files

# How often a commit is begun anew because somebody committed by hand at the same moment.
ATTEMPTS = 5
BUSY = "Somebody keeps committing in the workspace; run the command again when that has ended."


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


Message = Callable[[Diff], str]
Hold = Callable[[Sequence[Held]], Mapping[str, bytes | None]]


def commit(
    place: Place,
    changes: Mapping[str, bytes | None],
    *,
    expected: Mapping[str, bytes | None],
    message: Message,
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
        settled = handedits.commit(place, now)
        head, present = settled.head, settled.files
        ready, merged, held = _settle(changes, expected, present)
        if held and hold:
            ready |= hold(held)
        done = Committed(None, {}, tuple(merged), tuple(held), settled.hand)
        ready = {path: data for path, data in ready.items() if present.get(path) != data}
        if not ready:
            return done
        diff = place.git.compare({path: present.get(path) for path in ready}, ready)
        new = handedits.written(place, ready, message(diff), head, now)
        old = {path: present.get(path) for path in ready}
        late = publish(place, head, new, old, ready, again=attempt + 1 < ATTEMPTS)
        if late is not None:
            done = replace(done, sha=new, files=_readable(diff), held=(*held, *late))
            if late:
                _yield_to_person(place, done, message, now, hold)
            return done
    raise GitError(BUSY)


def commit_hand_edits(place: Place, now: datetime) -> str | None:
    """Commit what a person changed in the memory files, as theirs; None when nothing differs from HEAD."""
    return handedits.commit(place, now).hand


def replace_head(place: Place, head: str, new: str, changes: Mapping[str, bytes | None]) -> None:
    """Let a history that was written anew and ends in `new` take the place of `head`, with the files it `changes`.

    Raises GitError where HEAD is no longer `head`; then nothing has changed.
    """
    old = place.git.read_all(head)
    if publish(place, head, new, {path: old.get(path) for path in changes}, changes) is None:
        raise GitError("Somebody committed in the workspace at the same moment; run the command again.")


def recover(place: Place) -> bool:
    """Finish or drop a commit that a crash cut short; tells whether there was one. Where there is none it is cheap."""
    for directory in (place.private, place.root / "memory"):
        files.sweep(directory)
    git = place.git
    if git.has_index_behind and git.exists:
        git.catch_up_index(handedits.versioned(place.root))
    if not (place.private / handedits.INTENT).exists():
        return False
    git.clear_locks(handedits.written_at(place.private))
    found = handedits.read_intent(place.private)
    if found is not None and found.new:
        _finish(place, found)
    for directory in (place.root, place.root / ARCHIVE):
        files.sweep(directory)
    handedits.remove(place.private)
    return True


def _finish(place: Place, found: handedits.Intent) -> None:
    """Bring to disk what HEAD already says; where HEAD never got there, nothing was changed.

    Where a person's save since then doesn't merge, the commit is taken back: its entries are dreamt again, on theirs.
    """
    git = place.git
    head = git.head()
    if head is None or not (head == found.new or git.is_ancestor(found.new, head)):
        return
    old = git.read_all(found.old) if found.old else {}
    new = git.read_all(found.new)
    ready = {path: new.get(path) for path in found.files}
    for path in ready:
        _drop_second_name(place.root / path)
    placed: list[_Placed] = []
    swapped = _has_state(place.root, old, ready)
    held = _bring_to_disk(place, {path: old.get(path) for path in ready}, ready, placed)
    if held and head == found.new and found.old and not swapped:
        if not _take_back(place, found.old, found.new, placed):
            raise GitError(BUSY)  # the intent stays, and the next command goes on from it
        return
    git.refresh_index({path: new.get(path) for path in (*found.files, *found.index)}, found.new)


def _has_state(root: Path, old: Mapping[str, bytes], ready: Mapping[str, bytes | None]) -> bool:
    """Return whether a commit's own state, which comes to disk last, is there: a person's save came after it all."""
    state = [path for path, data in ready.items() if not is_memory(path) and data != old.get(path)]
    return bool(state) and all(files.read_bytes(root / path) == ready[path] for path in state)


def _drop_second_name(path: Path) -> None:
    """Undo the one state of a killed swap that `swap` refuses: a new file that still has its temporary name too."""
    aside = path.with_name(f".{path.name}{ASIDE}")
    with suppress(FileNotFoundError):
        if aside.samefile(path):
            aside.unlink()


def _settle(
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


def merge(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Merge three states of a file, of which any may not be there; raises Conflict."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if ours is None or theirs is None:
        raise Conflict("one side deleted the file, the other changed it")
    return merge_lines(base or b"", ours, theirs)


def publish(
    place: Place,
    head: str | None,
    new: str,
    old: Mapping[str, bytes | None],
    ready: Mapping[str, bytes | None],
    *,
    again: bool = False,
) -> list[Held] | None:
    """Make a written commit the present state; None when HEAD has moved and all must be begun anew.

    With `again` it is begun anew as well where a person's save got in the way: theirs is committed first, then.
    """
    handedits.write(place.private, handedits.Intent(head, new, tuple(ready)))
    try:
        if not place.git.move_head(new, head):
            handedits.remove(place.private)
            return None
    except GitError:
        handedits.remove(place.private)
        raise
    placed: list[_Placed] = []
    try:
        late = _bring_to_disk(place, old, ready, placed, stop=again)
    except DreamError:
        _take_back(place, head, new, placed)
        raise
    if late and again and head is not None:
        if not _take_back(place, head, new, placed):
            raise GitError(BUSY)  # the intent stays, and the next command goes on from it
        return None
    place.git.refresh_index(ready, new)
    handedits.remove(place.private)
    return late


@dataclass(frozen=True, slots=True)
class _Placed:
    """What a file holds now, and what it held before."""

    path: str
    now: bytes | None
    before: bytes | None


def _bring_to_disk(
    place: Place,
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
        if is_memory(path):
            done = _swap_in(place.root, path, old.get(path), wanted)
            if isinstance(done, Held):
                held.append(done)
                if stop:
                    break
            else:
                placed.append(done)
        else:
            _write_state(place.root / path, wanted)
            placed.append(_Placed(path, wanted, old.get(path)))
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


def _write_state(path: Path, data: bytes | None) -> None:
    if data is not None:
        files.replace_file(path, data)
    else:
        with files.explained("removed", path):
            path.unlink(missing_ok=True)


def _take_back(place: Place, head: str | None, new: str, placed: Sequence[_Placed]) -> bool:
    """Undo a commit with the files that were written; where that fails, the intent stays for `recover`."""
    if head is None:
        return False
    try:
        for one in reversed(placed):
            if is_memory(one.path):
                swap(place.root / one.path, one.now, one.before)
            else:
                _write_state(place.root / one.path, one.before)
        if place.git.move_head(head, new):
            handedits.remove(place.private)
            return True
    except DreamError:
        pass
    return False


def _yield_to_person(place: Place, done: Committed, message: Message, now: datetime, hold: Hold | None) -> None:
    """Where a person's save won after HEAD had moved: theirs gets its commit, ours goes to the review queue."""
    handedits.commit(place, now)
    if hold:
        commit(place, hold(done.held), expected={}, message=message, now=now)


def _readable(diff: Diff) -> dict[str, LineCount]:
    return {path: count for path, count in diff.files.items() if is_memory(path)}


# Packing the repository, under an intent: what a killed `git gc` leaves locked, the next command clears away.


def pack(place: Place) -> bool:
    """Pack loose objects when they have become many; tells whether it did. The caller holds the run lock."""
    if not place.git.is_loose:
        return False
    handedits.write(place.private, handedits.Intent(None, ""))
    try:
        place.git.pack()
    except GitError:
        with suppress(DreamError):  # where the disk refuses that too, the intent stays for `recover`
            place.git.clear_locks(handedits.written_at(place.private))
            handedits.remove(place.private)
        raise
    handedits.remove(place.private)
    return True
