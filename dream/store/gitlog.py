"""Reading the history of changes: one git process for a list, one for a single change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dream.errors import UnknownRevision
from dream.models import Usage
from dream.store.gitdiff import PLAIN, LineCount, parse_numstat, split
from dream.store.gitenv import Git
from dream.store.gitobjects import is_memory, reading
from dream.store.messages import KINDS, ChangeKind, parse_entries, parse_usage

_TRAILERS = ("Dream-Kind", "Dream-Entries", "Dream-Model", "Dream-Usage")
_FIELDS = ["%H", "%P", "%cI", "%s", *(f"%(trailers:key={name},valueonly,separator=%x1d)" for name in _TRAILERS)]
_FORMAT = "--format=%x1e" + "%x1f".join(_FIELDS) + "%x1f"
_WHOLE = ("-z", f"{_FORMAT}%B%x1f", "--numstat", "--patch", *PLAIN)
_RECORD = re.compile(rb"\x1e(?=[0-9a-f]{40}\x1f)")
PAGE = 64  # changes read in full at a time
# Ours carry the trailer; those of nanobot, from before a workspace was adopted, have only their subject.
_OURS = (
    "--extended-regexp",
    f"--grep=^Dream-Kind: ({'|'.join(KINDS)})$",
    "--grep=^dream: ",
    "--grep=^revert: undo [0-9a-f]{4,40}$",
)

_UNDONE = re.compile(r"revert: undo [0-9a-f]{4,40}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """One commit that dream made.

    `files` counts lines of the files that a person reads, by path; `entries` are the first and last cursor dreamt.
    `parent` is None for the very first commit.
    """

    sha: str
    time: datetime
    kind: ChangeKind
    subject: str
    entries: tuple[int, int] | None
    files: Mapping[str, LineCount]
    parent: str | None
    model: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """One change in full: its message without the trailers, and its diff."""

    change: Change
    body: str
    diff: str


def log(git: Git, limit: int | None = None, after: str | None = None, kind: ChangeKind | None = None) -> list[Change]:
    """List the changes, newest first: at most `limit`, only those made after the commit `after`, or of one `kind`."""
    if limit is not None and limit <= 0:
        return []
    bound = [f"--max-count={limit}"] if limit is not None else []
    revisions = ["HEAD", *([f"^{after}"] if after else [])]
    marks = _OURS if kind is None else (f"--grep=^Dream-Kind: {kind}$",)
    arguments = ["log", "-z", _FORMAT, "--numstat", *PLAIN, *marks, *bound, "--end-of-options", *revisions]
    changes = _changes(git.run(*arguments, "--"))
    return [change for change in changes if change is not None and kind in (None, change.kind)]


def show(git: Git, sha: str) -> Shown:
    """Read one change. `sha` is whole and known to be ours."""
    shown = _shown(git.run("show", *_WHOLE, "--end-of-options", sha, "--"))
    if shown is None:
        raise UnknownRevision(f"{sha[:12]} was not made by dream; `dream log` lists what was.")
    return shown


def each(git: Git) -> Iterator[Shown]:
    """Yield every change in full, newest first; read by the page, as far as somebody goes on asking."""
    skip = 0
    while True:
        printed = git.run("log", *_WHOLE, f"--max-count={PAGE}", f"--skip={skip}", "--end-of-options", "HEAD", "--")
        records = _RECORD.split(printed)[1:]
        for record in records:
            shown = _shown(record)
            if shown is not None:
                yield shown
        if len(records) < PAGE:
            return
        skip += PAGE


def patches(git: Git, path: str) -> bytes:
    """Return every change of `path` in the history of HEAD, as patches without context, newest first."""
    return git.run("log", "--format=", "--patch", "--unified=0", "-m", "--first-parent", *PLAIN, "HEAD", "--", path)


def resolve(git: Git, prefix: str) -> str:
    """Return the whole sha of the one change that `prefix` names, or raise UnknownRevision with the rule it broke."""
    wanted = prefix.strip()
    if back := re.fullmatch(r"(?:HEAD|@)(?:~(\d{1,6}))?", wanted):
        return _newest(git, int(back[1] or 0))
    if not re.fullmatch(r"[0-9a-f]+", wanted):
        raise UnknownRevision(f"{prefix!r} is not a sha: only the digits 0-9 and a-f; `dream log` lists them.")
    if not 4 <= len(wanted) <= 40:
        raise UnknownRevision(f"{wanted!r} has {len(wanted)} characters; a sha is named by at least 4, at most 40.")
    ours = [sha for sha in _commits_of_ours(git, wanted) if _is_reachable(git, sha)]
    if len(ours) > 1:
        candidates = ", ".join(sha[: len(wanted) + 4] for sha in sorted(ours))
        raise UnknownRevision(f"{wanted!r} names {len(ours)} changes ({candidates}); give more characters.")
    if not ours:
        raise UnknownRevision(f"{wanted!r} names no change that dream made; `dream log` lists those.")
    return ours[0]


def _newest(git: Git, back: int) -> str:
    """Return the sha of the change that lies `back` changes before the newest; raises UnknownRevision."""
    changes = log(git, back + 1)
    if len(changes) <= back:
        raise UnknownRevision(f"There are {len(changes)} changes, so none lies {back} before the newest.")
    return changes[back].sha


def kind_of(subject: str, trailer: str) -> ChangeKind | None:
    """Tell which kind of change a commit is, or None for one that is not dream's."""
    for kind in KINDS:
        if trailer == kind:
            return kind
    if trailer:
        return None
    return "dream" if subject.startswith("dream: ") else "restore" if _UNDONE.match(subject) else None


def _shown(printed: bytes) -> Shown | None:
    header, _, rest = printed.partition(b"\x1f\0")
    fields = header.decode("utf-8", "replace").removeprefix("\x1e").split("\x1f")
    diff = split(rest.lstrip(b"\n\0").rstrip(b"\0"))
    change = _change(fields[:8], diff.files)
    return None if change is None else Shown(change, _without_trailers(fields[8]), diff.text)


def _changes(printed: bytes) -> Iterator[Change | None]:
    for record in printed.split(b"\x1e")[1:]:
        header, _, numstat = record.rpartition(b"\x1f")
        yield _change(header.decode("utf-8", "replace").split("\x1f"), parse_numstat(numstat.lstrip(b"\0\n")))


def _change(fields: list[str], files: Mapping[str, LineCount]) -> Change | None:
    sha, parents, time, subject, trailer, entries, model, usage = fields
    kind = kind_of(subject, trailer)
    if kind is None:
        return None
    return Change(
        sha=sha,
        time=datetime.fromisoformat(time).astimezone(UTC),
        kind=kind,
        subject=subject,
        entries=parse_entries(entries),
        files={path: count for path, count in files.items() if is_memory(path)},
        parent=parents.split(" ")[0] or None,
        model=model or None,
        usage=parse_usage(usage),
    )


def _commits_of_ours(git: Git, prefix: str) -> list[str]:
    """Return those of the objects whose name begins with `prefix` that are commits with our mark."""
    with reading(git) as objects:
        found = objects.get(f"{prefix}^{{commit}}")
        if found is not None and found[0].startswith(prefix):  # the only commit of that name; it is no branch's
            return [found[0]] if _is_ours(found[2]) else []
        ours = []
        for name in git.run("rev-parse", f"--disambiguate={prefix}").decode().split():
            found = objects.get(name)
            if found is not None and found[1] == "commit" and _is_ours(found[2]):
                ours.append(name)
        return ours


def _is_ours(commit: bytes) -> bool:
    message = commit.partition(b"\n\n")[2].decode("utf-8", "replace")
    return kind_of(message, _trailer(message, "Dream-Kind")) is not None


def _trailer(message: str, name: str) -> str:
    last = message.rstrip("\n").rpartition("\n\n")[2].split("\n")
    return next((line.removeprefix(f"{name}: ") for line in last if line.startswith(f"{name}: ")), "")


def _is_reachable(git: Git, sha: str) -> bool:
    """Tell whether `sha` is HEAD or before it: `git rev-list` prints nothing then, and stops early."""
    return not git.run("rev-list", "--max-count=1", sha, "^HEAD", "--").strip()


def _without_trailers(message: str) -> str:
    head, gap, last = message.rstrip("\n").rpartition("\n\n")
    return head if gap and all(line.startswith("Dream-") for line in last.split("\n")) else message.rstrip("\n")
