"""What a person changed in the memory files since the last commit becomes a commit of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import orjson

from dream.errors import DreamError, GitError, WorkspaceError
from dream.versions import log
from dream.versions.diff import PLAIN
from dream.versions.git import DREAM, PERSON
from dream.versions.log import kind_of
from dream.versions.objects import ARCHIVE, FILES, STATE, applied, changed, is_archive, is_memory
from dream.versions.store import GitStore
from dream.workspace import files

# The intent of a commit that is being applied: .dream/apply.json, there only while files are being swapped in.


INTENT = "apply.json"


@dataclass(frozen=True, slots=True)
class Intent:
    """HEAD goes from `old` to `new`, then `files` go to disk, then git's index learns of them and of `index`.

    While its objects are being made the new commit has no name: `new` is empty, and HEAD can't be there yet.
    """

    old: str | None
    new: str
    files: tuple[str, ...] = ()
    index: tuple[str, ...] = ()


def write(private: Path, intent: Intent) -> None:
    """Note what is about to be done; on disk on return."""
    files.checkpoint("before intent")
    files.replace_file(private / INTENT, orjson.dumps(asdict(intent)), durable=bool(intent.new))
    files.checkpoint("after intent")


def read_intent(private: Path) -> Intent | None:
    """Return the intent that a crash left, or None; one that cannot be read never got as far as HEAD."""
    data = files.read_bytes(private / INTENT)
    try:
        row = orjson.loads(data or b"null")
        return Intent(row["old"], row["new"], tuple(row["files"]), tuple(row["index"])) if row else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def written_at(private: Path) -> float:
    """Return when the intent was written, in seconds of the epoch."""
    with files.explained("read", private / INTENT):
        return (private / INTENT).stat().st_mtime


def remove(private: Path) -> None:
    """Say that all is done."""
    files.checkpoint("before intent is removed")
    with files.explained("removed", private / INTENT):
        (private / INTENT).unlink(missing_ok=True)
    files.checkpoint("after intent is removed")


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
        message = log.build("hand", diff.files)
        new = written(place, changes, message, head, now, author=PERSON)
        write(place.private, Intent(head, new, index=tuple(changes)))
        try:
            moved = place.git.move_head(new, head, "hand")
        except GitError:
            remove(place.private)
            raise
        if moved:
            place.git.refresh_index(changes, new)
        remove(place.private)
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
    write(place.private, Intent(head, ""))
    try:
        return place.git.write(changes, message, parent=head, now=now, author=author)
    except GitError:
        with suppress(DreamError):  # where the disk refuses that too, the intent stays for `recover`
            place.git.clear_locks(written_at(place.private))
            remove(place.private)
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


# Which lines a person wrote: what their own commits added, by file.
#
# The answer is kept in .dream/authors.json with the commit it holds for, so that only newer commits are ever read.


AUTHORS = "authors.json"

_HUNK = re.compile(rb"@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,([0-9]+))? @@")
# Commits that are not dream's own are a person's too: they may well use git in their workspace.
_NOT_DREAMT = ("--extended-regexp", "--invert-grep", "--grep=^Dream-Kind: (dream|restore|init)$")
_FORMAT = "--format=%x1e%s%x1f%(trailers:key=Dream-Kind,valueonly,separator=%x1d)%x1f"


def person_lines(git: GitStore) -> dict[str, frozenset[str]]:
    """Return, for each memory file, the text of every line that a person ever added to it.

    Lines are compared without the white space at their end; blank ones don't count. Templates of `dream init` and
    what a dream wrote are not among them; what stood in a workspace when it was adopted is.
    """
    head = git.head()
    known, lines = _cached(git.private / AUTHORS)
    if head == known or head is None:
        return lines
    if known is not None and not git.is_ancestor(known, head):
        known, lines = None, {}
    for path, line in _added(git, head, known):
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            lines[path] = lines.get(path, frozenset()) | {text}
    _keep(git.private / AUTHORS, head, lines)
    return lines


def _added(git: GitStore, head: str, known: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield (path, line) for all that commits of a person added since `known`."""
    revisions = [head, *([f"^{known}"] if known else [])]
    arguments = ("log", _FORMAT, "--patch", "--unified=0", *PLAIN, *_NOT_DREAMT, "--end-of-options", *revisions, "--")
    for record in git.git.run(*arguments).split(b"\x1e")[1:]:
        subject, trailer, patch = [*record.split(b"\x1f", 2), b"", b""][:3]
        if kind_of(subject.decode("utf-8", "replace"), trailer.decode("utf-8", "replace")) in (None, "hand"):
            yield from _plus_lines(patch)


def _plus_lines(patch: bytes) -> Iterator[tuple[str, bytes]]:
    path, remaining = "", 0
    for line in patch.split(b"\n"):
        if remaining and line.startswith(b"+"):
            remaining -= 1
            if is_memory(path):
                yield path, line[1:]
        elif not remaining and line.startswith(b"+++ b/"):
            path = line[6:].rstrip(b"\t").decode("utf-8", "replace")
        elif found := _HUNK.match(line):
            remaining = int(found[1]) if found[1] is not None else 1


def _cached(path: Path) -> tuple[str | None, dict[str, frozenset[str]]]:
    try:
        row = orjson.loads(files.read_bytes(path) or b"{}")
        return row["head"], {name: frozenset(lines) for name, lines in row["lines"].items()}
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None, {}


def _keep(path: Path, head: str, lines: Mapping[str, frozenset[str]]) -> None:
    row = {"head": head, "lines": {name: sorted(texts) for name, texts in sorted(lines.items())}}
    files.replace_file(path, orjson.dumps(row), durable=False)
