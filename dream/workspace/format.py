"""The number of the format that a workspace is written in: a program that knows less reads it, and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dream.errors import WorkspaceError
from dream.workspace.files import number, read_bytes, replace_file

FORMAT = "memory/format"
NEWEST = 2  # 1, without the file: rows of history had no machine, messages no checksum
DATA = b"%d\n" % NEWEST


def check(root: Path) -> None:
    """Raise WorkspaceError where a newer program has written the workspace at `root`, or nobody knows."""
    data = read_bytes(root / FORMAT)
    if data is not None and data != DATA and ((found := number(data)) is None or found > NEWEST):
        if found is None:
            raise WorkspaceError(f"{root / FORMAT} holds {data[:40]!r} instead of a number; `dream doctor` says more.")
        raise WorkspaceError(
            f"{root} is of format {found}, which a newer dream has written: this one reads it and changes nothing; "
            "update dream."
        )


def begin(root: Path) -> None:
    """Check the format, and note the present one where an older program has written."""
    check(root)
    if read_bytes(root / FORMAT) != DATA:
        replace_file(root / FORMAT, DATA)


def wanted(committed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what a commit is to hold of the format, beside what is `committed`."""
    return {} if committed.get(FORMAT) == DATA else {FORMAT: DATA}
