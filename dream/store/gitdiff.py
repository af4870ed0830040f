"""The difference between two states of the files, as git tells it, with no commit made for it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dream.door import make_folder
from dream.store.files import explained, temporary_name, write_beside
from dream.store.gitenv import Git

# Whatever the person's configuration or attributes say: plain text, nothing run, no renames.
PLAIN = ("--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-algorithm=myers")


@dataclass(frozen=True, slots=True)
class LineCount:
    """How many lines of a file a change added and removed."""

    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Diff:
    """A difference: `text` is a unified diff (bytes that are not UTF-8 show as U+FFFD), `files` counts by path."""

    text: str
    files: Mapping[str, LineCount]


def compare(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None], private: Path) -> Diff:
    """Compare two states of the files; None and absent are the same. One process, nothing left on disk.

    Git wants files: they lie in `private`, under a name by which `files.sweep` knows what a killed process left.
    """
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    if not paths:
        return Diff("", {})
    scratch = temporary_name(private / "diff")
    with explained("written", scratch):
        try:
            for side, states in (("a", old), ("b", new)):
                make_folder(scratch / side)
                for path in paths:
                    if (data := states.get(path)) is not None:
                        make_folder((scratch / side / path).parent)
                        write_beside(scratch / side / path, data, scratch / side / path, durable=False)
            arguments = ("diff", "--no-index", "--no-prefix", "--numstat", "--patch", "-z", *PLAIN, "a", "b")
            printed = Git(scratch).run(*arguments, ok=(0, 1))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return split(printed, sides=True)


def strays() -> list[Path]:
    """Name what older versions of dream left in the system's directory of temporary files when they were killed.

    They compared files there, so text of memory stands in it.
    """
    import tempfile

    found = []
    places = {Path(tempfile.gettempdir()), Path("/tmp")}  # noqa: S108  # TMPDIR, and where cron has none
    for path in sorted(path for place in places for path in place.glob("dream-diff-*")):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                found.append(path)
    return found


def split(printed: bytes, *, sides: bool = False) -> Diff:
    """Take apart what git prints for `--numstat --patch -z`.

    With `sides` the numstat names both files, `a/…` and `b/…`, as it does for two directories.
    """
    numbers, _, patch = printed.partition(b"\0\0") if not printed.startswith(b"diff --git ") else (b"", b"", printed)
    files = parse_numstat(numbers + b"\0", sides=sides)
    text = patch.decode("utf-8", "replace")
    return Diff(text if not sides else _one_sided(text), files)


def parse_numstat(printed: bytes, *, sides: bool = False) -> dict[str, LineCount]:
    """Read `--numstat -z`."""
    fields = printed.decode("utf-8", "surrogateescape").strip("\0\n").split("\0")
    files: dict[str, LineCount] = {}
    remaining = iter(fields)
    for field in remaining:
        words = field.split("\t", 2)
        if len(words) != 3:
            continue
        path = words[2]
        if sides:
            names = [path] if path else [next(remaining), next(remaining)]
            path = next(name for name in reversed(names) if name != "/dev/null")[2:]
        files[path] = LineCount(_number(words[0]), _number(words[1]))
    return files


def _number(word: str) -> int:
    return int(word) if word.isdigit() else 0


def _one_sided(text: str) -> str:
    """Name an added or removed file `a/…` and `b/…` in its header, as between two commits."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("diff --git ") and number + 1 < len(lines):
            left, _, right = line.removeprefix("diff --git ").partition(" ")
            if left[1:] == right[1:]:
                lines[number] = f"diff --git a{left[1:]} b{right[1:]}"
    return "\n".join(lines)
