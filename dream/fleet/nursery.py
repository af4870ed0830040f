"""Half a night in a process of its own, forked from one that has loaded everything: no import, and nothing shared.

What a workspace's settings set in the environment, what a library keeps, and what crashes stays in that process. It
talks with the worker through a pipe: before each call of a model it asks, after it it tells the bill, at the end it
tells how the night went, in counts and shas. What was said never leaves it.

    worker                      forkserver (dream loaded)            the night
    start              ───▶     fork                        ───▶     lock, read or dream, note
    "" or why not      ◀────────────────────────────────────────     ("asks", what it would ask, and the most it costs)
                       ◀────────────────────────────────────────     ("paid", model, bill)
                       ◀────────────────────────────────────────     ("fault", what was asked without an answer)
                       ◀────────────────────────────────────────     ("done", how it went)
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from dream.directory import Workspace
from dream.errors import Busy, DreamError, NightOver, SettingsError
from dream.fleet import members
from dream.fleet.members import UNDONE
from dream.fleet.policy import FILE as POLICY
from dream.fleet.policy import policy
from dream.reports import ConsolidateReport, Step, Usage
from dream.settings import COMMAND_LINE, Settings
from dream.workspace import runs

Stage = Literal["consolidate", "dream"]
T = TypeVar("T")
Account = dict[str, Any]  # how half a night went: counts, shas and words of ours
GATEWAY = "dream.llm.gateway"  # where it is loaded before this module, LiteLLM is too: seconds, and 190 MB
LOADED = (  # modules that a night needs; loaded before the first night
    "dream.cli",  # first: it is what `dream` itself begins with
    "dream.consolidate.consolidator",
    "dream.consolidate.feed",
    "dream.dreaming.dreamer",
    "dream.workspace.runs",
    "dream.consolidate.listing",
    "dream.versions.trace",
    "git",
    "sqlite3",
    "zoneinfo",
)
TOKENIZERS = ("openai/gpt-5", "anthropic/claude")  # a model for each
SAFE_PATH, OURS = "PYTHONSAFEPATH", "dream"  # the variable of Python's option -P, and the value that we give it
OVERTIME = 2.0  # nights of `max_minutes` after which the process is ended: something in it hangs

STOPPED = "the worker is told to stop"
AWAY = "the provider does not answer; the night goes on when it does"


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that a night wants to make: for whom, on which day of theirs, and the most that it may cost.

    `line` names who answers: a model at an address with a key. `bounds` are the tenant's own, by "tokens" and "usd".
    """

    tenant: str
    day: str
    model: str
    most: Usage
    line: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GrantedCall:
    """A call that may be made; `tokens` is what it took of the minute's share."""

    id: str
    asked: Asked
    tokens: float


class Limits(Protocol):
    """The limits that a model call waits for and is booked on."""

    def take(self, asked: Asked, stop: Callable[[], bool]) -> GrantedCall | str:
        """Wait until the call may be made; return it, or why it may not be made."""

    def paid(self, call: GrantedCall, bill: Usage) -> None:
        """Book what a call did cost in place of what it took."""

    def fault(self, asked: Asked) -> None:
        """Note that a provider did not answer."""


class Nursery:
    """The processes of one worker."""

    def __init__(self, limits: Limits, flags: Mapping[str, object], *, litellm: bool = False) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*([GATEWAY] if litellm else []), __name__])
        with _safe_path():
            forkserver.ensure_running()  # it loads while the worker itself does
        self._limits = limits
        self._flags = dict(flags)
        self._running: set[Any] = set()
        self._guard = threading.Lock()
        self.stopping = threading.Event()

    def run(self, member: members.Member, half: Stage, read: Account, now: datetime) -> Account:
        """Run half a night and return how it went; a crash is noted."""
        began = time.monotonic()
        try:
            account = self._run(member, half, read, now)
        except OSError as error:  # no memory or no process for it
            account = {"outcome": "crashed", "reason": error.strerror or type(error).__name__}
        if account["outcome"] == "crashed":
            account |= failed(member, "crashed", str(account["reason"]), now)
        return account | {"seconds": round(time.monotonic() - began, 3)}

    def _run(self, member: members.Member, half: Stage, read: Account, now: datetime) -> Account:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_night, args=(theirs, member, half, read, now, self._flags))
        with self._guard:
            process.start()
            self._running.add(process)
        theirs.close()
        try:
            account = _NightPipe(ours, self._limits, self.stopping).until_done()
        finally:
            ours.close()
            process.join()
            with self._guard:
                self._running.discard(process)
        return account or {"outcome": "crashed", "reason": f"its process ended with {process.exitcode}"}

    def stop(self) -> None:
        """Let each running night end before its next step, and start no other."""
        self.stopping.set()
        with self._guard:
            for process in self._running:
                process.terminate()

    @property
    def busy(self) -> bool:
        """Return whether a night is running."""
        return bool(self._running)


@dataclass(slots=True)
class _NightPipe:
    """What a night says, as its worker hears it: calls wait for the limits, and what they cost is booked."""

    pipe: Connection
    limits: Limits
    stopping: threading.Event
    calls: list[GrantedCall] = field(default_factory=list)  # under way

    def until_done(self) -> Account | None:
        """Answer until the night ends; None if it died silently. Calls without an answer are booked then."""
        try:
            while True:
                word, *rest = self.pipe.recv()
                if word == "done":
                    return dict(rest[0])
                if word == "asks":
                    self._permit(*rest)
                else:
                    self._hear(word, *rest)
        except (EOFError, OSError):
            return None
        finally:
            for call in self.calls:
                self._book(call, Usage())

    def _permit(self, asked: Asked) -> None:
        try:
            taken = self.limits.take(asked, self._stopped)
        except DreamError:  # the database has been away for too long
            taken = STOPPED
        if isinstance(taken, GrantedCall):
            self.calls.append(taken)
        self.pipe.send("" if isinstance(taken, GrantedCall) else taken)

    def _stopped(self) -> bool:
        """Return whether the worker is to stop; hear meanwhile what gives room back: other calls of the same night."""
        while self.pipe.poll():
            self._hear(*self.pipe.recv())
        return self.stopping.is_set()

    def _hear(self, word: str, *rest: Any) -> None:
        if word == "fault":
            with suppress(DreamError):
                self.limits.fault(*rest)
            return
        model, bill = rest
        call = next((one for one in self.calls if one.asked.model == model), None)
        if call is not None:
            self.calls.remove(call)
            self._book(call, bill)

    def _book(self, call: GrantedCall, bill: Usage) -> None:
        with suppress(DreamError):  # the workspace has its own bill
            self.limits.paid(call, bill)


@dataclass(slots=True)
class _WorkerPipe:
    """The worker as a night sees it: it permits each call and books each bill, from several threads."""

    pipe: Connection
    asked: Callable[[str, Usage], Asked]
    stopped: bool = False
    refused: str = ""
    _asking: threading.Lock = field(default_factory=threading.Lock)
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, step: Step) -> None:
        """Wait for permission before a call, and pass on its bill; raises NightOver if no call may be made."""
        if step.fault:
            self._send("fault", self.asked(step.what, Usage()))
            self.refused = AWAY
            raise NightOver(AWAY)
        if step.bill is None:
            return
        if not step.waits:
            self._send("paid", step.what, step.bill)
            return
        with self._asking:
            self._send("asks", self.asked(step.what, step.bill))
            why = self.pipe.recv()
        if why:
            self.refused = why
            raise NightOver(why)

    def _send(self, *words: object) -> None:
        with self._sending:
            self.pipe.send(words)

    @property
    def why(self) -> str:
        """Return which of the limits stopped it; "" for none."""
        return self.refused if self.ending == "bounded" else ""

    @property
    def ending(self) -> str:
        """Return how a night ends that was not let go on; "" for one that was."""
        if self.stopped or self.refused == STOPPED:
            return "stopped"
        return "unavailable" if self.refused == AWAY else "bounded" if self.refused else ""


def _night(
    pipe: Connection, member: members.Member, half: Stage, read: Account, now: datetime, flags: dict[str, object]
) -> None:
    """Run half a night in the process that was started for it, report how it went, and note it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the worker says what is to be done
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):  # a library's chatter could hold what was said, and would stay in the worker's log
        os.dup2(nowhere, stream)
    how: Account
    try:
        how = _half(pipe, member, half, read, now, flags)
    except Busy as error:
        how = {"outcome": "busy", "reason": str(error)}
    except DreamError as error:
        how = failed(member, "failed", str(error), now)
    except (EOFError, BrokenPipeError):
        os._exit(1)  # the worker is gone
    except BaseException as error:  # noqa: BLE001 - a bug: where, not with what
        how = {"outcome": "crashed", "reason": members.where(error)}
    with suppress(OSError):
        pipe.send(("done", how))
        pipe.close()
    os._exit(0)  # as nothing is left to do: no thread of a library is waited for


def _half(
    pipe: Connection, member: members.Member, half: Stage, read: Account, now: datetime, flags: dict[str, object]
) -> Account:
    from dream.nights import nightly

    member.check()
    workspace = Workspace.open(member.path)
    settings, worker = _terms(pipe, member, workspace, flags)

    def end(number: int, frame: object) -> None:
        worker.stopped = True

    signal.signal(signal.SIGTERM, end)
    if settings.max_minutes:
        signal.alarm(int(settings.max_minutes * 60 * OVERTIME) + 60)

    def run(what: Callable[..., T], settings: Settings, **more: object) -> T:
        stop, watch = (lambda: worker.stopped), worker.watch
        return what(workspace, settings=settings, now=now, environ=os.environ, stop=stop, progress=watch, **more)

    if half == "consolidate":
        report = run(nightly.reading, settings)
        if worker.ending == "unavailable":
            note(member, "unavailable", now)
            return priced(report.usage) | {"outcome": "unavailable"}
        read = {"outcome": "failed" if report.failed else "read", "messages": report.messages, "why": worker.why}
        return priced(report.usage) | read
    # What the first half has used of the night's time, tokens and money is not there any more.
    if settings.max_minutes:
        settings = replace(settings, max_minutes=max(0.01, settings.max_minutes - read.get("seconds", 0.0) / 60))
    before = ConsolidateReport(outcome="nothing", usage=bill(read))
    if read["outcome"] == "failed":  # its runs say why: the fleet's database holds no such sentence
        last = next((one for one in runs.last(workspace.private, 3) if one.command == "consolidate"), None)
        before = replace(before, outcome="failed", reason=last.reason if last else "")
    night = run(nightly.night, settings, read=before)
    outcome: str = "failed" if night.exit_status == 1 else night.run.outcome
    if worker.ending == "unavailable" or (worker.ending and outcome != "failed"):
        outcome = worker.ending
    why = worker.why or read.get("why", "")
    if why and outcome == "nothing":  # reading was not let go on
        outcome = "bounded"
    reason = night.run.reason if night.run.outcome == "failed" else before.reason
    settle = partial(members.settle, workspace, settings, now=now, environ=os.environ)
    known = note(member, outcome, now, reason, settle)
    commits = [batch.commit for batch in night.run.batches if batch.commit]
    held = len(workspace.pending())
    return priced(night.run.usage) | {
        "outcome": outcome,
        "commits": commits,
        "held": held,
        "left": not known.look,
        "why": why,
    }


def both(half: Callable[[Stage, Account], Account]) -> Account:
    """Run both halves of a night, and add up their seconds, calls, tokens and money."""
    read = half("consolidate", {})
    if read["outcome"] not in ("read", "failed"):
        return read
    dreamt = half("dream", read)
    return dreamt | priced(bill(read) + bill(dreamt)) | {"seconds": read["seconds"] + dreamt["seconds"]}


def _terms(
    pipe: Connection, member: members.Member, workspace: Workspace, flags: dict[str, object]
) -> tuple[Settings, _WorkerPipe]:
    """Return the settings of a night, the operator's for its tenant first, and whom it asks before each call."""
    settings = workspace.settings(flags=flags)
    tenant = member.tenant(settings.tenant or "")
    own = policy(member.root.path).of(tenant)
    if own.settings:
        try:
            settings = workspace.settings(flags=flags | dict(own.settings))
        except SettingsError as error:
            said = str(error).replace(f" {COMMAND_LINE}", "")
            raise SettingsError(f"{member.root.path / POLICY}, [tenants.{tenant}.settings]: {said}") from error
    if settings.clients:
        raise SettingsError(
            f"{settings.clients[0]} is refused in a fleet: one person's login would read what all tenants say; "
            "name a provider's model."
        )
    zone = settings.zone()

    def asked(model: str, most: Usage) -> Asked:
        line = members.digest(model, settings.api_base, settings.api_key)
        return Asked(tenant, f"{datetime.now(UTC).astimezone(zone):%Y-%m-%d}", model, most, line, own.bounds)

    return settings, _WorkerPipe(pipe, asked)


def failed(member: members.Member, outcome: str, reason: str, now: datetime) -> Account:
    """Note that a night failed or crashed, and return its account; where that can't be noted, with why not."""
    try:
        note(member, outcome, now, reason)
    except DreamError as error:
        return {"outcome": outcome, "reason": str(error)}
    return {"outcome": outcome}


def note(
    member: members.Member,
    outcome: str,
    now: datetime,
    reason: str = "",
    settle: Callable[[members.Note], members.Note] = lambda found: found,
) -> members.Note:
    """Note how a night ended, and return the note; raises WorkspaceError where that can't be written."""
    bad = outcome in ("failed", "crashed")
    ended = (members.read(member) or members.Note()).ended(outcome, now, reason if bad else "")
    if bad:
        ended = replace(ended, settings=members.settings_look(member.path, os.environ))
    ended = settle(ended)
    if bad or outcome in UNDONE:
        ended = replace(ended, look="")
    members.write(member, ended)
    return ended


def priced(usage: Usage) -> Account:
    """Return what something cost."""
    return {
        "calls": usage.calls,
        "tokens_in": usage.input_tokens,
        "tokens_out": usage.output_tokens,
        "usd": usage.cost_usd,
    }


def bill(how: Account) -> Usage:
    """Read what a night, or half of one, cost from its report."""
    return Usage(how["calls"], how["tokens_in"], how["tokens_out"], how["usd"]) if how.get("calls") else Usage()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let a Python that is started in the block import nothing from the current directory: a tenant may be `dream`."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = before or OURS
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]


def _warm() -> None:
    """Load what a night needs, and have one: in the process that all others are forked from.

    It is the night of a workspace in a temporary directory, with what this package brings along and nothing else. What
    is made at first use, tables, patterns and tokenizers, is three quarters of a first night's processor time.
    """
    if os.environ.get(SAFE_PATH) == OURS:  # not for the commands that a night runs
        del os.environ[SAFE_PATH]
    litellm = GATEWAY in sys.modules
    for module in LOADED:
        import_module(module)
    if litellm:
        from dream.llm import card, gateway
        from dream.text import tokens

        gateway.load_litellm()
        for name in TOKENIZERS:
            card(name)
            tokens.count("a", name)
    from dream.actions.note import note as say
    from dream.nights import nightly

    now = datetime.now(UTC)
    # No room, or no git: each night reports that itself.
    with suppress(DreamError, OSError), tempfile.TemporaryDirectory(prefix="dream-fleet-") as folder:
        workspace = Workspace(Path(folder, "workspace"))
        workspace.complete(now)
        say(workspace, "I live in Paris, and I am allergic to peanuts.", settings=Settings(), now=now)
        nightly.night(workspace, settings=Settings(), now=now, environ={})
        workspace.history.close()
    gc.freeze()  # what is there is not looked at, and so not copied, by each night


if f"'{__name__}'" in "".join(sys.orig_argv[-1:]):  # the command line by which Nursery has that process started
    _warm()
