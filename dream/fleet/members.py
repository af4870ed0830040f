"""The workspaces of a fleet: where they are, whose, when their night is, and whether one has anything new."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from dream.errors import DreamError, UsageError
from dream.settings import EMBEDDED, FILE_NAME, PREFIX, Settings, load
from dream.workspace import idle
from dream.workspace.files import read_note, write_note
from dream.workspace.live import left_behind, quiet_at
from dream.workspace.places import is_workspace
from dream.workspace.workspace import Workspace

if TYPE_CHECKING:
    from dream.workspace.listing import File

FOLDER = ".dream-fleet"  # in a root: the database, and the receipts of what was erased
NOTE = Path(".dream") / "nightly" / "fleet.json"
DEPTH = 3  # directories between a root and a workspace
NIGHTS = 3  # failed ones in a row, after which a workspace is set aside
# What changes with every thing that is said, dreamt, edited or set; `.md` in memory/ comes with its listing.
LOOKED_AT = (
    "SOUL.md",
    "USER.md",
    FILE_NAME,
    "memory/history.jsonl",
    "memory/.dream_cursor",
    *(f".dream/{name}" for name in idle.UNDER_WAY),
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
        return cls(name or str(folder), folder)


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

    def tenant(self, note: Note) -> str:
        """Whose it is: as its settings say, else the directory under the root."""
        return note.tenant or self.name.partition("/")[0]


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
    settings: str = ""
    tenant: str = ""
    zone: str = ""
    idle_hours: float = 2.0
    sources: tuple[str, ...] = ()
    subagents: bool = False
    paid: bool = False  # a model is named that is not the one inside this package

    @property
    def set_aside(self) -> bool:
        """Return whether it failed too often to be tried again before a person looks at it."""
        return len(self.failed) >= NIGHTS

    def ended(self, outcome: str, now: datetime, reason: str = "") -> Note:
        """Return the note after a night that ended this way; until checked, something is assumed to be left to do."""
        failed = (*self.failed, f"{now:%Y-%m-%d}") if outcome in ("failed", "crashed") else ()
        if outcome in ("stopped", "busy", "bounded"):
            failed = self.failed
        at = now.astimezone(UTC).isoformat(timespec="microseconds")
        nights = tuple(dict.fromkeys(failed))
        if outcome == "stopped":  # it has not been had, and is still due
            at = self.at
        return replace(self, at=at, outcome=outcome, reason=reason, failed=nights, look="", files="", due=0.0)


def read(path: Path) -> Note | None:
    """Read the note of the workspace at `path`; None where there is none that can be read."""
    try:
        row = read_note(path / NOTE)
        return Note(**row | {"failed": tuple(row["failed"]), "sources": tuple(row["sources"])})
    except (TypeError, KeyError, ValueError, OSError):
        return None


def write(path: Path, note: Note) -> None:
    """Write the note; losing it costs one night with nothing to do."""
    with suppress(OSError, DreamError):
        write_note(path / NOTE, asdict(note), durable=False)


def beneath(root: Root) -> Iterator[Member]:
    """Yield the workspaces beneath a root; links and hidden directories are not followed."""
    return (Member(root, name) for name in _beneath(str(root.path), "", DEPTH))


def _beneath(folder: str, prefix: str, depth: int) -> Iterator[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                continue
            if is_workspace(Path(entry.path)):
                yield prefix + entry.name
            elif depth > 1:
                yield from _beneath(entry.path, f"{prefix}{entry.name}/", depth - 1)


def current(member: Member, environ: Mapping[str, str]) -> Note:
    """Return the note with its copy of the settings brought up to date."""
    known, seen = read(member.path) or Note(), settings_look(member.path, environ)
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
        subagents=settings.include_subagents,
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
    return idle.nothing_to_dream(path) is None or _was_left(path, now, Settings().idle_hours)


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
    return digest(_stat(f"{path}/{FILE_NAME}"), ours)


def transcripts(path: Path, note: Note, environ: Mapping[str, str]) -> tuple[str, list[File] | None]:
    """Return a fingerprint of the transcripts in the settings, and their list; None if they can't be listed."""
    from dream.workspace import listing

    named = replace(Settings(), sources=note.sources, include_subagents=note.subagents)
    try:
        files = listing.paths(named, path, home=Path.home(), environ=environ)
    except DreamError as error:
        return digest(str(error)), None
    return digest(sorted((file.name, file.look) for file in files)), files


def settle(workspace: Workspace, settings: Settings, note: Note, now: datetime, environ: Mapping[str, str]) -> Note:
    """Return `note` with the workspace's present fingerprint if nothing is left to do in it."""
    note = replace(_set(note, settings), settings=settings_look(workspace.root, environ))
    seen = look(workspace.root)  # first: what comes while it is looked at is news
    look_of_files, files = transcripts(workspace.root, note, environ) if note.sources else ("", [])
    if files is None or idle.nothing_to_dream(workspace.root) is None:
        return note
    if files and idle.nothing_to_read(workspace, files, settings, now) is None:
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

    def last(self, member: Member, note: Note | None, now: datetime) -> datetime:
        """Return when the workspace's latest night before `now` was due: spread by a hash, in its own time zone."""
        zone = ZoneInfo(note.zone if note and note.zone else self.zone)
        share = int(member.key, 16) % 100_000 / 100_000
        local = now.astimezone(zone)
        for day in range(3):
            begun = datetime.combine(local.date() - timedelta(days=day), self.start, zone)
            slot = begun.astimezone(UTC) + timedelta(hours=self.hours * share)
            if slot <= now:
                return slot
        raise AssertionError("a day has a night")


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def digest(*parts: object) -> str:
    """Return a fingerprint of the parts: 16 hexadecimal digits."""
    return blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
