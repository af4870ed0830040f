"""This machine: one installation with a history of its own. What names it lies in the user's state directory."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from dream.door import make_folder
from dream.errors import WorkspaceError
from dream.workspace.files import explained, read_bytes, temporary_name, write_beside

NAME = "machine.json"  # in the state directory
_ID = re.compile(r"m-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: its id, its name for people, and the key of its signs, 32 bytes in hex, which nobody else has."""

    id: str
    name: str
    key: str


def this(state: Path | None) -> Machine:
    """Return this machine, as it is noted in the directory `state`, or note it there.

    Raises WorkspaceError where that can't be read or written, or holds something else.
    """
    if state is None:
        raise WorkspaceError("There is no home directory to note this machine in; set XDG_STATE_HOME.")
    path = state / NAME
    if (data := read_bytes(path)) is None:
        _note(path)
        data = read_bytes(path) or b""
    with suppress(ValueError, TypeError, KeyError):
        row = orjson.loads(data)
        if _ID.fullmatch(row["id"]):
            return Machine(row["id"], str(row["name"]), str(row["key"]))
    raise WorkspaceError(
        f"{path} is damaged; bring it back from a backup, or remove it: the machine gets a new id then."
    )


def _note(path: Path) -> None:
    """Draw an id and a key; of two processes that do so at once the first wins."""
    name = re.sub(r"[^a-z0-9]+", "-", os.uname().nodename.lower()).strip("-") or "machine"
    made = Machine(f"m-{os.urandom(4).hex()}", name, os.urandom(32).hex())
    with explained("written", path):
        make_folder(path.parent)
        temporary = write_beside(
            path, orjson.dumps(asdict(made), option=orjson.OPT_APPEND_NEWLINE), temporary_name(path)
        )
        try:
            with suppress(FileExistsError):
                path.hardlink_to(temporary)
        finally:
            temporary.unlink()
