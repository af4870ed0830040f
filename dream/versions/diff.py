"""Two states of the files compared, with no commit made for it; and three states merged by lines.

`git merge-file` calls two changes in conflict when they merely touch: a line taken out beside a line that was added
later. In a list of facts that is the ordinary case, so here only changes to the same lines conflict, and two
different insertions at the same place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from io import BytesIO
from itertools import dropwhile

from dream.errors import Conflict
from dream.reports import LineCount

# Whatever the person's configuration or attributes say: plain text, nothing run, no renames.
PLAIN = ("--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-algorithm=myers")


_BARE = "\n\\ No newline at end of file\n"
_PARTS = re.compile(r"^(?=diff --git )", re.MULTILINE)
_FILE = re.compile(r"diff --git a/(.*) b/\1")


@dataclass(frozen=True, slots=True)
class Diff:
    """A difference: `text` is a unified diff (bytes that are not UTF-8 show as U+FFFD), `files` counts by path."""

    text: str
    files: Mapping[str, LineCount]


def compare(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]) -> Diff:
    """Compare two states of the files; None and absent are the same. It looks as git shows it."""
    text, files = "", {}
    for path in sorted(path for path in {*old, *new} if old.get(path) != new.get(path)):
        sides = (old.get(path), new.get(path))
        before, after = ([line.decode("utf-8", "replace") for line in BytesIO(side or b"")] for side in sides)
        was, becomes = (f"{'ab'[at]}/{path}" if side is not None else "/dev/null" for at, side in enumerate(sides))
        rows = [row if row.endswith("\n") else row + _BARE for row in unified_diff(before, after, was, becomes)]
        made = (
            "new file mode 100644\n" if sides[0] is None else "deleted file mode 100644\n" if sides[1] is None else ""
        )
        text += "".join((f"diff --git a/{path} b/{path}\n", made, *rows))
        files[path] = LineCount(*(sum(row.startswith(sign) for row in rows[2:]) for sign in "+-"))
    return Diff(text, files)


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
    """Return `before` with only that part of the change to `after` that `present` still has.

    A line that was added counts while it is there; one that was removed, while it is not.
    """
    lines, there = _lines(before), set(_lines(present))
    standing = []
    for hunk in _hunks(lines, _lines(after)):
        added = tuple(line for line in hunk.lines if line in there)
        kept = tuple(line for line in lines[hunk.start : hunk.end] if line in there and line not in added)
        standing.append(_Hunk(hunk.start, hunk.end, kept + added))
    return b"".join(_apply(lines, standing))


def split(printed: bytes) -> Diff:
    """Parse git's output of `--numstat --patch -z`."""
    numbers, _, patch = printed.partition(b"\0\0") if not printed.startswith(b"diff --git ") else (b"", b"", printed)
    return Diff(patch.decode("utf-8", "replace"), parse_numstat(numbers + b"\0"))


def by_file(diff: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each file of a unified diff, and the rows of its hunks: there a row that looks like a header is none."""
    for part in _PARTS.split(diff):
        head, _, body = part.partition("\n")
        if named := _FILE.fullmatch(head):
            yield named[1], list(dropwhile(lambda row: not row.startswith("@@ "), body.split("\n")))


def parse_numstat(printed: bytes) -> dict[str, LineCount]:
    """Read `--numstat -z`."""
    rows = (row.split("\t", 2) for row in printed.decode("utf-8", "surrogateescape").strip("\0\n").split("\0"))
    return {words[2]: LineCount(_number(words[0]), _number(words[1])) for words in rows if len(words) == 3}


def _number(word: str) -> int:
    return int(word) if word.isdigit() else 0


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
    """Cut the lines that a winning hunk changes out of `hunk`; its new lines stay with the first piece."""
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
