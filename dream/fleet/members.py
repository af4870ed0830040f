"""The workspaces of a fleet: where they are, whose, when their night is, and whether one has anything new."""

from __future__ import annotations

import os
import stat
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from dream import adoption, trust
from dream.directory import Workspace
from dream.door import check_folder
from dream.errors import DreamError, UsageError, WorkspaceError
from dream.fleet.policy import policy
from dream.pipeline import nothing_to_dream
from dream.settings import EMBEDDED, FILE_NAME, PREFIX, Settings, load
from dream.workspace.files import explained, read_note, write_note
from dream.workspace.live import left_behind, quiet_at
from dream.workspace.locate import is_workspace

if TYPE_CHECKING:
    from dream.consolidate.listing import File

FOLDER = ".dream-fleet"  # in a root: the database, notes on workspaces, and receipts of what was erased
NOTES = "notes"
KNOWN = "known.json"  # in FOLDER: the database that a root was last used with, without a password, and the root's names
DEPTH = 3  # directories between a root and a workspace
OWN_FOLDERS = (
    "memory",
    "memory/archive",
    "memory/messages",
    "places",
    ".dream",
    ".dream/nightly",
    ".dream/bills",
    ".dream/live",
)  # of a workspace, never links
UNDONE = ("stopped", "busy", "bounded", "unavailable")  # outcomes that are nothing the workspace has done wrong
NIGHTS = 3  # failed ones in a row, after which a workspace is set aside
UNDER_WAY = ("apply.json", "attempts.json")  # in .dream/: a commit that is half done, a batch that failed
# What changes with every thing that is said, dreamt, edited or set; `.md` in memory/ comes with its listing.
LOOKED_AT = (
    "SOUL.md",
    "USER.md",
    FILE_NAME,
    "memory/history.jsonl",
    "memory/.dream_cursor",
    *(f".dream/{name}" for name in UNDER_WAY),
)


@dataclass(frozen=True, slots=True)
class Root:
    """A directory of workspaces. Workers that see it under different paths know it by one name."""

    name: str
    path: Path

    @classmethod
    def parse(cls, text: str) -> Root:
        """Read PATH or NAME=PATH; raises UsageError where there is no such directory."""
        name, equals, path = text.partition("=")
        if not equals or "/" in name:
            name, path = "", text
        folder = Path(path).expanduser().absolute()
        if not folder.is_dir():
            raise UsageError(f"The root {path} is not a directory.")
        return cls(name or next(iter(known(folder)[1]), str(folder)), folder)


def known(folder: Path) -> tuple[str, list[str]]:
    """Return the database that a root was last used with, "" for its own, and its names, the last one first."""
    row = read_note(folder / FOLDER / KNOWN)
    return str(row.get("database", "")), [str(name) for name in row.get("names", ())]


@dataclass(frozen=True)
class Member:
    """One workspace of a fleet: its root, and its path beneath that."""

    root: Root
    name: str

    @cached_property
    def path(self) -> Path:
        """Where it lies on this machine."""
        return self.root.path / self.name

    @cached_property
    def key(self) -> str:
        """Its name in the database: the same on each machine, and telling nothing."""
        return digest(self.root.name, self.name)

    @property
    def keys(self) -> list[str]:
        """All names that it may have in the database: a root may have been used by several."""
        names = dict.fromkeys((self.root.name, str(self.root.path), *known(self.root.path)[1]))
        return [digest(name, self.name) for name in names]

    @cached_property
    def shown(self) -> str:
        """Its name for people and for JSON: what is no printable text is escaped."""
        return shown(self.name)

    @property
    def note(self) -> Path:
        """The file in which the fleet notes what it knows of the workspace; out of its tenant's reach."""
        key = digest(self.name)
        return self.root.path / FOLDER / NOTES / key[:2] / f"{key}.json"

    def tenant(self, setting: str) -> str:
        """Return whose it is: what the operator's file says, else its trusted `setting`, else its directory."""
        return policy(self.root.path).workspaces.get(self.name) or setting or self.directory

    @property
    def directory(self) -> str:
        """The directory under the root that contains it."""
        return self.name.partition("/")[0]

    def claims(self, setting: str) -> tuple[str, ...]:
        """Return all whose it may be: one tenant, or its directory and its setting where these differ."""
        decided = policy(self.root.path).workspaces.get(self.name)
        return (decided,) if decided else tuple(dict.fromkeys((self.directory, setting or self.directory)))

    def check(self) -> None:
        """Raise WorkspaceError where a link could lead into another's workspace, or its name is no plain text."""
        if self.name != self.shown:
            raise WorkspaceError("Its name is not printable text in UTF-8; rename the directory.")
        for folder in OWN_FOLDERS:
            if _is_no_folder(f"{self.path}/{folder}"):  # asked of each workspace at each look, so by one call
                with explained("used", self.path / folder):
                    check_folder(self.path / folder)


@dataclass(frozen=True, slots=True)
class Note:
    """What the fleet knows of a workspace. `at` is the end of its last night here, as text that sorts by time.

    `look` is how it looked when nothing was left to do, "" where something was; `files` how the transcripts of its
    `sources` did. At `due`, in seconds, one of them will have been quiet for long enough. `failed` are the days of the
    failed nights since the last good one. The rest are settings, as they were while dream.toml looked as `settings`.
    """

    at: str = ""
    outcome: str = ""
    reason: str = ""  # of the last failure
    look: str = ""
    files: str = ""
    due: float = 0.0
    failed: tuple[str, ...] = ()
    tries: int = 0  # attempts at its night since one last ended: a worker that dies ends none
    settings: str = ""
    tenant: str = ""
    zone: str = ""
    idle_hours: float = 2.0
    sources: tuple[str, ...] = ()
    paid: bool = False  # a model is named that is not the one inside this package

    @property
    def set_aside(self) -> bool:
        """Return whether it failed too often to be tried again before a person looks at it."""
        return len(self.failed) >= NIGHTS

    def ended(self, outcome: str, now: datetime, reason: str = "") -> Note:
        """Return the note after a night that ended this way; until checked, something is assumed to be left to do."""
        failed = (*self.failed, f"{now:%Y-%m-%d}") if outcome in ("failed", "crashed") else ()
        if outcome in UNDONE:
            failed = self.failed
        at = now.astimezone(UTC).isoformat(timespec="microseconds")
        nights = tuple(dict.fromkeys(failed))
        if outcome in ("stopped", "unavailable"):  # it has not been had, and is still due
            at = self.at
        return replace(self, at=at, outcome=outcome, reason=reason, failed=nights, look="", files="", due=0.0)


def read(member: Member) -> Note | None:
    """Read the note on a workspace; None where there is none, or a damaged one."""
    row = read_note(member.note)
    try:
        note = Note(**row | {"failed": tuple(row["failed"]), "sources": tuple(row["sources"])})
        if note.at and datetime.fromisoformat(note.at).tzinfo is None:
            return None
        ZoneInfo(note.zone or "UTC")
    except (TypeError, KeyError, ValueError, OSError):
        return None
    return note


def write(member: Member, note: Note) -> None:
    """Write the note, not durably: losing it costs one night with nothing to do. Raises WorkspaceError."""
    write_note(member.note, asdict(note), durable=False)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A workspace, or a directory, that could not be looked at, and why."""

    workspace: str
    tenant: str
    reason: str


@contextmanager
def apart(member: Member, wrong: list[Wrong]) -> Iterator[None]:
    """Keep what goes wrong with one workspace from all others: it is added to `wrong`, and the block ends."""
    try:
        yield
    except (DreamError, OSError) as error:
        wrong.append(Wrong(member.shown, shown(member.directory), shown(str(error))))
    except Exception as error:  # noqa: BLE001 - a bug that its files have found is not the others' either
        wrong.append(Wrong(member.shown, shown(member.directory), where(error)))


def where(error: BaseException) -> str:
    """Name a bug by its kind and place, without what it says: that may quote a workspace."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"


def beneath(roots: Iterable[Root], wrong: list[Wrong]) -> Iterator[Member]:
    """Yield the workspaces beneath the roots; links and hidden directories are not followed.

    A directory that cannot be read is added to `wrong`.
    """
    for root in roots:
        yield from _beneath(root, "", DEPTH, wrong)


def _beneath(root: Root, prefix: str, depth: int, wrong: list[Wrong]) -> Iterator[Member]:
    here = Member(root, prefix.rstrip("/"))
    try:
        with suppress(FileNotFoundError), os.scandir(here.path) as entries:
            for entry in entries:
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                member, found = Member(root, prefix + entry.name), None
                with apart(member, wrong):
                    found = is_workspace(member.path)
                if found:
                    yield member
                elif found is not None and depth > 1:
                    yield from _beneath(root, f"{member.name}/", depth - 1, wrong)
    except OSError as error:
        wrong.append(Wrong(here.shown or ".", shown(here.directory), shown(str(error))))


def current(member: Member, environ: Mapping[str, str]) -> Note:
    """Return the note with its copy of the settings brought up to date."""
    known, seen = read(member) or Note(), settings_look(member.path, environ)
    if known.settings == seen:
        return known
    try:
        return _set(known, load(member.path, environ=environ, using=()))
    except DreamError:
        return known


def _set(note: Note, settings: Settings) -> Note:
    return replace(
        note,
        tenant=settings.tenant or "",
        zone=settings.timezone or "",
        idle_hours=settings.idle_hours,
        sources=settings.sources,
        paid=settings.models_for() != EMBEDDED,
    )


def news(member: Member, note: Note | None, now: datetime, environ: Mapping[str, str]) -> bool:
    """Return whether a night could have anything to do; if not, this costs a few stat calls and one small read."""
    path = member.path
    if note is None:
        return _is_unknown(path, now, environ)
    if not note.look or note.settings != settings_look(path, environ) or note.look != look(path):
        return True
    if 0 < note.due <= now.timestamp() or _was_left(path, now, note.idle_hours):
        return True
    return bool(note.sources) and note.files != transcripts(path, note, environ)[0]


def is_set_aside(member: Member, note: Note | None, environ: Mapping[str, str]) -> bool:
    """Return whether the workspace waits for a person: it failed three nights, and its settings are as they were."""
    return note is not None and note.set_aside and note.settings == settings_look(member.path, environ)


def _is_unknown(path: Path, now: datetime, environ: Mapping[str, str]) -> bool:
    """Return whether a workspace without a note may have anything to do."""
    if (path / FILE_NAME).exists() or any(name.startswith(PREFIX) for name in environ):
        return True
    try:
        return _has_work(Workspace(path)) or _was_left(path, now, Settings().idle_hours)
    except DreamError:
        return True


def _has_work(workspace: Workspace) -> bool:
    """Return whether a run would have something to settle or to dream."""
    if any((workspace.private / name).exists() for name in UNDER_WAY):
        return True
    return bool(adoption.new_notes(workspace)) or nothing_to_dream(workspace) is None


def _was_left(path: Path, now: datetime, idle_hours: float) -> bool:
    private = path / ".dream"
    if not (private / "live").is_dir():
        return False
    return bool(left_behind(private, quiet_at(now, replace(Settings(), idle_hours=idle_hours))))


def look(path: Path) -> str:
    """Return a fingerprint of everything that a night would work on, except the transcripts."""
    stats: list[object] = [_stat(f"{path}/{name}") for name in LOOKED_AT]
    with suppress(OSError), os.scandir(path / "memory") as entries:
        stats += sorted((entry.name, _stat(entry.path)) for entry in entries if entry.name.endswith(".md"))
    return digest(stats)


def settings_look(path: Path, environ: Mapping[str, str]) -> str:
    """Return a fingerprint of the settings."""
    ours = sorted((name, value) for name, value in environ.items() if name.startswith(PREFIX))
    return digest(_stat(f"{path}/{FILE_NAME}"), _stat(f"{path}/{trust.MARK}"), ours)


def transcripts(path: Path, note: Note, environ: Mapping[str, str]) -> tuple[str, list[File] | None]:
    """Return a fingerprint of the transcripts in the settings, and their list; None if they can't be listed."""
    from dream.consolidate import listing

    named = replace(Settings(), sources=note.sources)
    try:
        files = listing.paths(named, path, home=Path.home(), environ=environ)
    except DreamError as error:
        return digest(str(error)), None
    return digest(sorted((file.name, file.look) for file in files)), files


def settle(workspace: Workspace, settings: Settings, note: Note, now: datetime, environ: Mapping[str, str]) -> Note:
    """Return `note` with the workspace's present fingerprint if nothing is left to do in it."""
    from dream.consolidate import listing

    note = replace(_set(note, settings), settings=settings_look(workspace.root, environ))
    seen = look(workspace.root)  # first: what comes while it is looked at is news
    look_of_files, files = transcripts(workspace.root, note, environ) if note.sources else ("", [])
    if files is None or _has_work(workspace):
        return note
    unread = listing.Seen(workspace.history).unread(files)
    if listing.quiet(unread, now, settings.idle_hours):
        return note
    quiet = [file.look[1] / 1e9 + settings.idle_hours * 3600 for file in files]
    due = min((at for at in quiet if at > now.timestamp()), default=0.0)
    return replace(note, look=seen, files=look_of_files, due=due)


@dataclass(frozen=True, slots=True)
class Window:
    """The hours of the local night over which the nights are spread."""

    start: time = time(3)
    hours: float = 3.0
    zone: str = field(default="UTC")  # of workspaces that name none

    @classmethod
    def parse(cls, text: str, zone: str) -> Window:
        """Read `03:00-06:00`; raises UsageError."""
        try:
            start, end = (time.fromisoformat(part.strip()) for part in text.split("-"))
            ZoneInfo(zone)
        except (ValueError, KeyError) as error:
            raise UsageError(f"{text!r} in {zone!r} is not a window of the night; write it as 03:00-06:00.") from error
        minutes = (end.hour * 60 + end.minute - start.hour * 60 - start.minute) % (24 * 60)
        return cls(start, (minutes or 24 * 60) / 60, zone)

    def last(self, member: Member, note: Note | None, now: datetime) -> tuple[datetime, date]:
        """Return when the workspace's latest night before `now` was due, and its local day.

        The nights are spread by a hash, each in its workspace's own time zone.
        """
        zone = ZoneInfo(note.zone if note and note.zone else self.zone)
        share = int(member.key, 16) % 100_000 / 100_000
        local = now.astimezone(zone)
        for day in range(3):
            night = local.date() - timedelta(days=day)
            begun = datetime.combine(night, self.start, zone)
            slot = begun.astimezone(UTC) + timedelta(hours=self.hours * share)
            if slot <= now:
                return slot, night
        raise AssertionError("a day has a night")


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _is_no_folder(path: str) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def shown(name: str) -> str:
    """Return a name or sentence with all that is no printable text escaped: bytes that are not UTF-8, line ends."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def digest(*parts: object) -> str:
    """Return a fingerprint of the parts: 16 hexadecimal digits."""
    return blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
