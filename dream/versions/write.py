"""Writing commits: objects first and safe on disk, then one compare-and-swap of HEAD; and git's locks and index.

Two processes: `git fast-import` makes blobs, trees and commit in one go (hooks, filters, index and work tree play
no part), `git update-ref` moves HEAD. Objects hang on refs/dream/next until HEAD has moved, so that no collection
of garbage can take them.

The repository's own index is what `git status` and a person's `git commit` go by: it must not stay behind HEAD.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dream.errors import GitError
from dream.versions import is_versioned
from dream.versions.git import DREAM, Git, blob_name
from dream.workspace import files
from dream.workspace.files import explained, read_bytes

NEXT = "refs/dream/next"
# A ref is locked for milliseconds; a lock that is older than this, in seconds, belongs to a process that died.
STALE = 2.0
_LOCKS = (
    "*.lock",
    "refs/heads/**/*.lock",
    "refs/dream/*.lock",
    "logs/**/*.lock",
    "objects/info/**/*.lock",
    "gc.pid",
    "packed-refs.new",
)
_LOCK = re.compile(
    r"Unable to create '(.+\.lock)'|cannot lock ref .*'(.+\.lock)'|unable to create file (.+/packed-refs\.new):"
)
# A git at work holds the index for milliseconds; one whose person writes a message in an editor, for minutes.
OLD = 60.0  # seconds, where the system can tell that no git is at work there
_OLD_UNSEEN = 3600.0  # where it can't


def write_commit(
    git: Git,
    changes: Mapping[str, bytes | None],
    message: str,
    *,
    parent: str | None,
    now: datetime,
    author: tuple[str, str] = DREAM,
) -> str:
    """Write the objects of a commit and return its sha; they are on disk, and no branch shows them yet."""
    stream = [b"commit %s\nmark :1\n" % NEXT.encode()]
    stream += [_person("author", author, now), _person("committer", DREAM, now), _data(message.encode())]
    if parent:
        stream.append(b"from %s\n" % parent.encode())
    for path, content in changes.items():
        if content is None:
            stream.append(b"D %s\n" % _quoted(path))
        else:
            kind = mode(git.work_tree / path).encode()
            stream.append(b"M %s inline %s\n%s" % (kind, _quoted(path), _data(content)))
    stream.append(b"\nget-mark :1\ndone\n")
    arguments = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
    return patiently(git, *arguments, stdin=b"".join(stream)).decode().strip()


def move_head(git: Git, new: str, old: str | None, reason: str) -> bool:
    """Point HEAD at `new` if it still is `old`; return whether it was.

    Where git reports an error and HEAD is `new` all the same, it has moved.
    A lock that a dead process left on a ref is removed.
    """
    update = f"update HEAD {new} {old or '0' * len(new)}\ndelete {NEXT}\n".encode()
    deadline = time.monotonic() + 2 * STALE
    while True:
        files.checkpoint("before update-ref")
        try:
            git.run("update-ref", "-m", reason, "--stdin", stdin=update)
        except GitError as error:
            now = git.head()
            if now == new:  # what failed came after it: the removal of a lock, the reflog
                return True
            if now != old:
                return False
            _wait_for_lock(error, deadline)
        else:
            files.checkpoint("after update-ref")
            return True


def patiently(git: Git, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git and return what it printed, though another process holds a lock: that is waited for.

    A lock that a dead process left is removed. Raises GitError.
    """
    deadline = time.monotonic() + 2 * STALE
    while True:
        try:
            return git.run(*arguments, stdin=stdin)
        except GitError as error:
            _wait_for_lock(error, deadline)


def clear_locks(git_dir: Path, since: float) -> None:
    """Remove the locks that a killed git of ours left after `since` (seconds of the epoch).

    A git that outlived its killed parent may still be at work: its lock is given the time that such a lock lasts.
    """
    for pattern in _LOCKS:
        for lock in git_dir.glob(pattern):
            with explained("removed", lock), suppress(FileNotFoundError):
                if lock.stat().st_mtime < since - 1:
                    continue  # older than our commit: somebody else's
                while time.time() - lock.stat().st_mtime <= STALE:
                    time.sleep(0.02)
                lock.unlink()
    for report in git_dir.glob("fast_import_crash_*"):
        with explained("removed", report):
            report.unlink(missing_ok=True)


def refresh(git: Git, files: Mapping[str, bytes | None], sha_length: int) -> bool:
    """Tell the index what was committed; return False when someone else holds it, and it stays as it was.

    A lock that a git left when it died is removed.
    """
    if git.git_dir is None:
        return True
    lines = []
    for path, content in files.items():
        name = "0" * sha_length if content is None else blob_name(content, sha_length)
        lines.append(f"{'0' if content is None else mode(git.work_tree / path)} {name}\t{path}\0".encode())
    lock = git.git_dir / "index.lock"
    _drop_stale(lock, git.work_tree)
    if lock.exists():
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


def is_damaged(git_dir: Path) -> bool:
    """Return whether the index is not as git wrote it, by the checksum at its end; starts no process."""
    data = read_bytes(git_dir / "index")
    if data is None:
        return False
    sums = [hashlib.sha1(data[:-20], usedforsecurity=False).digest(), hashlib.sha256(data[:-32]).digest(), bytes(20)]
    return not (data.startswith(b"DIRC") and data.endswith(tuple(sums)))  # NULs where git was told to spare the sum


def is_deserted(work_tree: Path, lock: Path, age: float) -> bool:
    """Return whether no process has `lock` open and no git is at work in `work_tree`.

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


def mode(path: Path) -> str:
    """Return git's mode of a file as it lies on disk: its executable bit is kept."""
    try:
        return "100755" if os.lstat(path).st_mode & 0o100 else "100644"
    except OSError:
        return "100644"


def _drop_stale(lock: Path, work_tree: Path) -> None:
    """Remove a lock of the index that belongs to no living git, as far as can be told."""
    with suppress(OSError):  # gone meanwhile, or not ours to remove: then it is held
        age = time.time() - lock.stat().st_mtime
        if age > OLD and is_deserted(work_tree, lock, age):
            lock.unlink()


def _staged(git: Git) -> Iterator[tuple[str, str]]:
    """Yield (path, sha) of each file in the index; one in the middle of a merge has no sha of its own there."""
    for record in git.run("ls-files", "--stage", "-z").split(b"\0")[:-1]:
        facts, _, path = record.decode("utf-8", "surrogateescape").partition("\t")
        _, name, stage = facts.split(" ")
        if stage == "0":
            yield path, name


def _wait_for_lock(error: GitError, deadline: float) -> None:
    """Return when another try makes sense; raise `error` when it does not."""
    found = _LOCK.search(str(error))
    if found is None or time.monotonic() > deadline:
        raise error
    lock = Path(found[1] or found[2] or found[3])
    try:
        if time.time() - lock.stat().st_mtime > STALE:
            lock.unlink()
        else:
            time.sleep(0.05)
    except FileNotFoundError:
        return
    except OSError as fault:  # not ours to remove, or a disk that takes nothing: then it stays held
        raise error from fault


def _person(role: str, who: tuple[str, str], now: datetime) -> bytes:
    aware = now if now.tzinfo else now.replace(tzinfo=UTC)
    return f"{role} {who[0]} <{who[1]}> {int(aware.timestamp())} {aware:%z}\n".encode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode("utf-8", "surrogateescape")
