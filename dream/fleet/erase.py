"""Export a tenant's data as one archive, or erase it and leave a receipt without names."""

from __future__ import annotations

import getpass
import hmac
import io
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import orjson

from dream import trust
from dream.door import contents, make_folder, open_file
from dream.errors import Busy, UsageError, WorkspaceError
from dream.fleet import members
from dream.fleet.engine import Queue
from dream.fleet.members import FOLDER, Member, Note, Root, Wrong
from dream.fleet.policy import FILE as POLICY
from dream.settings import load
from dream.workspace.files import explained, replace_file
from dream.workspace.lock import run_lock

KEY = "fleet.key"  # in the user's state directory: receipts are made with it, and can be checked with it alone


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased, or would be: files and bytes of each workspace, and nights in the database.

    `busy` workspaces are still there: a night or another run held them. `elsewhere` are transcripts outside the
    workspaces that their settings name; they are not touched. `remains` says what may be left in the database's files.
    """

    tenant: str
    workspaces: tuple[str, ...]
    files: int
    bytes: int
    nights: int
    busy: tuple[str, ...]
    elsewhere: tuple[str, ...]
    remains: str
    receipt: Path | None
    dry_run: bool


def erase(tenant: str, roots: Sequence[Root], queue: Queue, now: datetime, *, dry_run: bool) -> Erased:
    """Erase a tenant's workspaces with every trace in the database, and leave a receipt without content.

    What is written in a workspace does not decide whose it is: where its trusted setting names another tenant than its
    directory does, nothing is erased before the operator's file says which is right. A workspace that a night or
    another run holds stays; Busy is raised if all are held, and UsageError for a tenant without workspaces.
    """
    found, key = owned(tenant, roots), _key()
    signed = _sign(key, tenant)
    # An erasure that was cut short has left some behind.
    left = [path for root in roots for path in sorted((root.path / FOLDER / "erasing").glob(f"{signed}-*"))]
    if not found and not left:
        raise UsageError(f"The tenant {tenant!r} has no workspace under {', '.join(str(root.path) for root in roots)}.")
    elsewhere = tuple(sorted({name for member in found for name in _elsewhere(member)}))
    remains = _remains(queue)
    if dry_run:
        names = tuple(member.shown for member in found)
        files, total = _summed([_size(member.path) for member in found])
        return Erased(tenant, names, files, total, 0, (), elsewhere, remains, None, dry_run)
    # 1. No new night starts, and what no run holds is moved away.
    away = _move_away(found, queue, signed, now)
    if away.busy and not (left or away.paths):
        raise away.busy[0][1]
    # 2. Write a receipt: who erased what, when and how, and what is elsewhere.
    transcripts = [_sign(key, name) for name in elsewhere]
    kept = {"busy": len(away.busy), "transcripts": transcripts, "database": remains}
    receipt = _write_receipt(roots[0], signed, away, kept, now)
    # 3. Delete the files, the rows in the database, and their bytes on disk.
    for path in (*left, *away.paths):
        _remove(path)
    for member in away.done:
        member.note.unlink(missing_ok=True)
        _drop_empty(member)
    if not away.busy:
        _forget_spending(tenant, queue)
    queue.scrub()
    files, total = _summed(away.proof)
    gone, busy = tuple(one.shown for one in away.done), tuple(one.shown for one, _ in away.busy)
    return Erased(tenant, gone, files, total, away.nights, busy, elsewhere, remains, receipt, dry_run)


@dataclass(slots=True)
class _MovedAway:
    """The workspaces that were moved away to be deleted: where they are, and their sizes for the receipt.

    `busy` ones stay, each with what holds it. `nights` were forgotten in the database.
    """

    nights: int
    paths: list[Path] = field(default_factory=list)
    done: list[Member] = field(default_factory=list)
    proof: list[Mapping[str, int]] = field(default_factory=list)
    busy: list[tuple[Member, Busy]] = field(default_factory=list)


def _move_away(found: Sequence[Member], queue: Queue, signed: str, now: datetime) -> _MovedAway:
    """Move each workspace away in one step: after a crash it is whole, or the next erasure finishes the work.

    One that a running night or another run holds is left for the next erasure.
    """
    away = _MovedAway(queue.forget([key for member in found for key in member.keys]))
    for member in found:
        try:
            with held(member, "dream fleet erase", now):
                away.nights += queue.forget(member.keys)
                size = _size(member.path)
                trust.forget(member.path, trust.state_directory(os.environ))  # a note that holds its path
                away.paths.append(_moved(member, signed, now))
        except Busy as error:
            away.busy.append((member, error))
        else:
            away.proof.append(size)
            away.done.append(member)
    return away


def _write_receipt(root: Root, signed: str, away: _MovedAway, kept: Mapping[str, object], now: datetime) -> Path:
    """Write the receipt of an erasure, without the tenant's name or content; return where it is."""
    receipt = root.path / FOLDER / "receipts" / f"{now:%Y%m%dT%H%M%S}-{signed[:12]}-{os.urandom(3).hex()}.json"
    row = {
        "erased": now.isoformat(),
        "by": f"{_user()} on {os.uname().nodename}",
        "version": f"dream-memory {version('dream-memory')}",
        "tenant": signed,
        "nights": away.nights,
        "workspaces": away.proof,
        "not_erased": kept,
    }
    make_folder(receipt.parent)
    replace_file(receipt, orjson.dumps(row, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return receipt


def _forget_spending(tenant: str, queue: Queue) -> None:
    """Delete what the database knows of a tenant's turn, spending and calls."""
    spent = [name for name in queue.ledger.get("spent:") if name.split(":", 3)[3:] == [tenant]]
    queue.ledger.forget([f"turn:{tenant}", *spent])
    queue.ledger.forget_calls(tenant)


def owned(tenant: str, roots: Sequence[Root]) -> list[Member]:
    """Return a tenant's workspaces; raises UsageError where the owner of one is ambiguous."""
    found: list[Member] = []
    unclear: list[tuple[Member, tuple[str, ...]]] = []
    wrong: list[Wrong] = []
    for member in members.beneath(roots, wrong):
        setting = ""
        with members.apart(member, wrong):  # settings that can't be read name nobody
            setting = load(member.path, environ=os.environ, using=()).tenant or ""
        whose = member.claims(setting)
        if whose == (tenant,):
            found.append(member)
        elif tenant in whose:
            unclear.append((member, whose))
    if unclear:
        lines = "; ".join(f"{member.shown}: {' or '.join(map(members.shown, whose))}" for member, whose in unclear)
        raise UsageError(
            f"Whose these workspaces are is not clear, as their directories and their settings differ: {lines}. Say it "
            f"in {unclear[0][0].root.path / POLICY}, under [workspaces]: "
            f'"{unclear[0][0].shown}" = "{members.shown(tenant)}".'
        )
    return found


def held(member: Member, command: str, now: datetime) -> ExitStack:
    """Hold a workspace's lock for a block; raises Busy. A lock that can't be opened (a link) counts as free."""
    stack = ExitStack()
    with suppress(WorkspaceError):
        stack.enter_context(run_lock(member.path / ".dream", command, now=now))
    return stack


def _remains(queue: Queue) -> str:
    """Say what the database's files may still hold of the deleted rows: names, paths, counts; never messages."""
    if queue.file is not None:
        return "nothing: SQLite's file is rewritten; backups of it are not touched"
    return (
        "Postgres: the tables' files until it reuses the space; the write-ahead log and backups until they are recycled"
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _summed(proof: Sequence[Mapping[str, int]]) -> tuple[int, int]:
    return sum(one["files"] for one in proof), sum(one["bytes"] for one in proof)


def _moved(member: Member, signed: str, now: datetime) -> Path:
    goal = member.root.path / FOLDER / "erasing" / f"{signed}-{member.key}-{now:%Y%m%dT%H%M%S}"
    with explained("erased", member.path):
        make_folder(goal.parent)
        member.path.rename(goal)
    return goal


def _remove(path: Path) -> None:
    """Remove a directory with everything in it, even folders in it without write permission."""
    for folder, folders, _ in os.walk(path):
        for name in folders:
            inner = Path(folder, name)
            with suppress(OSError):
                if not inner.is_symlink():
                    inner.chmod(0o700)
    with explained("erased", path):
        shutil.rmtree(path)


def _drop_empty(member: Member) -> None:
    for above in member.path.parents:
        if above == member.root.path:
            return
        with suppress(OSError):
            above.rmdir()


def _elsewhere(member: Member) -> Iterator[str]:
    for source in (members.read(member) or Note()).sources:
        if not (member.path / source).resolve().is_relative_to(member.path.resolve()):
            yield source


def _size(path: Path) -> dict[str, int]:
    """Return how many files a workspace has, and their bytes."""
    found = [Path(folder, name).lstat().st_size for folder, _, names in os.walk(path) for name in names]
    return {"files": len(found), "bytes": sum(found)}


def _sign(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogateescape"), "sha256").hexdigest()


def _key() -> bytes:
    """Read the key of this user's receipts, made when it is first needed."""
    state = trust.state_directory(os.environ)
    if state is None:
        raise WorkspaceError("There is no home directory to keep the key of receipts in; set XDG_STATE_HOME.")
    path = state / KEY
    with explained("used", path):
        make_folder(state)
        with suppress(FileExistsError), os.fdopen(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as made:
            made.write(os.urandom(32))
        return contents(path)


# Export of all that a tenant has, as one archive.


@dataclass(frozen=True, slots=True)
class Exported:
    """What an archive holds."""

    tenant: str
    workspaces: tuple[str, ...]
    elsewhere: tuple[str, ...]
    archive: Path
    bytes: int


def export(tenant: str, roots: Sequence[Root], queue: Queue | None, now: datetime, archive: Path) -> Exported:
    """Write a tenant's workspaces, and what the database knows of them, to one new archive (`.tar.gz`, 0600).

    Raises Busy if a night or another run holds one of them, and UsageError for a tenant without workspaces.
    """
    found = owned(tenant, roots)
    if not found:
        raise UsageError(f"The tenant {tenant!r} has no workspace under {', '.join(str(root.path) for root in roots)}.")
    elsewhere = tuple(sorted({name for member in found for name in _elsewhere(member)}))
    spent = queue.ledger.get("spent:") if queue else {}
    about = {
        "tenant": members.shown(tenant),
        "exported": now.isoformat(),
        "version": f"dream-memory {version('dream-memory')}",
        "workspaces": [member.shown for member in found],
        "elsewhere": elsewhere,
        "spent": {name: value for name, value in spent.items() if name.split(":", 3)[3:] == [tenant]},
    }
    with explained("written", archive), ExitStack() as stack:
        for member in found:
            stack.enter_context(held(member, "dream fleet export", now))
        file = stack.enter_context(os.fdopen(open_file(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb"))
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            row = orjson.dumps(about, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            entry = tarfile.TarInfo("export.json")
            entry.size, entry.mtime, entry.mode = len(row), int(now.timestamp()), 0o600
            tar.addfile(entry, io.BytesIO(row))
            for member in found:
                tar.add(member.path, member.name)  # links as links: nothing outside is read
                if member.note.exists():
                    tar.add(member.note, f"{member.name}.fleet.json")
    names = tuple(member.shown for member in found)
    return Exported(tenant, names, elsewhere, archive, archive.stat().st_size)
