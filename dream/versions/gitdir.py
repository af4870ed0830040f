"""Which git directory is ours: the workspace's own .git, or one under .dream/ that nobody else looks at.

`.git` is used when it carries our mark, when there is none and no repository around, or when it is a repository of
a nanobot workspace that holds nothing but memory. In every other case it is somebody's, and stays as it is.

A mark can be copied: a workspace that was sent may bring a git directory along. So before git looks into one, `check`
does: what would lead git out of it, or to a program that no switch silences, is refused by name.

What is damaged in a git directory is mended here too.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dream.door import make_folder
from dream.errors import GitError, WorkspaceError
from dream.versions import read_all
from dream.versions.git import SHA, SYMBOLIC, Git, head_of, text
from dream.workspace import files
from dream.workspace.files import check_plain, explained, read_bytes, replace_file

if TYPE_CHECKING:
    from dream.versions.store import GitStore

_MARK = re.compile(r"^\s*\[dream\]\s*$", re.MULTILINE)
CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
[dream]
\tversion = 1
"""
# Keys that git would obey whatever switches it is started with: configuration from elsewhere, objects from elsewhere, a
# file of any kind read at length, a program of `git gc`. A section or key is written in the file in plain letters,
# upper or lower case, so a search of the bytes misses none; git itself then checks the matches.
_REACHING = (  # compiled at first use: few repositories need it
    r"include(if\..*)?\.path|extensions\.partialclone|remote\..*\.(promisor|partialclonefilter)"
    r"|core\.alternaterefs(command|prefixes)|fsck\.skiplist|gc\.recentobjectshook|mailmap\.(file|blob)"
)
_SUSPECT = re.compile(rb"(?i)include|partialclone|promisor|alternaterefs|skiplist|recentobjectshook|mailmap")
_OF_OBJECTS = ("objects/info", "objects/pack")  # only these are checked: loose objects are too many
# Files of a workspace that are not versioned. In info/exclude, because .gitignore files are the person's.
_EXCLUDE = """# dream
/.dream/
/memory/.cursor
/memory/HISTORY.md
/memory/history.jsonl
/memory/archive/*.jsonl
/memory/messages/
.*.dream-tmp
.*.dream-swap
"""
_NANOBOT = re.compile(r"SOUL\.md|USER\.md|\.gitignore|memory/.*|skills/.*")
# Files that a directory may hold for an empty repository in it to count as the workspace's own.
_WORKSPACE = {
    "SOUL.md",
    "USER.md",
    "memory",
    "skills",
    "prompts",
    "places",
    "dream.toml",
    ".git",
    ".gitignore",
    ".dream",
}
MAIN = "refs/heads/main"
ASIDE = "objects-set-aside"  # in the git directory: damaged objects, as they were


def find(root: Path, private: Path) -> Path | None:
    """Return the git directory of the workspace at `root`, or None when it has none yet. Starts no process."""
    for directory in (root / ".git", private / "git"):
        if _is_marked(directory):
            return directory
    return None


def make(root: Path, private: Path) -> Path:
    """Find, adopt or create the git directory; it is whole, or not there, at every instant."""
    files.keep_out(private)
    found = find(root, private)
    if found is not None:
        return found
    own = root / ".git"
    if os.path.lexists(own):
        if _is_adoptable(root, own):
            return _adopt(root, own)
        own = private / "git"
    elif _is_inside_a_repository(root):
        own = private / "git"
    return _create(root, private, own)


def is_at_root(root: Path, git_dir: Path) -> bool:
    """Return whether `git_dir` is the repository that `git status` in the workspace shows."""
    return git_dir == root / ".git"


def check(root: Path, git_dir: Path) -> None:
    """Raise GitError where the git directory would lead git out of itself, or to a program, or has lost its HEAD."""
    check_reach(root, git_dir)
    if said := lost_head(git_dir):
        raise GitError(f"{git_dir / said}; `dream doctor --repair` brings it back.")


def check_reach(root: Path, git_dir: Path) -> None:
    """Raise GitError where the git directory would lead git out of itself, or to a program; starts none.

    Links and files that are not ordinary ones, objects borrowed from elsewhere, configuration that reaches out. In
    .dream/git nothing but what dream wrote there is configuration.
    """
    with explained("read", git_dir, GitError):
        inside = (
            Path(place) for name in ("refs", "logs", "info", *_OF_OBJECTS) for place, _, _ in os.walk(git_dir / name)
        )
        for folder in (git_dir, git_dir / "objects", *inside):
            _check_entries(folder)
        for place, _, names in os.walk(git_dir / "logs"):  # git appends to these; all else it replaces
            for name in names:
                check_plain(Path(place, name))
    for name in ("commondir", "objects/info/alternates"):
        if os.path.lexists(git_dir / name):
            raise GitError(f"{git_dir / name} leads to another repository; clone it whole and use the clone.")
    for name in ("config", "config.worktree"):
        _check_configuration(root, git_dir / name, is_ours=not is_at_root(root, git_dir))


def lost_head(git_dir: Path) -> str:
    """Return the damage to HEAD and the branch it names, "" if there is none; starts no process.

    A branch without a commit is no damage, unless its log tells of more commits than a first one, cut short.
    """
    if (git_dir / "reftable").exists():
        return ""  # where all of that is kept otherwise
    head = head_of(git_dir)
    if not head:
        return "HEAD is damaged: it names no version"
    if not head.startswith("refs/heads/") or sha_of(git_dir, head):
        return ""
    if text(git_dir / head):
        return f"{head} is damaged: it names no version"
    before, _ = logged(git_dir, head)
    return f"{head} is gone, though logs/{head} tells of versions" if before.strip("0") else ""


def sha_of(git_dir: Path, ref: str) -> str:
    """Return the sha that a branch names, or the ref that it stands for; "" where it names none."""
    held = text(git_dir / ref).strip()
    if SHA.fullmatch(held) or SYMBOLIC.fullmatch(held):
        return held
    packed = (line.partition(" ") for line in text(git_dir / "packed-refs").splitlines())
    return "" if held else next((sha for sha, _, name in packed if name == ref and SHA.fullmatch(sha)), "")


def logged(git_dir: Path, ref: str) -> tuple[str, str]:
    """Return the shas before and after the last move of `ref` in git's log of it, "" where there is none."""
    for line in reversed(text(git_dir / "logs" / ref).splitlines()):
        before, _, rest = line.partition(" ")
        after = rest.partition(" ")[0]
        if SHA.fullmatch(before) and SHA.fullmatch(after):
            return before, after
    return "", ""


def _check_entries(folder: Path) -> None:
    """Refuse links, through which git would write elsewhere, and pipes, on which it would block; hooks never run."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            plain = entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            if not plain and entry.name != "hooks" and not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                raise GitError(
                    f"{entry.path} is a link or no ordinary file; move it away, git's own file belongs there."
                )


def _check_configuration(root: Path, path: Path, *, is_ours: bool) -> None:
    data = read_bytes(path) or b""
    if is_ours:
        ours = {b"", *(line.strip() for line in CONFIG.encode().splitlines())}
        strange = [line.decode("utf-8", "replace") for line in map(bytes.strip, data.splitlines()) if line not in ours]
        if strange:
            raise GitError(
                f"{path} is dream's own, and {strange[0]!r} in it is not; `dream doctor --repair` writes it anew."
            )
    elif _SUSPECT.search(data):
        listed = Git(root).run("config", "--file", str(path), "--no-includes", "--name-only", "--list", "-z")
        keys = listed.decode("utf-8", "replace").split("\0")
        if reaching := [key for key in keys if re.fullmatch(_REACHING, key.lower())]:
            raise GitError(
                f"{path} sets {reaching[0]}, which leads git out of this repository; such a repository is not used."
            )


def _is_marked(directory: Path) -> bool:
    if directory.is_symlink() or not directory.is_dir():
        return False
    try:
        return bool(_MARK.search(text(directory / "config")))
    except WorkspaceError:
        return False


def _is_inside_a_repository(root: Path) -> bool:
    return any(os.path.lexists(parent / ".git") for parent in root.resolve().parents)


def _is_adoptable(root: Path, own: Path) -> bool:
    """Return whether the repository at the root tracks memory and nothing else, and is in the middle of nothing."""
    if own.is_symlink() or not own.is_dir() or not (own / "HEAD").is_file():
        return False
    if any((own / name).exists() for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply", "commondir", "modules")):
        return False
    git = Git(root, own)
    try:
        check(root, own)
        branch = git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).strip()
        staged = git.run("ls-files", "-z", "--cached").decode("utf-8", "replace")
        has_commit = git.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}", ok=(0, 1)).strip()
        listing = git.run("ls-tree", "-r", "-z", "--name-only", "HEAD") if has_commit else b""
    except GitError:
        return False
    tracked = {*staged.split("\0"), *listing.decode("utf-8", "replace").split("\0")} - {""}
    if not branch or not all(_NANOBOT.fullmatch(path) for path in tracked):
        return False
    return bool(tracked) or {entry.name for entry in root.iterdir()} <= _WORKSPACE


def _adopt(root: Path, own: Path) -> Path:
    exclude = own / "info" / "exclude"
    before = (read_bytes(exclude) or b"").decode("utf-8", "surrogateescape")
    if _EXCLUDE not in before:
        gap = "" if before.endswith("\n") or not before else "\n"
        replace_file(exclude, (before + gap + _EXCLUDE).encode("utf-8", "surrogateescape"))
    git = Git(root, own)
    git.run("config", "core.fileMode", "false")
    git.run("config", "dream.version", "1")  # the mark comes last: a marked directory is complete
    return own


def _create(root: Path, private: Path, own: Path) -> Path:
    fresh = private / "git.new"
    shutil.rmtree(fresh, ignore_errors=True)
    Git(root).run("init", "--quiet", "--bare", "--template=", str(fresh))
    for name, begun in (("HEAD", "ref: refs/heads/main\n"), ("info/exclude", _EXCLUDE), ("config", CONFIG)):
        replace_file(fresh / name, begun.encode())
    files.checkpoint("git directory made")
    try:
        fresh.rename(own)
    except OSError as error:
        raise GitError(f"{own} could not be made: {error.strerror}.") from error
    files.checkpoint("git directory in place")
    return own


# Repairing a damaged repository: objects rebuilt from the files on disk, or a new repository beside the old one.


def rewrite_objects(store: GitStore) -> bool:
    """Write the blobs of the files on disk again where git can't read them; return whether all is whole then."""
    directory = store.git.directory
    for data in read_all(store.root).values():
        name = store.git.run("hash-object", "--stdin", stdin=data).decode().strip()
        if _is_whole(store, name, data):
            continue
        loose = directory / "objects" / name[:2] / name[2:]
        if loose.exists():  # git trusts an existing object and would not write it again
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

    The old content is kept beside it, as config-set-aside and config.worktree-set-aside, which git doesn't read.
    """
    if find(store.root, store.private) != own:
        return False
    replace_file(own / "config-set-aside", read_bytes(own / "config") or b"")
    replace_file(own / "config", CONFIG.encode())
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
    """Point HEAD and its branch at the newest version in git's own log; return whether both are intact then.

    The old content is kept beside it, as head-set-aside and branch-set-aside.
    """
    check_reach(store.root, directory)
    branch = head_of(directory)
    if not branch:
        branch = MAIN
        _set_aside(directory / "HEAD", directory / "head-set-aside")
        replace_file(directory / "HEAD", f"ref: {branch}\n".encode())
    if not sha_of(directory, branch):
        sha = logged(directory, branch)[1] or logged(directory, "HEAD")[1]
        try:
            Git(store.root, directory).run("cat-file", "-e", f"{sha}^{{commit}}")
        except GitError:
            return False
        _set_aside(directory / branch, directory / "branch-set-aside")
        make_folder((directory / branch).parent)
        replace_file(directory / branch, f"{sha}\n".encode())
    return not lost_head(directory)


def rewrite_index(store: GitStore, directory: Path) -> bool:
    """Rebuild the index from HEAD without touching the person's files. Return whether it is valid then."""
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
