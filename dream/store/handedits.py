"""What a person changed in the memory files since the last commit becomes a commit of their own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from dream.errors import DreamError, GitError, WorkspaceError
from dream.store import files, intent, messages
from dream.store.gitenv import DREAM, PERSON
from dream.store.gitobjects import ARCHIVE, FILES, STATE, applied, changed, is_archive, is_memory
from dream.store.gitstore import GitStore


class Place(Protocol):
    """What is needed of a workspace."""

    @property
    def root(self) -> Path: ...
    @property
    def private(self) -> Path: ...
    @property
    def git(self) -> GitStore: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """The state after a person's changes were committed: disk and HEAD agree. `hand` is None when there were none."""

    hand: str | None
    head: str | None
    files: Mapping[str, bytes]


def commit(place: Place, now: datetime) -> Settled:
    """Commit the differences between disk and HEAD as the person's.

    Bytes are taken as they are, whatever their encoding; a file that is gone is a deletion.
    Raises WorkspaceError for a directory, a link or a special file in the place of a memory file.
    """
    while True:
        head, present = place.git.snapshot()
        committed = {path: data for path, data in present.items() if is_memory(path)}
        changes = changed(committed, read(place.root))
        if not changes:
            return Settled(None, head, present)
        diff = place.git.compare({path: present.get(path) for path in changes}, changes)
        message = messages.build("hand", diff.files)
        new = written(place, changes, message, head, now, author=PERSON)
        intent.write(place.private, intent.Intent(head, new, index=tuple(changes)))
        try:
            moved = place.git.move_head(new, head, "hand")
        except GitError:
            intent.remove(place.private)
            raise
        if moved:
            place.git.refresh_index(changes, new)
        intent.remove(place.private)
        if moved:
            return Settled(new, new, applied(present, changes))


def written(
    place: Place,
    changes: Mapping[str, bytes | None],
    message: str,
    head: str | None,
    now: datetime,
    author: tuple[str, str] = DREAM,
) -> str:
    """Make a commit's objects under an intent, so that what a killed git leaves behind is cleared away."""
    intent.write(place.private, intent.Intent(head, ""))
    try:
        return place.git.write(changes, message, parent=head, now=now, author=author)
    except GitError:
        with suppress(DreamError):  # where the disk refuses that too, the intent stays for `recover`
            place.git.clear_locks(intent.written_at(place.private))
            intent.remove(place.private)
        raise


def read(root: Path) -> dict[str, bytes]:
    """Return the memory files as they lie on disk, by path: the three, and memory/archive/*.md."""
    archive = root / ARCHIVE
    try:
        archived = sorted(f"{ARCHIVE}/{entry.name}" for entry in archive.iterdir())
    except FileNotFoundError:
        archived = []
    except OSError as fault:
        raise WorkspaceError(f"{archive} cannot be read: {files.reason(fault)}.") from fault
    return _read(root, [*FILES, *filter(is_archive, archived)])


def read_state(root: Path) -> dict[str, bytes]:
    """Return dream's own versioned files as they lie on disk."""
    return _read(root, list(STATE))


def versioned(root: Path) -> dict[str, bytes]:
    """Return every versioned file as it lies on disk."""
    return {**read(root), **read_state(root)}


def _read(root: Path, paths: list[str]) -> dict[str, bytes]:
    found = {}
    for path in paths:
        files.check_plain(root / path)
        data = files.read_bytes(root / path)
        if data is not None:
            found[path] = data
    return found
