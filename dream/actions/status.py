"""The status of a workspace, as `dream status` shows it; nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from dream.actions import check, membership
from dream.actions.membership import Meeting
from dream.consolidate import listing
from dream.crontime import Timetable, parse
from dream.directory import Workspace, absent
from dream.errors import DreamError, WorkspaceError
from dream.models import Diagnostic, MemoryFile
from dream.reports import HIDDEN, Usage
from dream.settings import Settings, reaching
from dream.text import tokens
from dream.versions import transaction
from dream.workspace import places, runs, stamp
from dream.workspace.bills import Bills
from dream.workspace.files import check_plain, read_bytes, readable
from dream.workspace.live import holds_any
from dream.workspace.runs import RunRecord

RUNS = 5  # shown of the run record
BOTS = ("AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "sessions")  # of nanobot and OpenClaw, which read the files
DAMAGE = 3  # places in the log that are named; the doctor names more
LOOKED_AT = 30  # of the run record, for the last one of each command
WORDS = {"consolidate": "consolidation"}
LATE_NIGHT = timedelta(hours=12)  # a machine that slept through the night makes up for it by then
LATE = timedelta(hours=36)  # after which a backlog that nobody dreamt is worth a word


@dataclass(frozen=True, slots=True)
class FileSize:
    """How large a memory file is, and how large it may become."""

    lines: int
    bytes: int
    tokens: int
    max_lines: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class LogSize:
    """How much history there is, and the cursor of its newest entry."""

    entries: int
    tokens: int
    last_cursor: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much of history has not been dreamt."""

    entries: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Health:
    """How a workspace stands. Token counts are estimates; `problems` are sentences, none when all is well.

    `warnings` say which agents on this machine are not read; `is_live` that a live session has more than history.
    """

    workspace: Path
    model: str
    history: LogSize
    dream_cursor: int
    backlog: Backlog
    files: Mapping[MemoryFile, FileSize]
    pending: int
    spent: Mapping[str, float | None]
    today: Usage = field(metadata=HIDDEN)
    month: Usage = field(metadata=HIDDEN)
    last_run: RunRecord | None
    runs: tuple[RunRecord, ...]
    next_run: datetime | None
    scheduled: tuple[str, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    doubts: str = ""  # what `dream check` finds in the lines, in short
    is_live: bool = field(default=False, metadata=HIDDEN)
    sync: Meeting | None = None  # how the last sync went; None where the workspace is not synced


def read(workspace: Workspace, settings: Settings, now: datetime, scheduled: Mapping[str, Timetable]) -> Health:
    """Read the status of `workspace`; `scheduled` names what starts its nights besides `dream serve`, and when.

    A memory file that cannot be read is a problem among others, not an error.
    """
    # 1. What is on disk: files, history, what waits, what was spent, what has run.
    problems = absent(workspace.root)
    files = _files(workspace, settings, problems)
    history, cursor = workspace.history, workspace.dream_cursor()
    backlog = Backlog(*history.backlog(cursor))
    spent = Bills(workspace.private).spent(now, settings.zone())
    recorded = runs.last(workspace.private, LOOKED_AT)
    # 2. What is to come: the next night, from what serves it or starts it.
    zone = settings.zone() if settings.timezone else None
    serving = stamp.served(workspace.private)
    clocks = list(scheduled.values()) or [(parse(settings.schedule), zone)]
    next_run = serving or (min(cron.after(now, within) for cron, within in clocks) if scheduled else None)
    # 3. What is not as it should be.
    problems += _versions(workspace)
    problems += _untrusted(workspace)
    problems += _damaged(history.flaws(archive=False))
    problems += _failed(recorded)
    problems += _missed(workspace, clocks, now, zone) if next_run else []
    problems += _doubled(list(scheduled))
    problems += _idle(recorded, now, zone) if backlog.entries else []
    unsynced, waits = membership.troubles(workspace, settings.sync)
    problems += unsynced
    return Health(
        workspace=workspace.root,
        model=settings.models_for(),
        history=LogSize(*history.size(), history.last_cursor()),
        dream_cursor=cursor,
        backlog=backlog,
        files=files,
        pending=len(workspace.pending()),
        spent={
            "today_tokens": spent.today.tokens,
            "today_usd": spent.today.cost_usd,
            "month_tokens": spent.month.tokens,
            "month_usd": spent.month.cost_usd,
        },
        today=spent.today,
        month=spent.month,
        last_run=recorded[0] if recorded else None,
        runs=tuple(recorded[:RUNS]),
        next_run=next_run,
        scheduled=("serve", *scheduled) if serving else tuple(scheduled),
        problems=tuple(problems),
        warnings=(
            *listing.unread_agents(workspace, settings, now, home=Path.home(), environ=os.environ),
            *_places(workspace),
            *waits,
        ),
        doubts=_doubts(workspace, now),
        is_live=holds_any(workspace.private),
        sync=membership.meeting(workspace) if settings.sync else None,
    )


def _doubts(workspace: Workspace, now: datetime) -> str:
    """Return in short what `dream check` finds; a file that cannot be read is told elsewhere."""
    with suppress(WorkspaceError):
        return check.in_short(check.doubts(workspace, now))
    return ""


def _places(workspace: Workspace) -> list[str]:
    """Ask whether projects with one git remote are the same, and warn of bots that read the files themselves."""
    try:
        known = workspace.places()
    except WorkspaceError as error:
        return [str(error)]
    asked = [places.question(*pair) for pair in known.alike()]
    groups = sum(place.is_group for place in known.all())
    bots = groups and any((workspace.root / name).exists() for name in BOTS)
    told = "a bot that reads SOUL.md, USER.md and MEMORY.md here by itself shows them in its group chats too"
    lost = [places.orphaned(name) for name in known.lost()]
    return [*asked, *lost, *([f"{told}: docs/places.md"] if bots else [])]


def _files(workspace: Workspace, settings: Settings, problems: list[str]) -> dict[MemoryFile, FileSize]:
    """Measure the memory files; one that cannot be read is added to `problems`."""
    files: dict[MemoryFile, FileSize] = {}
    for name in workspace.files():
        try:
            check_plain(workspace.root / name)
            text, wrong = readable(read_bytes(workspace.root / name) or b"")
            files[name] = _size(name, text, settings)
            problems += [f"{name}, {wrong}: `dream doctor --repair` mends it"] if wrong else []
        except WorkspaceError as error:
            problems.append(str(error))
    return files


def _versions(workspace: Workspace) -> list[str]:
    """Report versions that are missing, or that git may not read."""
    if not workspace.git.exists:
        return ["there are no versions of this workspace, or no longer: `dream doctor --repair` makes them"]
    try:
        workspace.git.check()
        lost = transaction.lost_decisions(workspace)
    except DreamError as error:
        return [str(error).removesuffix(".")]
    if lost:
        return [f"{path} {one.text}: `dream doctor --repair` puts them back" for path, one in lost.items()]
    if workspace.git.has_damaged_index:
        return [".git/index is damaged, so git itself fails in the workspace: `dream doctor --repair` makes it anew"]
    return []


def _untrusted(workspace: Workspace) -> list[str]:
    """Return which settings do not count because the workspace came from elsewhere."""
    named = reaching(workspace.root)
    if not named or workspace.is_trusted:
        return []
    return [f"not trusted on this machine, so its own {', '.join(named)} does not count: `dream trust` shows it"]


def _damaged(flaws: Sequence[Diagnostic]) -> list[str]:
    """Return the first missing or damaged places of the log, and the number of the others."""
    told = [str(flaw).removesuffix(".") for flaw in flaws[:DAMAGE]]
    more = len(flaws) - len(told)
    return [*told, *([f"{more} more places of history are damaged: `dream doctor` names them"] if more else [])]


def _failed(recorded: Sequence[RunRecord]) -> list[str]:
    """Report each command whose last run failed; `recorded` is newest first."""
    latest = {record.command: record for record in reversed(recorded) if record.outcome != "refused"}
    failed = [record for record in latest.values() if record.outcome == "failed"]
    return [f"the last {WORDS.get(one.command, one.command)} failed: {one.reason}" for one in failed]


def _idle(recorded: Sequence[RunRecord], now: datetime, zone: tzinfo | None) -> list[str]:
    """Report that nothing has run for long, where there is a backlog."""
    if not recorded or now - recorded[0].ended <= LATE:
        return []
    return [f"nothing has run since {recorded[0].ended.astimezone(zone):%Y-%m-%d %H:%M}"]


def _doubled(kinds: Sequence[str]) -> list[str]:
    """Report two schedulers that both start the nights."""
    if len(kinds) < 2:
        return []
    return [f"{' and '.join(kinds)} both start the nights: `dream cron remove {kinds[-1]}` takes one away"]


def _missed(workspace: Workspace, clocks: Sequence[Timetable], now: datetime, zone: tzinfo | None) -> list[str]:
    """Report a night that was due long ago and did not happen: the scheduled command does not start, or is stopped."""
    last = stamp.last_night(workspace.private)
    due = max(cron.before(now - LATE_NIGHT, within) for cron, within in clocks)
    if last is None or last >= due:
        return []
    had = f"{last.astimezone(zone):%Y-%m-%d %H:%M}"
    return [f"the night of {due.astimezone(zone):%Y-%m-%d %H:%M} was missed; the last one was {had}"]


def _size(name: MemoryFile, text: str, settings: Settings) -> FileSize:
    return FileSize(text.count("\n"), len(text.encode("utf-8")), tokens.estimate(text), *settings.limits(name))
