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
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from dream.door import OTHERS
from dream.errors import GitError
from dream.versions import objects
from dream.versions.objects import Objects
from dream.workspace.files import reason

DREAM = ("dream", "dream@localhost")
PERSON = ("person", "person@localhost")
MISSING = "Git was not found; install git and see that it is on the PATH."

_CONFIGURATION = (
    "advice.graftFileDeprecated=false",  # of the graft file below, which is nobody's
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.quotePath=false",
    "core.precomposeUnicode=false",
    "core.preferSymlinkRefs=false",
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
    "gc.autoDetach=false",
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
    "GIT_AUTHOR_NAME": DREAM[0],
    "GIT_AUTHOR_EMAIL": DREAM[1],
    "GIT_COMMITTER_NAME": DREAM[0],
    "GIT_COMMITTER_EMAIL": DREAM[1],
}
_PLAIN_WORDS = {"LANGUAGE": "C", "LC_ALL": "C"}  # of git's complaints, as GitPython sets it too
_READING = frozenset(
    ("cat-file", "diff", "for-each-ref", "log", "ls-files", "ls-tree", "remote", "rev-list", "rev-parse", "show")
)


def check_installed() -> None:
    """Raise GitError where there is no git to start."""
    if shutil.which(os.environ.get("GIT_PYTHON_GIT_EXECUTABLE", "git")) is None:
        raise GitError(MISSING)


class Git:
    """Git commands on one git directory with one work tree. `started` counts the processes.

    Without `git_dir` the commands run outside of any repository.
    """

    def __init__(self, work_tree: Path, git_dir: Path | None = None) -> None:
        self.work_tree = work_tree
        self.git_dir = git_dir
        self.started = 0
        self._open = threading.local()

    def run(self, *arguments: str, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> bytes:
        """Run one command to its end and return what it printed.

        Raises GitError with git's own words when the exit status is not among `ok`.
        """
        process = self._start(arguments)
        printed, complaint = process.communicate(stdin)
        if process.returncode not in ok:
            raise GitError(_sentence(arguments, process.returncode, complaint))
        return bytes(printed)

    @contextmanager
    def conversation(self, *arguments: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Run one command and talk to it: yields its stdin and its stdout; it ends with the block."""
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
            self._open.objects = Objects(
                self._directory, lambda: stack.enter_context(self.conversation("cat-file", "--batch"))
            )
            try:
                yield self._open.objects
            finally:
                self._open.objects = None

    def head(self) -> str | None:
        """Return the sha of HEAD's commit, or None before the first commit."""
        if found := objects.head(self._directory):
            return found[0]
        printed = self.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}", ok=(0, 1))
        return printed.decode().strip() or None

    def since(self, old: str, new: str = "HEAD") -> list[bytes] | None:
        """Return the commits after `old` up to `new`, newest first, where that takes no process; else None."""
        return objects.since(self._directory, old, new)

    def is_ancestor(self, sha: str, of: str = "HEAD") -> bool:
        """Return whether `sha` is `of` or lies before it: `git rev-list` prints nothing then, and stops early."""
        if self.since(sha, of) is not None:
            return True
        try:
            return not self.run("rev-list", "--max-count=1", sha, f"^{of}", "--").strip()
        except GitError:  # the object is gone, as after a history that was rewritten
            return False

    @property
    def _directory(self) -> Path:
        assert self.git_dir is not None, "objects lie in a repository"
        return self.git_dir

    def _start(self, arguments: Sequence[str]) -> Any:
        own = dict(_ENVIRONMENT)
        if self.git_dir is not None:
            own |= {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.work_tree)}
        else:
            own |= {"GIT_CEILING_DIRECTORIES": str(self.work_tree.parent)}
        command = [part for setting in _CONFIGURATION for part in ("-c", setting)] + [*arguments]
        start = _read if arguments[0] in _READING else _change
        self.started += 1
        try:
            return start(command, own, self.work_tree)
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


def _read(command: Sequence[str], own: dict[str, str], directory: Path) -> subprocess.Popen[bytes]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.Popen(
        ["git", *command],
        cwd=directory,
        env=inherited | _PLAIN_WORDS | own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        umask=OTHERS,
    )


def _change(command: Sequence[str], own: dict[str, str], directory: Path) -> Any:
    library = _library()
    door = library.Git(str(directory))
    try:
        return door.execute(
            [*_shield(own), door.GIT_PYTHON_GIT_EXECUTABLE, *command],
            env=own,
            istream=subprocess.PIPE,
            as_process=True,
            umask=OTHERS,
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
    command = next((word for word in arguments if not word.startswith("-")), arguments[0])
    return f"git {command} failed: {said}"
