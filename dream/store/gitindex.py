"""The repository's own index, which `git status` and a person's `git commit` go by: it must not stay behind HEAD."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from dream.errors import GitError
from dream.store.files import read_bytes
from dream.store.gitenv import Git
from dream.store.gitobjects import blob_name, is_versioned

# A git at work holds the index for milliseconds; one whose person writes a message in an editor, for minutes.
OLD = 60.0  # seconds, where the system can tell that no git is at work there
_OLD_UNSEEN = 3600.0  # where it can't


def refresh(git: Git, files: Mapping[str, bytes | None], sha_length: int) -> bool:
    """Tell the index what was committed; False when someone else holds it, and it stays as it was.

    A lock that a git left when it died is removed.
    """
    if git.git_dir is None:
        return True
    lines = []
    for path, content in files.items():
        name = "0" * sha_length if content is None else blob_name(content, sha_length)
        lines.append(f"{'0' if content is None else mode(git.work_tree / path)} {name}\t{path}\0".encode())
    drop_stale_lock(git)
    if (git.git_dir / "index.lock").exists():
        return False
    try:
        git.run("update-index", "-z", "--index-info", stdin=b"".join(lines))
    except GitError:
        return False
    return True


def behind(git: Git, head: Mapping[str, bytes], disk: Mapping[str, bytes], sha_length: int) -> dict[str, bytes | None]:
    """Return what the index must be told: the files that it has neither as `head` has them nor as they are on `disk`.

    What a person has staged is as it is on disk, and is left alone.
    """
    staged = dict(_staged(git))
    found: dict[str, bytes | None] = {}
    for path in {*staged, *head}:
        names = [blob_name(state[path], sha_length) if path in state else None for state in (head, disk)]
        if is_versioned(path) and staged.get(path) not in names:
            found[path] = head.get(path)
    return found


def drop_stale_lock(git: Git) -> bool:
    """Remove an index.lock that belongs to no living git, as far as can be told; tells whether it did."""
    if git.git_dir is None:
        return False
    lock = git.git_dir / "index.lock"
    with suppress(OSError):  # gone meanwhile, or not ours to remove: then it is held
        age = time.time() - lock.stat().st_mtime
        if age > OLD and is_deserted(git.work_tree, lock, age):
            lock.unlink()
            return True
    return False


def is_damaged(git_dir: Path) -> bool:
    """Tell whether the index is not as git wrote it, by the checksum at its end; starts no process."""
    data = read_bytes(git_dir / "index")
    if data is None:
        return False
    sums = [hashlib.sha1(data[:-20], usedforsecurity=False).digest(), hashlib.sha256(data[:-32]).digest(), bytes(20)]
    return not (data.startswith(b"DIRC") and data.endswith(tuple(sums)))  # NULs where git was told to spare the sum


def mode(path: Path) -> str:
    """Return git's mode of a file as it lies on disk: its executable bit is kept."""
    try:
        return "100755" if os.lstat(path).st_mode & 0o100 else "100644"
    except OSError:
        return "100644"


def is_deserted(work_tree: Path, lock: Path, age: float) -> bool:
    """Tell whether no process has `lock` open and no git is at work in `work_tree`.

    Where the system doesn't say, a lock whose `age` is above an hour, in seconds, counts as deserted.
    """
    proc = Path("/proc")
    if not (proc / "self" / "fd").is_dir():
        return age > _OLD_UNSEEN
    root, name = work_tree.resolve(), str(lock.resolve())
    for process in proc.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's, who has no business here
            is_git = (process / "comm").read_text(errors="replace").startswith("git")
            if is_git and (process / "cwd").readlink().is_relative_to(root):
                return False
            if any(str(descriptor.readlink()) == name for descriptor in (process / "fd").iterdir()):
                return False
    return True


def _staged(git: Git) -> Iterator[tuple[str, str]]:
    """Yield (path, sha) of each file in the index; one in the middle of a merge has no sha of its own there."""
    for record in git.run("ls-files", "--stage", "-z").split(b"\0")[:-1]:
        facts, _, path = record.decode("utf-8", "surrogateescape").partition("\t")
        _, name, stage = facts.split(" ")
        if stage == "0":
            yield path, name
