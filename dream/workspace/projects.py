"""Which project a directory belongs to, and that project's git remotes: read from files, no git is run in a project.

A project is the repository that holds a directory, the main one of a worktree, else the directory itself.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath

SMALL = 1 << 16  # bytes of a file of git's that are read
_REMOTE = re.compile(r"(?P<host>[^/:@]+)(?::\d+)?[:/]+(?P<path>.+?)(?:\.git)?/*")
_SECTION = re.compile(r'\[\s*(?P<kind>[\w.-]+)(?:\s+"(?P<name>[^"]*)")?\s*\]')
_MADE = ("description", "info/exclude")  # of a git directory: written when it is made, and hardly ever after


def remotes_of(project: Path) -> tuple[str, ...]:
    """Return the git remotes of a project without credentials, `host/path` each, `origin` first."""
    common = _common(project / ".git")
    found: dict[str, str] = {}
    for kind, name, value in _settings(common, "url") if common else ():
        if kind == "remote" and name:
            found.setdefault(name, _address(value, project))
    return tuple(dict.fromkeys(found[name] for name in sorted(found, key=lambda name: name != "origin")))


def made_at(project: Path) -> datetime:
    """Return when a project's repository was made on this machine, or copied to it; year 1 where nothing tells."""
    common = _common(project / ".git")
    found = [_status(common / name) for name in _MADE] if common else []
    times = [time for one in found if one for time in (one.st_mtime, one.st_ctime)]
    return datetime.fromtimestamp(min(times), UTC) if times else datetime.min.replace(tzinfo=UTC)


def here_since(project: Path) -> datetime:
    """Return a time since which a project's repository has surely lain at its path: a move changes these, too."""
    common = _common(project / ".git")
    paths = [project, project / ".git", *(common / name for name in _MADE if common)]
    times = [one.st_ctime for one in map(_status, paths) if one]
    return datetime.fromtimestamp(max(times, default=0.0), UTC)


def _status(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        return path.lstat()
    return None


def _settings(git: Path, wanted: str) -> Iterator[tuple[str, str, str]]:
    """Yield each value of a setting in a git directory's configuration, with the kind and the name of its section."""
    kind = name = ""
    for line in _lines(git / "config"):
        text = line.strip()
        if text.startswith("["):
            section = _SECTION.match(text)
            kind, name = (section["kind"].lower(), section["name"] or "") if section else ("", "")
        elif text.partition("=")[0].strip().lower() == wanted:
            yield kind, name, text.partition("=")[2].strip().strip('"')


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
            common = _of_worktree(folder / ".git")
            return str(common.parent if common and common.name == ".git" else folder)
    return str(here)


def _common(git: Path) -> Path | None:
    """Return the git directory that a project's `.git` is, or is a worktree or a submodule of; None for any other."""
    return git if git.is_dir() else _of_worktree(git) or _of_submodule(git)


def _of_worktree(git: Path) -> Path | None:
    """Return the git directory of the repository that a `.git` file is a worktree of, if that points back at it."""
    own = _named(git)
    back = next(iter(_lines(own / "gitdir")), "")
    if not back or Path(os.path.normpath(own / back)) != git:
        return None
    common = Path(os.path.normpath(own / next(iter(_lines(own / "commondir")), ".")))
    return common if own.parent == common / "worktrees" else None


def _of_submodule(git: Path) -> Path | None:
    """Return the git directory that a `.git` file names, if its only `core.worktree` is the file's folder."""
    own = _named(git)
    trees = [value for kind, name, value in _settings(own, "worktree") if kind == "core" and not name]
    return own if [Path(os.path.normpath(own / tree)) for tree in trees] == [git.parent] else None


def _named(git: Path) -> Path:
    """Return the directory that a `.git` file names; the file itself where it names none."""
    named = next((line.removeprefix("gitdir:").strip() for line in _lines(git) if line.startswith("gitdir:")), "")
    return Path(os.path.normpath(git.parent / named)) if named else git


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
