"""Whether a workspace is this user's own: made or adopted by them on this machine.

A workspace's files can come from anybody: a clone, an archive, a shared folder. What of them sends, starts or reads
beyond the workspace counts only where two things agree: a random mark in the workspace's `.dream/`, which no clone
carries, and a note in the user's state directory, named by the mark, that holds the workspace's path. A forged
`.dream/` knows no mark that is noted, and a copied mark stands at another path than the note says.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from dream.door import make_folder, open_file
from dream.errors import WorkspaceError

MARK = Path(".dream") / "trust"
_HEX = re.compile(rb"[0-9a-f]{32}\n?")
_MOST = 64 * 1024  # bytes of a note: a path


def state_directory(environ: Mapping[str, str]) -> Path | None:
    """Return $XDG_STATE_HOME/dream, or ~/.local/state/dream; None for a user without a home."""
    named = environ.get("XDG_STATE_HOME", "")
    if named.startswith("/"):  # the specification: a relative one is not to be heeded
        return Path(named) / "dream"
    try:
        return Path.home() / ".local" / "state" / "dream"
    except RuntimeError:
        return None


def is_trusted(root: Path, state: Path | None) -> bool:
    """Return whether the user of this process has made, adopted or accepted the workspace at `root`."""
    return noted_at(root, state) == root.resolve()


def noted_at(root: Path, state: Path | None) -> Path | None:
    """Return the path that is noted for the mark of the workspace at `root`: another one after it was moved."""
    mark = _read(root / MARK)
    if state is None or mark is None or not _HEX.fullmatch(mark):
        return None
    noted = _read(_notes(state) / mark.decode().strip())
    return Path(os.fsdecode(noted)) if noted else None


def note(root: Path, state: Path | None) -> bytes:
    """Note `root` under a new mark, and return the content that the file `MARK` of the workspace is to have.

    Raises WorkspaceError where the state directory cannot be written.
    """
    if state is None:
        raise WorkspaceError("There is no home directory to note a trusted workspace in; set XDG_STATE_HOME.")
    mark = os.urandom(16).hex()
    notes = _notes(state)
    try:
        make_folder(notes)
        with os.fdopen(open_file(notes / mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(os.fsencode(root.resolve()))
    except OSError as fault:
        raise WorkspaceError(f"That {root} is trusted cannot be noted in {notes}: {fault.strerror}.") from fault
    return mark.encode() + b"\n"


def forget(root: Path, state: Path | None) -> None:
    """Take away the note that this user trusts the workspace at `root`, where there is one."""
    mark = _read(root / MARK)
    if state is not None and mark is not None and is_trusted(root, state):
        (_notes(state) / mark.decode().strip()).unlink(missing_ok=True)


def _notes(state: Path) -> Path:
    return state / "trusted"


def _read(path: Path) -> bytes | None:
    """Read a small ordinary file of this user's; None for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return None
        return os.read(descriptor, _MOST)
    finally:
        os.close(descriptor)
