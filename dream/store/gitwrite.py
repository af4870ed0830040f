"""Writing commits: objects first and safe on disk, then one compare-and-swap of HEAD.

Two processes: `git fast-import` makes blobs, trees and commit in one go (hooks, filters, index and work tree play
no part), `git update-ref` moves HEAD. Objects hang on refs/dream/next until HEAD has moved, so that no collection
of garbage can take them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dream.errors import GitError
from dream.store import faults
from dream.store.files import explained
from dream.store.gitenv import DREAM, Git
from dream.store.gitindex import mode

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
        faults.checkpoint("before update-ref")
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
            faults.checkpoint("after update-ref")
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
