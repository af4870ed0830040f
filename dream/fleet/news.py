"""Which workspaces are to have a night: those with something new, now or when their time in the window has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dream.fleet import members
from dream.fleet.members import Member, Note, Root, Window, Wrong


@dataclass(frozen=True, slots=True)
class Waiting:
    """A workspace that is to have a night: whose it is, since when it waits, and what makes this night one of its own.

    `delay` is in seconds. `tenant` is whose turn in the queue it takes.
    """

    member: Member
    tenant: str
    since: str
    mark: str
    delay: float = 0.0

    @property
    def id(self) -> str:
        """The night's name in the database."""
        return f"{self.member.key}-{self.mark}"

    @property
    def arguments(self) -> tuple[str, str]:
        """What the night is run with: where its workspace is, for a worker that sees it."""
        return self.member.root.name, self.member.name


@dataclass(slots=True)
class Looked:
    """What was checked to find workspaces with something new, and what of it could not be looked at."""

    workspaces: int = 0
    set_aside: list[str] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)


def find(
    roots: Sequence[Root], now: datetime, environ: Mapping[str, str], looked: Looked, *, again: bool = False
) -> Iterator[Waiting]:
    """Find the workspaces that have something new; with `again`, also those that were set aside."""

    def new(member: Member, known: Note | None) -> Waiting | None:
        if not _has_news(member, known, now, environ, looked, again=again):
            return None
        at = known.at if known else ""
        mark = f"{now:%Y%m%d}-{members.digest(members.look(member.path), at)}"
        return Waiting(member, member.tenant(members.current(member, environ).tenant), at, mark)

    return _each(roots, looked, new)


def due(
    roots: Sequence[Root],
    window: Window,
    now: datetime,
    ahead: timedelta,
    environ: Mapping[str, str],
    looked: Looked,
) -> Iterator[Waiting]:
    """Find the workspaces with something new whose night comes within `ahead`, or was missed, or would be the first.

    A night is named by the local day on which its window opens: every night has a name of its own.
    """

    def comes(member: Member, known: Note | None) -> Waiting | None:
        at, (slot, night) = known.at if known else "", window.last(member, known, now + ahead)
        is_due = slot > now or at == "" or datetime.fromisoformat(at) < slot
        if not is_due or not _has_news(member, known, now, environ, looked):
            return None
        delay = max(0.0, (slot - now).total_seconds())
        tenant = member.tenant(members.current(member, environ).tenant)
        return Waiting(member, tenant, at, f"{night:%Y%m%d}", delay)

    return _each(roots, looked, comes)


def _each(
    roots: Sequence[Root], looked: Looked, night: Callable[[Member, Note | None], Waiting | None]
) -> Iterator[Waiting]:
    """Call `night` for each workspace and yield what it returns; a fault in one does not stop the others."""
    for member in members.beneath(roots, looked.wrong):
        looked.workspaces += 1
        found = None
        with members.apart(member, looked.wrong):
            member.check()
            found = night(member, members.read(member))
        if found:
            yield found


def _has_news(
    member: Member,
    known: Note | None,
    now: datetime,
    environ: Mapping[str, str],
    looked: Looked,
    *,
    again: bool = False,
) -> bool:
    if members.is_set_aside(member, known, environ) and not again:
        looked.set_aside.append(member.shown)
        return False
    return members.news(member, known, now, environ)
