"""Whether a workspace is this user's own: made or adopted by them on this machine.

A workspace's files can come from anybody: a clone, an archive, a shared folder. What of them sends, starts or reads
beyond the workspace, or decides who is believed, counts only where two things agree: a random mark in the workspace's
`.dream/`, which no clone carries, and a note in the user's state directory, named by the mark, that holds the
workspace's path. A forged `.dream/` knows no mark that is noted, and a copied mark stands at another path than the
note says.

There are two kinds of note. "trusted": its settings count. "made": only its `.dream/` was made here, as in a clone
that came without one. A `.dream/` of neither kind came from elsewhere, and nothing in it is believed.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from dream.door import make_folder, open_file
from dream.errors import Untrusted, WorkspaceError

Noted = Literal["trusted", "made"]
KINDS: tuple[Noted, ...] = ("trusted", "made")
PRIVATE = ".dream"
MARK = Path(PRIVATE) / "trust"
# Variables that agents' clients set for the programs that they start.
AGENTS = ("CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT", "COPILOT_CLI")
_HEX = re.compile(rb"[0-9a-f]{32}")
_MOST = 64 * 1024  # bytes of a note: a path
_KEPT = 8  # marks of other users, or of other machines that share the workspace, that stay beside a new one


def state_directory(environ: Mapping[str, str]) -> Path | None:
    """Return $XDG_STATE_HOME/dream, or ~/.local/state/dream; None for a user without a home."""
    named = environ.get("XDG_STATE_HOME", "")
    if named.startswith("/"):  # the specification: a relative one is not to be heeded
        return Path(named) / "dream"
    try:
        return Path.home() / ".local" / "state" / "dream"
    except RuntimeError:
        return None


def inside_agent(environ: Mapping[str, str]) -> str:
    """Name the variable that tells that an agent's client has started this process; "" where none has."""
    return next((name for name in AGENTS if environ.get(name)), "")


def is_trusted(root: Path, state: Path | None) -> bool:
    """Return whether the user of this process has made, adopted or accepted the workspace at `root`."""
    return root.resolve() in _noted(root, state, "trusted")


def noted_at(root: Path, state: Path | None) -> Path | None:
    """Return the path that is noted for a mark of the workspace at `root`: another one after it was moved."""
    return next(iter(_noted(root, state, "trusted")), None)


def check_private(root: Path, state: Path | None) -> None:
    """Raise Untrusted where the workspace at `root` has a `.dream/` with something in it that came from elsewhere."""
    if _is_begun(root / PRIVATE) and not is_own(root, state):  # in this order: another process may just have begun it
        accept = f"dream trust -w {shlex.quote(str(root))}"
        if before := noted_at(root, state):
            raise Untrusted(
                f"{root} is not trusted on this machine (it was at {before} when it was trusted), so its {PRIVATE}/ is "
                f"not used; accept it where it is now: {accept}"
            )
        raise Untrusted(
            f"{root} is not trusted on this machine, and its {PRIVATE}/ was not made here; see what you would accept: "
            f"{accept}; or remove {root / PRIVATE}, and dream begins anew."
        )


def note(root: Path, state: Path | None, kind: Noted = "trusted") -> bytes:
    """Note `root` under a new mark, and return the content that the file `MARK` of the workspace is to have.

    Raises WorkspaceError where the state directory cannot be written.
    """
    if state is None:
        raise WorkspaceError("There is no home directory to note your workspaces in; set XDG_STATE_HOME.")
    mark = os.urandom(16).hex()
    notes = state / kind
    try:
        make_folder(notes)
        with os.fdopen(open_file(notes / mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(os.fsencode(root.resolve()))
    except OSError as fault:
        raise WorkspaceError(
            f"That {root} is yours cannot be noted in {notes} ({fault.strerror}); set XDG_STATE_HOME to a directory "
            "that dream may write."
        ) from fault
    return "".join(f"{one}\n" for one in (mark, *_marks(root)[:_KEPT])).encode()


def forget(root: Path, state: Path | None) -> None:
    """Take away the notes by which this user trusts the workspace at `root`, where there are any."""
    if state is None:
        return
    for note in (state / kind / mark for kind in KINDS for mark in _marks(root)):
        if _path(note) == root.resolve():
            note.unlink(missing_ok=True)


def _is_begun(private: Path) -> bool:
    """Return whether there is more in a `.dream/` than what keeps it out of git."""
    try:
        return any(not name.lstrip(".").startswith(("gitignore", "trust.")) for name in os.listdir(private))  # noqa: PTH208
    except OSError:  # there is none; what is no folder of the user's is refused by who opens the workspace
        return False


def is_own(root: Path, state: Path | None) -> bool:
    """Return whether the `.dream/` of the workspace at `root` was made by this user here, or accepted."""
    return any(root.resolve() in _noted(root, state, kind) for kind in KINDS)


def _noted(root: Path, state: Path | None, kind: Noted) -> list[Path]:
    """Return the paths that are noted for the marks of the workspace at `root`."""
    if state is None:
        return []
    return [path for mark in _marks(root) if (path := _path(state / kind / mark)) is not None]


def _marks(root: Path) -> list[str]:
    """Return the marks in a workspace, newest first: one of each user who has accepted it."""
    return [line.decode() for line in (_read(root / MARK) or b"").split(b"\n") if _HEX.fullmatch(line)]


def _path(note: Path) -> Path | None:
    held = _read(note)
    return Path(os.fsdecode(held)) if held else None


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
