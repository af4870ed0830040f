"""Where a workspace is: found by what lies in a directory, before anything of it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dream.errors import WorkspaceError

VARIABLE = "DREAM_WORKSPACE"
# What a workspace is known by, beside its directory memory/.
SIGNS = ("SOUL.md", "USER.md", "memory/MEMORY.md", "memory/history.jsonl", "memory/HISTORY.md")


def is_workspace(directory: Path) -> bool:
    """Return whether `directory` is a workspace, of ours or nanobot's."""
    return (directory / "memory").is_dir() and any((directory / sign).exists() for sign in SIGNS)


def find(start: Path, environ: Mapping[str, str]) -> Path | None:
    """Return what DREAM_WORKSPACE names, else the nearest workspace from `start` upwards, else the default one.

    What is named is returned whether it is one or not; None where there is none at all.
    """
    if named := environ.get(VARIABLE):
        return absolute(Path(named))
    start = absolute(start)
    for directory in (start, *start.parents, default(environ)):
        if is_workspace(directory):
            return directory
    return None


def default(environ: Mapping[str, str]) -> Path:
    """Return where `dream init` without a directory makes one: DREAM_WORKSPACE, else ~/.dream/workspace."""
    named = environ.get(VARIABLE)
    return absolute(Path(named)) if named else Path.home() / ".dream" / "workspace"


def absolute(path: Path | str) -> Path:
    """Return `path` with `~` and the working directory filled in; links are kept.

    Raises WorkspaceError where the working directory is needed and has been removed.
    """
    try:
        return Path(path).expanduser().absolute()
    except FileNotFoundError as error:
        raise WorkspaceError("The directory you are in has been removed; change to another.") from error
