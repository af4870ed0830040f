"""Check everything on disk; report problems, and repair those that can be repaired without loss."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from dream import trust
from dream.actions import membership
from dream.actions.forget import unfinished
from dream.directory import Workspace
from dream.door import OTHERS
from dream.errors import DreamError, GitError, WorkspaceError
from dream.history.messages import FOLDER
from dream.history.writer import read_cursor
from dream.memory import DREAM_CURSOR
from dream.models import FORGET, Diagnostic
from dream.redact import redact
from dream.settings import Settings
from dream.text import safe as texts
from dream.versions import FILES, INTENT, UNDONE, branches, gitdir, log, read_memory, transaction
from dream.workspace import format as workspace_format
from dream.workspace import index, machine
from dream.workspace.files import (
    SET_ASIDE,
    TEMPORARY,
    check_plain,
    from_windows,
    lines,
    number,
    opened,
    read_bytes,
    readable,
    replace_file,
    set_aside,
    size_of,
    sweep,
)
from dream.workspace.lock import RUN_LOCK, is_free, run_lock
from dream.workspace.review_files import PENDING, REJECTED, parse_pending, parse_rejected

# Names and limits of the reports.


REPAIR = "dream doctor --repair"
KEPT = "passed over and kept"
_LOG = "memory/history.jsonl"
_BOM = "\ufeff"
OLD = 3600.0  # seconds; git holds a lock for milliseconds, or for minutes while a person writes a commit message
INDEX = "is damaged, so git itself fails in the workspace"
LOOKS = 8  # checks while another process is writing, before a problem is reported
PAUSE = 0.15  # seconds between two checks; longer than a commit takes
SHOWN = 4  # files that one problem names; of the others it gives the number


@dataclass(frozen=True, slots=True)
class Ailment:
    """One problem. `mended` is whether it was repaired; `cure` is what a person can do."""

    file: str
    text: str
    cure: str = ""
    mended: bool = False


# History and the two cursors beside it.


def check_history(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Report every damaged line and every missing entry.

    `repair` moves damaged bytes aside, renumbers entries, keeps what is readable, and records missing entries as lost.
    """
    found = list(_flaws(workspace))
    crlf = _has_crlf(workspace.root / _LOG)
    if repair and (found or crlf):
        workspace.history.repair(now=now)
    left = {one.text for one in _flaws(workspace)} if repair and found else set()
    for one in found:
        where = f"line {one.line}: " if one.line else ""
        lost = "missing" in one.text
        cure = f"look in a backup for it; {REPAIR} notes it as lost" if lost else f"{REPAIR}; until then it is {KEPT}"
        mended = repair and one.text not in left
        noted = "; noted in memory/archive/lost.jsonl" if lost and mended else ""
        yield Ailment(one.file, where + one.text + noted, cure, mended)
    if crlf:
        yield Ailment(_LOG, "has lines that end in CRLF", REPAIR, repair)


def check_dream_cursor(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Compare `.dream_cursor` with history and with the last commit."""
    found: list[Diagnostic] = []
    watched = Workspace(workspace.root, report=found.append)
    try:
        cursor, committed = watched.dream_cursor(), number(_committed(watched, DREAM_CURSOR)) or 0
    except DreamError as error:
        yield Ailment(DREAM_CURSOR, str(error))
        return
    says = [one.text for one in found if one.file == DREAM_CURSOR]
    if not says and cursor < committed:
        says = [f"says {cursor}, but the last commit was made at entry {committed}"]
        cursor = committed
    for text in says:
        if repair:
            replace_file(workspace.root / DREAM_CURSOR, b"%d\n" % cursor)
        yield Ailment(DREAM_CURSOR, text, f"{REPAIR} writes {cursor} into it", repair)


def _flaws(workspace: Workspace) -> Iterator[Diagnostic]:
    """Read all of history, and yield its problems."""
    found: dict[Diagnostic, None] = {}
    watched = Workspace(workspace.root, report=lambda diagnostic: found.update({diagnostic: None}))
    try:
        found.update(dict.fromkeys(watched.history.flaws()))
    except DreamError as error:
        found[Diagnostic(_LOG, 0, str(error))] = None
    yield from found


def _has_crlf(path: Path) -> bool:
    with suppress(OSError), opened(path) as descriptor:
        return any(line.endswith(b"\r") for _, line in lines(descriptor, 0, size_of(descriptor)))
    return False


def check_cursor(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Check the highest cursor ever assigned: nanobot would trust a lower one."""
    path = workspace.memory / ".cursor"
    newest = next(workspace.history.backwards(), None)
    given = read_cursor(path)
    highest = newest.cursor if newest else 0
    if given >= highest:
        return
    says = (read_bytes(path) or b"")[:40]
    if repair:
        replace_file(path, b"%d\n" % highest)
    yield Ailment("memory/.cursor", f"holds {says!r}, but history ends with entry {highest}", REPAIR, repair)


def check_messages(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Check the messages that history cites; `repair` moves aside invalid and duplicate rows."""
    history = workspace.history
    found = history.message_flaws()
    if repair and any(one.mends for one in found):
        history.repair_messages(now=now)
    left = {(one.path, one.text) for one in history.message_flaws()} if repair and found else set()
    for one in found:
        cures = ["the next `dream consolidate` ends it"] if one.waits else []
        if one.lost:
            cures += [f"look in a backup for them; {REPAIR} notes them as lost"]
        elif one.mends:
            cures += [f"{REPAIR} sets it aside in memory/archive/"]
        cure = "; ".join(cures) or "put a file of your own there, or move it away; search does without it"
        mended = repair and (one.path, one.text) not in left
        yield Ailment(_name(workspace, one.path), one.text, cure, mended)


def check_format(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Check the format number, and the file that names this machine; `repair` writes an invalid number anew."""
    try:
        workspace_format.check(workspace.root)
    except WorkspaceError as error:
        is_none = number(read_bytes(workspace.root / workspace_format.FORMAT) or b"") is None
        if repair and is_none:
            replace_file(workspace.root / workspace_format.FORMAT, workspace_format.DATA)
        cure = f"{REPAIR} writes {workspace_format.NEWEST} into it" if is_none else "update dream"
        yield Ailment(workspace_format.FORMAT, str(error), cure, repair and is_none)
    state = trust.state_directory(os.environ)
    if state is not None and (state / machine.NAME).exists():
        try:
            machine.this(state)
        except WorkspaceError as error:
            yield Ailment(str(state / machine.NAME), str(error), "until then rows name no machine")


def check_decisions(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Check what is held for review and what was rejected.

    `repair` moves invalid rows aside, and restores a file from the last commit.
    """
    for path, parse in ((PENDING, parse_pending), (REJECTED, parse_rejected)):
        found: list[Diagnostic] = []
        try:
            data = read_bytes(workspace.root / path) or b""
        except WorkspaceError as error:
            yield Ailment(path, str(error), f"then {REPAIR} puts back what the last commit holds")
            continue
        parse(data, found.append)
        for one in found:
            yield Ailment(path, f"line {one.line}: {one.text}", f"{REPAIR} sets it aside in memory/archive/", repair)
        if repair and found:
            broken = {one.line for one in found}
            rows = dict(enumerate(data.split(b"\n"), 1))
            for line in sorted(broken):
                set_aside(workspace.memory / "archive" / SET_ASIDE, rows[line], now, path)
            replace_file(workspace.root / path, b"\n".join(row for line, row in rows.items() if line not in broken))
    try:
        lost = transaction.lost_decisions(workspace)
    except DreamError:  # the check of the versions, or the one above, reports it
        return
    for path, mended in lost.items():
        if repair:
            replace_file(workspace.root / path, mended.data)
        yield Ailment(path, mended.text, f"{REPAIR} puts them back; `dream review reject` puts edits away", repair)


def _committed(workspace: Workspace, path: str) -> bytes:
    """Return a file as it is in the last commit."""
    try:
        if not workspace.git.exists or workspace.git.head() is None:
            return b""
    except GitError:  # the check of the versions reports it
        return b""
    return workspace.git.read("HEAD", path) or b""


# The three memory files: their encoding, line ends, unseen characters, and secrets.


def check_files(workspace: Workspace, settings: Settings, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Check each memory file; `repair` corrects its encoding and its line endings, in a commit of its own."""
    mended: dict[str, bytes | None] = {}
    for name in workspace.files():
        try:
            check_plain(workspace.root / name)
            data = read_bytes(workspace.root / name) or b""
        except DreamError as error:
            yield Ailment(name, str(error), "mend the file in an editor")
            continue
        if not (workspace.root / name).exists():
            yield Ailment(name, "is missing", "the next dream begins it anew; `dream log` has its older versions")
        elif not data.strip() and _committed(workspace, name).strip():
            yield Ailment(name, "is empty", "`dream run` takes that for your edit, `dream log` has its older versions")
        text = from_windows(data)
        plain = text.removeprefix(_BOM).replace("\r\n", "\n")
        for said in _unlike_ours(data):
            yield Ailment(name, said, REPAIR, repair)
        if plain.encode("utf-8") != data:
            mended[name] = plain.encode("utf-8")
        for problem in texts.problems(plain):
            yield Ailment(name, f"holds an unseen character: {problem}", "take it out in an editor")
        _, kinds = redact(text, settings.redact_patterns)
        for kind in kinds:
            cure = "dream forget takes it out of every version; change the secret too"
            yield Ailment(name, f"holds what looks like a secret: {kind}", cure)
    if repair and mended:
        _commit(workspace, mended, now)


def _unlike_ours(data: bytes) -> Iterator[str]:
    """Yield what differs from how dream writes a text file: encoding, byte order mark, line endings."""
    text, wrong = readable(data)
    if wrong:
        yield f"{wrong}; it reads as Windows-1252"
    if text.startswith(_BOM):
        yield "begins with a byte order mark"
    if "\r\n" in text:
        yield "has lines that end in CRLF"


def _commit(workspace: Workspace, mended: dict[str, bytes | None], now: datetime) -> None:
    """Commit a person's edits as theirs, then the repaired files as ours, so that the repair can be undone."""
    transaction.commit_hand_edits(workspace, now)
    found = read_memory(workspace.root)
    message = partial(log.build, "dream", note="(doctor: encoding, line ends)")
    expected = {name: found.get(name) for name in mended}
    transaction.commit(workspace, mended, expected=expected, message=message, now=now)


# The git repository of the workspace: there, unlocked, and every object whole.


def check_versions(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Check the repository; `repair` creates a missing one, removes stale locks, and rewrites damaged objects."""
    if not workspace.git.exists:
        if repair:
            workspace.complete(now)
        yield Ailment(".git", "there are no versions of this workspace", f"{REPAIR} makes them", repair)
        return
    lost = list(_head(workspace, now, repair=repair))
    yield from lost
    if lost and not lost[0].mended:
        return
    try:
        locks = list(_locks(workspace, repair=repair))
    except GitError as error:  # .git points outside the workspace: git is not started on it
        yield _reach(workspace, str(error), repair=repair)
        return
    yield from locks
    if workspace.git.has_damaged_index:
        mended = repair and gitdir.rewrite_index(workspace.git, workspace.root / ".git")
        yield Ailment(".git/index", INDEX, f"{REPAIR} makes it anew from the newest commit", mended)
        if not mended:
            return  # git would complain of nothing else
    try:
        workspace.git.fsck()
    except GitError as error:
        yield _damage(workspace, str(error), now, repair=repair)


def _head(workspace: Workspace, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Point HEAD to the newest version again if it was lost, or, if that is unknown, start a new repository."""
    directory = gitdir.find(workspace.root, workspace.private)
    try:
        said = gitdir.lost_head(directory) if directory else ""
        if not said or directory is None:
            return
        where = _name(workspace, directory)
        if repair and gitdir.rewrite_head(workspace.git, directory):
            yield Ailment(where, said, mended=True)
        elif repair:
            yield _begin_anew(workspace, directory, said, now)
        else:
            yield Ailment(where, said, f"{REPAIR} brings it back")
    except DreamError:  # a link or a special file: another check reports it
        return


def _reach(workspace: Workspace, said: str, *, repair: bool) -> Ailment:
    """Rewrite the configuration of our own hidden repository and keep the old one; never touch a person's."""
    own = workspace.private / "git"
    if repair and gitdir.rewrite_configuration(workspace.git, own):
        return Ailment(_name(workspace, own), said, mended=True)
    cure = f"{REPAIR}, where only its configuration is strange; else mend it by hand, if you know where it comes from"
    return Ailment(_name(workspace, own if own.exists() else workspace.root / ".git"), said, cure)


def _locks(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    directory = workspace.git.git.git_dir
    here = os.walk(directory) if directory else []
    for lock in sorted(Path(folder) / name for folder, _, names in here for name in names if name.endswith(".lock")):
        try:
            age = time.time() - lock.stat().st_mtime
        except FileNotFoundError:  # its git process has ended meanwhile
            continue
        if age < OLD:
            continue
        if repair:
            lock.unlink(missing_ok=True)
        text = f"was left by a git that died {age / 60:.0f} minutes ago, or that still waits for an editor"
        yield Ailment(_name(workspace, lock), text, f"{REPAIR}, or remove it when no git is running", repair)


def _damage(workspace: Workspace, said: str, now: datetime, *, repair: bool) -> Ailment:
    """Rewrite damaged objects from the files on disk; if the newest version is unreadable, start a new repository."""
    directory = workspace.git.git.git_dir
    where = _name(workspace, directory) if directory else ".git"
    if not repair or directory is None:
        return Ailment(where, said, f"copy the workspace, then {REPAIR}")
    if gitdir.rewrite_objects(workspace.git):
        return Ailment(where, said, mended=True)
    if gitdir.is_readable(workspace.git):
        return Ailment(
            where, f"an older version is damaged: {said}", "the newest is whole; a backup may have the object"
        )
    return _begin_anew(workspace, directory, said, now)


def _begin_anew(workspace: Workspace, directory: Path, said: str, now: datetime) -> Ailment:
    where = _name(workspace, directory)
    kept = gitdir.put_away(directory, workspace.private, now)
    workspace.complete(now)
    return Ailment(
        where, f"{said}; versions begin anew, the damaged ones are kept in {_name(workspace, kept)}", mended=True
    )


def _name(workspace: Workspace, path: Path) -> str:
    return str(path.relative_to(workspace.root)) if path.is_relative_to(workspace.root) else str(path)


def examine(workspace: Workspace, settings: Settings, *, now: datetime, repair: bool = False) -> list[Ailment]:
    """Check versions, history, cursors, memory files and the review queue; an empty list means no problems.

    With `repair`, repair what can be repaired without loss: bytes removed from a file are kept in memory/archive/ or
    .dream/, and a change of a memory file is a commit. Raises Busy with `repair` when another run holds the
    workspace.
    """
    if not repair:
        return _lasting(workspace, partial(_all, workspace, settings, now, repair=False))
    with run_lock(workspace.private, "dream doctor", now=now):
        return list(_all(workspace, settings, now, repair=True))


def _lasting(workspace: Workspace, look: Callable[[], Iterator[Ailment]]) -> list[Ailment]:
    """Return the problems that persist over several checks: an unfinished write of another process is gone by then.

    If no other process is writing, or there is no problem, one check is enough.
    """
    found = list(look())
    for _ in range(LOOKS):
        if not found:
            break
        at_rest = _is_at_rest(workspace)
        time.sleep(PAUSE)
        again = list(look())
        found = [one for one in again if one in found]
        if at_rest and _is_at_rest(workspace):
            break
    return found


def _is_at_rest(workspace: Workspace) -> bool:
    with suppress(OSError):
        return is_free(workspace.private / RUN_LOCK)
    return True  # nobody can write to a read-only disk


def _all(workspace: Workspace, settings: Settings, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    # First the format, and an unfinished commit: every other check depends on them.
    yield from check_format(workspace, repair=repair)
    yield from _unfinished(workspace, repair=repair)
    yield from check_versions(workspace, now, repair=repair)
    yield from check_dream_cursor(workspace, repair=repair)  # before history, which assigns no cursor below it
    yield from check_history(workspace, now, repair=repair)
    yield from check_cursor(workspace, repair=repair)
    yield from check_messages(workspace, now, repair=repair)
    yield from check_decisions(workspace, now, repair=repair)
    yield from check_files(workspace, settings, now, repair=repair)
    yield from _queue(workspace)
    yield from _synced(workspace, settings, repair=repair)
    yield from _leftovers(workspace, repair=repair)
    yield from _without_index(workspace)
    yield from _open_to_all(workspace, repair=repair)


def _unfinished(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    if (workspace.private / INTENT).exists():
        mended = repair and transaction.recover(workspace)
        yield Ailment(".dream/apply.json", "a commit was cut short by a crash", "the next `dream run` ends it", mended)
    for one in unfinished(workspace):
        text = f"the `dream forget` number {one.number}, of {one.since:%Y-%m-%d %H:%M}, did not come to its end"
        ends = f"`dream forget --finish {one.number}` ends it" if one.texts else "run it again with the same text"
        yield Ailment(f".dream/{UNDONE}", text, f"{ends}; `dream forget --give-up {one.number}` leaves it at that")


def _synced(workspace: Workspace, settings: Settings, *, repair: bool) -> Iterator[Ailment]:
    """Name what is wrong with the sync; our copy of the branches is dropped where it is damaged, and fetched anew."""
    wrong, waits = membership.troubles(workspace, settings.sync)
    for text in (*wrong, *waits):
        yield Ailment("sync", text, "docs/sync.md says what each case means")
    copy = workspace.private / branches.FOLDER
    if not copy.is_dir():
        return
    try:
        branches.Branches(workspace.private).git.run("fsck", "--full", "--no-dangling", "--no-progress")
    except GitError as error:
        if repair:
            shutil.rmtree(copy)
        cure = f"{REPAIR} drops it; the next `dream sync` fetches it anew"
        yield Ailment(f".dream/{branches.FOLDER}", f"is damaged: {error}", cure, repair)


def _queue(workspace: Workspace) -> Iterator[Ailment]:
    try:
        waiting = workspace.pending()
    except WorkspaceError:  # reported above
        return
    for proposal in waiting:
        if proposal.file is None and proposal.guard != FORGET:
            span = ", ".join(map(str, proposal.entries))
            text = f"entry {span} could not be dreamt: {proposal.reason}"
            yield Ailment("memory/.pending.jsonl", text, "dream review")


def _leftovers(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Yield temporary files of killed processes; those of running processes are too recent to be reported."""
    for folder in (
        workspace.root,
        workspace.memory,
        workspace.memory / "archive",
        workspace.memory / FOLDER,
        workspace.private,
    ):
        left = set(folder.glob(f".*{TEMPORARY}"))
        if not left:
            continue
        if repair:
            sweep(folder)
        for path in sorted(left):
            text = "was left half-written by a process that was killed"
            cure = "dream doctor --repair removes it, unless its process still lives"
            yield Ailment(str(path.relative_to(workspace.root)), text, cure, not path.exists())


def _without_index(workspace: Workspace) -> Iterator[Ailment]:
    if fault := workspace.history.index.fault():
        text = f"can't be used ({fault}): everything is worked out from the log again, each time"
        yield Ailment(f".dream/{index.NAME}", text, "SQLite needs a local disk that it may write to and lock")


def _open_to_all(workspace: Workspace, *, repair: bool) -> Iterator[Ailment]:
    """Yield files that every user of the machine may read, as in some adopted workspaces.

    Files inside a private directory are safe; files open to a group were opened by a person.
    """
    found = list(_reachable(workspace))
    if found:
        shown = [str(path.relative_to(workspace.root)) for path in found]
        for path in found if repair else ():
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
        more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
        text = "can be read or changed by everybody on this machine"
        yield Ailment(", ".join(shown[:SHOWN]) + more, text, f"{REPAIR} leaves them to you alone", repair)


def _reachable(workspace: Workspace) -> Iterator[Path]:
    """Yield our files and directories that every user may read, write or enter; of git only the top directory."""
    if not workspace.root.stat().st_mode & stat.S_IXOTH:
        return
    waiting = [workspace.root / name for name in (*FILES, "dream.toml", "prompts", "memory", ".dream")]
    if git_dir := gitdir.find(workspace.root, workspace.private):
        waiting.append(git_dir)
    while waiting:
        path = waiting.pop(0)
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode) or not mode & stat.S_IRWXO:
                continue
            yield path
            if stat.S_ISDIR(mode) and path.name not in (".git", "git"):
                waiting += sorted(path.iterdir())
