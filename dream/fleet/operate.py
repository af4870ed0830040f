"""What an operator does: run what is new, work, and schedule nights."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from dream.errors import UsageError
from dream.fleet import members
from dream.fleet.engine import FOR_EVER, Queue, Worker
from dream.fleet.limits import Ledger
from dream.fleet.members import DEPTH, FOLDER, KNOWN, Member, Note, Root, Window, Wrong
from dream.fleet.news import Looked, Waiting, due, find
from dream.fleet.nursery import Account, Nursery, bill
from dream.fleet.overview import tally
from dream.fleet.policy import policy
from dream.reports import Usage
from dream.settings import EMBEDDED
from dream.workspace.files import write_note

LOOK = 0.2  # seconds between two checks whether all is done
AHEAD = timedelta(minutes=20)  # how long before its time a night is put into the queue
AGAIN = 4  # times that `run` puts a night back whose provider does not answer: after 1, 2, 4 and 8 minutes
DONE = ("committed", "held", "nothing")

TellNight = Callable[[Member, Account], None]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an operator sets for all workers together: by model a minute, and by tenant a day. None leaves it as it is.

    0 takes a bound away.
    """

    calls: Mapping[str, float] = field(default_factory=dict)
    tokens: Mapping[str, float] = field(default_factory=dict)
    day_tokens: float | None = None
    day_usd: float | None = None

    def set(self, ledger: Ledger) -> None:
        """Write them where every worker reads them."""
        bounds = {f"bound:calls:{model}": value for model, value in self.calls.items()}
        bounds |= {f"bound:tokens:{model}": value for model, value in self.tokens.items()}
        days = {"bound:day:tokens": self.day_tokens, "bound:day:usd": self.day_usd}
        bounds |= {name: value for name, value in days.items() if value is not None}
        ledger.set({name: value for name, value in bounds.items() if value})
        ledger.forget([name for name, value in bounds.items() if not value])


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run did: how many workspaces it checked, and their nights by outcome. Names are paths under a root."""

    workspaces: int
    outcomes: Mapping[str, int]
    failed: tuple[str, ...]
    held: tuple[str, ...]
    busy: tuple[str, ...]
    set_aside: tuple[str, ...]
    wrong: tuple[Wrong, ...]  # what could not be looked at
    bounded: tuple[str, ...]  # what waits for another day's budget
    unavailable: tuple[str, ...]  # nights that wait for a provider that does not answer
    stopped: bool
    seconds: float
    usage: Usage

    @property
    def exit_status(self) -> int:
        """Return 1 for what failed or was not done, 4 for busy workspaces, 3 for what waits for a person, else 0."""
        if self.failed or self.wrong or self.unavailable or self.stopped or not self.workspaces:
            return 1
        if self.busy:
            return 4
        return 3 if self.held or self.set_aside or self.bounded else 0


def database(roots: Sequence[Root], url: str | None) -> str:
    """Return the URL of the fleet's database: the one named, else the one remembered, else SQLite in the first root."""
    known = {text for root in roots if (text := members.known(root.path)[0])}
    if url is None and len(known) > 1:
        raise UsageError(f"These roots were used with several databases, {', '.join(sorted(known))}: name --database.")
    return url or next(iter(known), f"sqlite:///{roots[0].path / FOLDER / 'fleet.sqlite'}")


def remember(roots: Sequence[Root], url: str | None) -> None:
    """Note, in each root, the database and the name that it is used with: who erases a tenant must not forget them."""
    bare = sa.make_url(url).set(password=None).render_as_string(hide_password=False) if url else ""
    for root in roots:
        before, names = members.known(root.path)
        now = bare or before, [root.name, *(name for name in names if name != root.name)]
        if now != (before, names):
            write_note(root.path / FOLDER / KNOWN, {"database": now[0], "names": now[1]})


def is_there(roots: Sequence[Root], url: str | None) -> bool:
    """Return whether a database is named or remembered, or the first root contains one."""
    known = url or any(members.known(root.path)[0] for root in roots)
    return bool(known or (roots[0].path / FOLDER / "fleet.sqlite").exists())


def run(
    roots: Sequence[Root],
    queue: Queue,
    *,
    jobs: int,
    flags: Mapping[str, object],
    again: bool,
    tell: TellNight,
    stop: threading.Event,
) -> Ran:
    """Run the night of every workspace beneath the roots that has something new, and wait until all are done."""
    begun, now = time.monotonic(), datetime.now(UTC)
    looked = Looked()
    waiting = list(find(roots, now, os.environ, looked, again=again))
    queue.put(waiting, now, anew=True)
    outcomes: Counter[str] = Counter()
    named: dict[str, list[str]] = defaultdict(list)
    usage: list[Usage] = []

    def count(member: Member, how: Account) -> None:
        tell(member, how)
        usage.append(bill(how))
        if how.get("again"):
            return
        outcomes[how["outcome"]] += 1
        where = "failed" if how["outcome"] in ("failed", "crashed") else how["outcome"]
        named["held" if how.get("held") and where in DONE else where].append(member.shown)

    if waiting or not queue.drained(roots):
        with working(roots, queue, jobs=jobs, flags=flags, tell=count, waiting=waiting, again=AGAIN):
            while not stop.wait(LOOK) and not queue.drained(roots):
                pass
        for member in queue.lost(waiting):
            outcomes["lost"] += 1
            named["failed"].append(member.shown)
    queue.tidy(now)
    return Ran(
        looked.workspaces,
        dict(outcomes),
        failed=tuple(sorted(named["failed"])),
        held=tuple(sorted(named["held"])),
        busy=tuple(sorted(named["busy"])),
        set_aside=tuple(sorted(looked.set_aside)),
        wrong=tuple(looked.wrong),
        bounded=tuple(sorted(named["bounded"])),
        unavailable=tuple(sorted(named["unavailable"])),
        stopped=stop.is_set(),
        seconds=round(time.monotonic() - begun, 3),
        usage=sum(usage, Usage()),
    )


@contextmanager
def working(
    roots: Sequence[Root],
    queue: Queue,
    *,
    jobs: int,
    flags: Mapping[str, object],
    tell: TellNight,
    waiting: Sequence[Waiting] | None = None,
    again: int = FOR_EVER,
) -> Iterator[None]:
    """Run queued nights of these roots during the block; afterwards let running ones end at their next step.

    Unless it is known what will be `waiting`, LiteLLM is loaded, except where the flags say that no night needs it.
    """
    own = [one for root in roots for one in policy(root.path).tenants.values()]
    if queue.ledger.get("bound:day:") or any(one.bounds for one in own):
        know_the_day(roots, queue.ledger, datetime.now(UTC))
    model = flags.get("model") or os.environ.get("DREAM_MODEL")
    if model or waiting is None:
        paid = model != EMBEDDED
    else:
        paid = any((members.read(one.member) or Note()).paid for one in waiting)
    paid = paid or any(one.settings for one in own)
    nursery = Nursery(queue.ledger, flags, litellm=paid)
    worker = Worker(queue, roots, nursery, jobs, tell, again)
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def know_the_day(roots: Sequence[Root], ledger: Ledger, now: datetime) -> None:
    """Read what each tenant has spent today from the workspaces, where a lost database does not know."""
    for root in roots:
        mark = f"known:{root.name}:{now:%Y-%m-%d}"
        if ledger.get(mark):
            continue
        spent: defaultdict[str, float] = defaultdict(float)
        wrong: list[Wrong] = []  # what can't be looked at has no night either
        for member in members.beneath([root], wrong):
            with members.apart(member, wrong):
                known = members.read(member) or Note()
                today, _, day = tally(member, known, now)
                tenant = member.tenant(known.tenant)
                spent[f"spent:tokens:{day}:{tenant}"] += today.tokens
                spent[f"spent:usd:{day}:{tenant}"] += today.cost_usd or 0.0
        ledger.set({name: value for name, value in spent.items() if value} | {mark: 1.0})


def schedule(roots: Sequence[Root], queue: Queue, window: Window, now: datetime) -> tuple[Looked, int]:
    """Enqueue the next nights, each once; return how many there were."""
    looked = Looked()
    put = queue.put(due(roots, window, now, AHEAD, os.environ, looked), now)
    queue.tidy(now)
    return looked, put


def nothing_found(roots: Sequence[Root]) -> str:
    """Say that roots hold no workspace, and what that may mean."""
    where = ", ".join(str(root.path) for root in roots)
    return f"no workspace was found up to {DEPTH} directories below {where}; is the root one level off?"
