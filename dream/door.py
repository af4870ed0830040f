"""The one door to the files of a workspace: the file itself, of the user's own, and nobody waits for it.

A workspace may have been sent: a link in it would lead what is read, or written, to any place of the user's; a named
pipe would be waited for without end. So no link is followed below the workspace's own root, which may be one.
What is made here is for its owner only; what a person has opened to others stays as it is.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

CHUNK = 1 << 17  # bytes read at a time
FILE = 0o600
FOLDER = 0o700
OTHERS = 0o077  # bits of a mode: what anybody but the owner may do
_LINK = "it is a symbolic link; put the {} itself there"


def open_file(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Open an ordinary file that is the user's (or root's) own, made 0600 where `flags` make it; raises OSError."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE)
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, _LINK.format("file")) from fault
        if fault.errno == errno.ENXIO:  # a pipe that nobody reads, a socket
            raise OSError(errno.EINVAL, "it is not an ordinary file; move it away") from fault
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or is_foreign(status):
        os.close(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, "a directory stands there; move it away")
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file; move it away")
        raise OSError(errno.EPERM, _foreign(status))
    if status.st_nlink > 1 and flags & (os.O_WRONLY | os.O_RDWR):
        os.close(descriptor)
        raise OSError(errno.EMLINK, "it has a second name (a hard link); replace it by a copy of itself")
    return descriptor


def contents(path: Path) -> bytes:
    """Return the bytes of a file; raises OSError, FileNotFoundError where there is none."""
    descriptor = open_file(path)
    try:
        parts = []
        while part := os.read(descriptor, CHUNK):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a directory, and those above it that are missing, 0700; one that is there has to be the user's own.

    Raises OSError.
    """
    try:
        os.mkdir(path, FOLDER)  # noqa: PTH102  # at each append to a record: a third of the time of Path.mkdir
    except FileNotFoundError:
        make_folder(path.parent)
        os.mkdir(path, FOLDER)  # noqa: PTH102  # as above
    except FileExistsError:
        check_folder(path)


def check_folder(path: Path) -> None:
    """Raise OSError unless `path` is a directory of the user's own, and no link; FileNotFoundError where none is."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, _LINK.format("directory") + ", or link the whole workspace")
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.ENOTDIR, "a file stands where a directory should be; move it away")
    if is_foreign(status):
        raise OSError(errno.EPERM, _foreign(status))


def is_foreign(status: os.stat_result) -> bool:
    """Return whether another user owns what `status` tells of; root may work on everybody's."""
    user = os.geteuid()
    return user != 0 and status.st_uid not in (user, 0)


def _foreign(status: os.stat_result) -> str:
    return f"it belongs to another user (uid {status.st_uid}); make it yours first"
