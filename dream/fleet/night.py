"""Half a night in a process of its own, forked from one that has loaded everything: no import, and nothing shared.

What a workspace's settings set in the environment, what a library keeps, and what crashes stays in that process. It
talks with the worker through a pipe: before each call of a model it asks, after it it tells the bill, at the end it
tells how the night went, in counts and shas. What was said never leaves it.

    worker                      forkserver (dream loaded)            the night
    start              ───▶     fork                        ───▶     lock, read or dream, note
    ("go", "") or why  ◀────────────────────────────────────────     ("asks", tenant, day, model, tokens, usd)
                       ◀────────────────────────────────────────     ("paid", model, tokens in, out, usd)
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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from dream.errors import Busy, DreamError, NightOver
from dream.fleet import members
from dream.reports import ConsolidateReport, Step, Usage
from dream.settings import Settings
from dream.workspace import runs
from dream.workspace.workspace import Workspace

Stage = Literal["consolidate", "dream"]
T = TypeVar("T")
Account = dict[str, Any]  # how half a night went: counts, shas and words of ours
GATEWAY = "dream.llm.gateway"  # where it is loaded before this module, LiteLLM is too: seconds, and 190 MB
LOADED = (  # what a night needs, beside what the one before the first loads
    "dream.cli",  # first: it is what `dream` itself begins with
    "dream.consolidate.consolidator",
    "dream.consolidate.feed",
    "dream.dreaming.dreamer",
    "dream.workspace.runs",
    "dream.workspace.listing",
    "dream.workspace.trace",
    "git",
    "sqlite3",
    "zoneinfo",
)
TOKENIZERS = ("openai/gpt-5", "anthropic/claude")  # a model for each
OVERTIME = 2.0  # nights of `max_minutes` after which the process is ended: something in it hangs


class Limits(Protocol):
    """The limits that a model call waits for and is booked on."""

    def take(self, tenant: str, day: str, model: str, most: Usage, stop: Callable[[], bool]) -> float | str:
        """Wait until the call may be made; return the tokens it took, or why it may not be made."""

    def paid(self, tenant: str, day: str, model: str, most: Usage, took: float, bill: Usage) -> None:
        """Book what a call did cost in place of what it `took`."""


class Nursery:
    """The processes of one worker."""

    def __init__(self, limits: Limits, flags: Mapping[str, object], *, litellm: bool = False) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*([GATEWAY] if litellm else []), __name__])
        forkserver.ensure_running()  # it loads while the worker itself does
        self._limits = limits
        self._flags = dict(flags)
        self._running: set[Any] = set()
        self._guard = threading.Lock()
        self.stopping = threading.Event()

    def run(self, member: members.Member, half: Stage, read: Account, now: datetime) -> Account:
        """Run half a night and return how it went."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_night, args=(theirs, member, half, read, now, self._flags))
        with self._guard:
            process.start()
            self._running.add(process)
        theirs.close()
        try:
            account = self._listen(ours)
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

    def _listen(self, pipe: Connection) -> Account | None:
        """Answer the night's requests until it ends; None if it died silently. Its last request is booked."""
        open_calls: list[tuple[str, str, str, Usage, float]] = []
        try:
            while True:
                word, *rest = pipe.recv()
                if word == "done":
                    return dict(rest[0])
                if word == "asks":
                    tenant, day, model, most = rest
                    took = self._limits.take(tenant, day, model, most, self.stopping.is_set)
                    if isinstance(took, float):
                        open_calls.append((tenant, day, model, most, took))
                    pipe.send("" if isinstance(took, float) else took)
                else:
                    model, bill = rest
                    asked = next((call for call in open_calls if call[2] == model), None)
                    if asked is not None:
                        open_calls.remove(asked)
                        self._limits.paid(*asked, bill)
        except (EOFError, OSError):
            return None
        finally:
            for asked in open_calls:  # calls that came to nothing, or nobody knows what to
                self._limits.paid(*asked, Usage())


@dataclass(slots=True)
class _WorkerPipe:
    """The worker as a night sees it: asked before each call and told each bill, from several threads."""

    pipe: Connection
    tenant: str
    day: Callable[[], str]
    stopped: bool = False
    refused: bool = False
    _one: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, step: Step) -> None:
        """Wait for permission before a call, and pass on its bill; raises NightOver if no call may be made."""
        if step.bill is None:
            return
        with self._one:
            if not step.waits:
                self.pipe.send(("paid", step.what, step.bill))
                return
            self.pipe.send(("asks", self.tenant, self.day(), step.what, step.bill))
            why = self.pipe.recv()
        if why:
            self.refused = True
            raise NightOver(why)


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
    settings = workspace.settings(flags=flags)
    zone, tenant = settings.zone(), member.tenant(settings.tenant or "")
    worker = _WorkerPipe(pipe, tenant, lambda: f"{datetime.now(UTC).astimezone(zone):%Y-%m-%d}")

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
        return priced(report.usage) | {"outcome": "failed" if report.failed else "read", "messages": report.messages}
    # What the first half has used of the night's time, tokens and money is not there any more.
    if settings.max_minutes:
        settings = replace(settings, max_minutes=max(0.01, settings.max_minutes - read.get("seconds", 0.0) / 60))
    before = ConsolidateReport(outcome="nothing", usage=bill(read))
    if read["outcome"] == "failed":  # its runs say why: the fleet's database holds no such sentence
        last = next((one for one in runs.last(workspace.private, 3) if one.command == "consolidate"), None)
        before = replace(before, outcome="failed", reason=last.reason if last else "")
    night = run(nightly.night, settings, read=before)
    outcome: str = "failed" if night.exit_status == 1 else night.run.outcome
    if outcome != "failed" and (worker.stopped or worker.refused):
        outcome = "stopped" if worker.stopped else "bounded"
    why = night.run.reason if night.run.outcome == "failed" else before.reason
    known = note(member, outcome, now, why, lambda found: members.settle(workspace, settings, found, now, os.environ))
    commits = [batch.commit for batch in night.run.batches if batch.commit]
    held = len(workspace.pending())
    return priced(night.run.usage) | {
        "outcome": outcome,
        "commits": commits,
        "held": held,
        "left": not known.look,
    }


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
    if bad or outcome in ("stopped", "bounded"):
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


def _warm() -> None:
    """Load what a night needs, and have one: in the process that all others are forked from.

    It is the night of a workspace in a temporary directory, with what this package brings along and nothing else. What
    is made at first use, tables, patterns and tokenizers, is three quarters of a first night's processor time.
    """
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
    # No room, or no git: each night will tell.
    with suppress(DreamError, OSError), tempfile.TemporaryDirectory(prefix="dream-fleet-") as folder:
        workspace = Workspace(Path(folder, "workspace"))
        workspace.complete(now)
        say(workspace, "I live in Paris, and I am allergic to peanuts.", settings=Settings(), now=now)
        nightly.night(workspace, settings=Settings(), now=now, environ={})
        workspace.history.close()
    gc.freeze()  # what is there is not looked at, and so not copied, by each night


if f"'{__name__}'" in "".join(sys.orig_argv[-1:]):  # the command line by which Nursery has that process started
    _warm()
