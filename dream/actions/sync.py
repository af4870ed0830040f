"""One memory on several machines: `dream sync`, `dream clone`, and what a night syncs."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from dream import trust
from dream.actions import membership, signed
from dream.actions.configure import set_values
from dream.actions.exchange import Exchange, Synced
from dream.actions.membership import Meeting, SyncMember, begin, member, named
from dream.directory import Workspace
from dream.errors import DreamError, GitError, UsageError
from dream.history.history import History
from dream.models import NewEntry
from dream.recall.others import machines
from dream.settings import Settings
from dream.versions import INTENT, UNDONE, shared, transaction
from dream.versions import STATE as STATE_FILES
from dream.versions.branches import Branches, Remote
from dream.versions.signs import Signs
from dream.workspace.lock import run_lock

ROUNDS = 5  # how often a sync begins anew because somebody wrote at the same moment


def sync(
    workspace: Workspace,
    url: str,
    *,
    settings: Settings,
    now: datetime,
    waits: bool = False,
    locked: bool = False,
    takes: bool = True,
    unsends: bool = False,
) -> Synced:
    """Bring this machine's memory and that of the others together over the remote `url`.

    Unless it `takes`, this machine's own is sent and no more: a night that began with a sync ends so. If it `unsends`,
    what was said word for word is taken off the remote; `sync_messages` is false then.

    Raises GitError where the remote can't be reached or refuses, and what was not sent is sent the next time; Busy;
    WorkspaceError for a memory file that is not UTF-8. Memory is then as it was.
    """
    with nullcontext() if locked else run_lock(workspace.private, "dream sync", now=now):
        begun, last = _looks(workspace, settings), membership.meeting(workspace)
        known = member(workspace) or begin(workspace, url, waits=waits)
        try:
            branches = Branches(workspace.private, waits=waits, recipients=settings.sync_encrypt)
            branches.age.check()
            remote = branches.remote(url)
            branches.clear_locks(remote)
            _cleaned(workspace, branches, known, now)
            if not unsends and last.mark and last.mark == _mark(branches.listed(remote), begun):
                done = Synced("nothing", remote.url, known.name, machines=last.machines, forgotten=last.forgotten)
            else:
                with workspace.git.reading():
                    done = _met(workspace, settings, branches, remote, now, takes=takes, unsends=unsends)
        except DreamError as error:
            membership.missed(workspace, str(error), now)
            raise
        mark = ""
        if done.outcome == "nothing" and not done.problems and _looks(workspace, settings) == begun:
            mark = _mark(branches.fetched(), begun)
        told = (done.remote, done.machine, done.machines, done.problems, done.forgotten)
        membership.met(workspace, Meeting(now.isoformat(), *told, mark=mark))
        return done


def _cleaned(workspace: Workspace, branches: Branches, known: SyncMember, now: datetime) -> None:
    """Take what was forgotten here out of our copy of the branches, also where the remote can't be reached."""
    if mine := signed.noted(workspace):
        cleaning = signed.Cleaning(workspace, branches, known, Signs(bytes.fromhex(known.key), mine))
        cleaning.clean_copies(now)
        if cleaning.is_dirty:
            cleaning.drop_old()


def _met(
    workspace: Workspace,
    settings: Settings,
    branches: Branches,
    remote: Remote,
    now: datetime,
    *,
    takes: bool,
    unsends: bool,
) -> Synced:
    for _ in range(ROUNDS):
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
        known = member(workspace)
        assert known is not None, "it was noted before"
        done = Exchange(workspace, settings, known, branches, remote, now, takes, unsends).run()
        if done is not None:
            signed.sent(workspace)
            return done
    raise GitError(transaction.BUSY)


def _looks(workspace: Workspace, settings: Settings) -> str:
    """Return all that a sync looks at on this disk, as sizes and times: where it is the same, nothing is new here."""
    paths = [*map(workspace.root.joinpath, (*workspace.files(), *STATE_FILES)), *workspace.history.messages.paths()]
    paths += [workspace.memory / "history.jsonl", *(workspace.private / name for name in (INTENT, UNDONE, signed.NOTE))]
    paths += sorted((workspace.memory / "archive").glob("*.md"))
    found = [(str(path), *_stat(path)) for path in paths]
    return repr((found, member(workspace), settings.sync_messages, settings.sync_encrypt))


def _mark(listed: Mapping[str, str], looks: str) -> str:
    """Return a digest of what stands on the remote and on this disk."""
    return hashlib.sha256(repr((sorted(listed.items()), looks)).encode()).hexdigest()


def _stat(path: Path) -> tuple[int, int]:
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return 0, 0


def adopt(workspace: Workspace, name: str, *, now: datetime) -> int:
    """Take into our history what another machine has not dreamt, so that it is dreamt here; return how many entries.

    What history has of the same session already stays as it is.
    """
    with run_lock(workspace.private, "dream sync", now=now):
        one = named(workspace, name)
        theirs = history_of(workspace, one.machine)
        history, count = workspace.history, 0
        for entry in theirs.after(shared.number(one.info.get("dreamt"))):
            if entry.kind == "nothing" or (entry.span and history.position(entry.session or "") > entry.span[0]):
                continue
            said = theirs.messages.of(entry.session or "", range(*entry.span), entry.at) if entry.span else []
            fields = {name: getattr(entry, name) for name in NewEntry.__dataclass_fields__}
            history.append([NewEntry(**fields)], now=now, said=said)
            count += 1
        return count


def history_of(workspace: Workspace, one: str) -> History:
    """Return another machine's history, as it lies beside ours."""
    return next(other.history for other in machines(workspace) if other.id == one)


def clone(url: str, directory: Path, *, now: datetime, waits: bool = False) -> tuple[Workspace, Synced]:
    """Make a workspace in a new or empty directory from the branches at `url`. Raises UsageError, GitError.

    The person has named the remote: what is on it now is accepted, and the workspace is trusted here.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is there already and not empty; name a new directory.")
    is_new = not directory.exists()
    workspace = Workspace.create(directory, now=now)
    try:
        us = begin(workspace, url, waits=waits)
        if not us.accepted:
            raise UsageError(f"{url} holds no memory yet; `dream sync {url}` in a workspace puts it there.")
        chosen: dict[str, Any] = {"sync": url}
        if recipients := membership.recipients(workspace):  # as the machines that are there have it
            chosen["sync_encrypt"] = list(recipients)
        done = sync(workspace, url, settings=Settings(sync_encrypt=recipients), now=now, waits=waits)
    except DreamError:
        workspace.history.close()
        trust.forget(workspace.root, trust.state_directory(os.environ))
        for path in directory.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if is_new:
            directory.rmdir()
        raise
    set_values(workspace.root, chosen)
    return workspace, done
