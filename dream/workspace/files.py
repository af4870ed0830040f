"""Whole files: read with errors that say what to do, replaced without a half-written one; and records that grow."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from dream.door import contents, make_folder, open_file
from dream.errors import DreamError, WorkspaceError
from dream.memory import PLACES, files_of, place_of

TEMPORARY = ".dream-tmp"  # the suffix of files that `replace` writes beside their goal
FIRST_CHUNK = 1 << 14  # bytes read at first: a page of rows, or the tail that an append looks at
CHUNK = 1 << 20  # bytes read or copied at a time where much is
SET_ASIDE = "set-aside.jsonl"  # in memory/archive/
LOST = "lost.jsonl"  # in memory/archive/: what is gone, and was named and accepted
sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


# The places where a crash could hurt: each write, rename, fsync and ref update announces itself here.
#
# Called as `faults.checkpoint("name")`, so that a crash test can put its own function in its place and kill the
# process at exactly that instant. It does nothing else, and costs a call.


def checkpoint(name: str) -> None:
    """Mark an instant between two steps that change the disk."""


@contextmanager
def explained(deed: str, path: Path, error: type[DreamError] = WorkspaceError) -> Iterator[None]:
    """Turn an OSError inside into a sentence: "`path` cannot be `deed`: reason."."""
    try:
        yield
    except OSError as fault:
        raise error(f"{path} cannot be {deed}: {reason(fault)}.") from fault


def reason(fault: OSError) -> str:
    """Return in words why the system refused, with what to do where that is plain."""
    hints = {
        errno.ENOSPC: "the disk is full; free some space and run the command again",
        errno.EDQUOT: "the disk quota is used up; free some space and run the command again",
        errno.EROFS: "the file system is read-only",
        errno.EISDIR: "a directory stands there; move it away",
        errno.ENOTDIR: "a file stands where a directory should be; move it away",
        errno.EEXIST: "a file stands where a directory should be; move it away",
        errno.EFBIG: "the file would grow beyond the allowed size",
    }
    return hints.get(fault.errno or 0) or (fault.strerror or str(fault)).lower()


def read_bytes(path: Path) -> bytes | None:
    """Return the bytes of the file, or None where there is none.

    Raises WorkspaceError for a link, a directory, a special file, another user's, or what the system refuses.
    """
    with explained("read", path):
        try:
            return contents(path)
        except FileNotFoundError:
            return None


def read_text(path: Path) -> str:
    """Return the text of the file as it stands, line ends and all; "" where there is none.

    Raises WorkspaceError when it is not UTF-8 (with the byte's place) or cannot be read.
    """
    return decode(read_bytes(path) or b"", path)


def decode(data: bytes, path: Path) -> str:
    """Decode UTF-8, or raise a WorkspaceError that names the line with the first bad byte."""
    text, wrong = readable(data)
    if wrong:
        raise WorkspaceError(f"{path}, {wrong}; save the file as UTF-8.")
    return text


def readable(data: bytes) -> tuple[str, str]:
    """Return what can be read of UTF-8, with U+FFFD for the rest, and where the first bad byte is, "" where none is."""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        return data.decode("utf-8", "replace"), f"line {line}: byte 0x{data[fault.start]:02x} is not UTF-8"


def from_windows(data: bytes) -> str:
    """Decode UTF-8 with bytes of Windows-1252 among it, which older editors write."""
    text = data.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda found: bytes([ord(found[0]) - 0xDC00]).decode("cp1252", "replace"), text)


def check_plain(path: Path) -> None:
    """Raise WorkspaceError unless `path` is absent or an ordinary file with this one name.

    Through a symbolic or hard link an edit would reach, or break with, a file elsewhere.
    """
    with explained("read", path):
        try:
            status = path.lstat()
        except FileNotFoundError:
            return
    if stat.S_ISLNK(status.st_mode):
        raise WorkspaceError(f"{path} is a symbolic link; put the file itself there.")
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"{path} is a directory; move it away, a file belongs there.")
    if not stat.S_ISREG(status.st_mode):
        raise WorkspaceError(f"{path} is not an ordinary file; move it away.")
    if status.st_nlink > 1:
        raise WorkspaceError(f"{path} has a second name (a hard link); replace it by a copy of itself.")


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write `data` as the whole of `path`, at once: afterwards either the old file or the new one is there.

    On return it is on disk (unless `durable` is off). A missing parent directory is made.
    Raises WorkspaceError, and then the old file stands.
    """
    with explained("written", path):
        make_folder(path.parent)
        temporary = write_beside(path, data, temporary_name(path), durable=durable)
        put_in_place(temporary, path, durable=durable)


def replace_by_part(path: Path, source: int, start: int, end: int) -> None:
    """Write bytes `start` to `end` of the open file `source` as the whole of `path`, as `replace` does.

    Memory stays flat. Raises OSError.
    """
    make_folder(path.parent)
    with beside(path, temporary := temporary_name(path)) as descriptor:
        while start < end:
            if not (chunk := os.pread(source, min(CHUNK, end - start), start)):
                raise OSError(errno.EIO, "the file became shorter while it was copied")
            write_all(descriptor, chunk)
            start += len(chunk)
    put_in_place(temporary, path)


def keep_out(folder: Path, *, durable: bool = True) -> None:
    """Keep a directory, made if need be, out of every git repository around it; raises WorkspaceError."""
    if not (folder / ".gitignore").exists():
        replace_file(folder / ".gitignore", b"*\n", durable=durable)


def begin_writing(descriptor: int, start: int, length: int) -> None:
    """Let the system begin to bring these bytes to the disk, where it can be asked; Linux begins at once."""
    if hasattr(os, "posix_fadvise"):
        try:  # noqa: SIM105  # of the hot path: suppress() takes longer
            os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass  # a hint; whether they come there is told by the sync


def write_beside(path: Path, data: bytes, temporary: Path, *, durable: bool = True) -> Path:
    """Write `data` to `temporary`, with the mode and owner of `path`; raises OSError and leaves nothing then."""
    with beside(path, temporary, durable=durable) as descriptor:
        write_all(descriptor, data)
    return temporary


@contextmanager
def beside(path: Path, temporary: Path, *, durable: bool = True) -> Iterator[int]:
    """Open `temporary` to write it, with the mode and owner of `path`; on disk afterwards, or gone where it failed."""
    descriptor = create(temporary, like=path)
    try:
        yield descriptor
        if durable:
            os.fsync(descriptor)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte of `data`; raises OSError as soon as the system takes none."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable; file systems that can't sync a directory are passed over."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as fault:
        if fault.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF}:
            raise
    finally:
        os.close(descriptor)


def temporary_name(path: Path) -> Path:
    """Name a file beside `path` that says which process writes it, so that `sweep` knows an orphan."""
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY}")


def sweep(directory: Path) -> None:
    """Remove what a killed `replace` left half-written in `directory`; what a living process writes stays."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for leftover in directory.glob(f".*{TEMPORARY}"):
            process = leftover.name.removesuffix(TEMPORARY).rpartition(".")[2].partition("-")[0]
            if not process.isdecimal() or alive(int(process)):
                continue
            if leftover.is_dir() and not leftover.is_symlink():
                import shutil  # it loads every compression there is

                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def alive(process: int, *, since: str = "") -> bool:
    """Return whether a process of this number runs; with `since`, whether it is the one that began then.

    In a container every agent has the same number.
    """
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    began = since_when(process) if since else ""
    return not began or began == since


def since_when(process: int) -> str:
    """Return when a process began, in the system's own ticks since which start; "" where the system doesn't tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        fields = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{boot}:{fields[19]}" if len(fields) > 19 else ""


def create(temporary: Path, *, like: Path) -> int:
    """Make a file, 0600 or with the mode and owner of the file `like`; raises OSError where there is one."""
    descriptor = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with suppress(OSError):  # a first version has no model, and the owner is only root's to give
        status = like.lstat()
        if stat.S_ISREG(status.st_mode):
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            if status.st_uid != os.geteuid():
                os.fchown(descriptor, status.st_uid, status.st_gid)
    return descriptor


def put_in_place(temporary: Path, path: Path, *, durable: bool = True) -> None:
    """Give `temporary` the name `path`, at one instant, and make that durable; raises OSError."""
    try:
        checkpoint(f"before {path.name} is renamed")
        temporary.replace(path)
        checkpoint(f"after {path.name} is renamed")
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


# Add one line to a file of lines, in one write, after whatever a crash has left there.


def append(path: Path, line: bytes, *, durable: bool = True) -> None:
    """Add `line` and its end; on disk when this returns, if `durable`. Raises OSError."""
    make_folder(path.parent)
    with opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
        size = size_of(descriptor)
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        write_all(descriptor, (b"\n" if torn else b"") + line.removesuffix(b"\n") + b"\n")
        if durable:
            os.fsync(descriptor)


# Lines forwards and backwards, through a descriptor with pread(2), so that a reader keeps the file it has opened while
# another process puts a new one in its place. Memory holds one chunk, or one line where that is longer.


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Open a file for the block, as a descriptor, for reading or as `flags` say; raises OSError."""
    descriptor = open_file(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def size_of(descriptor: int) -> int:
    """Return the bytes of an open file."""
    return os.fstat(descriptor).st_size


def lines(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) from `start`, where a line begins, to `end`."""
    rest, at, size = b"", start, FIRST_CHUNK
    while at < end and (chunk := os.pread(descriptor, min(size, end - at), at)):
        at, size = at + len(chunk), min(size * 4, CHUNK)
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield start, line
            start += len(line) + 1
    if rest:
        yield start, rest


def lines_backwards(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line) from the last line before `end` to the first after `start`; empty lines are left out."""
    rest, size = b"", FIRST_CHUNK
    while end > start:
        begin = max(start, end - size)
        data = os.pread(descriptor, end - begin, begin) + rest
        rest, *whole = data.split(b"\n")
        offset = begin + len(data)
        for line in reversed(whole):
            if line:
                yield offset - len(line), line
            offset -= len(line) + 1
        end, size = begin, min(size * 4, CHUNK)
    if rest:
        yield start, rest


def set_aside(path: Path, data: bytes, now: datetime, file: str = "history.jsonl") -> None:
    """Keep bytes that don't belong in `file`: one JSON object a line, as text where they are text, else as base64."""
    row: dict[str, str] = {"timestamp": now.astimezone(UTC).isoformat(timespec="seconds"), "file": file}
    try:
        row["text"] = data.decode("utf-8")
    except UnicodeDecodeError:
        import base64  # of no use to anybody else, and every command reads files

        row["base64"] = base64.b64encode(data).decode("ascii")
    append(path, orjson.dumps(row))


# A note is one JSON object of little, replaced as a whole: what `.dream/` holds that can't be worked out again.


def read_note(path: Path) -> dict[str, Any]:
    """Return the note; {} where there is none that can be read."""
    with suppress(OSError):
        return _row(contents(path)) or {}
    return {}


def number(data: bytes) -> int | None:
    """Read the content of a file of one whole number; None where it holds anything else."""
    text = data.strip()
    return int(text) if text.isdigit() and len(text) < 20 else None


def write_note(path: Path, note: Mapping[str, Any], *, durable: bool = True) -> None:
    """Write the note, on disk on return if `durable`; raises WorkspaceError."""
    replace_file(path, json.dumps(note).encode(), durable=durable)


# Records: JSON objects, one a line, that are only added to. What is torn, or is none, counts as not there.


class Records:
    """The records in the file `path`; raises WorkspaceError where the system refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, row: Mapping[str, Any], *, durable: bool = True) -> None:
        """Add one, in one write; on disk on return if `durable`."""
        with explained("written", self.path):
            append(self.path, orjson.dumps(row), durable=durable)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (row for line in self._lines() if (row := _row(line)) is not None)

    def backwards(self) -> Iterator[dict[str, Any]]:
        """Yield them from the last to the first."""
        return (row for line in reversed(self._lines()) if (row := _row(line)) is not None)

    def _lines(self) -> list[bytes]:
        return (read_bytes(self.path) or b"").splitlines()


def _row(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        row = orjson.loads(line)
        return row if isinstance(row, dict) else None
    return None


def place_files(root: Path) -> list[str]:
    """Return the memory files of the places of the workspace at `root` that are there, by name.

    Raises WorkspaceError for a link: what is written would go elsewhere.
    """
    folder = root / PLACES
    found: list[str] = []
    with explained("read", folder), suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_symlink() or folder.is_symlink():
                raise WorkspaceError(f"{entry.path} is a symbolic link; put the directory itself there.")
            if entry.is_dir():
                found += [file for file in files_of(entry.name) if place_of(file) and os.path.lexists(root / file)]
    return found
