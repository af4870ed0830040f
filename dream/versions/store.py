"""The versions of a workspace: one git repository that is dream's own, whatever lies around it.

A commit is made by two processes: `git fast-import` makes blobs, trees and commit in one go (hooks, filters, index and
work tree play no part), `git update-ref` moves HEAD by one compare-and-swap. Objects hang on refs/dream/next until HEAD
has moved, so that no collection of garbage can take them.

The repository's own index is what `git status` and a person's `git commit` go by: each commit brings it to HEAD.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dream.errors import GitError
from dream.memory import KNOWN_PLACES
from dream.versions import CURSOR, FILES, INTENT, STATE, gitdir, read_all
from dream.versions.git import DREAM, NEXT, STALE, Git, check_installed
from dream.workspace import files as on_disk
from dream.workspace.files import explained, read_bytes
from dream.workspace.format import FORMAT

if TYPE_CHECKING:
    from dream.versions.log import Change, ChangeKind, Shown

_LOCKS = (
    "*.lock",
    "refs/heads/**/*.lock",
    "refs/dream/*.lock",
    "logs/**/*.lock",
    "objects/info/**/*.lock",
    "gc.pid",
    "packed-refs.new",
)


class GitStore:
    """The repository of the workspace at `root`; `private` is its .dream directory.

    It never touches the memory files: it writes commits of the given contents and reads commits.
    Modules that list and compare versions are imported at first use: most nights change nothing.
    """

    def __init__(self, root: Path, private: Path) -> None:
        self.root = root
        self.private = private

    @cached_property
    def git(self) -> Git:
        """Git on the workspace's repository. Raises GitError if there is none yet, or it is a link to another place."""
        found = gitdir.find(self.root, self.private)
        if found is None:
            raise GitError(f"{self.root} has no versions yet; `dream init` makes the first.")
        gitdir.check(self.root, found)
        check_installed()  # before a paid call of a model: without git its findings could not be committed
        return Git(self.root, found)

    @property
    def exists(self) -> bool:
        """Return whether there is a repository of ours; starts no process."""
        return gitdir.find(self.root, self.private) is not None

    def check(self) -> None:
        """Raise GitError where there are no versions yet, or a git directory that leads elsewhere."""
        _ = self.git

    def ensure(self) -> None:
        """Find our repository, adopt the one of a nanobot workspace, or make one."""
        made = gitdir.make(self.root, self.private)
        gitdir.check(self.root, made)
        self.__dict__["git"] = Git(self.root, made)

    def head(self) -> str | None:
        """Return the sha of the newest commit, or None before the first."""
        return self.git.head()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let one process read all that is read in the block."""
        with self.git.reading():
            yield

    def read(self, revision: str, path: str) -> bytes | None:
        """Return a file as it is in `revision` (a whole sha, or HEAD), or None where it isn't."""
        with self.git.reading() as objects:
            return objects.file(revision, path)

    def read_all(self, revision: str = "HEAD") -> dict[str, bytes]:
        """Return every versioned file of `revision` by path; one process."""
        with self.git.reading() as objects:
            return objects.files(revision)

    def read_each(self, revisions: Iterable[str | None]) -> list[dict[str, bytes]]:
        """Return every versioned file of each revision; None is the state before the first commit. One process."""
        with self.git.reading() as objects:
            return [objects.files(revision) if revision else {} for revision in revisions]

    def snapshot(self) -> tuple[str | None, dict[str, bytes]]:
        """Return HEAD's sha and its versioned files; one process."""
        with self.git.reading() as objects:
            head = objects.head()
            return head, objects.files(head) if head else {}

    @property
    def is_at_rest(self) -> bool:
        """Return whether no commit was interrupted, and HEAD has the files as they are on disk.

        The dreams' cursor may be ahead of it, the format, and the known places.
        """
        if (self.private / INTENT).exists():
            return False
        _, present = self.snapshot()
        there = read_all(self.root)
        ahead = dict.fromkeys((CURSOR, FORMAT, KNOWN_PLACES), b"")
        return present | ahead == there | ahead

    def write(
        self,
        changes: Mapping[str, bytes | None],
        message: str,
        *,
        parent: str | None,
        now: datetime,
        author: tuple[str, str] = DREAM,
    ) -> str:
        """Write a commit's objects, safe on disk, and return its sha; None in `changes` deletes. HEAD stays."""
        modes = {path: _mode(self.root / path) for path in changes}
        told = stream(NEXT, changes, message, parent=parent, now=now, author=author, modes=modes)
        arguments = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
        return self.git.run(*arguments, stdin=told).decode().strip()

    def move_head(self, new: str, old: str | None, reason: str = "dream") -> bool:
        """Point HEAD at `new` if it still is `old`; return whether it was. This is the commit point.

        Where git reports an error and HEAD is `new` all the same, it has moved.
        """
        update = f"update HEAD {new} {old or '0' * len(new)}\ndelete {NEXT}\n".encode()
        begun = time.time()
        on_disk.checkpoint("before update-ref")
        try:
            self.git.run("update-ref", "-m", reason, "--stdin", stdin=update)
        except GitError:
            now = self.git.head()
            if now == old:
                raise
            self.clear_locks(begun)  # what failed may be the removal of one
            return now == new
        on_disk.checkpoint("after update-ref")
        return True

    def refresh_index(self, paths: Iterable[str], sha: str) -> None:
        """Make `git status` agree with the commit `sha`, unless the repository is hidden, where nobody asks.

        Of the versioned files, and of `paths`, which it may have removed. Where a person's git holds the index just
        then, it is the next commit that brings it to HEAD.
        """
        if not self._has_index():
            return
        wanted = sorted({*FILES, *STATE, *paths})
        there = self.git.run("ls-tree", "-z", "--full-tree", sha, "--", *wanted)
        gone = set(wanted) - {row.partition("\t")[2] for row in there.decode("utf-8", "surrogateescape").split("\0")}
        removed = "".join(f"0 {'0' * len(sha)}\t{path}\0" for path in gone).encode("utf-8", "surrogateescape")
        with suppress(GitError):
            self.git.run("update-index", "-z", "--index-info", stdin=there + removed)

    @property
    def has_damaged_index(self) -> bool:
        """Return whether the index that `git status` reads is not as git wrote it; starts no process."""
        data = read_bytes(self.git.directory / "index") if self._has_index() else None
        if data is None:
            return False
        sha1, sha256 = hashlib.sha1(data[:-20], usedforsecurity=False), hashlib.sha256(data[:-32])
        sums = (sha1.digest(), sha256.digest(), bytes(20))  # NULs where git is configured to skip the checksum
        return not (data.startswith(b"DIRC") and data.endswith(sums))

    def _has_index(self) -> bool:
        return gitdir.is_at_root(self.root, self.git.directory)

    def clear_locks(self, since: float) -> None:
        """Remove the locks that a git of ours left when it was killed after `since` (seconds of the epoch).

        A git that outlived its killed parent may still be at work: its lock is given the time that such a lock lasts.
        """
        # One that is older than our commit is somebody else's.
        clear_locks((lock for pattern in _LOCKS for lock in self.git.directory.glob(pattern)), since=since - 1)
        for report in self.git.directory.glob("fast_import_crash_*"):
            with explained("removed", report):
                report.unlink(missing_ok=True)

    def log(
        self,
        limit: int | None = None,
        *,
        after: str | None = None,
        kind: ChangeKind | None = None,
        batch: str = "",
        until: str = "HEAD",
    ) -> list[Change]:
        """List the changes that dream made, newest first: at most `limit`, of one kind or batch."""
        from dream.versions import log

        try:
            return log.log(self.git, limit, after, kind, batch, until)
        except GitError:
            if self.head() is None:  # a crash before the very first commit
                return []
            raise

    def patches_of(self, path: str) -> bytes:
        """Return every change of one file in the history of HEAD, as patches without context, newest first."""
        from dream.versions import log

        return log.patches(self.git, path)

    def show(self, sha: str) -> Shown:
        """Read one change with its message and its diff. `sha` comes from `resolve` or `log`."""
        from dream.versions import log

        return log.show(self.git, sha)

    def each(self, revision: str = "HEAD") -> Iterator[Shown]:
        """Yield every change in full, from `revision` back, newest first; read by the page."""
        from dream.versions import log

        return log.each(self.git, revision) if self.head() is not None else iter(())

    def resolve(self, prefix: str) -> str:
        """Return the whole sha that a prefix of at least 4 characters names; raises UnknownRevision."""
        from dream.versions import log

        return log.resolve(self.git, prefix)

    def is_ancestor(self, sha: str, of: str = "HEAD") -> bool:
        """Return whether `sha` is `of` or an ancestor of it."""
        return self.git.is_ancestor(sha, of)

    def fsck(self) -> None:
        """Raise GitError with git's message if an object is missing or damaged."""
        self.git.run("fsck", "--full", "--no-dangling", "--no-progress")

    def pack(self) -> None:
        """Let git pack its loose objects where they have become many: 1,024 of them, some 200 dreams."""
        self.git.run("gc", "--auto", "--quiet", "--force")  # the gc.pid of one that was killed doesn't count


def stream(
    ref: str,
    changes: Mapping[str, bytes | None],
    message: str,
    *,
    parent: str | None,
    now: datetime,
    author: tuple[str, str] = DREAM,
    modes: Mapping[str, str] | None = None,
) -> bytes:
    """Return what `git fast-import` makes a commit of, and prints its sha; it hangs on `ref`."""
    told = [b"commit %s\nmark :1\n" % ref.encode()]
    told += [_person("author", author, now), _person("committer", DREAM, now), _data(message.encode())]
    if parent:
        told.append(b"from %s\n" % parent.encode())
    for path, content in changes.items():
        if content is None:
            told.append(b"D %s\n" % _quoted(path))
        else:
            kind = (modes or {}).get(path, "100644").encode()
            told.append(b"M %s inline %s\n%s" % (kind, _quoted(path), _data(content)))
    return b"".join([*told, b"\nget-mark :1\ndone\n"])


def clear_locks(locks: Iterable[Path], *, since: float = 0.0, after: float = STALE, waits: bool = True) -> None:
    """Remove lock files that were made `since` (seconds of the epoch) and are older than `after` seconds.

    One that is younger is waited for, or stays: the git that made it may be at work.
    """
    for lock in locks:
        with explained("removed", lock), suppress(FileNotFoundError):
            made = lock.stat().st_mtime
            while waits and made >= since and time.time() - lock.stat().st_mtime <= after:
                time.sleep(0.02)
            if made >= since and time.time() - made > after:
                lock.unlink()


def _mode(path: Path) -> str:
    """Return git's mode of a file by its mode on disk: the executable bit is kept."""
    try:
        return "100755" if os.lstat(path).st_mode & 0o100 else "100644"
    except OSError:
        return "100644"


def _person(role: str, who: tuple[str, str], now: datetime) -> bytes:
    aware = now if now.tzinfo else now.replace(tzinfo=UTC)
    return f"{role} {who[0]} <{who[1]}> {int(aware.timestamp())} {aware:%z}\n".encode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode("utf-8", "surrogateescape")
