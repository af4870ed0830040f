"""Find the transcript files under a directory or behind a glob."""

from __future__ import annotations

import glob
import os
import re
from fnmatch import translate
from pathlib import Path

from dream.errors import TranscriptError

SUFFIXES = frozenset((".jsonl", ".ndjson", ".json", ".md", ".markdown", ".txt", ".zip", ".db", ".sqlite"))
# Directories that hold no conversations of a person: ours, other people's code, sub-agents.
_PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv"))
_SUBAGENTS = "subagents"
# Memory, not conversation: dream and nanobot keep these in a workspace.
_NOT_TRANSCRIPTS = frozenset(("SOUL.md", "USER.md", "MEMORY.md", "HISTORY.md", "AGENTS.md", "CLAUDE.md", "README.md"))


def find(path: Path | str) -> list[Path]:
    """Return the same as `names`, as paths."""
    return [Path(name) for name in names(path)]


def names(path: Path | str, *, subagents: bool = False) -> list[str]:
    """Return the files under a directory, or behind a glob, that may be transcripts, sorted by path.

    A file that is named itself is always one. Beneath a directory, hidden directories, sub-agents' (unless
    `subagents`) and a workspace's own memory are passed over. Links to directories are not followed.
    Raises TranscriptError when there is no such path, or no such file beneath it.
    """
    given = Path(path).expanduser()
    named = [str(given)] if given.exists() else _matching(str(given))
    if not named:
        raise TranscriptError(f"{path} does not exist; check the path.")
    directories = [one for one in named if _is_directory(one)]
    found = named
    if directories:
        found = [*set(named).difference(directories)]
        found += {file for one in directories for file in _beneath(one, subagents)}.difference(found)
    if not found:
        if not subagents and any(_beneath(one, True) for one in directories):
            raise TranscriptError(
                f"{path} holds no transcripts but sub-agents'; with the setting include_subagents they are read too."
            )
        raise TranscriptError(f"{path} holds no transcripts; name a file, or a directory that holds some.")
    return sorted(found)


def _matching(pattern: str) -> list[str]:
    """Return what `glob.glob` does, in half its time where there is no `**`: each directory is listed once."""
    if "**" in pattern or not Path(pattern).is_absolute():
        return glob.glob(pattern, recursive=True)  # noqa: PTH207, a whole pattern
    first, *parts = Path(pattern).parts
    found = [first]
    for number, part in enumerate(parts, start=1):
        if not glob.has_magic(part):
            found = [place for here in found if os.path.lexists(place := os.path.join(here, part))]  # noqa: PTH118
            continue
        match, inner = re.compile(translate(part)).match, number < len(parts)
        found = [
            entry.path
            for here in found
            for entry in _entries(here, hidden=part.startswith("."))
            if match(entry.name) and (not inner or entry.is_dir())
        ]
    return found


def _entries(directory: str, *, hidden: bool) -> list[os.DirEntry[str]]:
    """List a directory, with or without what is hidden in it; one that can't be listed has nothing."""
    try:
        with os.scandir(directory) as found:
            return [entry for entry in found if hidden or not entry.name.startswith(".")]
    except OSError:
        return []


def _is_directory(name: str) -> bool:
    """Tell whether to look beneath `name`; of thousands that are named like a transcript nobody asks the disk."""
    return _suffix(name) not in SUFFIXES and os.path.isdir(name)  # noqa: PTH112


def _suffix(name: str) -> str:
    return name[name.rfind(".") :].lower()


def _beneath(directory: str, subagents: bool) -> list[str]:
    found = []
    passed = _PASSED_OVER if subagents else _PASSED_OVER | {_SUBAGENTS}
    for here, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if name not in passed and not name.startswith(".")]
        memory = "MEMORY.md" in names or Path(here).name == "archive"
        for name in names:
            if _suffix(name) not in SUFFIXES or name.startswith(".") or name in _NOT_TRANSCRIPTS:
                continue
            if memory and (name == "history.jsonl" or name.endswith(".md")):
                continue
            found.append(f"{here}{os.sep}{name}")
    return found
