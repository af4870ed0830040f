"""The git repository of the workspace: there, unlocked, and every object whole."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from dream.doctor.ailment import REPAIR, Ailment
from dream.errors import DreamError, GitError, WorkspaceError
from dream.store import gitdir, gitrepair, handedits
from dream.store.gitindex import OLD, is_deserted
from dream.store.workspace import Workspace

INDEX = "is damaged, so git itself fails in the workspace"


def check_versions(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Check the repository; `repair` makes one that is missing, takes stale locks away, and writes damaged objects."""
    if not workspace.git.exists:
        if repair:
            workspace.complete(now)
        yield Ailment(".git", "there are no versions of this workspace", f"{REPAIR} makes them", repair)
        return
    lost = list(_head(workspace, now, repair=repair))
    yield from lost
    if lost and not lost[0].mended:
        return
    try:
        locks = list(_locks(workspace, repair=repair))
    except GitError as error:  # it leads elsewhere: git is not started on it
        yield _reach(workspace, str(error), repair=repair)
        return
    yield from locks
    if workspace.git.has_damaged_index:
        mended = repair and gitrepair.rewrite_index(workspace.git, workspace.root / ".git")
        yield Ailment(".git/index", INDEX, f"{REPAIR} makes it anew from the newest commit", mended)
        if not mended:
            return  # git would complain of nothing else
    try:
        workspace.git.fsck()
    except GitError as error:
        yield _damage(workspace, str(error), now, repair=repair)
    else:
        yield from _index(workspace, repair=repair)


def _head(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Bring back the newest version where HEAD has lost it, or, where nothing tells which it is, begin anew."""
    directory = gitdir.find(workspace.root, workspace.private)
    try:
        said = gitdir.lost_head(directory) if directory else ""
        if not said or directory is None:
            return
        where = _name(workspace, directory)
        if repair and gitrepair.rewrite_head(workspace.git, directory):
            yield Ailment(where, said, mended=True)
        elif repair:
            yield _begin_anew(workspace, directory, said, now)
        else:
            yield Ailment(where, said, f"{REPAIR} brings it back")
    except DreamError:  # a link or no ordinary file: whoever opens it says so
        return


def _reach(workspace: Workspace, said: str, *, repair: bool) -> Ailment:
    """Write the configuration of our own hidden repository anew, beside what stood there; a person's is theirs."""
    own = workspace.private / "git"
    if repair and gitrepair.rewrite_configuration(workspace.git, own):
        return Ailment(_name(workspace, own), said, mended=True)
    cure = f"{REPAIR}, where only its configuration is strange; else mend it by hand, if you know where it comes from"
    return Ailment(_name(workspace, own if own.exists() else workspace.root / ".git"), said, cure)


def _locks(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    directory = workspace.git.git.git_dir
    here = os.walk(directory) if directory else []
    for lock in sorted(Path(folder) / name for folder, _, names in here for name in names if name.endswith(".lock")):
        try:
            age = time.time() - lock.stat().st_mtime
        except FileNotFoundError:  # its git has ended meanwhile
            continue
        if age < OLD or not is_deserted(workspace.root, lock, age):
            continue
        if repair:
            lock.unlink(missing_ok=True)
        text = f"was left by a git that died {age / 60:.0f} minutes ago"
        yield Ailment(_name(workspace, lock), text, f"{REPAIR}, or remove it when no git is running", repair)


def _index(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Name an index that stayed behind HEAD while a lock was on it."""
    try:
        late = sorted(workspace.git.behind_index(handedits.versioned(workspace.root)))
    except WorkspaceError:  # no plain file: the check of the files names it
        return
    except GitError as error:
        yield Ailment(".git/index", str(error), "remove it and run `git reset` in the workspace")
        return
    if late:
        if repair:
            workspace.git.catch_up_index(handedits.versioned(workspace.root))
        text = f"is older than the newest commit for {', '.join(late)}: a `git commit` by hand would revert it"
        mended = repair and not workspace.git.behind_index(handedits.versioned(workspace.root))
        yield Ailment(".git/index", text, f"{REPAIR}, or `git reset` in the workspace", mended)


def _damage(workspace: Workspace, said: str, now: datetime, *, repair: bool) -> Ailment:
    """Mend damaged objects from the files on disk, or, where not even the newest version can be read, begin anew."""
    directory = workspace.git.git.git_dir
    where = _name(workspace, directory) if directory else ".git"
    if not repair or directory is None:
        return Ailment(where, said, f"copy the workspace, then {REPAIR}")
    if gitrepair.rewrite_objects(workspace.git):
        return Ailment(where, said, mended=True)
    if gitrepair.is_readable(workspace.git):
        return Ailment(
            where, f"an older version is damaged: {said}", "the newest is whole; a backup may have the object"
        )
    return _begin_anew(workspace, directory, said, now)


def _begin_anew(workspace: Workspace, directory: Path, said: str, now: datetime) -> Ailment:
    where = _name(workspace, directory)
    kept = gitrepair.put_away(directory, workspace.private, now)
    workspace.complete(now)
    return Ailment(
        where, f"{said}; versions begin anew, the damaged ones are kept in {_name(workspace, kept)}", mended=True
    )


def _name(workspace: Workspace, path: Path) -> str:
    return str(path.relative_to(workspace.root)) if path.is_relative_to(workspace.root) else str(path)
