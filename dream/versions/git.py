"""The door to git: every process is shielded from the user's own configuration.

GitPython starts what changes the repository. What only reads it is started directly: a command as short as
`dream log` would take twice the time if it had to import GitPython first.

What must not leak in: system, global and XDG configuration, every inherited GIT_* variable (dream may be started
from a git hook), hooks, programs and places that the repository's own configuration names, signing, line-ending
conversion, attributes, replacement objects, grafts, and the owner check, which git leaves out when the git directory
is named outright.

Nothing is ever fetched: a repository may say that an object it lacks is to be had elsewhere, and name the program
that brings it. Three switches forbid that, for not every git knows each. Of all that `git help -c` lists, what a
switch can't silence is refused by `gitdir.check` before the first process starts.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dream.door import OTHERS
from dream.errors import GitError
from dream.memory import PLACES
from dream.versions import ARCHIVE, is_versioned
from dream.workspace.files import read_bytes, reason

if TYPE_CHECKING:
    import subprocess

DREAM = ("dream", "dream@localhost")
PERSON = ("person", "person@localhost")
MISSING = "Git was not found; install git and see that it is on the PATH."

_CONFIGURATION = (
    "advice.graftFileDeprecated=false",  # a warning about the graft file below, which is not the user's
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.quotePath=false",
    "core.precomposeUnicode=false",
    "core.preferSymlinkRefs=false",
    "core.sharedRepository=umask",
    "core.filesRefLockTimeout=2000",
    "core.packedRefsTimeout=2000",
    "core.bigFileThreshold=16m",
    "core.fsync=objects,loose-object,reference",
    "commit.gpgSign=false",
    "diff.ignoreSubmodules=all",
    "diff.orderFile=/dev/null",
    "diff.submodule=short",
    "i18n.logOutputEncoding=UTF-8",
    "log.mailmap=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "protocol.allow=never",
    "submodule.recurse=false",
    "color.ui=false",
    "gc.auto=1024",
    "gc.autoDetach=false",
    "gc.logExpiry=now",
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOC_LIMIT": "1g",  # bytes of one object: a few bytes of a foreign repository can unpack to gigabytes
    "GIT_AUTHOR_NAME": DREAM[0],
    "GIT_AUTHOR_EMAIL": DREAM[1],
    "GIT_COMMITTER_NAME": DREAM[0],
    "GIT_COMMITTER_EMAIL": DREAM[1],
}
_PLAIN_WORDS = {"LANGUAGE": "C", "LC_ALL": "C"}  # language of git's error messages; GitPython sets it too
_READING = frozenset(
    ("cat-file", "for-each-ref", "log", "ls-files", "ls-remote", "ls-tree", "remote", "rev-list", "rev-parse", "show")
)

SHA = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
SYMBOLIC = re.compile(r"ref:\s*(refs/[^\s\0]+)\s*")
_NAME = re.compile(r"(?:HEAD|[0-9a-f]{4,64})(?:\^\{(?:commit|tree)\})?")  # of an object, as git is asked for it
_LARGEST = 1 << 26  # bytes of an object that is read: memory files have thousands, and this many fit into any machine

NEXT = "refs/dream/next"  # keeps a new commit reachable until HEAD has moved
# A ref is locked for milliseconds. Git waits so long, in seconds, for one that another git holds; a lock of ours that
# is older belongs to a process that died.
STALE = 2.0
GitObject = tuple[str, str, bytes]  # the sha of an object, its type, its content


def is_sha(value: object) -> bool:
    """Return whether `value` is the whole name of an object, and so no switch of git's."""
    return isinstance(value, str) and SHA.fullmatch(value) is not None


def check_installed() -> None:
    """Raise GitError where there is no git to start."""
    if shutil.which(os.environ.get("GIT_PYTHON_GIT_EXECUTABLE", "git")) is None:
        raise GitError(MISSING)


class Git:
    """Git commands on one git directory with one work tree. `started` counts the processes.

    Without `git_dir` the commands run outside of any repository. `abroad` are variables for commands that reach
    another repository; nothing else lets git fetch or push.
    """

    def __init__(self, work_tree: Path, git_dir: Path | None = None, abroad: Mapping[str, str] | None = None) -> None:
        self.work_tree = work_tree
        self.git_dir = git_dir
        self.started = 0
        self._abroad = dict(abroad or {})
        self._open = threading.local()

    def run(self, *arguments: str, stdin: bytes = b"", ok: Sequence[int] = (0,), seconds: float | None = None) -> bytes:
        """Run one command and return its output.

        Raises GitError with git's own words when the exit status is not among `ok`, or it takes more than `seconds`.
        """
        process = self._start(arguments, alone=seconds is not None)
        late = threading.Event()
        clock = threading.Timer(seconds or 0.0, _end, (process, late))
        if seconds is not None:
            clock.start()
        try:
            printed, complaint = process.communicate(stdin)
        finally:
            clock.cancel()
        if late.is_set():
            raise GitError(f"git {arguments[0]} was ended: there was no answer within {seconds:g} seconds.")
        if process.returncode not in ok:
            raise GitError(_sentence(arguments, process.returncode, complaint))
        return bytes(printed)

    @contextmanager
    def conversation(self, *arguments: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Run one command for the block, and yield its stdin and its stdout."""
        process = self._start(arguments)
        try:
            yield process.stdin, process.stdout
            _, complaint = process.communicate()
        except BaseException:
            process.kill()
            process.communicate()
            raise
        if process.returncode != 0:
            raise GitError(_sentence(arguments, process.returncode, complaint))

    @contextmanager
    def reading(self) -> Iterator[Objects]:
        """Open the repository's objects: at most one process until the block ends, for blocks within it too.

        Each thread has its own, or answers would be mixed up.
        """
        if (opened := getattr(self._open, "objects", None)) is not None:
            yield opened
            return
        with ExitStack() as stack:
            self._open.objects = Objects(lambda: stack.enter_context(self.conversation("cat-file", "--batch")))
            try:
                yield self._open.objects
            finally:
                self._open.objects = None

    def head(self) -> str | None:
        """Return the sha of HEAD's commit, or None before the first commit."""
        opened: Objects | None = getattr(self._open, "objects", None)
        if opened is not None:
            return opened.head()
        printed = self.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}", ok=(0, 1))
        return printed.decode().strip() or None

    def is_ancestor(self, sha: str, of: str = "HEAD") -> bool:
        """Return whether `sha` is `of` or an ancestor of it: `git rev-list` prints nothing then, and stops early."""
        if not is_sha(sha):
            return False
        try:
            return not self.run("rev-list", "--max-count=1", "--end-of-options", sha, f"^{of}", "--").strip()
        except GitError:  # the object is gone, as after a history that was rewritten
            return False

    @property
    def directory(self) -> Path:
        """The git directory of a repository that there is."""
        assert self.git_dir is not None, "objects lie in a repository"
        return self.git_dir

    def _start(self, arguments: Sequence[str], *, alone: bool = False) -> Any:
        own = _ENVIRONMENT | self._abroad
        if self.git_dir is not None:
            own |= {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.work_tree)}
        else:
            own |= {"GIT_CEILING_DIRECTORIES": str(self.work_tree.parent)}
        if arguments[0] == "check-ignore":  # takes only paths, and rejects the option that says so
            own |= {"GIT_LITERAL_PATHSPECS": "0"}
        command = [part for setting in _CONFIGURATION for part in ("-c", setting)] + [*arguments]
        start = _read if arguments[0] in _READING else _change
        self.started += 1
        try:
            return start(command, own, self.work_tree, alone)
        except OSError as error:
            check_installed()
            raise GitError(f"Git could not be started: {reason(error)}.") from error


@cache
def _library() -> Any:
    """Import GitPython, which looks for git while it is imported."""
    try:
        import git
    except ImportError as error:
        raise GitError(MISSING) from error
    return git


def _end(process: Any, late: threading.Event) -> None:
    """End a process that leads a session of its own, with its child processes."""
    late.set()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(command: Sequence[str], own: dict[str, str], directory: Path, alone: bool) -> subprocess.Popen[bytes]:
    import subprocess  # on most nights no process is started

    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.Popen(
        ["git", *command],
        cwd=directory,
        env=inherited | _PLAIN_WORDS | own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        umask=OTHERS,
        start_new_session=alone,
    )


def _change(command: Sequence[str], own: dict[str, str], directory: Path, alone: bool) -> Any:
    import subprocess

    library = _library()
    door = library.Git(str(directory))
    try:
        return door.execute(
            [*_shield(own), door.GIT_PYTHON_GIT_EXECUTABLE, *command],
            env=own,
            istream=subprocess.PIPE,
            as_process=True,
            umask=OTHERS,
            start_new_session=alone,
        )
    except library.GitCommandNotFound as error:
        raise FileNotFoundError(str(error)) from error


def _shield(own: dict[str, str]) -> list[str]:
    """Return the words that drop inherited GIT_* variables from the child; GitPython itself can only add.

    Changing `os.environ` instead would be seen by other threads. `env` replaces itself by git: no process more.
    """
    inherited = [name for name in os.environ if name.startswith("GIT_") and name not in own]
    return ["env", *(part for name in inherited for part in ("-u", name))] if inherited else []


def _sentence(arguments: Sequence[str], status: int, complaint: bytes) -> str:
    words = complaint.decode("utf-8", "replace").strip().splitlines()
    said = words[0] if words else f"it ended with status {status}"
    if ".lock'" in said:
        said += " `dream doctor` tells what to do about a lock that a dead git has left."
    command = next((word for word in arguments if not word.startswith("-")), arguments[0])
    return f"git {command} failed: {said}"


# Git's objects, read by one open `git cat-file --batch`.


class Objects:
    """The objects of a repository: it answers any number of questions about commits, trees and blobs.

    `ask` starts `git cat-file --batch` and gives its stdin and its stdout; that is done once, if at all.
    """

    def __init__(self, ask: Callable[[], tuple[IO[bytes], IO[bytes]]]) -> None:
        self._ask = ask
        self._process: tuple[IO[bytes], IO[bytes]] | None = None

    def get(self, name: str) -> GitObject | None:
        """Return (sha, type, content) of the object that `name` names, or None where there is none."""
        if not _NAME.fullmatch(name):
            raise GitError(f"{name[:40]!r} names no version.")
        if self._process is None:
            self._process = self._ask()
        ask, answer = self._process
        try:
            ask.write(name.encode() + b"\n")
            ask.flush()
        except BrokenPipeError as error:
            raise GitError("Git stopped while objects were read; run `dream doctor`.") from error
        words = answer.readline().rstrip(b"\n").rsplit(b" ", 2)
        if words[-1] in (b"missing", b"ambiguous"):
            return None
        if len(words) != 3 or not words[2].isdigit():
            raise GitError(f"Git could not read the object {name}; run `dream doctor`.")
        if (size := int(words[2])) > _LARGEST:
            raise GitError(f"Git's object {words[0].decode()} holds {size:,} bytes, which no memory file does.")
        content = answer.read(size)
        answer.read(1)
        return words[0].decode(), words[1].decode(), content

    def head(self) -> str | None:
        """Return the sha of HEAD's commit, or None before the first commit."""
        found = self.get("HEAD^{commit}")
        return found[0] if found else None

    def file(self, revision: str, path: str) -> bytes | None:
        """Return the content of a file in `revision`, None where it isn't."""
        root = self.get(f"{revision}^{{tree}}")
        *folders, name = path.split("/")
        entries = _entries(root) if root else {}
        for folder in folders:
            entries = self._tree(entries.get(folder))
        found = self._there(entries[name]) if name in entries else None
        return found[2] if found and found[1] == "blob" else None

    def files(self, revision: str) -> dict[str, bytes]:
        """Return the content of every versioned file in `revision`, by path."""
        names = self._tree(f"{revision}^{{tree}}")
        for folder in ("memory", ARCHIVE, PLACES):
            names |= {f"{folder}/{name}": sha for name, sha in self._tree(names.get(folder)).items()}
        for place in [path for path in names if path.startswith(f"{PLACES}/")]:
            names |= {f"{place}/{name}": sha for name, sha in self._tree(names[place]).items()}
        found = {path: self._there(sha) for path, sha in names.items() if is_versioned(path)}
        return {path: content for path, (_, kind, content) in found.items() if kind == "blob"}

    def _there(self, name: str) -> GitObject:
        """Return an object that must exist: if a damaged one counted as missing, its file would be deleted."""
        found = self.get(name)
        if found is None:
            raise GitError(f"Git's object {name} is missing or damaged; run `dream doctor`.")
        return found

    def _tree(self, name: str | None) -> dict[str, str]:
        found = self._there(name) if name else None
        return _entries(found) if found is not None else {}


def head_of(directory: Path) -> str:
    """Return the ref or the sha that HEAD names; "" where it names none."""
    held = text(directory / "HEAD")
    named = SYMBOLIC.fullmatch(held)
    if named:
        return "" if ".." in named[1] else named[1]
    return held.strip() if SHA.fullmatch(held.strip()) else ""


def text(path: Path) -> str:
    """Return the text of a file of the repository, "" where there is none."""
    return (read_bytes(path) or b"").decode("utf-8", "replace")


def _entries(tree: GitObject) -> dict[str, str]:
    """Return the sha of each entry of a tree, by name; it holds `mode SP name NUL sha`, the sha in binary."""
    sha, kind, content = tree
    width, at = len(sha) // 2, 0
    found = {}
    while kind == "tree" and at < len(content):
        end = content.index(b"\0", at)
        name = content[at:end].split(b" ", 1)[1].decode("utf-8", "surrogateescape")
        found[name] = content[end + 1 : end + 1 + width].hex()
        at = end + 1 + width
    return found
