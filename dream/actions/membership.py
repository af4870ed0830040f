"""The machines that share a memory, as this one knows them: who it is itself, whom it obeys, and the key they share.

It is noted in .dream/sync.json, for its owner alone to read. The key is drawn on the first machine and typed on the
others; it never lies on the remote.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from dream import trust
from dream.directory import Workspace
from dream.errors import GitError, UsageError
from dream.versions import branches as remotes
from dream.versions import shared
from dream.versions.branches import FETCHED, KNOWN, Branches
from dream.versions.shared import Branch
from dream.workspace import files, machine
from dream.workspace.lock import run_lock

KEY = re.compile(r"[0-9a-f]{32}")  # as it is typed, without blanks and hyphens
NOTE, MET = "sync.json", "met.json"  # in .dream/: the membership; how the last sync went


@dataclass(frozen=True, slots=True)
class SyncMember:
    """This machine as one of those that share a memory; `key` is theirs, in hex, "" where it was not given here.

    `accepted` are the machines that are obeyed; of those in `sealing` only what carries the seal of the key.
    `url` is the remote that the person has agreed to.
    """

    machine: str
    name: str
    memory: str
    key: str = ""
    url: str = ""
    accepted: tuple[str, ...] = ()
    sealing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Other:
    """Another machine, and how it stands: `waiting` are lines and signs of it that count once it is accepted.

    `behind` counts the forgettings that it has not followed; `has_key` says that it can. The branch of one that
    is `gone` was removed from the remote.
    """

    machine: str
    name: str
    accepted: bool
    written: str = ""
    waiting: int = 0
    behind: int = 0
    has_key: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """The last sync that reached the remote, and why a later one did not: `error`, with its time `failed`.

    `forgotten` counts the texts that all machines are to forget.
    """

    at: str = ""
    remote: str = ""
    machine: str = ""
    machines: tuple[Other, ...] = ()
    problems: tuple[str, ...] = ()
    forgotten: int = 0
    error: str = ""
    failed: str = ""
    mark: str = ""  # of how all was after it


def member(workspace: Workspace) -> SyncMember | None:
    """Return this machine as a member of a shared memory; None where the workspace is not synced."""
    note = files.read_note(workspace.private / NOTE)
    with suppress(KeyError, TypeError):
        lists = {name: tuple(map(str, note.get(name, ()))) for name in ("accepted", "sealing")}
        return SyncMember(
            note["machine"], note["name"], note["memory"], note.get("key", ""), note.get("url", ""), **lists
        )
    return None


def note(workspace: Workspace, now: SyncMember) -> None:
    """Write down the membership, for its owner alone to read."""
    files.write_note(workspace.private / NOTE, asdict(now))


def met(workspace: Workspace, meeting: Meeting) -> None:
    """Note how the last sync went, for `dream status`."""
    files.write_note(workspace.private / MET, asdict(meeting), durable=False)


def missed(workspace: Workspace, error: str, now: datetime) -> None:
    """Note that a sync failed, beside what the last one that did not has found."""
    met(workspace, replace(meeting(workspace), error=error, failed=now.isoformat()))


def meeting(workspace: Workspace) -> Meeting:
    """Return how the last sync went; an empty one where none is noted."""
    found = files.read_note(workspace.private / MET)
    with suppress(KeyError, TypeError):
        machines = tuple(Other(**row) for row in found.pop("machines"))
        return Meeting(machines=machines, **{**found, "problems": tuple(map(str, found["problems"]))})
    return Meeting()


def troubles(workspace: Workspace, remote: str | None) -> tuple[list[str], list[str]]:
    """Return what is wrong with the sync over `remote`, the setting, and what waits for a person or another machine."""
    us, last = member(workspace), meeting(workspace)
    if (workspace.private / NOTE).exists() and us is None:
        return [f".dream/{NOTE} is damaged; name the remote again: `dream sync URL`"], []
    if not remote:
        return [], []
    if us is None or us.url != remote:
        return [f"not synced: nobody has agreed to {remote} on this machine; `dream sync` asks"], []
    since = f" since {last.at[:16].replace('T', ' ')}" if last.at else ""
    wrong = [f"not synced{since}: {last.error.removesuffix('.')}"] if last.error else []
    waits = list(last.problems)
    for one in (one for one in last.machines if not one.gone):
        if one.waiting and not one.accepted:
            waits.append(f"{one.waiting} lines or removals of {one.name} wait: `dream sync --trust {one.name}`")
        if one.behind and one.has_key:
            waits.append(f"{one.name} has not followed {one.behind} forgettings yet: it does at its next sync")
        if one.behind and not one.has_key:
            cure = (
                f"`dream sync --trust {one.name}` shows the key here, `dream sync --trust {us.name}` asks for it there"
            )
            waits.append(f"{one.name} can't follow {one.behind} forgettings, it has no key of this memory: {cure}")
    return wrong, waits


def begin(workspace: Workspace, url: str, *, waits: bool = False) -> SyncMember:
    """Become one of the machines that meet at `url`, or the first; return the membership, which is noted.

    What is there already is of machines that the person has named by naming the remote: they are accepted.
    Raises UsageError for an address that is none, and GitError where it can't be reached.
    """
    branches = Branches(workspace.private, waits=waits)
    remote = branches.remote(url)
    if remote.folder is not None:
        remotes.make_folder(remote.folder)
    if (known := member(workspace)) is not None:
        if known.url != url:  # what the old remote held says nothing of the new one
            gone = [ref for ref in branches.refs() if ref.startswith(FETCHED) or ref == KNOWN + known.machine]
            branches.move(dict.fromkeys(gone))
        note(workspace, known := replace(known, url=url))
        return known
    listed = branches.listed(remote)
    branches.fetch(remote)
    found = [shared.read(branches, one, sha, b"") for one, sha in listed.items()]
    memories = {str(one.info.get("memory", "")) for one in found}
    if len(memories) > 1:
        raise GitError(f"{remote.url} holds the branches of {len(memories)} memories; each needs a remote of its own.")
    this = machine.this(trust.state_directory(os.environ))
    made = SyncMember(
        this.id if this.id not in listed else drawn(),
        free(this.name, {one.name for one in found}),
        memories.pop() if memories else secrets.token_hex(8),
        next(
            filter(KEY.fullmatch, (str(one.info.get("key")) for one in found)), "" if found else secrets.token_hex(16)
        ),
        url,
        tuple(sorted(listed)),
    )
    note(workspace, made)
    return made


def recipients(workspace: Workspace) -> tuple[str, ...]:
    """Return the age recipients for which the machines that were there first encrypt; none where they don't."""
    branches = Branches(workspace.private)
    fetched = {ref.removeprefix(FETCHED): sha for ref, sha in branches.refs().items() if ref.startswith(FETCHED)}
    found = (shared.recipients(shared.read(branches, one, sha, b"")) for one, sha in fetched.items())
    return tuple(dict.fromkeys(one for some in found for one in some))


def others(workspace: Workspace) -> list[Branch]:
    """Return the other machines as they were taken in last; starts git, and reaches no remote."""
    us = member(workspace)
    if us is None:
        return []
    branches = Branches(workspace.private)
    refs = branches.refs()
    found = {ref.removeprefix(KNOWN): sha for ref, sha in refs.items() if ref.startswith(KNOWN)}
    key = bytes.fromhex(us.key)
    return [shared.read(branches, one, sha, key) for one, sha in sorted(found.items()) if one != us.machine]


def named(workspace: Workspace, name: str) -> Branch:
    """Return the machine of this name or id; raises UsageError where there is none."""
    known = others(workspace)
    found = [one for one in known if name in (one.name, one.machine)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(one.name for one in known) or "none yet: `dream sync` looks"
    raise UsageError(f"No other machine of this memory is called {name!r}; there is {there}.")


def key_hint(us: SyncMember, others: Iterable[Branch]) -> str:
    """Say how this machine gets the memory's key from one of the others that has it."""
    known = sorted(others, key=lambda one: (remotes.SEAL not in one.listed, one.machine not in us.accepted))
    name = known[0].name if known else "NAME"
    return f"type `dream sync --trust {name}` here, with the key that `dream sync --trust {us.name}` shows on {name}"


def accept(workspace: Workspace, name: str, key: str, *, now: datetime) -> tuple[SyncMember, bool]:
    """Obey a machine from the next sync on; `key` is the memory's, "" where it is known here or nobody has it.

    Return the membership, and whether that machine has the key, as far as is known here. Raises UsageError where the
    key does not fit the machine's seal.
    """
    with run_lock(workspace.private, "dream sync", now=now):
        one, us = named(workspace, name), member(workspace)
        assert us is not None, "who knows another machine is a member"
        if key and not us.key:
            us = replace(us, key=key)
            one = shared.read(Branches(workspace.private), one.machine, one.sha, bytes.fromhex(key))
            if not one.is_sealed:
                raise UsageError(f"That is not the key by which {one.name} seals what it writes; nothing was accepted.")
        us = replace(us, accepted=tuple(sorted({*us.accepted, one.machine})))
        note(workspace, us)
        return us, one.is_sealed


def drawn() -> str:
    """Draw the id of a machine."""
    return f"m-{secrets.token_hex(4)}"


def free(name: str, taken: Iterable[str]) -> str:
    """Return the name, numbered where it is taken."""
    number, taken = 2, set(taken)
    found = name[:36]
    while found in taken:
        found, number = f"{name[:36]}-{number}", number + 1
    return found
