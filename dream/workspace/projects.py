"""Which project a directory belongs to, and that project's git remotes: read from files, no git is run in a project.

A project is the repository that holds a directory, the main one of a worktree, else the directory itself.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePath

SMALL = 1 << 16  # bytes of a file of git's that are read
_REMOTE = re.compile(r"(?P<host>[^/:@]+)(?::\d+)?[:/]+(?P<path>.+?)(?:\.git)?/*")
_SECTION = re.compile(r'\[\s*remote\s+"(?P<name>[^"]*)"\s*\]', re.IGNORECASE)


def remotes_of(project: Path) -> tuple[str, ...]:
    """Return the git remotes of a project without credentials, `host/path` each, `origin` first."""
    common = _common(project / ".git")
    found: dict[str, str] = {}
    section = ""
    for line in _lines(common / "config") if common else ():
        text = line.strip()
        if text.startswith("["):
            named = _SECTION.match(text)
            section = named["name"] if named else ""
        elif section and text.partition("=")[0].strip().lower() == "url":
            found.setdefault(section, _address(text.partition("=")[2].strip().strip('"'), project))
    return tuple(dict.fromkeys(found[name] for name in sorted(found, key=lambda name: name != "origin")))


def _address(url: str, project: Path) -> str:
    """Return a remote without its scheme and credentials: `host/path`, or the absolute path of one on this machine."""
    path = url.removeprefix("file://")
    if path != url or path.startswith(("/", ".")):
        return os.path.normpath(project / path).removesuffix(".git")
    user, slash, path = url.rpartition("://")[2].partition("/")
    bare = (user.rpartition("@")[2] + slash + path).partition("?")[0]  # a password may hold an @, a query a token
    found = _REMOTE.fullmatch(bare)
    return f"{found['host'].lower()}/{found['path']}" if found else bare


def project_of(cwd: str, home: Path, known: Iterable[str]) -> str:
    """Return the repository that holds a directory, the main one of a worktree, else the directory itself.

    What is gone belongs to the known place above it. "" for none, and for the user's home and what is above it.
    """
    if not PurePath(cwd).is_absolute():
        return cwd if re.match(r"[A-Za-z]:[\\/]", cwd) else ""  # of another system
    here = Path(os.path.realpath(cwd))
    if here == home or here in home.parents:
        return ""
    if not here.exists():
        above = [path for path in known if here.is_relative_to(path)]
        return max(above, key=len, default=str(here))
    for folder in (here, *here.parents):
        if folder == home or folder in home.parents:
            break
        if (folder / ".git").exists():
            common = _common(folder / ".git")
            return str(common.parent if common and common.name == ".git" else folder)
    return str(here)


def _common(git: Path) -> Path | None:
    """Return the git directory that a project's `.git` is, or is a worktree of; None for one that is neither.

    A `.git` file counts where the directory that it names is the repository's own, and points back at it.
    """
    if git.is_dir():
        return git
    named = next((line.removeprefix("gitdir:").strip() for line in _lines(git) if line.startswith("gitdir:")), "")
    own = Path(os.path.normpath(git.parent / named)) if named else git
    back = next(iter(_lines(own / "gitdir")), "")
    if not back or Path(os.path.normpath(own / back)) != git:
        return None
    common = Path(os.path.normpath(own / next(iter(_lines(own / "commondir")), ".")))
    return common if own.parent == common / "worktrees" else None


def _lines(path: Path) -> list[str]:
    """Return the lines of a small file; of what is none, nothing."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.read(descriptor, SMALL).decode("utf-8", "replace").splitlines()
        finally:
            os.close(descriptor)
    return []
