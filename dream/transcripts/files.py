"""Find the transcript files under a directory or behind a glob."""

from __future__ import annotations

import glob
import os
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
    named = [str(given)] if given.exists() else glob.glob(str(given), recursive=True)  # noqa: PTH207, a whole pattern
    if not named:
        raise TranscriptError(f"{path} does not exist; check the path.")
    found = {file for one in named for file in (_beneath(one, subagents) if _is_directory(one) else [one])}
    if not found:
        raise TranscriptError(f"{path} holds no transcripts; name a file, or a directory that holds some.")
    return sorted(found)


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
