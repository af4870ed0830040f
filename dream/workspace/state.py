"""Records: JSON objects, one a line, that are only added to. What is torn, or is none, counts as not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from dream.workspace import files
from dream.workspace.files import explained


class Records:
    """The records in the file `path`; raises WorkspaceError where the system refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, row: Mapping[str, Any], *, durable: bool = True) -> None:
        """Add one, in one write; on disk on return if `durable`."""
        with explained("written", self.path):
            files.append(self.path, orjson.dumps(row), durable=durable)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (row for line in self._lines() if (row := _row(line)) is not None)

    def backwards(self) -> Iterator[dict[str, Any]]:
        """Yield them from the last to the first; reads only as far as it is asked."""
        from dream.history.archive import opened  # of no use to a run that only adds its record
        from dream.history.log import lines_backwards

        with explained("read", self.path):
            if not self.path.exists():
                return
            with opened(self.path) as descriptor:
                for _, line in lines_backwards(descriptor, 0, os.fstat(descriptor).st_size):
                    if (row := _row(line)) is not None:
                        yield row

    def keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Leave only those that are `wanted`."""
        left = [line for line in self._lines() if (row := _row(line)) is not None and wanted(row)]
        files.replace_file(self.path, b"".join(line + b"\n" for line in left))

    def _lines(self) -> list[bytes]:
        return (files.read_bytes(self.path) or b"").splitlines()


def _row(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        row = orjson.loads(line)
        return row if isinstance(row, dict) else None
    return None
