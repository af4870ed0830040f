"""Two states of the files compared, as git tells it, with no commit made for it; and three states merged by lines.

`git merge-file` calls two changes in conflict when they merely touch: a line taken out beside a line that was added
later. In a list of facts that is the ordinary case, so here only changes to the same lines conflict, and two
different insertions at the same place.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from io import BytesIO
from itertools import dropwhile
from pathlib import Path

from dream.door import make_folder
from dream.errors import Conflict
from dream.reports import LineCount
from dream.versions.git import Git
from dream.workspace.files import temporary_name, write_beside

# Whatever the person's configuration or attributes say: plain text, nothing run, no renames.
PLAIN = ("--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-algorithm=myers")


_PARTS = re.compile(r"^(?=diff --git )", re.MULTILINE)
_FILE = re.compile(r"diff --git a/(.*) b/\1")


@dataclass(frozen=True, slots=True)
class Diff:
    """A difference: `text` is a unified diff (bytes that are not UTF-8 show as U+FFFD), `files` counts by path."""

    text: str
    files: Mapping[str, LineCount]


def compare(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None], private: Path) -> Diff:
    """Compare two states of the files; None and absent are the same. One process, nothing left on disk.

    Git wants files: they lie in `private`, under a name by which `files.sweep` knows what a killed process left. Where
    none can be written, on a disk that is read-only or full, the comparison is made without git.
    """
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    if not paths:
        return Diff("", {})
    scratch = temporary_name(private / "diff")
    try:
        for side, states in (("a", old), ("b", new)):
            make_folder(scratch / side)
            for path in paths:
                if (data := states.get(path)) is not None:
                    make_folder((scratch / side / path).parent)
                    write_beside(scratch / side / path, data, scratch / side / path, durable=False)
        arguments = ("diff", "--no-index", "--no-prefix", "--numstat", "--patch", "-z", *PLAIN, "a", "b")
        return split(Git(scratch).run(*arguments, ok=(0, 1)), sides=True)
    except OSError:
        return _compared({path: (old.get(path), new.get(path)) for path in paths})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _compared(states: Mapping[str, tuple[bytes | None, bytes | None]]) -> Diff:
    """Compare what each file was and is as git shows it; which of several like lines stayed may be told otherwise."""
    text, files = "", {}
    for path, sides in states.items():
        before, after = ([line.decode("utf-8", "replace") for line in _lines(side or b"")] for side in sides)
        was, becomes = (f"{'ab'[at]}/{path}" if side is not None else "/dev/null" for at, side in enumerate(sides))
        rows = list(unified_diff(before, after, was, becomes))
        text += "".join((f"diff --git a/{path} b/{path}\n", *rows))
        files[path] = LineCount(*(sum(row.startswith(sign) for row in rows[2:]) for sign in "+-"))
    return Diff(text, files)


def count(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None], private: Path) -> Mapping[str, LineCount]:
    """Count the lines that each file gains and loses, as `compare` does; a process only where lines moved about."""
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    counted = {path: _counted(old.get(path) or b"", new.get(path) or b"") for path in paths}
    plain = {path: one for path, one in counted.items() if one is not None}
    return plain if len(plain) == len(paths) else compare(old, new, private).files


def _counted(old: bytes, new: bytes) -> LineCount | None:
    """Count what a file gains and loses; None where only git can tell what stayed.

    Git passes over what both begin and end with, and what is between them is all gone and all new where the two have
    no line in common.
    """
    gone, come = BytesIO(old).readlines(), BytesIO(new).readlines()
    pairs = enumerate(zip(gone, come, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(gone), len(come)))
    gone, come = gone[start:], come[start:]
    while gone and come and gone[-1] == come[-1]:
        gone.pop()
        come.pop()
    return None if set(gone) & set(come) else LineCount(len(come), len(gone))


def merge(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return `ours` with the change from `base` to `theirs` made in it; None stands for no file.

    Raises Conflict, its message showing the first pair of hunks, where both changed the same lines.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if ours is None or theirs is None:
        raise Conflict("one side deleted the file, the other changed it")
    lines = _lines(base or b"")
    merged = _both(_hunks(lines, _lines(ours)), _hunks(lines, _lines(theirs)), lines)
    result = b"".join(_apply(lines, merged))
    ends_bare = not ours.endswith(b"\n") and not theirs.endswith(b"\n")
    return result.removesuffix(b"\n") if ends_bare else result


def merge_over(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge like `merge`; where both changed the same lines, `theirs` wins there and ours is kept around it.

    Lines that ours only inserts stay in any case, before those of `theirs`.
    """
    lines = _lines(base)
    winning = _hunks(lines, _lines(theirs))
    yielding = [piece for hunk in _hunks(lines, _lines(ours)) for piece in _give_way(hunk, winning)]
    hunks = [*(piece for piece in yielding if piece not in winning), *winning]
    return b"".join(_apply(lines, sorted(hunks, key=lambda hunk: (hunk.start, hunk.end))))


def still_standing(before: bytes, after: bytes, present: bytes) -> bytes:
    """Return `before` with only that part of the change to `after` made which is still so in `present`.

    A line that was added counts while it is there; one that was removed, while it is not.
    """
    lines, there = _lines(before), set(_lines(present))
    standing = []
    for hunk in _hunks(lines, _lines(after)):
        added = tuple(line for line in hunk.lines if line in there)
        kept = tuple(line for line in lines[hunk.start : hunk.end] if line in there and line not in added)
        standing.append(_Hunk(hunk.start, hunk.end, kept + added))
    return b"".join(_apply(lines, standing))


def split(printed: bytes, *, sides: bool = False) -> Diff:
    """Take apart what git prints for `--numstat --patch -z`.

    With `sides` the numstat names both files, `a/…` and `b/…`, as it does for two directories.
    """
    numbers, _, patch = printed.partition(b"\0\0") if not printed.startswith(b"diff --git ") else (b"", b"", printed)
    files = parse_numstat(numbers + b"\0", sides=sides)
    text = patch.decode("utf-8", "replace")
    return Diff(text if not sides else _one_sided(text), files)


def by_file(diff: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each file of a unified diff, and the rows of its hunks: there a row that looks like a header is none."""
    for part in _PARTS.split(diff):
        head, _, body = part.partition("\n")
        if named := _FILE.fullmatch(head):
            yield named[1], list(dropwhile(lambda row: not row.startswith("@@ "), body.split("\n")))


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


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines `start` to `end` (half-open) of the base become `lines`."""

    start: int
    end: int
    lines: tuple[bytes, ...]


def _lines(data: bytes) -> list[bytes]:
    """Split into lines, each with its newline; the last one gets one if it has none."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last + b"\n"] if last else [])


def _hunks(old: list[bytes], new: list[bytes]) -> list[_Hunk]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [_Hunk(i1, i2, tuple(new[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def _both(ours: list[_Hunk], theirs: list[_Hunk], base: list[bytes]) -> list[_Hunk]:
    for mine in ours:
        for other in theirs:
            if mine != other and _clash(mine, other):
                raise Conflict(_shown(mine, other, base))
    return sorted({*ours, *theirs}, key=lambda hunk: (hunk.start, hunk.end))


def _clash(one: _Hunk, other: _Hunk) -> bool:
    """Return whether two hunks change the same base lines, or insert at the same place or inside the other."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    return one.start < other.end and other.start < one.end


def _apply(base: list[bytes], hunks: list[_Hunk]) -> list[bytes]:
    result: list[bytes] = []
    at = 0
    for hunk in hunks:
        result += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return result + base[at:]


def _shown(ours: _Hunk, theirs: _Hunk, base: list[bytes]) -> str:
    start, end = min(ours.start, theirs.start), max(ours.end, theirs.end)
    before = [b"  " + line for line in base[start:end]]
    parts = [b"both sides changed the same lines:\n", *before, b"<<< now\n"]
    parts += [*_apply_within(base, ours, start, end), b"===\n", *_apply_within(base, theirs, start, end), b">>> then"]
    return b"".join(parts).decode("utf-8", "replace")


def _apply_within(base: list[bytes], hunk: _Hunk, start: int, end: int) -> list[bytes]:
    return [*base[start : hunk.start], *hunk.lines, *base[hunk.end : end]]


def _give_way(hunk: _Hunk, winning: list[_Hunk]) -> list[_Hunk]:
    """Cut out of `hunk` what a winning hunk decides; its new lines stay with the first piece."""
    if hunk.start == hunk.end:
        around = next((winner for winner in winning if winner.start < hunk.start < winner.end), hunk)
        return [_Hunk(around.start, around.start, hunk.lines)]
    pieces = [hunk]
    for winner in winning:
        cut: list[_Hunk] = []
        for piece in pieces:
            if piece == winner or not _clash(piece, winner):
                cut.append(piece)
                continue
            head = _Hunk(piece.start, max(piece.start, winner.start), piece.lines)
            tail = _Hunk(min(winner.end, piece.end), piece.end, ())
            cut += [part for part in (head, tail) if part.start < part.end]
        pieces = cut
    return pieces
