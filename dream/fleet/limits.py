"""Limits that all workers share: how fast a provider may be called, what a tenant may spend a day, and when to wait.

A few numbers in one table of the fleet's database, changed in short transactions: `bound:…` what an operator has set,
`level:…` how much of a minute's share is left, `spent:…` a tenant's day, `turn:…` a tenant's place in the queue,
`down:…` how often in a row a provider did not answer. A second table holds the
calls under way that count against a tenant's day, so that the room of a worker that dies is given back.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, TypeVar
from uuid import uuid4

import sqlalchemy as sa

from dream.errors import DreamError
from dream.fleet.nursery import AWAY, STOPPED, Asked, GrantedCall
from dream.reports import Usage

T = TypeVar("T")

BURST = 1.0  # seconds of a rate that may be saved up between calls
LEARNT = 0.1  # weight of one bill in the estimate of the next
NAP = 0.5  # seconds after which a waiting call checks again: another may have given back its share
MINUTE = 60.0
FRESH = 1.0  # seconds for which an operator's settings are cached
OUTAGE = 600.0  # seconds to wait for a database that does not answer
LONGEST_NAP = 2.0  # seconds between two tries meanwhile
FAULTS = 5  # calls in a row without an answer, after which a provider is asked only now and then
PAUSE = 60.0  # seconds between two such tries
KEPT = 3 * 86400.0  # seconds after its last update for which a row is kept
CALL = 3600.0  # seconds after which a call under way counts as ended
ROWS = 1_000  # rows of one statement

_META = sa.MetaData()
_TABLE = sa.Table(
    "dream_fleet",
    _META,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
_CALLS = sa.Table(
    "dream_fleet_calls",
    _META,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("day", sa.Text, nullable=False),
    sa.Column("tokens", sa.Double, nullable=False),
    sa.Column("usd", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)

_INSERT = "INSERT INTO dream_fleet (name, value, at) VALUES (:name, :value, :at) ON CONFLICT (name) DO "
_BEGIN = sa.text(_INSERT + "NOTHING")
_SET = sa.text(_INSERT + "UPDATE SET value = excluded.value, at = excluded.at")
_ADD = sa.text(_INSERT + "UPDATE SET value = dream_fleet.value + excluded.value, at = excluded.at")
_REACH = sa.text(
    "INSERT INTO dream_fleet (name, value, at) VALUES (:name, :least + :more, :at) ON CONFLICT (name) DO UPDATE SET "
    "value = CASE WHEN dream_fleet.value < :least THEN :least ELSE dream_fleet.value END + :more, at = :at"
)
_CHANGE = sa.text("UPDATE dream_fleet SET value = value + :value WHERE name = :name")
PASSING = ("spent:", "known:", "turn:", "down:")  # rows that are deleted some time after their last update


class Ledger:
    """The tables in the database at `url`; safe for threads, processes and machines.

    Everything waits for a database that is away for a while, and raises DreamError where that lasts too long.
    """

    def __init__(self, url: str) -> None:
        self.sqlite = url.startswith("sqlite")
        more: dict[str, Any] = {} if self.sqlite else {"pool_pre_ping": True, "max_overflow": -1}
        self.engine = sa.create_engine(url, **more)
        self.worker = ""  # the worker that makes the calls
        self._turns: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._known: tuple[float, dict[str, float]] = (-inf, {})
        self._down: set[str] = set()  # providers that did not answer lately, as far as this process knows
        self._share: dict[str, float] = {}  # share of their maximum that a model's recent calls used
        if self.sqlite:  # SQLAlchemy's own way begins a transaction only with its first write
            sa.event.listen(self.engine, "connect", _plain)
            sa.event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        with self.engine.begin() as connection:
            if not self.sqlite:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7305241)"))  # CREATE … IF NOT EXISTS races
            _META.create_all(connection)

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    def patiently(self, what: Callable[[], T], seconds: float = OUTAGE) -> T:
        """Call `what`, again while the database is away; raises DreamError if that lasts longer than `seconds`.

        An interrupted call may have taken effect, so `what` must be safe to repeat.
        """
        until, nap = time.monotonic() + seconds, 0.1
        while True:
            try:
                return what()
            except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
                if not self._is_away(error):
                    raise
                if time.monotonic() > until:
                    said = str(error).splitlines()[0]
                    raise DreamError(f"The fleet's database has not answered for {seconds:.0f} s: {said}") from error
            time.sleep(nap)
            nap = min(2 * nap, LONGEST_NAP)

    def _is_away(self, error: sa.exc.DBAPIError | sa.exc.TimeoutError) -> bool:
        if self.sqlite:
            return "locked" in str(error)
        gone = getattr(error, "connection_invalidated", False)
        return gone or isinstance(error, (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError))

    def _change(self, what: Callable[[sa.Connection], T]) -> T:
        def once() -> T:
            with self.engine.begin() as connection:
                return what(connection)

        return self.patiently(once)

    def set(self, values: Mapping[str, float]) -> None:
        """Set numbers."""

        def change(connection: sa.Connection) -> None:
            at = self._now(connection)
            rows = [{"name": name, "value": value, "at": at} for name, value in sorted(values.items())]
            if rows:
                connection.execute(_SET, rows)

        self._change(change)
        self._known = (-inf, {})

    def reach(self, least: float, more: Mapping[str, float]) -> dict[str, float]:
        """Raise numbers to at least `least`, return them, and then add to each its `more`."""

        def change(connection: sa.Connection) -> dict[str, float]:
            found: dict[str, float] = {}
            at, names = self._now(connection), sorted(more)
            rows = [{"name": name, "least": least, "more": more[name], "at": at} for name in names]
            connection.execute(_REACH, rows)
            for start in range(0, len(names), ROWS):
                part = sa.select(_TABLE.c.name, _TABLE.c.value).where(_TABLE.c.name.in_(names[start : start + ROWS]))
                found |= {row.name: float(row.value) - more[row.name] for row in connection.execute(part)}
            return found

        return self._change(change)

    def get(self, prefix: str) -> dict[str, float]:
        """Return the numbers whose names have this prefix."""
        query = sa.select(_TABLE.c.name, _TABLE.c.value).where(_TABLE.c.name.startswith(prefix, autoescape=True))
        return self._change(lambda connection: {row.name: float(row.value) for row in connection.execute(query)})

    def forget(self, names: Iterable[str]) -> None:
        """Delete numbers."""
        gone = sa.delete(_TABLE).where(_TABLE.c.name.in_(list(names)))
        self._change(lambda connection: connection.execute(gone))
        self._known = (-inf, {})

    def tidy(self) -> None:
        """Delete rows that were not updated for days, and calls whose caller must have ended."""

        def change(connection: sa.Connection) -> None:
            now = self._now(connection)
            old = sa.or_(*(_TABLE.c.name.startswith(one, autoescape=True) for one in PASSING))
            connection.execute(sa.delete(_TABLE).where(old, _TABLE.c.at < now - KEPT))
            connection.execute(sa.delete(_CALLS).where(_CALLS.c.at < now - CALL))

        self._change(change)

    def give_back(self, is_dead: Callable[[str], bool]) -> None:
        """Give back the room of calls of workers that are dead."""
        query = sa.select(_CALLS.c.worker).distinct()
        workers = self._change(lambda connection: list(connection.execute(query).scalars()))
        if dead := [worker for worker in workers if is_dead(worker)]:
            gone = sa.delete(_CALLS).where(_CALLS.c.worker.in_(dead))
            self._change(lambda connection: connection.execute(gone))

    def forget_calls(self, tenant: str) -> None:
        """Delete the records of a tenant's calls under way."""
        gone = sa.delete(_CALLS).where(_CALLS.c.tenant == tenant)
        self._change(lambda connection: connection.execute(gone))

    def take(self, asked: Asked, stop: Callable[[], bool]) -> GrantedCall | str:
        """Wait until a call may be made; return it, or the reason why it may not be made.

        Of a minute's tokens it takes what such a call used lately, of a tenant's day the most that it may. A level
        may go below zero, and whoever comes next waits until it is above again: so a large call is never
        passed over, and a rate is kept but for one call. Of a worker's threads one at a time looks, in turn; whoever
        waits for room in a tenant's day waits beside it.
        """
        with self._guard:
            turn = self._turns.setdefault(asked.model, threading.Lock())
        call = GrantedCall(uuid4().hex, asked, asked.most.tokens * self._share.get(asked.model, 1.0))
        wait: float | str = NAP
        while not stop():
            with turn:
                while not stop() and not isinstance(wait := self.patiently(lambda: self._try(call)), str) and wait > 0:
                    time.sleep(min(wait, NAP) * random.uniform(0.9, 1.1))  # noqa: S311 - so that workers don't march
            if isinstance(wait, str):
                return wait
            if wait == 0:
                return call
            time.sleep(NAP)  # for room in the tenant's day
        return STOPPED

    def _try(self, call: GrantedCall) -> float | str:
        """Take the call's share and return 0; else return the seconds to wait, or the reason why it can never be made.

        Below 0, it is its tenant's own calls that it waits for.
        """
        asked, bound = call.asked, self._bounds()
        day = {kind: asked.bounds.get(kind, bound.get(f"bound:day:{kind}", 0.0)) for kind in ("tokens", "usd")}
        if day["usd"] and asked.most.cost_usd is None:
            return f"the price of {asked.model} is not known, so no bound in US dollars can be kept; set one in tokens"
        costs = {f"calls:{asked.model}": 1.0, f"tokens:{asked.model}": call.tokens}
        rates = {f"level:{name}": (bound[f"bound:{name}"] / MINUTE, cost) for name, cost in costs.items()
                 if bound.get(f"bound:{name}")}  # fmt: skip
        down = f"down:{asked.line}"
        if not rates and not any(day.values()) and asked.line not in self._down and not bound.get(down):
            return 0.0
        with self.engine.begin() as connection:
            now = self._now(connection)
            if why := self._paused(connection, down, now):
                return why
            begins = {level: rate * BURST for level, (rate, _) in rates.items()}
            begins |= {f"spent:{kind}:{asked.day}:{asked.tenant}": 0.0 for kind, most in day.items() if most}
            found = self._locked(connection, begins, now)
            if (wait := self._of_day(connection, call, day, found)) != 0.0:
                return wait
            filled = {
                level: min(rate * BURST, found[level].value + rate * max(0.0, now - found[level].at))
                for level, (rate, _) in rates.items()
            }
            wait = max((-filled[level] / rates[level][0] if filled[level] <= 0 else 0.0 for level in rates), default=0)
            if wait > 0:
                return wait
            levels = [{"name": one, "value": filled[one] - rates[one][1], "at": now} for one in rates]
            if levels:
                connection.execute(_SET, levels)
            if any(day.values()):
                row = {"id": call.id, "worker": self.worker, "tenant": asked.tenant, "day": asked.day, "at": now}
                cost = {"tokens": float(asked.most.tokens), "usd": asked.most.cost_usd or 0.0}
                connection.execute(sa.insert(_CALLS).values(row | cost))
        return 0.0

    def _locked(self, connection: sa.Connection, begins: Mapping[str, float], now: float) -> dict[str, Any]:
        """Lock the rows of these names, made with these values where there are none."""
        if not begins:
            return {}
        rows = sa.select(_TABLE.c.name, _TABLE.c.value, _TABLE.c.at).where(_TABLE.c.name.in_(list(begins)))
        asked = rows.order_by("name").with_for_update()
        found = {row.name: row for row in connection.execute(asked)}
        if len(found) < len(begins):  # so that there is a row to lock
            made = [{"name": name, "value": value, "at": now} for name, value in sorted(begins.items())]
            connection.execute(_BEGIN, made)
            found = {row.name: row for row in connection.execute(asked)}
        return found

    def _of_day(
        self, connection: sa.Connection, call: GrantedCall, day: Mapping[str, float], found: Mapping[str, Any]
    ) -> float | str:
        """Return 0 where a tenant's day has room, below 0 where calls under way may free some, else the reason."""
        asked = call.asked
        if not any(day.values()):
            return 0.0
        mine = (_CALLS.c.tenant == asked.tenant) & (_CALLS.c.day == asked.day) & (_CALLS.c.id != call.id)
        total = sa.select(sa.func.sum(_CALLS.c.tokens).label("tokens"), sa.func.sum(_CALLS.c.usd).label("usd"))
        held = connection.execute(total.where(mine)).one()
        costs = {"tokens": float(asked.most.tokens), "usd": asked.most.cost_usd or 0.0}
        wait = 0.0
        for kind, most in day.items():
            if not most:
                continue
            used = found[f"spent:{kind}:{asked.day}:{asked.tenant}"].value + costs[kind]
            if used > most:
                return f"what {asked.tenant} may spend a day is used up ({kind})"
            if used + (getattr(held, kind) or 0.0) > most:
                wait = -1.0
        return wait

    def _paused(self, connection: sa.Connection, down: str, now: float) -> str:
        """Return why a provider is not asked now; "" where it is. After each pause one call tries it."""
        row = connection.execute(sa.select(_TABLE.c.value, _TABLE.c.at).where(_TABLE.c.name == down)).one_or_none()
        if row is None or row.value < FAULTS:
            return ""
        first = sa.update(_TABLE).where(_TABLE.c.name == down, _TABLE.c.at <= now - PAUSE).values(at=now)
        return "" if connection.execute(first).rowcount else AWAY

    def fault(self, asked: Asked) -> None:
        """Note that a provider did not answer."""
        self._down.add(asked.line)

        def change(connection: sa.Connection) -> None:
            connection.execute(_ADD, {"name": f"down:{asked.line}", "value": 1.0, "at": self._now(connection)})

        self._change(change)

    def _bounds(self) -> dict[str, float]:
        """Read the operators' settings, and which providers don't answer, once a second."""
        read, known = self._known
        if time.monotonic() - read > FRESH:
            self._known = read, known = time.monotonic(), self.get("bound:") | self.get("down:")
        return known

    def paid(self, call: GrantedCall, bill: Usage) -> None:
        """Replace a call's reserved amount by its cost; calling this twice does not change a tenant's day."""
        asked = call.asked
        if bill.tokens:
            used = bill.tokens / max(asked.most.tokens, 1)
            self._share[asked.model] = (1 - LEARNT) * self._share.get(asked.model, used) + LEARNT * used
        spent = {"tokens": float(bill.tokens), "usd": bill.cost_usd or 0.0}

        def change(connection: sa.Connection) -> None:
            now = self._now(connection)
            level = {"name": f"level:tokens:{asked.model}", "value": call.tokens - bill.tokens}
            connection.execute(_CHANGE, level)
            if connection.execute(sa.delete(_CALLS).where(_CALLS.c.id == call.id)).rowcount:
                names = {kind: f"spent:{kind}:{asked.day}:{asked.tenant}" for kind in sorted(spent)}
                connection.execute(_ADD, [{"name": names[kind], "value": spent[kind], "at": now} for kind in names])
            if bill.calls and (asked.line in self._down or self._known[1].get(f"down:{asked.line}")):
                connection.execute(sa.delete(_TABLE).where(_TABLE.c.name == f"down:{asked.line}"))

        self._change(change)
        if bill.calls:
            self._down.discard(asked.line)

    def _now(self, connection: sa.Connection) -> float:
        """Read the database's clock: those of the machines may differ."""
        if self.sqlite:
            return time.time()
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _plain(connection: Any, record: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA busy_timeout=30000")
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute("PRAGMA synchronous=OFF")  # a loss of power may cost the file, which is made anew
