"""The fleet: the nights of many workspaces, on one machine or several, as durable workflows.

The workspaces are the truth. What the fleet knows about one is a note in the root's `.dream-fleet/notes/`, which no
tenant writes; the database holds the queue, and can be thrown away. Nothing outside this room imports it.

`night` and `enqueue` are for who has a queue of their own, or one of ours and no command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from dream.reports import Usage

if TYPE_CHECKING:
    from dream.fleet.members import Member
    from dream.fleet.nursery import Asked, GrantedCall

NightOutcome = Literal["committed", "held", "nothing", "failed", "crashed", "busy", "bounded", "unavailable", "gone"]


@dataclass(frozen=True, slots=True)
class Night:
    """How a night ended. `held` counts the edits that wait for review; `reason` says why it failed or was ended.

    `busy`: another run holds the workspace; `bounded`: a budget is used up; `unavailable`: the provider did not
    answer, and the workspace is not at fault; `gone`: there is no such directory.
    """

    outcome: NightOutcome
    commits: tuple[str, ...] = ()
    held: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    reason: str = ""


def night(workspace: Path | str, *, root: Path | str | None = None, flags: Mapping[str, object] | None = None) -> Night:
    """Run a workspace's night now, in a process of its own, and return how it ended.

    `root` is the directory whose `fleet.toml` and notes count, by default the one above; `flags` are settings by name.
    The first call takes a second or two longer, for the process that nights are forked from. Safe to call from threads.
    """
    from dream.fleet.members import read
    from dream.fleet.nursery import Nursery, bill, both

    member = _member(workspace, root)
    nursery = Nursery(_Unlimited(), dict(flags or {}))
    if not member.path.is_dir():
        return Night("gone")
    how = both(lambda half, before: nursery.run(member, half, before, datetime.now(UTC)))
    known = read(member)
    reason = str(how.get("reason") or how.get("why") or (known.reason if known else ""))
    return Night(
        cast("NightOutcome", how["outcome"]),
        tuple(how.get("commits", ())),
        int(how.get("held", 0)),
        bill(how),
        float(how["seconds"]),
        reason,
    )


def enqueue(workspace: Path | str, database: str, *, root: str | None = None) -> bool:
    """Put a workspace's night into the fleet's queue, for a worker of its root; return False where it is there already.

    `root` is as for `dream fleet worker --root`, `[NAME=]DIRECTORY`, by default the directory above the workspace.
    """
    from dream.fleet import members
    from dream.fleet.engine import Queue
    from dream.fleet.news import Waiting

    path = Path(workspace).absolute()
    known = members.Root.parse(root or str(path.parent))
    member = members.Member(known, str(path.relative_to(known.path)))
    now, note = datetime.now(UTC), members.read(member) or members.Note()
    mark = f"{now:%Y%m%d}-{members.digest(members.look(member.path), note.at)}"
    queue = Queue(database)
    try:
        return queue.put([Waiting(member, member.tenant(note.tenant), note.at, mark)], now, anew=True) == 1
    finally:
        queue.close()


def _member(workspace: Path | str, root: Path | str | None) -> Member:
    from dream.fleet.members import Member, Root

    path = Path(workspace).absolute()
    above = Path(root).absolute() if root else path.parent
    return Member(Root(str(above), above), str(path.relative_to(above)))


class _Unlimited:
    """The limits of a night outside a fleet: only those of its settings."""

    def take(self, asked: Asked, stop: Callable[[], bool]) -> GrantedCall | str:
        from dream.fleet.nursery import GrantedCall

        return GrantedCall("", asked, 0.0)

    def paid(self, call: GrantedCall, bill: Usage) -> None:
        pass

    def fault(self, asked: Asked) -> None:
        pass
