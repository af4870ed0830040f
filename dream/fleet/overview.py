"""How a fleet stands, read from the workspaces and the queue, and never changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from dream.directory import Workspace
from dream.errors import DreamError
from dream.fleet import members
from dream.fleet.engine import Queue
from dream.fleet.members import Member, Note, Root, Wrong
from dream.history.history import History
from dream.reports import Usage
from dream.workspace.bills import Bills


@dataclass(frozen=True, slots=True)
class Trouble:
    """A workspace that needs a person: how many of its nights failed, and why the last one did."""

    workspace: str
    tenant: str
    nights: int
    reason: str


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant's workspaces, backlog and spending. `oldest` is the time of the oldest entry that was not dreamt."""

    tenant: str
    workspaces: int = 0
    waiting: int = 0
    oldest: datetime | None = None
    nights_today: int = 0
    held: int = 0
    today: Usage = field(default_factory=Usage)
    month: Usage = field(default_factory=Usage)

    def __add__(self, other: Tenant) -> Tenant:
        return Tenant(
            self.tenant,
            self.workspaces + other.workspaces,
            self.waiting + other.waiting,
            min((one for one in (self.oldest, other.oldest) if one), default=None),
            self.nights_today + other.nights_today,
            self.held + other.held,
            self.today + other.today,
            self.month + other.month,
        )


@dataclass(frozen=True, slots=True)
class Fleet:
    """The fleet's status: totals, each tenant, what failed, what is set aside, and the queue."""

    total: Tenant
    tenants: tuple[Tenant, ...]
    failed: tuple[Trouble, ...]
    set_aside: tuple[Trouble, ...]
    wrong: tuple[Wrong, ...]  # what could not be looked at
    queue: dict[str, int]


def read(roots: Sequence[Root], queue: Queue | None, now: datetime) -> Fleet:
    """Look at every workspace beneath the roots; tenants are sorted by what they spend in the month."""
    tenants: dict[str, Tenant] = {}
    failed: list[Trouble] = []
    aside: list[Trouble] = []
    wrong: list[Wrong] = []
    for member in members.beneath(roots, wrong):
        with members.apart(member, wrong):
            known = members.current(member, os.environ)
            one = _of(member, known, now)
            tenants[one.tenant] = tenants.get(one.tenant, Tenant(one.tenant)) + one
            if known.failed:
                trouble = Trouble(member.name, one.tenant, len(known.failed), known.reason)
                (aside if members.is_set_aside(member, known, os.environ) else failed).append(trouble)
    listed = sorted(tenants.values(), key=lambda one: (-one.month.tokens, one.tenant))
    total = sum(listed, Tenant("all"))
    counts = queue.waiting() if queue else {}
    return Fleet(total, tuple(listed), tuple(failed), tuple(aside), tuple(wrong), counts)


def _of(member: Member, known: Note, now: datetime) -> Tenant:
    today, month, day = tally(member, known, now)
    zone = _zone(known)
    there = bool(known.at) and f"{datetime.fromisoformat(known.at).astimezone(zone):%Y-%m-%d}" == day
    fresh = members.read(member)
    waits = members.news(member, fresh, now, os.environ)
    workspace = Workspace(member.path)
    held = len(workspace.pending()) if (member.path / "memory" / ".pending.jsonl").exists() else 0
    return Tenant(
        member.tenant(known.tenant),
        1,
        int(waits),
        _oldest(workspace) if waits else None,
        int(there),
        held,
        today,
        month,
    )


def _oldest(workspace: Workspace) -> datetime | None:
    with suppress(DreamError):
        history = History(workspace.memory, private=workspace.private)  # also where the settings can't be read
        entry = next(history.after(workspace.dream_cursor()), None)
        history.close()
        return entry.at.astimezone(UTC) if entry else None
    return None


def tally(member: Member, known: Note, now: datetime) -> tuple[Usage, Usage, str]:
    """Return the day's and the month's spending by a workspace's own bills, and which day that is in its zone."""
    member.check()  # a link would count another's
    zone = _zone(known)
    spent = Bills(member.path / ".dream").spent(now, zone)
    return spent.today, spent.month, f"{now.astimezone(zone):%Y-%m-%d}"


def _zone(known: Note) -> tzinfo:
    return ZoneInfo(known.zone) if known.zone else datetime.now().astimezone().tzinfo or UTC
