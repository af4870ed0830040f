"""Forgetting for good: a text, or what one change wrote, leaves files, history, archive, records and every version.

Unlike a restore this can't be taken back. It goes to its end or can be run again: a crash in between leaves every
file whole, and a note in .dream/ that `dream doctor` reads.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from dream.errors import UnknownRevision, UsageError
from dream.store import authors, faults, files, gitrewrite, transaction
from dream.store.gitobjects import changed, is_memory
from dream.store.gitrewrite import Names
from dream.store.history_repair import Sealing
from dream.store.lock import run_lock
from dream.store.scrub import SHORTEST, Needle, renamed
from dream.store.workspace import TEMPLATES, Workspace

UNDONE = "forgetting.json"  # in .dream/, from the first change to the last
LARGEST = 10_000_000  # bytes of a file that isn't ours: above it, it isn't looked into
MOST_FILES = 10_000  # of the workspace that aren't ours are looked into

_LOCKS = {"run.lock", "history.lock", "runs.lock"}
_RUNS = re.compile(r"runs(\.\d+)?\.jsonl")
_FINDING = re.compile(r"^    applied: \[[A-Z-]+\] (.*) \{[\d,]+\}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, or in a dry run would be.

    `places` counts by file; `versions` are how many commits hold it, and of how many. `renamed` are the commits that
    have a new sha: (old, new), oldest first. `remains` are sentences on where it may still be.
    """

    places: tuple[tuple[str, int], ...]
    versions: tuple[int, int]
    renamed: tuple[tuple[str, str], ...]
    remains: tuple[str, ...]
    dry_run: bool = False

    @property
    def found(self) -> bool:
        """Whether there is anything to forget."""
        return bool(self.places or self.versions[0])


def forget(workspace: Workspace, what: str, *, text: bool = False, dry_run: bool = False, now: datetime) -> Forgotten:
    """Take `what` out of everything that is ours: a text, or the sha of a change for the lines that it added.

    With `text` it is not taken for a sha. A line or history entry that says nothing else goes; elsewhere a mark stays
    in its place. Cursors, spans, dates and trailers stay. Raises UsageError for a text too short to be looked for,
    UnknownRevision, GitError and Busy; what had been changed by then stays changed, and running it again goes on.
    """
    if dry_run:
        needle, sources = _wanted(workspace, what, text=text)
        return _preview(workspace, needle, sources)
    with run_lock(workspace.private, "dream forget", now=now):
        # 1. What a crash cut short is finished; what a person typed becomes a version, so that it is looked into.
        undone = workspace.private / UNDONE
        if undone.exists():  # git was perhaps killed with it
            workspace.git.clear_locks(undone.stat().st_mtime)
            for folder in (workspace.root, workspace.memory / "archive"):
                files.sweep(folder)
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
        needle, sources = _wanted(workspace, what, text=text)
        plan = _preview(workspace, needle, sources)
        if not plan.found and not undone.exists():
            return plan
        _begin(undone, needle, now)
        # 2. Files that git doesn't keep: history, its archive, the run record.
        _rewrite_history(workspace, needle, now)
        _rewrite_files(workspace, needle)
        # 3. Every version, and with it the files of the newest one.
        names = _rewrite_versions(workspace, needle)
        _rename_in_records(workspace, names)
        # 4. The old versions go; this is the step that can't be taken back.
        gitrewrite.drop_old(workspace.git.git)
        if _is_ours(undone, needle):
            undone.unlink(missing_ok=True)
        left = _left(workspace, needle)
        return Forgotten(plan.places, plan.versions, tuple(names.new.items()), (*left, *plan.remains))


def unfinished(workspace: Workspace) -> datetime | None:
    """Return when a forgetting was begun that did not come to its end, or None."""
    data = files.read_bytes(workspace.private / UNDONE)
    try:
        return datetime.fromisoformat(orjson.loads(data)["since"]) if data is not None else None
    except (ValueError, TypeError, KeyError):
        return datetime.fromtimestamp(0).astimezone()


def _wanted(workspace: Workspace, what: str, *, text: bool) -> tuple[Needle, tuple[int, int] | None]:
    """Return what to look for, and the entries that a named change was dreamt from."""
    if not text and re.fullmatch(r"[0-9a-f]{4,40}", what.strip()) and (sha := _change(workspace, what)):
        shown = workspace.git.show(sha)
        lines = [line[1:] for line in shown.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
        known = {line for data in TEMPLATES.values() for line in data.decode().splitlines()}
        stated = [line for line in lines if line not in known and not line.lstrip().startswith("#")]
        needle = Needle(one for one in (*stated, *_FINDING.findall(shown.body)) if len(one.strip()) >= SHORTEST)
        if not needle.texts:
            raise UsageError(f"The change {sha[:10]} added no line that could be forgotten.")
        return needle, shown.change.entries
    if len(what.strip()) < SHORTEST:
        raise UsageError(
            f"{what!r} is too short: it would be taken out of much else; give at least {SHORTEST} characters."
        )
    return Needle([what]), None


def _change(workspace: Workspace, what: str) -> str | None:
    with suppress(UnknownRevision):
        return workspace.git.resolve(what)
    return None


def _preview(workspace: Workspace, needle: Needle, sources: tuple[int, int] | None) -> Forgotten:
    places = [(name, found) for name, path in _ours(workspace) if (found := needle.count(_read(path)))]
    git = workspace.git.git
    head = workspace.git.head()
    versions = gitrewrite.versions(git, head, needle) if head else (0, 0)
    return Forgotten(tuple(places), versions, (), tuple(_remains(workspace, needle, sources)), dry_run=True)


def _ours(workspace: Workspace) -> Iterator[tuple[str, Path]]:
    """Yield every file of ours by its path in the workspace, but for git's own and the lock files."""
    root, private = workspace.root, workspace.private
    inside = (path for folder in (workspace.memory, private) for path in sorted(folder.rglob("*")))
    hidden = (private / "git", private / "git.new")
    for path in (root / "SOUL.md", root / "USER.md", *root.glob("*.md.saved"), *inside):
        ours = path.is_file() and not path.is_symlink() and path.name not in _LOCKS
        if ours and not any(path.is_relative_to(folder) for folder in hidden):
            yield str(path.relative_to(root)), path


def _read(path: Path) -> bytes:
    return files.read_bytes(path) or b""


def _begin(undone: Path, needle: Needle, now: datetime) -> None:
    """Note that a forgetting is under way, and of what only a salted hash."""
    if undone.exists():
        return
    salt = os.urandom(16)
    row = {"since": now.isoformat(), "salt": salt.hex(), "of": _hash(salt, needle)}
    files.replace(undone, orjson.dumps(row))


def _hash(salt: bytes, needle: Needle) -> str:
    return hashlib.blake2b("\n".join(needle.texts).encode("utf-8", "surrogatepass"), key=salt).hexdigest()


def _is_ours(undone: Path, needle: Needle) -> bool:
    """Tell whether the note is of this very text; another one's stays, for that one is not done."""
    try:
        row = orjson.loads(_read(undone))
        return bool(row["of"] == _hash(bytes.fromhex(row["salt"]), needle))
    except (ValueError, TypeError, KeyError):
        return True


def _rewrite_history(workspace: Workspace, needle: Needle, now: datetime) -> None:
    with workspace.history.rewriting(now=now) as paths:
        sealing = Sealing()
        for path in paths:
            data = _read(path)
            clean = sealing.sealed(data, needle.scrub(data))
            if clean != data:
                files.replace(path, clean)


def _rewrite_files(workspace: Workspace, needle: Needle) -> None:
    """Scrub what isn't memory; a person's files change with the versions. A cache is made anew by who needs it."""
    (workspace.private / authors.FILE_NAME).unlink(missing_ok=True)
    for name, path in _ours(workspace):
        if not is_memory(name):
            _scrub(path, needle)


def _scrub(path: Path, needle: Needle) -> None:
    data = _read(path)
    clean = needle.scrub(data)
    if clean != data:
        files.replace(path, clean)


def _rewrite_versions(workspace: Workspace, needle: Needle) -> Names:
    head, before = workspace.git.snapshot()
    if head is None:
        return Names()
    new, names = gitrewrite.rewrite(workspace.git.git, head, needle)
    after = workspace.git.read_all(new)
    if new != head:
        faults.checkpoint("before the new history is shown")
        visible = {path: data for path, data in changed(before, after).items() if is_memory(path)}
        transaction.replace_head(workspace, head, new, visible)
    workspace.git.refresh_index(after, new)  # git's index keeps in reach what it names
    return names


def _rename_in_records(workspace: Workspace, names: Names) -> None:
    """Let the run record name the commits as they are called now."""
    for path in workspace.private.iterdir():
        if _RUNS.fullmatch(path.name):
            data = _read(path)
            told = renamed(data.decode("utf-8", "surrogateescape"), names).encode("utf-8", "surrogateescape")
            if told != data:
                files.replace(path, told)


def _left(workspace: Workspace, needle: Needle) -> Iterator[str]:
    """Look again at everything, and name what holds it still: what a person keeps in git, or saved meanwhile."""
    for name, path in _ours(workspace):
        if needle.count(_read(path)):
            yield f"{name} still holds it: somebody wrote it there meanwhile, or it names a session; run this again"
    objects = gitrewrite.holders(workspace.git.git, needle)
    if objects:
        yield f"{len(objects)} git objects still hold it, because something beside dream's own branch keeps them"


def _remains(workspace: Workspace, needle: Needle, sources: tuple[int, int] | None) -> Iterator[str]:
    git = workspace.git.git
    if names := gitrewrite.remotes(git):
        yield f"the remote {', '.join(names)} keeps what was pushed to it; dream pushes nothing"
    if others := gitrewrite.foreign(git, gitrewrite.branch(git)):
        yield f"these refs are not dream's and stay as they are, with what they hold: {', '.join(others)}"
    if git.git_dir != workspace.root / ".git":
        yield "the git repository around the workspace is not dream's: what was committed there stays there"
    if sources:
        yield f"the entries {sources[0]}–{sources[1]} that it was dreamt from may say it in other words: read them"
    for path in _others(workspace):
        if needle.count(_read(path)):
            yield f"{path} is not dream's and holds it; take it out there"
    yield "transcripts at their source keep it, as do backups, other clones, and the provider of the model that read it"


def _others(workspace: Workspace) -> Iterator[Path]:
    """Yield files of the workspace that aren't ours: an agent's sessions, a project around it."""
    ours = {workspace.memory, workspace.private}
    known = {path for _, path in _ours(workspace)}
    left = MOST_FILES
    for folder, folders, names in os.walk(workspace.root):
        folders[:] = sorted(name for name in folders if name != ".git" and Path(folder) / name not in ours)
        for name in sorted(names):
            path = Path(folder) / name
            left -= 1
            if left < 0:
                return
            if path not in known and path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
                yield path
