"""Writing commits: objects first and safe on disk, then one compare-and-swap of HEAD.

Two processes: `git fast-import` makes blobs, trees and commit in one go (hooks, filters, index and work tree play
no part), `git update-ref` moves HEAD. Objects hang on refs/dream/next until HEAD has moved, so that no collection
of garbage can take them.
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
from dream.versions.git import DREAM, Git
from dream.versions.objects import blob_name, is_versioned
from dream.workspace import files
from dream.workspace.files import explained, read_bytes

# The repository's own index, which `git status` and a person's `git commit` go by: it must not stay behind HEAD.


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


def write_commit(
    git: Git,
    changes: Mapping[str, bytes | None],
    message: str,
    *,
    parent: str | None,
    now: datetime,
    author: tuple[str, str] = DREAM,
) -> str:
    """Make the objects of a commit and return its sha; they are on disk, and no branch shows them yet."""
    stream = [b"commit %s\nmark :1\n" % NEXT.encode()]
    stream += [_person(b"author", author, now), _person(b"committer", DREAM, now), _data(message.encode())]
    if parent:
        stream.append(b"from %s\n" % parent.encode())
    for path, content in changes.items():
        stream.append(_deletion(path) if content is None else _blob(git.work_tree, path, content))
    stream.append(b"\nget-mark :1\ndone\n")
    arguments = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
    deadline = time.monotonic() + 2 * STALE
    while True:
        try:
            return git.run(*arguments, stdin=b"".join(stream)).decode().strip()
        except GitError as error:
            _wait_for_lock(str(error), deadline, error)


def move_head(git: Git, new: str, old: str | None, reason: str) -> bool:
    """Point HEAD at `new` if it still is `old`; return False where someone moved it meanwhile.

    Where git reports an error and HEAD is `new` all the same, it has moved.
    A lock that a dead process left on a ref is removed.
    """
    update = f"update HEAD {new} {old or '0' * len(new)}\ndelete {NEXT}\n".encode()
    arguments = ("update-ref", "-m", reason, "--stdin")
    deadline = time.monotonic() + 2 * STALE
    while True:
        files.checkpoint("before update-ref")
        try:
            git.run(*arguments, stdin=update)
        except GitError as error:
            now = _head(git)
            if now == new:  # what failed came after it: the removal of a lock, the reflog
                return True
            if now != old:
                return False
            _wait_for_lock(str(error), deadline, error)
        else:
            files.checkpoint("after update-ref")
            return True


def patiently(git: Git, *arguments: str) -> None:
    """Run git; what another one has locked is waited for, and what a dead one left is removed. Raises GitError."""
    deadline = time.monotonic() + 2 * STALE
    while True:
        try:
            git.run(*arguments)
        except GitError as error:
            _wait_for_lock(str(error), deadline, error)
        else:
            return


def clear_locks(git_dir: Path, since: float) -> None:
    """Take away the locks that a killed git of ours left after `since` (seconds of the epoch).

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


def _head(git: Git) -> str | None:
    printed = git.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}", ok=(0, 1))
    return printed.decode().strip() or None


def _wait_for_lock(said: str, deadline: float, error: GitError) -> None:
    """Return when another try makes sense; raise `error` when it does not."""
    found = _LOCK.search(said)
    if found is None or time.monotonic() > deadline:
        raise error
    lock = Path(found[1] or found[2] or found[3])
    try:
        age = time.time() - lock.stat().st_mtime
        if age > STALE:
            lock.unlink()
        else:
            time.sleep(0.05)
    except FileNotFoundError:
        return


def _person(role: bytes, who: tuple[str, str], now: datetime) -> bytes:
    aware = now if now.tzinfo else now.replace(tzinfo=UTC)
    return f"{role.decode()} {who[0]} <{who[1]}> {int(aware.timestamp())} {aware:%z}\n".encode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _blob(work_tree: Path, path: str, content: bytes) -> bytes:
    return b"M %s inline %s\n%s" % (mode(work_tree / path).encode(), _quoted(path), _data(content))


def _deletion(path: str) -> bytes:
    return b"D %s\n" % _quoted(path)


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode("utf-8", "surrogateescape")
