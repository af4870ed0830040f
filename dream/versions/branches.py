"""The machines that share one memory, each with a branch of its own on a git remote, and our copy of these branches.

The copy is a bare repository, .dream/sync: what is in it can be fetched or made again. In it stand, for each machine:

    refs/heads/dream/<id>    what this machine has written; on the remote under the same name
    refs/remotes/<id>        a branch as it was fetched last
    refs/known/<id>          a branch as it was taken in last

Nothing on the remote configures or runs anything here: of what is fetched, only files of known names are read. On a
remote in a folder git runs with our switches, so that none of its hooks runs either. Of the user's own configuration
counts what brings git there: credentials, proxy, certificates, the ssh command, and other names of addresses.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from dream import door
from dream.errors import GitError, UsageError
from dream.versions import rewrite
from dream.versions.age import Age
from dream.versions.git import Git, is_sha
from dream.versions.store import clear_locks, stream
from dream.workspace import files

FOLDER = "sync"  # in .dream/
OWN, FETCHED, KNOWN = "refs/heads/dream/", "refs/remotes/", "refs/known/"
MACHINE = re.compile(r"m-[0-9a-f]{8}")
SEAL = "seal"  # file on a branch: proves that its writer has the key of this memory
SECONDS = 120.0  # that a night waits for a remote
LEFT = 600.0  # seconds after which a lock on a branch of a remote in a folder was left by a git that was killed
ANONYMOUS = 15.0  # seconds for the host to say whether it gives a remote to anybody

_CONFIGURATION = "core.hooksPath=/dev/null", "core.alternateRefsCommand=true", "receive.autogc=false"
_OURS = re.compile(r"(?i)credential\..*|http\.(proxy|sslcainfo)|core\.sshcommand|url\..*\.insteadof")
_SSH = re.compile(r"(?:ssh://)?(?:[^@/:]+@)(?P<host>[^:/]+)(?::\d+(?=/))?[:/]/?(?P<path>[^:]+)")
_HEAD = "ref: refs/heads/none\n"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n"


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote that machines sync through: its address as git uses it, and its `folder` if it is local."""

    url: str
    folder: Path | None

    @property
    def is_open(self) -> bool:
        """Return whether other users of this machine can read a remote in a folder."""
        return self.folder is not None and bool(self.folder.stat().st_mode & (stat.S_IROTH | stat.S_IXOTH))


class Branches:
    """Our copy of the branches, in the directory `private`, and the way to the remote.

    `waits`: a person runs this; git may ask for a passphrase, and has no time limit. What is written is encrypted for
    the age `recipients`, if there are any.
    """

    def __init__(self, private: Path, *, waits: bool = False, recipients: Sequence[str] = ()) -> None:
        self.directory = private / FOLDER
        self.age = Age(recipients)
        self._seconds = None if waits else SECONDS

    def encrypting(self, recipients: Sequence[str]) -> Branches:
        """Return the same branches, on which what is written is encrypted for others."""
        return Branches(self.directory.parent, waits=self._seconds is None, recipients=recipients)

    @cached_property
    def git(self) -> Git:
        """Git on our copy of the branches, which is created if missing; it may use the network."""
        for name, begun in (("config", _CONFIG), ("HEAD", _HEAD)):
            if files.read_bytes(self.directory / name) != begun.encode():
                files.replace_file(self.directory / name, begun.encode())
        for name in ("objects", "refs"):
            with files.explained("made", self.directory / name):
                door.make_folder(self.directory / name)
        return Git(self.directory, self.directory, self._environment)

    @cached_property
    def _environment(self) -> dict[str, str]:
        return _abroad(self.directory.parent)

    def remote(self, url: str) -> Remote:
        """Return the remote at an address, with the user's own names for addresses resolved. Raises UsageError."""
        if not url.strip() or url.startswith("-") or any(ord(character) < 32 for character in url):
            raise UsageError(f"{url!r} is no address of a git remote.")
        if "::" in url.partition("/")[0]:
            raise UsageError(f"{url!r} names a program; a remote is reached by ssh, https or in a folder.")
        renames = any(name.casefold().endswith(".insteadof") for name in self._environment.values())
        told = self.git.run("ls-remote", "--get-url", url) if renames else url.encode("utf-8", "surrogateescape")
        named = told.decode("utf-8", "surrogateescape").strip()
        return Remote(named, _folder(named))

    def is_public(self, remote: Remote) -> bool:
        """Return whether a host gives the remote to anybody who asks by https without credentials, as far as one sees.

        A remote by ssh is asked for under the same host and path, as the large hosts have it.
        """
        by_ssh = _SSH.fullmatch(remote.url)
        if by_ssh is None and not remote.url.startswith("https://"):
            return False
        url = f"https://{by_ssh['host']}/{by_ssh['path']}" if by_ssh else re.sub(r"//[^/@]*@", "//", remote.url)
        anonymous = {name: value for name, value in self._environment.items() if not name.startswith("GIT_CONFIG")}
        kept = [pair for pair in _configured(self._environment) if pair[0].startswith("http.")]
        nobody = Git(self.git.directory, self.git.directory, {**anonymous, **_numbered(kept), "HOME": "/nonexistent"})
        try:
            nobody.run("ls-remote", "--quiet", "--", url, seconds=ANONYMOUS)
        except GitError:
            return False
        return True

    def fetch(self, remote: Remote) -> None:
        """Bring every machine's branch here; raises GitError."""
        options = ("--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules", "--quiet")
        self._reach(remote, "fetch", *options, refs=(f"+{OWN}*:{FETCHED}*",))

    def listed(self, remote: Remote) -> dict[str, str]:
        """Return the commit of each machine's branch on the remote; fetches nothing. Raises GitError."""
        printed = self._reach(remote, "ls-remote", "--quiet", refs=(f"{OWN}*",)).decode("utf-8", "replace")
        rows = (row.partition("\t") for row in printed.splitlines())
        return {name.removeprefix(OWN): sha for sha, _, name in rows if is_sha(sha) and _is_branch(name)}

    def refs(self) -> dict[str, str]:
        """Return the commit of each of our refs, of machines alone."""
        printed = self.git.run("for-each-ref", "--format=%(objectname) %(refname)").decode("utf-8", "replace")
        return {name: sha for sha, _, name in (row.partition(" ") for row in printed.splitlines()) if _is_branch(name)}

    def fetched(self) -> dict[str, str]:
        """Return the commit of each machine's branch as it was on the remote last."""
        return {name.removeprefix(FETCHED): sha for name, sha in self.refs().items() if name.startswith(FETCHED)}

    def move(self, new: Mapping[str, str | None]) -> None:
        """Point refs at commits, or remove them, all at once."""
        rows = [f"update {name} {sha}\n" if sha else f"delete {name}\n" for name, sha in new.items()]
        self.git.run("update-ref", "--stdin", stdin="".join(rows).encode())

    def files(self, sha: str) -> dict[str, str]:
        """Return the blob of each file of a commit."""
        printed = self.git.run("ls-tree", "-r", "-z", "--full-tree", sha).decode("utf-8", "surrogateescape")
        rows = (row.partition("\t") for row in printed.split("\0") if row)
        return {path: head.split(" ")[2] for head, _, path in rows if head.startswith("100644 blob ")}

    def read(self, blobs: Iterable[str]) -> list[bytes]:
        """Return the content of blobs, decrypted; raises GitError where one is missing, and NotForUsError."""
        found = []
        with self.git.reading() as objects:
            for blob in blobs:
                if (one := objects.get(blob)) is None:
                    raise GitError(f"Git's object {blob} is missing from {self.directory}; `dream doctor` tells more.")
                found.append(self.age.unlock(one[2]))
        return found

    def write(
        self,
        machine: str,
        changes: Mapping[str, bytes | None],
        parent: str | None,
        message: str,
        now: datetime,
        *,
        ref: str = "",
        key: bytes = b"",
        kept: Mapping[str, str] | None = None,
    ) -> str:
        """Write a commit of a machine's branch and point `ref`, else the branch, at it; None in `changes` deletes.

        With a `key` the commit is sealed; `kept` are the blobs of the parent's files.
        """
        made = {path: None if data is None else self.age.lock(data) for path, data in changes.items()}
        if key:
            blobs = {**(kept or {}), **{path: blob(data) for path, data in made.items() if data is not None}}
            gone = {path for path, data in made.items() if data is None}
            made[SEAL] = sealed(key, machine, {path: one for path, one in blobs.items() if path not in gone})
        told = stream(ref or OWN + machine, made, message, parent=parent, now=now)
        arguments = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
        return self.git.run(*arguments, stdin=told).decode().strip()

    def push(self, remote: Remote, machine: str, new: str, expected: str | None) -> None:
        """Bring this machine's branch to the remote, where it is `expected` now; raises GitError."""
        name = OWN + machine
        lease = f"--force-with-lease={name}:{expected or ''}"
        self._reach(remote, "push", "--quiet", "--no-verify", lease, refs=(f"{new}:{name}",))

    def is_ancestor(self, sha: str, of: str) -> bool:
        """Return whether `sha` is `of` or an ancestor of it."""
        return self.git.is_ancestor(sha, of)

    def clear_locks(self, remote: Remote) -> None:
        """Remove locks that a killed git left: in our copy, which the run lock guards, and in a folder old ones alone.

        Another machine may be writing to the folder at this moment.
        """
        clear_locks((*self.directory.rglob("*.lock"), *self.directory.glob("packed-refs.new")))
        if remote.folder is not None:
            for directory in (remote.folder, remote.folder / ".git"):
                clear_locks((directory / OWN).glob("*.lock"), after=LEFT, waits=False)

    def tidy(self) -> None:
        """Let git pack loose objects when they have become many."""
        self.git.run("gc", "--auto", "--quiet", "--force")  # the gc.pid of one that was killed doesn't count

    def drop_old(self) -> None:
        """Delete every object that no ref names any more."""
        rewrite.drop_old(self.git)

    def _reach(self, remote: Remote, command: str, *options: str, refs: tuple[str, ...]) -> bytes:
        if remote.folder is not None:
            ours = " ".join(f"-c {setting}" for setting in _CONFIGURATION)
            receives = command == "push"
            program = "receive-pack" if receives else "upload-pack"
            options = (*options, f"--{program}=git {ours} {program}")
        return self.git.run(command, *options, "--", remote.url, *refs, seconds=self._seconds)


def sealed(key: bytes, machine: str, listed: Mapping[str, str]) -> bytes:
    """Return the seal of a branch with these blobs, which needs the key."""
    rows = [machine, *(f"{path} {blob}" for path, blob in sorted(listed.items()) if path != SEAL)]
    return hmac.new(key, "\n".join(rows).encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest().encode()


def blob(data: bytes) -> str:
    """Return git's name of a file's content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def address(url: str) -> str:
    """Return the address of a remote, independent of the current directory: a folder's absolute path."""
    folder = None if url.startswith("file://") else _folder(url)
    return url if folder is None else os.path.abspath(folder.expanduser())  # noqa: PTH100 - a link stays one


def make_folder(folder: Path) -> None:
    """Make a bare repository in a folder that isn't there, or is empty: for a remote on a stick or a share."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return
    Git(folder.parent if folder.parent.is_dir() else Path("/")).run(
        "init", "--quiet", "--bare", "--template=", str(folder)
    )


def _is_branch(name: str) -> bool:
    return any(name.startswith(kind) and MACHINE.fullmatch(name.removeprefix(kind)) for kind in (OWN, FETCHED, KNOWN))


def _folder(url: str) -> Path | None:
    """Return the folder that an address means to git; None for one on another machine."""
    if url.startswith("file://"):
        return Path(url.removeprefix("file://"))
    before_colon, colon, _ = url.partition(":")
    return None if "://" in url or (colon and "/" not in before_colon) else Path(url)


def _abroad(directory: Path) -> dict[str, str]:
    """Return the environment in which git reaches a remote, with the allowed part of the user's configuration."""
    home = Path.home()
    xdg = os.environ.get("XDG_CONFIG_HOME", "")
    found: list[tuple[str, str]] = []
    for path in (Path(xdg) if xdg.startswith("/") else home / ".config") / "git" / "config", home / ".gitconfig":
        if path.is_file():
            printed = Git(directory).run("config", "--file", str(path), "--includes", "--null", "--list")
            rows = (row.partition("\n") for row in printed.decode("utf-8", "surrogateescape").split("\0"))
            found += [(name, value) for name, _, value in rows if _OURS.fullmatch(name)]
    return {"GIT_ALLOW_PROTOCOL": "file:ssh:https", **_numbered(found)}


def _numbered(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Write settings as git reads them from its environment."""
    keys = {f"GIT_CONFIG_KEY_{at}": name for at, (name, _) in enumerate(rows)}
    return {
        "GIT_CONFIG_COUNT": str(len(rows)),
        **keys,
        **{f"GIT_CONFIG_VALUE_{at}": row[1] for at, row in enumerate(rows)},
    }


def _configured(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    count = int(environment["GIT_CONFIG_COUNT"])
    return [(environment[f"GIT_CONFIG_KEY_{at}"], environment[f"GIT_CONFIG_VALUE_{at}"]) for at in range(count)]
