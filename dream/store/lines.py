"""Add one line to a file of lines, in one write, after whatever a crash has left there."""

from __future__ import annotations

import os
from pathlib import Path

from dream.door import make_folder, open_file
from dream.store.files import write_all


def append(path: Path, line: bytes, *, durable: bool = True) -> None:
    """Add `line` and its end; on disk when this returns, if `durable`. Raises OSError."""
    make_folder(path.parent)
    descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        write_all(descriptor, (b"\n" if torn else b"") + line.removesuffix(b"\n") + b"\n")
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
