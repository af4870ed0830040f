"""The versions of a workspace: one git repository that is dream's own, whatever lies around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from dream.door import make_folder
from dream.errors import GitError
from dream.models import LineCount
from dream.versions import gitdir, log, read_all, write
from dream.versions.diff import Diff, compare, count
from dream.versions.git import DREAM, Git, blob_name, check_installed, head_of
from dream.versions.log import Change, ChangeKind, Shown
from dream.workspace.files import explained, read_bytes, replace_file

__all__ = ["Change", "Diff", "GitStore", "Shown"]

# Loose files in one of the 256 object directories at which it pays to pack: about 1,000 objects, 200 dreams.
_LOOSE = 4


class GitStore:
    """The repository of the workspace at `root`; `private` is its .dream directory.

    It never touches the memory files: it writes commits of what it is given and reads what is in them.
    """

    def __init__(self, root: Path, private: Path) -> None:
        self.root = root
        self.private = private

    @cached_property
    def git(self) -> Git:
        """The door to git on our directory. Raises GitError where there is none yet, or one that leads elsewhere."""
        found = gitdir.find(self.root, self.private)
        if found is None:
            raise GitError(f"{self.root} has no versions yet; `dream init` makes the first.")
        gitdir.check(self.root, found)
        check_installed()  # before a model is paid, whose findings nobody could commit
        return Git(self.root, found)

    @property
    def exists(self) -> bool:
        """Whether there is a repository of ours; starts no process."""
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
        return write.write_commit(self.git, changes, message, parent=parent, now=now, author=author)

    def move_head(self, new: str, old: str | None, reason: str = "dream") -> bool:
        """Point HEAD at `new` if it still is `old`; return whether it was. This is the commit point."""
        return write.move_head(self.git, new, old, reason)

    def refresh_index(self, files: Mapping[str, bytes | None], sha: str) -> None:
        """Make `git status` agree with a commit, unless the repository is hidden, where nobody asks.

        Where someone holds the index just then it stays behind, until `catch_up_index` of a later command.
        """
        if files and self._has_index() and not write.refresh(self.git, files, len(sha)):
            with explained("written", self._behind):
                replace_file(self._behind, b"", durable=False)

    @property
    def has_index_behind(self) -> bool:
        """Whether the index stayed behind a commit; starts no process."""
        return self._behind.exists()

    def behind_index(self, disk: Mapping[str, bytes]) -> dict[str, bytes | None]:
        """Return the files of HEAD that the index doesn't know: a person's `git commit` would revert them.

        `disk` are the versioned files as they lie there: what a person has staged of them is not behind.
        """
        head, present = self.snapshot()
        if head is None or not self._has_index():
            return {}
        return write.behind(self.git, present, disk, len(head))

    def catch_up_index(self, disk: Mapping[str, bytes]) -> None:
        """Bring the index to HEAD where an earlier commit could not."""
        late, head = self.behind_index(disk), self.head()
        if not late or write.refresh(self.git, late, len(head or "")):
            with explained("removed", self._behind):
                self._behind.unlink(missing_ok=True)

    @property
    def has_damaged_index(self) -> bool:
        """Whether the index that `git status` reads is not as git wrote it; starts no process."""
        return self._has_index() and self.git.git_dir is not None and write.is_damaged(self.git.git_dir)

    @property
    def _behind(self) -> Path:
        return self.private / "index-behind"

    def _has_index(self) -> bool:
        return self.git.git_dir is not None and gitdir.is_at_root(self.root, self.git.git_dir)

    def clear_locks(self, since: float) -> None:
        """Remove the locks that a git of ours left when it was killed after `since` (seconds of the epoch)."""
        if self.git.git_dir is not None:
            write.clear_locks(self.git.git_dir, since)

    def log(
        self, limit: int | None = None, *, after: str | None = None, kind: ChangeKind | None = None
    ) -> list[Change]:
        """List the changes that dream made, newest first: at most `limit`, made after a commit, of one kind."""
        try:
            return log.log(self.git, limit, after, kind)
        except GitError:
            if self.head() is None:  # a crash before the very first commit
                return []
            raise

    def patches_of(self, path: str) -> bytes:
        """Return every change of one file in the history of HEAD, as patches without context, newest first."""
        return log.patches(self.git, path)

    def show(self, sha: str) -> Shown:
        """Read one change with its message and its diff. `sha` comes from `resolve` or `log`."""
        return log.show(self.git, sha)

    def each(self, revision: str = "HEAD") -> Iterator[Shown]:
        """Yield every change in full, from `revision` back, newest first; read by the page."""
        return log.each(self.git, revision) if self.head() is not None else iter(())

    def resolve(self, prefix: str) -> str:
        """Return the whole sha that a prefix of at least 4 characters names; raises UnknownRevision."""
        return log.resolve(self.git, prefix)

    def since(self, old: str, new: str = "HEAD") -> list[bytes] | None:
        """Return the commits after `old` up to `new`, newest first, where that takes no process; else None."""
        return self.git.since(old, new)

    def is_ancestor(self, sha: str, of: str = "HEAD") -> bool:
        """Return whether `sha` is `of` or lies before it."""
        return self.git.is_ancestor(sha, of)

    def compare(self, old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]) -> Diff:
        """Compare two states of the files; nothing is written to the repository."""
        return compare(old, new, self.private)

    def count(self, old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]) -> Mapping[str, LineCount]:
        """Count the lines that each file gains and loses between two states of the files."""
        return count(old, new, self.private)

    def fsck(self) -> None:
        """Raise GitError with git's words unless every object is there and whole."""
        self.git.run("fsck", "--full", "--no-dangling", "--no-progress")

    @property
    def is_loose(self) -> bool:
        """Whether loose objects have become so many that it pays to pack them; starts no process."""
        git_dir = self.git.git_dir
        try:
            return git_dir is not None and sum(1 for _ in (git_dir / "objects" / "17").iterdir()) >= _LOOSE
        except FileNotFoundError:
            return False

    def pack(self) -> bool:
        """Pack loose objects when they have become many; nobody has to wait for it. Return whether it did."""
        if not self.is_loose:
            return False
        write.patiently(self.git, "gc", "--quiet", "--force")  # the gc.pid of one that was killed doesn't count
        return True


# Mending a damaged repository: objects that the files on disk still tell, or a new repository beside the old one.


MAIN = "refs/heads/main"
ASIDE = "objects-set-aside"  # in the git directory: damaged objects, as they were


def rewrite_objects(store: GitStore) -> bool:
    """Write the blobs of the files on disk again where git can't read them; return whether all is whole then."""
    directory = store.git.git_dir
    if directory is None:
        return False
    for data in read_all(store.root).values():
        name = blob_name(data)
        if _is_whole(store, name, data):
            continue
        loose = directory / "objects" / name[:2] / name[2:]
        if loose.exists():  # git takes what is there for good, and would not write it again
            make_folder(directory / ASIDE)
            loose.rename(directory / ASIDE / name)
            store.git.run("hash-object", "-w", "--stdin", stdin=data)
    try:
        store.fsck()
    except GitError:
        return False
    return True


def rewrite_configuration(store: GitStore, own: Path) -> bool:
    """Put dream's own configuration into the hidden git directory `own`; return whether git may use it then.

    What stood there is kept beside it, as config-set-aside and config.worktree-set-aside, which git doesn't read.
    """
    if gitdir.find(store.root, store.private) != own:
        return False
    replace_file(own / "config-set-aside", read_bytes(own / "config") or b"")
    replace_file(own / "config", gitdir.CONFIG.encode())
    worktree = own / "config.worktree"  # which `git worktree` makes, and dream never
    if (strange := read_bytes(worktree)) is not None:
        replace_file(own / "config.worktree-set-aside", strange)
        worktree.unlink()
    try:
        store.check()
    except GitError:
        return False
    return True


def rewrite_head(store: GitStore, directory: Path) -> bool:
    """Point HEAD and its branch at the newest version in git's own log; return whether nothing is lost of them then.

    What stood there is kept beside it, as head-set-aside and branch-set-aside.
    """
    gitdir.check_reach(store.root, directory)
    found = {name: sha for name, sha in gitdir.branches(directory).items() if sha}
    _, newest = gitdir.logged(directory, "HEAD")
    branch = head_of(directory)
    if not branch:
        at_newest = [name for name, sha in found.items() if sha == newest]
        branch = min(at_newest or found or [MAIN], key=lambda name: (name != MAIN, name))
        _set_aside(directory / "HEAD", directory / "head-set-aside")
        replace_file(directory / "HEAD", f"ref: {branch}\n".encode())
    if branch not in found:
        sha = gitdir.logged(directory, branch)[1] or newest
        try:
            Git(store.root, directory).run("cat-file", "-e", f"{sha}^{{commit}}")
        except GitError:
            return False
        _set_aside(directory / branch, directory / "branch-set-aside")
        make_folder((directory / branch).parent)
        replace_file(directory / branch, f"{sha}\n".encode())
    return not gitdir.lost_head(directory)


def rewrite_index(store: GitStore, directory: Path) -> bool:
    """Make the index anew from HEAD; no file of the person is touched. Return whether it is whole then."""
    _set_aside(directory / "index", directory / "index-set-aside")
    try:
        store.git.run("read-tree", "HEAD")
        store.git.run("update-index", "-q", "--refresh", ok=(0, 1))
    except GitError:
        return False
    return not store.has_damaged_index


def is_readable(store: GitStore) -> bool:
    """Return whether the newest version can be read, every file of it."""
    try:
        return store.head() is not None and store.snapshot()[0] is not None
    except GitError:
        return False


def put_away(directory: Path, private: Path, now: datetime) -> Path:
    """Rename the git directory into `private` and return where it is; nothing in it is changed."""
    kept = private / f"git-damaged-{now.astimezone(UTC):%Y%m%dT%H%M%S}"
    with explained("moved away", directory):
        directory.rename(kept)
    return kept


def _set_aside(path: Path, aside: Path) -> None:
    if (data := read_bytes(path)) is not None:
        replace_file(aside, data)


def _is_whole(store: GitStore, name: str, data: bytes) -> bool:
    try:
        return store.git.run("cat-file", "blob", name) == data
    except GitError:
        return False
