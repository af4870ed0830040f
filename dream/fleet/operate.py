"""What an operator does: run what is new, work, schedule nights, show the fleet's status, erase a tenant."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from dream import trust
from dream.door import make_folder
from dream.errors import DreamError, UsageError, WorkspaceError
from dream.fleet import members
from dream.fleet.engine import Looked, Queue, Waiting, Worker, due, find
from dream.fleet.limits import Ledger
from dream.fleet.members import FOLDER, Member, Note, Root, Window, Wrong
from dream.fleet.night import Account, Limits, Nursery, bill
from dream.fleet.policy import FILE as POLICY
from dream.history.history import History
from dream.reports import Usage
from dream.settings import EMBEDDED, load
from dream.workspace.bills import Bills
from dream.workspace.files import replace_file
from dream.workspace.lock import run_lock
from dream.workspace.workspace import Workspace

LOOK = 0.2  # seconds between two checks whether all is done
AHEAD = timedelta(minutes=20)  # how long before its time a night is put into the queue
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
    stopped: bool
    seconds: float
    usage: Usage

    @property
    def exit_status(self) -> int:
        """Return 1 if anything failed or all were stopped, 4 if workspaces were busy, 3 for held edits, else 0."""
        if self.failed or self.wrong or self.stopped:
            return 1
        if self.busy:
            return 4
        return 3 if self.held else 0


def database(roots: Sequence[Root], url: str | None) -> str:
    """Return the URL of the fleet's database: SQLite in the first root unless one is named."""
    return url or f"sqlite:///{roots[0].path / FOLDER / 'fleet.sqlite'}"


def is_there(roots: Sequence[Root], url: str | None) -> bool:
    """Return whether a database is named, or one lies in the first root."""
    return url is not None or (roots[0].path / FOLDER / "fleet.sqlite").exists()


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
    queue.put(waiting, now)
    outcomes: Counter[str] = Counter()
    named: dict[str, list[str]] = {"failed": [], "held": [], "busy": []}
    usage: list[Usage] = []

    def count(member: Member, how: Account) -> None:
        outcomes[how["outcome"]] += 1
        where = "failed" if how["outcome"] in ("failed", "crashed") else how["outcome"]
        where = "held" if how.get("held") and where in DONE else where
        named.get(where, []).append(member.name)
        usage.append(bill(how))
        tell(member, how)

    if waiting or not queue.drained(roots):
        with working(roots, queue, jobs=jobs, flags=flags, tell=count, waiting=waiting):
            while not stop.wait(LOOK) and not queue.drained(roots):
                pass
        queue.tidy(now)
    return Ran(
        looked.workspaces,
        dict(outcomes),
        tuple(sorted(named["failed"])),
        tuple(sorted(named["held"])),
        tuple(sorted(named["busy"])),
        tuple(sorted(looked.set_aside)),
        tuple(looked.wrong),
        stop.is_set(),
        round(time.monotonic() - begun, 3),
        sum(usage, Usage()),
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
) -> Iterator[None]:
    """Run queued nights of these roots during the block; afterwards let running ones end at their next step.

    Unless it is known what will be `waiting`, LiteLLM is loaded, except where the flags say that no night needs it.
    """
    if queue.ledger.get("bound:day:"):
        know_the_day(roots, queue.ledger, datetime.now(UTC))
    model = flags.get("model") or os.environ.get("DREAM_MODEL")
    if model or waiting is None:
        paid = model != EMBEDDED
    else:
        paid = any((members.read(one.member) or Note()).paid for one in waiting)
    nursery = Nursery(measured(queue.ledger), flags, litellm=paid)
    worker = Worker(queue, roots, nursery, jobs, traced(tell))
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
    return looked, queue.put(due(roots, window, now, AHEAD, os.environ, looked), now)


# Erasing a tenant.


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased, or would be: files and bytes of each workspace, and nights in the database.

    `elsewhere` are transcripts outside the workspaces that their settings name; they are not touched.
    """

    tenant: str
    workspaces: tuple[str, ...]
    files: int
    bytes: int
    nights: int
    elsewhere: tuple[str, ...]
    receipt: Path | None
    dry_run: bool


def erase(tenant: str, roots: Sequence[Root], queue: Queue, now: datetime, *, dry_run: bool) -> Erased:
    """Erase a tenant's workspaces with every trace in the database, and leave a receipt without content.

    What is written in a workspace does not decide whose it is: where its trusted setting names another tenant than its
    directory does, nothing is erased before the operator's file says which is right.
    Raises Busy if a night or another run holds one of them, and UsageError for a tenant without workspaces.
    """
    found, unclear = _of_tenant(tenant, roots)
    if unclear:
        lines = "; ".join(f"{member.shown}: {' or '.join(map(members.shown, whose))}" for member, whose in unclear)
        raise UsageError(
            f"Whose these workspaces are is not clear, so nothing is erased. Their directories and their settings "
            f"differ: {lines}. Say it in {roots[0].path / POLICY}, under [workspaces]: "
            f'"{unclear[0][0].shown}" = "{members.shown(tenant)}".'
        )
    # Left by an erasure that was cut short.
    left = [path for root in roots for path in sorted((root.path / FOLDER / "erasing").glob(f"{_sha(tenant)}-*"))]
    if not found and not left:
        raise UsageError(f"The tenant {tenant!r} has no workspace under {', '.join(str(root.path) for root in roots)}.")
    elsewhere = tuple(sorted({name for member in found for name in _elsewhere(member)}))
    names = tuple(member.shown for member in found)
    if dry_run:
        files, size = _summed([_hashes(member.path) for member in found])
        return Erased(tenant, names, files, size, 0, elsewhere, None, dry_run)
    # 1. No night begins any more. A running one, or another run, holds its workspace: then nothing of it is erased.
    nights = queue.forget([member.key for member in found])
    proof = []
    for member in found:
        with ExitStack() as held:
            with suppress(WorkspaceError):  # a lock that can't be opened, as where a link is in its place, nobody holds
                held.enter_context(run_lock(member.path / ".dream", "dream fleet erase", now=now))
            nights += queue.forget([member.key])
            hashes = _hashes(member.path)
            trust.forget(member.path, trust.state_directory(os.environ))  # a note that holds its path
            # 2. The workspace leaves its place in one step: a crash leaves it whole, or for the next erasure to finish.
            left.append(_moved(member, tenant, now))
            proof.append(hashes)
    # 3. A receipt stays: what, when, and hashes.
    receipt = roots[0].path / FOLDER / "receipts" / f"{now:%Y%m%dT%H%M%S}-{_sha(tenant)[:12]}.json"
    row = {"erased": now.isoformat(), "tenant_sha256": _sha(tenant), "nights": nights, "workspaces": proof}
    make_folder(receipt.parent)
    replace_file(receipt, orjson.dumps(row, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    # 4. The files, the database, and the bytes behind it.
    for path in left:
        shutil.rmtree(path)
    for member in found:
        member.note.unlink(missing_ok=True)
        _drop_empty(member)
    spent = [name for name in queue.ledger.get("spent:") if name.split(":", 3)[3:] == [tenant]]
    queue.ledger.forget([f"turn:{tenant}", *spent])
    queue.scrub()
    return Erased(tenant, names, *_summed(proof), nights, elsewhere, receipt, dry_run)


def _of_tenant(tenant: str, roots: Sequence[Root]) -> tuple[list[Member], list[tuple[Member, tuple[str, ...]]]]:
    """Return the tenant's workspaces, and those that may be, with all whose they may be."""
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
    return found, unclear


def _summed(proof: Sequence[Mapping[str, int | str]]) -> tuple[int, int]:
    return sum(int(one["files"]) for one in proof), sum(int(one["bytes"]) for one in proof)


def _moved(member: Member, tenant: str, now: datetime) -> Path:
    goal = member.root.path / FOLDER / "erasing" / f"{_sha(tenant)}-{member.key}-{now:%Y%m%dT%H%M%S}"
    goal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        member.path.rename(goal)
    except OSError as error:
        raise WorkspaceError(f"{member.path} cannot be erased ({error.strerror}); nothing was.") from error
    return goal


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


def _hashes(path: Path) -> dict[str, int | str]:
    """Return one hash over the names and contents of a workspace's files."""
    whole, files, size = hashlib.sha256(), 0, 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            digest = hashlib.sha256(os.fsencode(file.relative_to(path)))
            if file.is_file() and not file.is_symlink():
                with file.open("rb") as content:
                    digest.update(b"\0" + hashlib.file_digest(content, "sha256").digest())
                    size += content.tell()
            whole.update(digest.digest())
            files += 1
    return {"sha256": whole.hexdigest(), "path_sha256": _sha(str(path)), "files": files, "bytes": size}


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


# How a fleet stands, read from the workspaces themselves and never changed.


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


# Metrics and spans for OpenTelemetry, where its API is installed: counts and names of models, and no tenant's name.

NAME = "dream.fleet"


def measured(ledger: Ledger) -> Limits:
    """Wrap the limits so that each call is also measured under the usual `gen_ai` names."""
    telemetry = _telemetry()
    return _Measured(ledger, *telemetry) if telemetry else ledger


def _telemetry() -> tuple[Any, Any] | None:
    """Return a meter and a tracer; None without OpenTelemetry's API."""
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return None
    return metrics.get_meter(NAME), trace.get_tracer(NAME)


class _Measured:
    """Measures a call from its permission to its bill; a call without a bill is not measured."""

    def __init__(self, ledger: Ledger, meter: Any, tracer: Any) -> None:
        self._ledger = ledger
        self._tracer = tracer
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of model calls")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "Seconds of model calls")
        self._open: dict[tuple[int, str], list[int]] = {}  # when calls began, by thread and model

    def take(self, tenant: str, day: str, model: str, most: Usage, stop: Callable[[], bool]) -> float | str:
        """Wait for leave."""
        took = self._ledger.take(tenant, day, model, most, stop)
        if isinstance(took, float):
            self._open.setdefault((threading.get_ident(), model), []).append(time.time_ns())
        return took

    def paid(self, tenant: str, day: str, model: str, most: Usage, took: float, bill: Usage) -> None:
        """Book the bill, and measure the call."""
        self._ledger.paid(tenant, day, model, most, took, bill)
        began, end = self._open[threading.get_ident(), model].pop(0), time.time_ns()
        if not bill.calls:
            return
        provider, _, name = model.rpartition("/")
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name, "gen_ai.provider.name": provider}
        tokens = {"input": bill.input_tokens, "output": bill.output_tokens}
        self._seconds.record((end - began) / 1e9, about)
        for kind, count in tokens.items():
            self._tokens.record(count, about | {"gen_ai.token.type": kind})
        used = {f"gen_ai.usage.{kind}_tokens": count for kind, count in tokens.items()}
        self._tracer.start_span(f"chat {name}", start_time=began, attributes=about | used).end(end)


def traced(tell: Callable[[Member, Account], None]) -> Callable[[Member, Account], None]:
    """Wrap `tell` so that it also counts nights and records a span of each."""
    telemetry = _telemetry()
    if telemetry is None:
        return tell
    meter, tracer = telemetry
    nights = meter.create_counter("dream.nights", description="Nights by outcome")

    def also_traced(member: Member, how: Account) -> None:
        end, used = time.time_ns(), bill(how)
        about = {
            "dream.outcome": str(how["outcome"]),
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.usage.input_tokens": used.input_tokens,
            "gen_ai.usage.output_tokens": used.output_tokens,
        }
        began = end - int(how.get("seconds", 0) * 1e9)
        tracer.start_span("dream.night", start_time=began, attributes=about).end(end)
        nights.add(1, {"dream.outcome": str(how["outcome"])})
        tell(member, how)

    return also_traced
