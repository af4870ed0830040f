"""What stands on a machine's branch, as values: who it is, its line operations, its history and messages in parts.

    machine.json                 who writes here, and how far
    ops/000001.jsonl             operations on lines of memory, as `fold` takes them
    history/000001.jsonl         entries, in their order, each with the number that it has on its machine
    messages/2026-11.000001.jsonl
    signs.jsonl                  what it has forgotten, as digests under the key of this memory
    places.toml
    seal

Parts only grow, and are small: what is added makes a new one, but for a last one that is hardly begun. A branch is
somebody else's text: what is no such row is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from dream.memory import KNOWN_PLACES
from dream.versions import is_memory, signs
from dream.versions.branches import MACHINE, SEAL, Branches, sealed
from dream.versions.fold import Id, Op
from dream.versions.signs import ForgetSign
from dream.workspace.review_files import REJECTED

INFO = "machine.json"
SIGNS = "signs.jsonl"
OPS, HISTORY = "ops/", "history/"
FORMAT = 1
BEGUN = 1 << 16  # bytes: a part that is shorter grows, so that a night's few rows don't make a file each
LARGEST = 8 << 20  # bytes of a part; hosts refuse files of 50 to 100 MB
_PART = re.compile(r"(ops/|history/|messages/\d{4}-\d{2}\.)(\d{6})\.jsonl")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_NAMES = "cursor", "session", "position", "timestamp"
_LAST_TIME = 1 << 40  # seconds
_LAST_NUMBER = 1 << 50  # of an operation


@dataclass(frozen=True, slots=True)
class Branch:
    """One machine's branch at one commit.

    `listed` are the blobs of its files; `signs` are of what it has forgotten; `is_sealed`: by who has the key.
    """

    machine: str
    sha: str
    name: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    listed: Mapping[str, str] = field(default_factory=dict)
    ops: tuple[Op, ...] = ()
    signs: frozenset[ForgetSign] = frozenset()
    is_sealed: bool = False


def number(value: object) -> int:
    """Return a whole number from zero up; 0 for what is none."""
    return value if type(value) is int and value >= 0 else 0


def read(branches: Branches, machine: str, sha: str, key: bytes) -> Branch:
    """Read a branch; what can't be understood of it is left out. Raises GitError."""
    listed = branches.files(sha)
    named = [INFO, SEAL, SIGNS, *parts(listed, OPS)]
    present = [path for path in named if path in listed]
    found = dict(zip(present, branches.read(listed[path] for path in present), strict=True))
    info = row(found.get(INFO, b"")) or {}
    name = info.get("name")
    return Branch(
        machine,
        sha,
        name if isinstance(name, str) and _NAME.fullmatch(name) else machine,
        info,
        listed,
        tuple(op for path in parts(listed, OPS) for op in ops_in(machine, found[path])),
        signs.parse(found.get(SIGNS, b"")),
        bool(key) and SEAL in found and found[SEAL] == sealed(key, machine, listed),
    )


def recipients(branch: Branch) -> tuple[str, ...]:
    """Return the age recipients that a branch is encrypted for; none where it isn't."""
    found = branch.info.get("recipients")
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def parts(listed: Iterable[str], folder: str) -> list[str]:
    """Return the parts of a folder (or of a month's messages), in their order."""
    return sorted(path for path in listed if path.startswith(folder) and _PART.fullmatch(path))


def months(listed: Iterable[str]) -> list[str]:
    """Return the beginnings of the messages' parts: one for each month."""
    return sorted({found[1] for path in listed if (found := _PART.fullmatch(path)) and path.startswith("messages/")})


def content(branches: Branches, branch: Branch, prefix: str) -> bytes:
    """Return the parts of a folder, or of a month's messages, as one."""
    return b"".join(branches.read(branch.listed[part] for part in parts(branch.listed, prefix)))


def is_spoken(branch: Branch) -> bool:
    """Return whether a branch holds messages or quotes: what was said word for word."""
    return bool(branch.info.get("spoken", months(branch.listed)))


def holds(branches: Branches, one: Branch, other: Branch) -> bool:
    """Return whether a branch has all that another one of the same machine has, in whatever commits.

    Messages count only where it has not taken back what was said word for word.
    """
    if not {op.id for op in other.ops} <= {op.id for op in one.ops}:
        return False
    prefixes = (HISTORY, *(months(other.listed) if one.info.get("spoken") is not False else ()))
    return all(names(content(branches, other, each)) <= names(content(branches, one, each)) for each in prefixes)


def grown(
    listed: Mapping[str, str], folder: str, rows: Sequence[bytes], read_part: Callable[[str], bytes]
) -> dict[str, bytes]:
    """Return the parts of a folder that are new, or become longer, with `rows` (each with its end) at the end."""
    if not rows:
        return {}
    there = parts(listed, folder)
    last = read_part(there[-1]) if there else b""
    place = len(there) if last and len(last) < BEGUN else len(there) + 1
    begun = [last] if last and len(last) < BEGUN else []
    made: dict[str, bytes] = {}
    size = len(last) if begun else 0
    for one in rows:
        if begun and size + len(one) > LARGEST:
            made[f"{folder}{place:06}.jsonl"] = b"".join(begun)
            begun, size, place = [], 0, place + 1
        begun.append(one)
        size += len(one)
    return made | {f"{folder}{place:06}.jsonl": b"".join(begun)}


def lacking(there: bytes, data: bytes) -> list[bytes]:
    """Return the rows of history or of messages in `data`, each with its end, that are not `there` yet.

    They are known by their numbers and times, which a forgetting keeps.
    """
    known = names(there)
    return [line + b"\n" for line in data.splitlines() if _name(line) not in known]


def _name(line: bytes) -> object:
    fields = row(line)
    return line if fields is None else tuple(str(fields.get(one)) for one in _NAMES)


def names(rows: bytes) -> set[object]:
    """Return what rows of history or of messages are known by."""
    return {_name(line) for line in rows.splitlines()}


def op_row(op: Op) -> bytes:
    """Write an operation as a line; its machine is that of the branch."""
    fields = {"n": op.number, "at": op.at, "by": op.by, "file": op.file, "text": op.text}
    links = {"slot": op.slot, "after": op.after, "over": op.over}
    return orjson.dumps(
        fields | {name: value for name, value in links.items() if value}, option=orjson.OPT_APPEND_NEWLINE
    )


def ops_in(machine: str, data: bytes) -> Iterator[Op]:
    """Yield the operations of one part; what is none is left out."""
    for line in data.splitlines():
        op = _op(machine, row(line) or {})
        if op is not None:
            yield op


def _op(machine: str, fields: Mapping[str, Any]) -> Op | None:
    file, text, by = fields.get("file"), fields.get("text"), fields.get("by")
    at, own = fields.get("at"), number(fields.get("n"))
    replaced = fields.get("over")
    links = [fields.get("slot"), fields.get("after"), *(replaced if isinstance(replaced, list) else [])]
    sound = (
        0 < own < _LAST_NUMBER
        and type(at) is int
        and 0 <= at < _LAST_TIME
        and by in ("hand", "dream")
        and isinstance(file, str)
        and (is_memory(file) or file in (REJECTED, KNOWN_PLACES))
        and (text is None or (isinstance(text, str) and "\n" not in text))
        and all(link is None or _id(link) for link in links)
    )
    if not sound:
        return None
    slot, after, *over = (_id(link) for link in links)
    return Op(own, machine, at, by, file, text, slot, after, tuple(one for one in over if one))  # type: ignore[arg-type]


def _id(link: object) -> Id | None:
    if isinstance(link, list) and len(link) == 2 and isinstance(link[1], str) and MACHINE.fullmatch(link[1]):
        return (link[0], link[1]) if number(link[0]) else None
    return None


def row(line: bytes) -> dict[str, Any] | None:
    """Read a JSON object; None for what is none."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
