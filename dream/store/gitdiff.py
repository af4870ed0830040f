"""The difference between two states of the files, as git tells it, with no commit made for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def compare(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]) -> Diff:
    """Compare two states of the files; None and absent are the same. One process, nothing left on disk."""
    import tempfile

    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    if not paths:
        return Diff("", {})
    with tempfile.TemporaryDirectory(prefix="dream-diff-") as scratch:
        for side, files in (("a", old), ("b", new)):
            (Path(scratch) / side).mkdir()
            for path in paths:
                data = files.get(path)
                if data is not None:
                    target = Path(scratch) / side / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
        arguments = ("diff", "--no-index", "--no-prefix", "--numstat", "--patch", "-z", *PLAIN, "a", "b")
        printed = Git(Path(scratch)).run(*arguments, ok=(0, 1))
    return split(printed, sides=True)


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
