"""The one system call that swaps two names atomically, and the question whether somebody still writes to a file.

Linux: renameat2(2) with RENAME_EXCHANGE. macOS: renamex_np(2) with RENAME_SWAP. Elsewhere, and on file
systems that don't know it, `exchange` answers False and the caller takes the slower road.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # linux/fs.h, and the same number for RENAME_SWAP in macOS's stdio.h
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> bool:
    """Swap what two existing names stand for, at one instant; False where the system can't.

    Raises OSError for every other fault, in which case nothing has changed.
    """
    import ctypes  # a tenth of what an idle night loads, and it swaps nothing

    libc = _libc()
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        status = libc.renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        status = libc.renamex_np(first, second, RENAME_EXCHANGE)
    else:
        return False
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


@cache
def _libc() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def being_written(path: Path) -> bool:
    """Tell whether any process holds `path` open for writing (Linux; False where it can't be known).

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
