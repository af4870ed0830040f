"""The versions of memory, kept in git. Here: which files of a workspace have versions, and what they hold on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from dream.errors import WorkspaceError
from dream.memory import KNOWN_PLACES, place_of
from dream.workspace import files
from dream.workspace.format import FORMAT

FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
CURSOR = "memory/.dream_cursor"
STATE = (CURSOR, "memory/.pending.jsonl", "memory/.rejected.jsonl", FORMAT, KNOWN_PLACES)
ARCHIVE = "memory/archive"
INTENT = "apply.json"  # in .dream/, there only while a commit is being made
UNDONE = "forgetting.json"  # in .dream/, while a text is being forgotten: one JSON object a line


def is_versioned(path: str) -> bool:
    """Return whether `path`, relative to the workspace, is kept in git."""
    return path in STATE or is_memory(path)


def is_memory(path: str) -> bool:
    """Return whether `path` is text for a person to read, rather than dream's own state."""
    return path in FILES or bool(place_of(path)) or is_archive(path)


def is_archive(path: str) -> bool:
    """Return whether `path` is a Markdown file directly under memory/archive/."""
    parent, _, name = path.rpartition("/")
    return parent == ARCHIVE and name.endswith(".md") and not name.startswith(".") and "\0" not in name


def read_memory(root: Path) -> dict[str, bytes]:
    """Return the memory files as they are on disk, by path: the three, those of places, and memory/archive/*.md."""
    archive = root / ARCHIVE
    try:
        archived = sorted(f"{ARCHIVE}/{entry.name}" for entry in archive.iterdir())
    except FileNotFoundError:
        archived = []
    except OSError as fault:
        raise WorkspaceError(f"{archive} cannot be read: {files.reason(fault)}.") from fault
    return _read(root, [*FILES, *files.place_files(root), *filter(is_archive, archived)])


def read_all(root: Path) -> dict[str, bytes]:
    """Return every versioned file as it is on disk, dream's own state too."""
    return read_memory(root) | _read(root, STATE)


def changed(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Return the change from `old` to `new`: new content by path, None for a deleted file."""
    return {path: new.get(path) for path in sorted({*old, *new}) if old.get(path) != new.get(path)}


def applied(old: Mapping[str, bytes], changes: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """Return `old` with `changes` made."""
    return {path: data for path, data in {**old, **changes}.items() if data is not None}


def _read(root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    found = {}
    for path in paths:
        files.check_plain(root / path)
        data = files.read_bytes(root / path)
        if data is not None:
            found[path] = data
    return found
