"""Mending a damaged repository: objects that the files on disk still tell, or a new repository beside the old one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from dream.door import make_folder
from dream.errors import GitError
from dream.versions import gitdir
from dream.versions.git import Git, blob_name
from dream.versions.store import GitStore
from dream.versions.tracked import read_all
from dream.workspace.files import explained, read_bytes, replace_file

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
    branch = gitdir.head_of(directory)
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
