"""`dream fleet`: nights of many workspaces."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dream.cli import group, output, show
from dream.errors import DreamError, UsageError
from dream.reports import shape

if TYPE_CHECKING:
    from dream.fleet.engine import Queue
    from dream.fleet.members import Member, Root, Wrong
    from dream.fleet.operate import Bounds, Ran
    from dream.fleet.overview import Fleet, Tenant

MISSING = "The fleet needs its extra: pip install 'dream-memory[fleet]', or pip install '.[fleet]' in a checkout."
SHOWN = 20  # tenants in a table for people
EVERY = 600  # seconds between two looks of `schedule`

roots_of = click.argument("roots", nargs=-1, required=True, metavar="ROOT…")
root_options = click.option(
    "--root",
    "roots",
    multiple=True,
    required=True,
    metavar="[NAME=]ROOT",
    help="A directory of workspaces; repeatable.",
)
database = click.option(
    "--database",
    metavar="URL",
    help="postgresql://… for several machines. Default: the one used before, else SQLite in the first ROOT.",
)
needed_database = click.option(
    "--database",
    metavar="URL",
    required=True,
    help="postgresql://USER@HOST/NAME; the password comes from PGPASSWORD or ~/.pgpass.",
)
jobs = click.option("-j", "--jobs", type=click.IntRange(1, 512), default=2, show_default=True, help="Nights at a time.")
_limit = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="MODEL=CALLS/TOKENS",
    help="What all workers together may use of a model a minute; 0 is no bound. Kept in the database.",
)
_tenant_tokens = click.option("--tenant-tokens", type=click.FloatRange(0), help="Tokens that a tenant may use a day.")
_tenant_usd = click.option("--tenant-usd", type=click.FloatRange(0), help="US dollars that a tenant may use a day.")


def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that bound all workers together; the command gets them as `bounds`."""

    @wraps(function)
    def command(*, limits: tuple[str, ...], tenant_tokens: float | None, tenant_usd: float | None, **given: Any) -> Any:
        return function(bounds=_bounds(limits, tenant_tokens, tenant_usd), **given)

    return _limit(_tenant_tokens(_tenant_usd(command)))


@click.group("fleet", cls=group.DreamGroup)
def fleet_command() -> None:
    """Dream for many workspaces: on one machine, or on several with one limit for the provider.

    A ROOT is a directory with workspaces in it. A workspace's tenant is the one in ROOT/fleet.toml, else the
    trusted setting `tenant`, else its directory under the root.

    \b
    Examples:
      dream fleet run /srv/agents -j 4
      dream fleet status /srv/agents
      dream fleet erase alice /srv/agents --dry-run
    """
    if find_spec("dbos") is None:
        raise DreamError(MISSING)


@fleet_command.command("run")
@roots_of
@jobs
@click.option("--again", is_flag=True, help="Also the workspaces that are set aside after three failed nights.")
@bounded
@database
@group.models
@group.quiet
@group.as_json
def run(
    roots: tuple[str, ...],
    jobs: int,
    again: bool,
    bounds: Bounds,
    database: str | None,
    flags: Mapping[str, object],
    quiet: bool,
    as_json: bool,
) -> int:
    """Run a night now for every workspace under ROOT with something new.

    One line a workspace, then a summary. A workspace that failed three nights is set aside until its dream.toml
    changes or --again is given. Killed at any instant, the next run goes on. Exits with 1 if anything failed or was
    not done, 4 if another run held a workspace, 3 if something waits for a person, else 0.

    \b
    Examples:
      dream fleet run /srv/agents
      dream fleet run /srv/agents -j 16 --model openai/gpt-5-mini --limit openai/gpt-5-mini=500/200000
    """
    from dream.fleet import operate

    with _queue(roots, database, bounds) as (found, queue), _stopped() as stop:
        ran = operate.run(
            found,
            queue,
            jobs=jobs,
            flags=flags,
            again=again,
            tell=_printer(quiet=quiet or as_json, why=True),
            stop=stop,
        )
    _ran(ran, quiet=quiet, as_json=as_json)
    if not ran.workspaces:
        output.problem(operate.nothing_found(found))
    return ran.exit_status


@fleet_command.command("worker")
@root_options
@needed_database
@jobs
@bounded
@group.models
def worker(
    roots: tuple[str, ...],
    database: str,
    jobs: int,
    bounds: Bounds,
    flags: Mapping[str, object],
) -> None:
    """Keep running, and run the nights that `dream fleet schedule` queues for these roots.

    Start as many as you like, on as many machines; a root that is mounted elsewhere there has the same NAME. SIGTERM
    and Ctrl-C let each night end before its next step; a worker that dies leaves its nights to the others.

    \b
    Examples:
      dream fleet worker --root /srv/agents --database postgresql://dream@db/dream -j 16
      dream fleet worker --root eu=/mnt/eu --database postgresql://dream@db/dream
    """
    from dream.fleet import operate

    output.dated()
    with (
        _queue(roots, database, bounds) as (found, queue),
        _stopped() as stop,
        operate.working(found, queue, jobs=jobs, flags=flags, tell=_printer(quiet=False, why=False)),
    ):
        stop.wait()


@fleet_command.command("schedule")
@root_options
@needed_database
@click.option("--window", default="03:00-06:00", show_default=True, help="The local hours that nights are spread over.")
@click.option("--zone", default="UTC", show_default=True, help="The time zone of workspaces that set none.")
@click.option("--once", is_flag=True, help="Look once, and end: for cron, every ten minutes.")
@bounded
def schedule(
    roots: tuple[str, ...],
    database: str,
    window: str,
    zone: str,
    once: bool,
    bounds: Bounds,
) -> int:
    """Keep running, and queue each workspace's night when it is due, if there is something new.

    When in the window a workspace has its night is decided by a hash of its name, in the time zone of its settings. A
    night that was missed is made up for, a workspace's first one too, and none is put there twice. Ends with 1 where
    a look found no workspace, or could not look at one.

    \b
    Examples:
      dream fleet schedule --root /srv/agents --database postgresql://dream@db/dream
      dream fleet schedule --root /srv/agents --database postgresql://dream@db/dream --window 22:00-05:00 --once
    """
    from dream.fleet import operate
    from dream.fleet.members import Window

    hours = Window.parse(window, zone)
    output.dated()
    with _queue(roots, database, bounds) as (found, queue), _stopped() as stop:
        while not stop.is_set():
            looked, put = operate.schedule(found, queue, hours, datetime.now(UTC))
            output.say(f"{show.counted(looked.workspaces, 'workspace')}, {show.counted(put, 'night')} put", now=True)
            _wrong(looked.wrong)
            if not looked.workspaces:
                output.problem(operate.nothing_found(found))
            if once:
                return int(bool(looked.wrong) or not looked.workspaces)
            stop.wait(EVERY)
    return 0


@fleet_command.command("status")
@roots_of
@database
@group.as_json
def status(roots: tuple[str, ...], database: str | None, as_json: bool) -> None:
    """Show the fleet's state: backlog, nights, failures with reasons, and spending per tenant.

    Tokens and money are the sums of the workspaces' own bills, for the day and the month in each one's time zone.

    \b
    Examples:
      dream fleet status /srv/agents
      dream fleet status /srv/agents --json
    """
    from dream.fleet import overview

    with _known_queue(roots, database) as (found, queue):
        fleet = overview.read(found, queue, group.now())
    if as_json:
        output.emit(fleet)
    else:
        _show(fleet)


@fleet_command.command("erase")
@click.argument("tenant")
@roots_of
@click.option("--dry-run", is_flag=True, help="Show what would be erased; change nothing.")
@database
@group.as_json
def erase(tenant: str, roots: tuple[str, ...], dry_run: bool, database: str | None, as_json: bool) -> int:
    """Erase a tenant's workspaces, with their rows in the fleet's database.

    A receipt stays in ROOT/.dream-fleet/receipts: who erased, when, with which version, how many files; no name
    and no content. What the workspaces' settings name outside of them, such as an agent's
    transcripts, is named and not touched. A workspace that a night or another run holds stays: then it exits with 4.

    \b
    Examples:
      dream fleet erase alice /srv/agents --dry-run
      dream fleet erase alice /srv/agents
    """
    from dream.fleet.erase import erase as erase_tenant

    with _queue(roots, database) as (found, queue):
        erased = erase_tenant(tenant, found, queue, group.now(), dry_run=dry_run)
    if as_json:
        output.emit(erased)
        return 4 if erased.busy else 0
    files = f"{show.counted(erased.files, 'file')}, {erased.bytes:,} bytes"
    what = f"{show.counted(len(erased.workspaces), 'workspace')}, {files}: {', '.join(erased.workspaces)}"
    output.say(f"{'Would erase' if dry_run else 'Erased'} {what}", fold=True)
    for source in erased.elsewhere:
        output.say(f"not touched: {source}, which the settings name outside the workspace", fold=True)
    output.say(f"left of its rows in the database: {erased.remains}", fold=True)
    if erased.receipt:
        output.say(f"{show.counted(erased.nights, 'night')} deleted from the database; receipt: {erased.receipt}")
    if erased.busy:
        output.problem(f"held by another run, and not erased: {', '.join(erased.busy)}")
    return 4 if erased.busy else 0


@fleet_command.command("export")
@click.argument("tenant")
@roots_of
@click.option("-o", "--output", "archive", metavar="FILE", required=True, help="The archive to write, .tar.gz.")
@database
@group.as_json
def export(tenant: str, roots: tuple[str, ...], archive: str, database: str | None, as_json: bool) -> None:
    """Write all of a tenant's workspaces, and what the fleet knows of them, to one archive.

    What the workspaces' settings name outside of them is named and not in it.

    \b
    Examples:
      dream fleet export alice /srv/agents -o alice.tar.gz
    """
    from dream.fleet.erase import export as export_tenant

    with _known_queue(roots, database) as (found, queue):
        done = export_tenant(tenant, found, queue, group.now(), Path(archive))
    if as_json:
        output.emit(done)
        return
    output.say(f"{show.counted(len(done.workspaces), 'workspace')}, {done.bytes:,} bytes: {done.archive}", fold=True)
    for source in done.elsewhere:
        output.say(f"not in it: {source}, which the settings name outside the workspace", fold=True)


@contextmanager
def _known_queue(roots: tuple[str, ...], url: str | None) -> Iterator[tuple[list[Root], Queue | None]]:
    """Open the fleet's database if there is one; none is created."""
    from dream.fleet import operate
    from dream.fleet.members import Root

    found = [Root.parse(root) for root in roots]
    if not operate.is_there(found, url):
        yield found, None
        return
    with _queue(roots, url) as known:
        yield known


@contextmanager
def _queue(roots: tuple[str, ...], url: str | None, bounds: Bounds | None = None) -> Iterator[tuple[list[Root], Queue]]:
    from dream.fleet import operate
    from dream.fleet.engine import Queue
    from dream.fleet.members import Root

    found = [Root.parse(root) for root in roots]
    queue = Queue(operate.database(found, url))
    try:
        if bounds is not None or url is not None:
            operate.remember(found, url)
        if bounds is not None:
            bounds.set(queue.ledger)
        yield found, queue
    finally:
        queue.close()


@contextmanager
def _stopped() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and Ctrl-C set; a second signal ends the process."""
    stop = threading.Event()

    def end(number: int, frame: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            with suppress(ValueError, TypeError):
                signal.signal(number, handler)


def _bounds(given: tuple[str, ...], tokens: float | None, usd: float | None) -> Bounds:
    from dream.fleet.operate import Bounds

    calls: dict[str, float] = {}
    minutes: dict[str, float] = {}
    for one in given:
        model, equals, rates = one.rpartition("=")
        try:
            calls[model], minutes[model] = (float(part) for part in rates.split("/"))
        except ValueError:
            equals = ""
        if not equals or not model:
            raise UsageError(f"--limit {one!r} is not of the form MODEL=CALLS/TOKENS, both a minute.")
    return Bounds(calls, minutes, tokens, usd)


def _printer(*, quiet: bool, why: bool) -> Any:
    """Return a function that prints one line a night; `why` adds the reason of a failure, which may quote memory."""
    one = threading.Lock()

    def tell(member: Member, how: dict[str, Any]) -> None:
        if quiet:
            return
        with one:
            output.say(f"{member.shown}  {_how(member, how, why=why)}", now=True)

    return tell


def _how(member: Member, how: dict[str, Any], *, why: bool) -> str:
    from dream.fleet import members
    from dream.fleet.nursery import AWAY, bill

    outcome, spent = how["outcome"], bill(how)
    seconds = f"{how.get('seconds', 0):.1f} s"
    if outcome == "bounded":
        return f"{outcome}: {how['why']}; {show.price(spent)}; {seconds}"
    if outcome == "unavailable":
        return f"{outcome}: {AWAY}{'' if how['again'] else ': not tried again now'}; {seconds}"
    if outcome in ("failed", "crashed"):
        reason = (known.reason if why and (known := members.read(member)) else "") or how.get("reason", "")
        return f"{outcome}{f': {reason}' if reason else ''}; {seconds}"
    held = f", {how['held']} held" if how.get("held") else ""
    shas = " ".join(map(show.short, how.get("commits", ())))
    return f"{outcome}{f' {shas}' if shas else ''}{held}; {show.price(spent)}; {seconds}"


def _ran(ran: Ran, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        output.emit(shape(ran) | {"usage": shape(ran.usage), "nights": sum(ran.outcomes.values())})
        return
    done = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(ran.outcomes.items())) or "nothing new"
    if not quiet:
        output.say(f"{show.counted(ran.workspaces, 'workspace')}: {done}; {show.price(ran.usage)}; {ran.seconds:.1f} s")
    for what, names in (
        ("failed", ran.failed),
        ("set aside", ran.set_aside),
        ("held by another run", ran.busy),
        ("waiting for another day's budget", ran.bounded),
        ("not done, as the provider did not answer", ran.unavailable),
    ):
        if names:
            more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
            output.problem(f"{what}: {', '.join(names[:SHOWN])}{more}")
    _wrong(ran.wrong)


def _wrong(wrong: Sequence[Wrong]) -> None:
    for one in wrong[:SHOWN]:
        output.problem(f"could not be looked at: {one.workspace}: {one.reason}")
    if len(wrong) > SHOWN:
        output.problem(f"could not be looked at: {len(wrong) - SHOWN:,} more; --json has all")


def _show(fleet: Fleet) -> None:
    total = fleet.total
    output.say(
        f"{show.counted(total.workspaces, 'workspace')} of {show.counted(len(fleet.tenants), 'tenant')}", bold=True
    )
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(fleet.queue.items())) or "empty"
    for name, value in (*_rows(total), ("queue", states)):
        output.say(f"{name:<10} {value}", fold=True)
    for one in fleet.tenants[:SHOWN] if len(fleet.tenants) > 1 else ():
        output.say()
        output.say(one.tenant, bold=True)
        for name, value in _rows(one):
            output.say(f"  {name:<10} {value}", fold=True)
    if len(fleet.tenants) > SHOWN:
        output.say(f"… and {len(fleet.tenants) - SHOWN:,} more tenants: --json has all")
    for word, troubles in (("failed", fleet.failed), ("set aside", fleet.set_aside)):
        for trouble in troubles:
            nights = show.counted(trouble.nights, "night")
            output.say(f"{word}: {trouble.workspace}, {nights}: {trouble.reason}", colour="red", fold=True)
    _wrong(fleet.wrong)


def _rows(one: Tenant) -> list[tuple[str, str]]:
    since = f", the oldest entry from {one.oldest:%Y-%m-%d %H:%M} UTC" if one.oldest else ""
    return [
        (
            "backlog",
            f"{show.counted(one.waiting, 'workspace')} with something new{since}" if one.waiting else "nothing",
        ),
        ("nights", f"{one.nights_today:,} today"),
        ("held", f"{show.counted(one.held, 'edit')}: dream review" if one.held else "nothing"),
        ("today", show.bill(one.today)),
        ("month", show.bill(one.month)),
    ]
