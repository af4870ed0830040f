"""Compare and replace: a memory file changes only if it still holds what we read.

A person's editor knows no lock of ours. So the new file and the old one trade names at one instant, and
only then is the old one looked at: if somebody saved in between, their file is put back.
One process swaps a given file at a time (the run lock sees to that).
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dream.door import make_folder
from dream.errors import WorkspaceError
from dream.workspace import files
from dream.workspace.files import (
    check_plain,
    explained,
    read_bytes,
    sweep,
    sync_directory,
    temporary_name,
    write_beside,
)

if TYPE_CHECKING:
    import ctypes

ASIDE = ".dream-swap"  # the suffix of the name under which the other file waits while two are traded
PATIENCE = 2.0  # seconds an editor may keep the old file open for writing
PAUSE = 0.01  # seconds between two looks
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h, and the same number for RENAME_SWAP in macOS's stdio.h
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def swap(path: Path, expected: bytes | None, new: bytes | None) -> bytes | None:
    """Make `path` hold `new`, but only if it holds `expected`; return what was found there.

    The swap took place exactly if the returned value equals `expected`; otherwise `path` is as a person
    left it. None stands for no file: `expected` None creates, `new` None deletes.
    On return the change is on disk. A swap that a crash cut short is finished or undone by the next one.
    Raises WorkspaceError for a link, a directory, a file that another program keeps open for writing, or
    what the system refuses; then `path` holds what it held.
    """
    aside = path.with_name(f".{path.name}{ASIDE}")
    with explained("written", path):
        make_folder(path.parent)
        sweep(path.parent)  # an orphan may be a second name of the file
        _finish_interrupted(path, aside, expected, new)
        check_plain(path)
        found = read_bytes(path)
        if found != expected or expected == new:
            return found
        if expected is None and new is not None:
            found = None if _create(path, new) else read_bytes(path)
        elif new is None:
            found = _set_aside(path, aside, expected)
            if found == expected:
                aside.unlink()
        else:
            found = _trade(path, aside, expected, new)
        sync_directory(path.parent)
    return found


def exchange(one: Path, other: Path) -> bool:
    """Swap two existing files atomically; return False where the system can't.

    Linux has renameat2(2) with RENAME_EXCHANGE, macOS renamex_np(2) with RENAME_SWAP. Elsewhere, and on file systems
    that don't know it, the caller has a slower way.
    Raises OSError for every other fault; then nothing has changed.
    """
    import ctypes  # a tenth of what an idle night loads, and it swaps nothing

    libc = _libc()
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        status = libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        status = libc.renamex_np(first, second, _RENAME_EXCHANGE)
    else:
        return False
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def being_written(path: Path) -> bool:
    """Return whether any process holds `path` open for writing (Linux; False where it can't be known).

    A read lease is granted only on a file that nobody has open for writing (fcntl(2), F_SETLEASE).
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False


def _create(path: Path, new: bytes) -> bool:
    """Make the file unless somebody has done so in this instant; return whether it was made."""
    fresh = write_beside(path, new, temporary_name(path))
    try:
        os.link(fresh, path)
    except FileExistsError:
        return False
    finally:
        fresh.unlink()
    return True


def _trade(path: Path, aside: Path, expected: bytes | None, new: bytes) -> bytes | None:
    write_beside(path, new, temporary_name(path)).rename(aside)
    files.checkpoint(f"before {path.name} is exchanged")
    try:
        traded = exchange(aside, path)
    except FileNotFoundError:  # a person deleted it just now
        aside.unlink()
        return None
    except OSError:
        aside.unlink()
        raise
    if not traded:
        aside.unlink()
        return _replace_without_exchange(path, aside, expected, new)
    files.checkpoint(f"after {path.name} is exchanged")
    found = _content_at_rest(aside)
    if found == expected:
        aside.unlink()
        return found
    return _give_back(path, aside, placed=new, found=found)


def _give_back(path: Path, aside: Path, *, placed: bytes, found: bytes | None) -> bytes:
    """Swap back until the file taken out is the one put in: then no save came between, and `path` has the newest."""
    while True:
        theirs = aside.read_bytes()
        exchange(aside, path)
        if aside.read_bytes() == placed:
            break
        placed = theirs
    aside.unlink()
    if found is None:
        raise WorkspaceError(f"{path} is open for writing in another program; close it there and run again.")
    return theirs


def _content_at_rest(aside: Path) -> bytes | None:
    """Return the file's bytes once no process has it open for writing; None if one keeps it open."""
    deadline = time.monotonic() + PATIENCE
    while being_written(aside):
        if time.monotonic() > deadline:
            return None
        time.sleep(PAUSE)
    return aside.read_bytes()


def _replace_without_exchange(path: Path, aside: Path, expected: bytes | None, new: bytes) -> bytes | None:
    """Take the old file's name away, look at it, and give the name to the new one unless somebody took it."""
    found = _set_aside(path, aside, expected)
    if found != expected:
        return found
    try:
        made = _create(path, new)
    finally:
        aside.unlink()
    return found if made else read_bytes(path)


def _set_aside(path: Path, aside: Path, expected: bytes | None) -> bytes | None:
    """Move the file to `aside` if it holds `expected`, else do nothing; return what it holds."""
    try:
        path.rename(aside)
    except FileNotFoundError:
        return None
    found = _content_at_rest(aside)
    return found if found == expected else _return_name(path, aside, found)


def _return_name(path: Path, aside: Path, found: bytes | None) -> bytes | None:
    with suppress(FileExistsError):  # a still newer save has the name already
        os.link(aside, path)
    aside.unlink()
    if found is None:
        raise WorkspaceError(f"{path} is open for writing in another program; close it there and run again.")
    return read_bytes(path)


def _finish_interrupted(path: Path, aside: Path, expected: bytes | None, new: bytes | None) -> None:
    """Put back a person's file that a killed swap had moved aside."""
    waiting = read_bytes(aside)
    if waiting is None:
        return
    present = read_bytes(path)
    if present is None and (waiting != new or waiting == expected):
        aside.rename(path)
    elif waiting in (expected, new) or waiting == present or (present == new and exchange(aside, path)):
        aside.unlink()
    else:  # both are a person's: neither is ours to drop
        aside.rename(path.with_name(f"{path.name}.saved"))


@cache
def _libc() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
