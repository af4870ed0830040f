"""Restore memory: to the state before a change, to the present without it, or to its state. Always a new commit.

What a person typed since then stays, unless their own change is the one that is named, or the state of one commit
is asked for exactly (`at`). So a restore can itself be taken back, and nothing is ever lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal

from dream.directory import Workspace
from dream.errors import Conflict, GitError, UnknownRevision
from dream.memory import TEMPLATES, files_of, memory_file, place_of
from dream.models import MEMORY_FILES, MemoryFile, Rejected
from dream.text.words import without_bullet
from dream.versions import STATE, applied, is_memory, log, read_all, transaction
from dream.versions import diff as merging
from dream.versions.diff import Diff, compare
from dream.versions.log import Change
from dream.versions.store import GitStore
from dream.workspace import places, review_files
from dream.workspace.lock import run_lock

Mode = Literal["before", "only", "at"]
MODES: tuple[Mode, ...] = ("before", "at", "only")
WHERE: Mapping[Mode, str] = {"before": "as it was just before", "only": "without", "at": "as it was at"}

# State that is restored with the files; rejected facts are only ever added.
_CURSOR, _PENDING, _REJECTED, _FORMAT, _PLACES = STATE
_TRAVELS = (_CURSOR, _PENDING)
_BATCH = re.compile(r"b-[0-9a-f]{8}")
_WORDS: Mapping[Mode, str] = {"before": "before", "only": "without", "at": "at"}


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did, or in a dry run would do.

    `diff` is what changes on disk, from now to then. `sha` is the new commit; None in a dry run and when there was
    nothing to do, which `reason` then says. `forgotten` are the facts that no later dream writes again.
    `kept` are a person's later changes that stay. `held` are files that a person saved at that very moment:
    theirs stays. `hand` is the commit of what a person had typed and not yet committed. `batch` is what was taken back
    as a whole; `change` is then the newest of it.
    """

    change: Change
    mode: Mode
    diff: Diff
    sha: str | None = None
    reason: str = ""
    forgotten: tuple[Rejected, ...] = ()
    kept: tuple[Change, ...] = ()
    held: tuple[str, ...] = ()
    hand: str | None = None
    batch: str = ""


def restore(
    workspace: Workspace,
    sha: str,
    *,
    mode: Mode = "before",
    forget: bool = False,
    dry_run: bool = False,
    now: datetime,
    locked: bool = False,
) -> Restored:
    """Take back the change `sha` (a unique prefix of at least 4 characters) by a new commit.

    `before`: memory as it was just before that change, the dreams' cursor and the review queue too, so that
    those entries are dreamt again. `only`: that one change is taken out and the later ones stay. `at`: exactly the
    state of that commit. With `forget` what goes is remembered in .rejected.jsonl; taking such a restore back lifts
    that.
    With `dry_run` nothing changes, not even the person's changes are committed.
    Raises UnknownRevision; GitError for `before` the very first change; Conflict when `only` cannot take the
    change out of what was built on it, the message showing the lines; Busy. Then nothing has changed.
    """
    with nullcontext() if dry_run or locked else run_lock(workspace.private), workspace.git.reading():
        # 1. A commit that a crash cut short is finished first.
        if not dry_run:
            transaction.recover(workspace)
        # 2. Which change, what is there now, and what should be.
        present = read_all(workspace.root)
        change = workspace.git.show(workspace.git.resolve(sha)).change
        target, kept = _target(workspace.git, change, mode, present)
        _settle_places(workspace.git, change, target, present)
        # 3. What is to go for good is remembered; a restore that is taken back bans nothing any more.
        forgotten = _forgotten(present, target, change, now) if forget else ()
        lifted = _lifted(workspace.git, change, now) if change.kind == "restore" and mode != "at" else ()
        if forgotten or lifted:
            target[_REJECTED] = review_files.grown(present.get(_REJECTED, b""), (*lifted, *forgotten))
        # 4. A new commit, with the person's own changes in one of their own before it.
        reason = _nothing(change, mode) if target == present else ""
        plan = Restored(change, mode, _diff(present, target), None, reason, forgotten, kept)
        return plan if dry_run or reason else _commit(workspace, plan, present, target, now)


def restore_batch(
    workspace: Workspace, batch: str, *, forget: bool = False, dry_run: bool = False, now: datetime
) -> Restored:
    """Take back all that one run, or one import, committed, by one new commit; what came later stays.

    What it holds for review leaves the queue too. Raises UnknownRevision, Conflict, Busy, as `restore`.
    """
    with nullcontext() if dry_run else run_lock(workspace.private), workspace.git.reading():
        if not dry_run:
            transaction.recover(workspace)
        present = read_all(workspace.root)
        named = workspace.git.log(batch=batch) if _BATCH.fullmatch(batch) else []
        changes = [one for one in named if one.kind != "restore"]
        if not changes:
            raise UnknownRevision(f"{batch!r} names no batch; `dream log SHA` tells a change's.")
        target = present
        for change in changes:
            target = _without(workspace.git, change, target)
        if _PENDING in target:
            waiting = [one for one in review_files.parse_pending(target[_PENDING]) if one.batch != batch]
            target = {**target, _PENDING: review_files.render_pending(waiting)}
        forgotten = _forgotten(present, target, changes[0], now) if forget else ()
        if forgotten:
            target = {**target, _REJECTED: review_files.grown(present.get(_REJECTED, b""), forgotten)}
        reason = f"Memory already is without batch {batch}; there is nothing to do." if target == present else ""
        plan = Restored(changes[0], "only", _diff(present, target), None, reason, forgotten, batch=batch)
        return plan if dry_run or reason else _commit(workspace, plan, present, target, now)


def _commit(
    workspace: Workspace, plan: Restored, present: Mapping[str, bytes], target: Mapping[str, bytes], now: datetime
) -> Restored:
    changes = {path: target.get(path) for path in sorted({*present, *target})}
    trailers = {"Dream-Restores": plan.change.sha, "Dream-Restore-Mode": plan.mode}
    trailers |= {log.BATCH: plan.batch} if plan.batch else {}
    note = f"(without {plan.batch})" if plan.batch else f"({_WORDS[plan.mode]} {plan.change.sha[:10]})"
    message = partial(log.build, "restore", note=note, trailers=trailers)
    expected = {path: data for path, data in present.items() if is_memory(path)}
    missing = dict.fromkeys((path for path in changes if is_memory(path)), None)
    done = transaction.commit(workspace, changes, expected={**missing, **expected}, message=message, now=now)
    reason = "" if done.sha else _nothing(plan.change, plan.mode)
    held = tuple(item.path for item in done.held)
    return replace(plan, sha=done.sha, reason=reason, held=held, hand=done.hand)


def _nothing(change: Change, mode: Mode) -> str:
    return f"Memory already is as it was {_WORDS[mode]} {change.sha[:10]}; there is nothing to do."


def _target(
    git: GitStore, change: Change, mode: Mode, present: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[Change, ...]]:
    """Return the target content of every versioned file, and the person's later changes that it still contains."""
    if mode == "only":
        return _without(git, change, present), ()
    if mode == "at":
        return _as_in(git, change.sha, present), ()
    if change.parent is None:
        raise GitError(f"{change.sha[:10]} is the very first change: nothing was before it; restore it with --at.")
    return _keep_hand_edits(git, change, _as_in(git, change.parent, present), present)


def _as_in(git: GitStore, revision: str, present: Mapping[str, bytes]) -> dict[str, bytes]:
    then = git.read_all(revision)
    stays = {path: present[path] for path in (_REJECTED, _FORMAT) if path in present}
    if _PLACES in present:  # with the names of then, and every place that history may hold
        stays[_PLACES] = places.joined(then.get(_PLACES, b""), present[_PLACES])
    return {path: data for path, data in then.items() if is_memory(path) or path in _TRAVELS} | stays


def _settle_places(git: GitStore, change: Change, target: dict[str, bytes], present: Mapping[str, bytes]) -> None:
    """Let lines of a place stand under its name in `target`, and what is barred from being read stay so.

    A person's later edits come with the names of now; in a folder of no place the next one of its name would find them.
    """
    if _PLACES not in present or _PLACES not in target:
        return
    names, now = (places.named_in(data[_PLACES]) for data in (target, present))
    for path in [path for path in target if place_of(path) and place_of(path) not in names.values()]:
        name = next((names[one] for one, called in now.items() if called == place_of(path) and one in names), "")
        if name:
            goal = path.replace(f"places/{place_of(path)}/", f"places/{name}/")
            there = target.get(goal, b"").splitlines(keepends=True)
            more = [row for row in target.pop(path).splitlines(keepends=True) if row not in there]
            target[goal] = b"".join((*there, *more))
    barred_by_it = set(places.never_in(git.read_all(change.sha).get(_PLACES, b"")))
    if change.parent:
        barred_by_it -= set(places.never_in(git.read_all(change.parent).get(_PLACES, b"")))
    text, had = target[_PLACES], places.never_in(target[_PLACES])
    never = dict.fromkeys((*had, *(one for one in places.never_in(present[_PLACES]) if one not in barred_by_it)))
    if tuple(never) != had:
        target[_PLACES] = places.with_never(text.decode("utf-8"), tuple(never)).encode("utf-8")


def _without(git: GitStore, change: Change, present: Mapping[str, bytes]) -> dict[str, bytes]:
    """Remove one change from the present files; raises Conflict."""
    after = git.read_all(change.sha)
    before = git.read_all(change.parent) if change.parent else {}
    result: dict[str, bytes | None] = {}
    for path in sorted({*before, *after}):
        if (is_memory(path) or path == _PLACES) and before.get(path) != after.get(path):
            try:
                result[path] = merging.merge(after.get(path), present.get(path), before.get(path))
            except Conflict as conflict:
                said = f"{path} was changed again after {change.sha[:10]}; nothing was restored: {conflict}"
                raise Conflict(said) from conflict
    if _PLACES in result:
        result[_PLACES] = places.joined(result[_PLACES] or b"", present.get(_PLACES, b""))
    return applied(present, result)


def _keep_hand_edits(
    git: GitStore, change: Change, target: dict[str, bytes], present: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[Change, ...]]:
    """Make a person's later changes again in `target`, oldest first, as far as they still stand.

    Where they touch what is restored, theirs wins: a person's word is newer than the dream's.
    """
    kept: list[Change] = []
    later = git.log(after=change.sha, kind="hand")[::-1]
    states = git.read_each([*(sha for item in later for sha in (item.parent, item.sha)), "HEAD"])
    # What is not committed yet comes last: from HEAD to what is on disk.
    steps = zip([*later, None], states[0::2], [*states[1::2], present], strict=True)
    for item, before, after in steps:
        for path in sorted(after):
            if not is_memory(path) or before.get(path) == after[path] or path not in present:
                continue
            standing = merging.still_standing(before.get(path, b""), after[path], present[path])
            merged = merging.merge_over(before.get(path, b""), target.get(path, b""), standing)
            if merged != target.get(path, b""):
                target[path] = merged
                kept += [item] if item and item not in kept else []
    return target, tuple(kept)


def _forgotten(
    present: Mapping[str, bytes], target: Mapping[str, bytes], change: Change, now: datetime
) -> tuple[Rejected, ...]:
    """Return the facts that stand in a memory file now and will not any more; what all files begin with is none."""
    began = {fact for data in TEMPLATES.values() for fact in _facts(data)}
    lost = []
    for path in sorted({*present, *target}):
        if not is_memory(path):
            continue
        stays = began.union(_facts(target.get(path, b"")))
        gone = [fact for fact in _facts(present.get(path, b"")) if fact not in stays]
        home = _home(path)
        lost += [Rejected(now, home, fact, f"restore {change.sha[:10]}") for fact in gone]
    return tuple(dict.fromkeys(lost))


def _home(path: str) -> MemoryFile:
    """Return the memory file itself, or the one from which what lies in an archive came."""
    place, dot, name = Path(path).name.rpartition("-20")[0].rpartition(".")
    files = files_of(place) if dot else MEMORY_FILES
    return memory_file(path) or next((file for file in files if Path(file).stem == name), "memory/MEMORY.md")


def _lifted(git: GitStore, change: Change, now: datetime) -> tuple[Rejected, ...]:
    """Return the rows that lift the rejections of a restore."""
    before = git.read_all(change.parent).get(_REJECTED, b"") if change.parent else b""
    after = git.read_all(change.sha).get(_REJECTED, b"")
    rows = review_files.parse_rejected(after.removeprefix(before))
    return tuple(
        replace(one, at=now, source=f"restore {change.sha[:10]}", lifted=True) for one in rows if not one.lifted
    )


def _facts(data: bytes) -> list[str]:
    lines = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    return [without_bullet(line).strip() for line in lines if line and not line.startswith("#")]


def _diff(present: Mapping[str, bytes], target: Mapping[str, bytes]) -> Diff:
    return compare(
        {path: data for path, data in present.items() if is_memory(path)},
        {path: data for path, data in target.items() if is_memory(path)},
    )
