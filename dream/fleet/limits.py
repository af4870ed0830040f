"""Limits that all workers share: how fast a provider may be called, and what a tenant may spend a day.

A few numbers in one table of the fleet's database, changed in short transactions: `bound:…` what an operator has set,
`level:…` how much of a minute's share is left, `spent:…` a tenant's day, `turn:…` a tenant's place in the queue.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any

import sqlalchemy as sa

from dream.reports import Usage

BURST = 1.0  # seconds of a rate that may be saved up while nobody calls
LEARNT = 0.1  # how much one bill counts in what is expected of the next
NAP = 0.5  # seconds after which whoever waits looks again: another's refund may have come
MINUTE = 60.0
FRESH = 1.0  # seconds for which what an operator has set is taken to be so

_TABLE = sa.Table(
    "dream_fleet",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)

_INSERT = "INSERT INTO dream_fleet (name, value, at) VALUES (:name, :value, :at) ON CONFLICT (name) DO "
_BEGIN = sa.text(_INSERT + "NOTHING")
_SET = sa.text(_INSERT + "UPDATE SET value = excluded.value, at = excluded.at")
_CHANGE = sa.text("UPDATE dream_fleet SET value = value + :change WHERE name = :name")
_REACH = sa.text(
    "INSERT INTO dream_fleet (name, value, at) VALUES (:name, :least + :more, :at) ON CONFLICT (name) DO UPDATE SET "
    "value = CASE WHEN dream_fleet.value < :least THEN :least ELSE dream_fleet.value END + :more, at = :at "
    "RETURNING value"
)


class Ledger:
    """The table in the database at `url`; safe for threads, processes and machines."""

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url)
        self._sqlite = self.engine.dialect.name == "sqlite"
        self._turns: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._known: tuple[float, dict[str, float]] = (-inf, {})
        self._share: dict[str, float] = {}  # of the most that a call may use, what calls of a model did lately
        if self._sqlite:  # SQLAlchemy's own way begins a transaction only with its first write
            sa.event.listen(self.engine, "connect", _plain)
            sa.event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        with self.engine.begin() as connection:
            if not self._sqlite:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7305241)"))  # CREATE … IF NOT EXISTS races
            _TABLE.create(connection, checkfirst=True)

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    def set(self, values: Mapping[str, float]) -> None:
        """Set numbers."""
        with self.engine.begin() as connection:
            for name, value in sorted(values.items()):
                connection.execute(_SET, {"name": name, "value": value, "at": self._now(connection)})
        self._known = (-inf, {})

    def reach(self, name: str, least: float, more: float) -> float:
        """Raise a number to at least `least`, then add `more`; return its value between the two."""
        with self.engine.begin() as connection:
            row = {"name": name, "least": least, "more": more, "at": self._now(connection)}
            return float(connection.execute(_REACH, row).scalar_one()) - more

    def get(self, prefix: str) -> dict[str, float]:
        """Return the numbers whose names have this prefix."""
        query = sa.select(_TABLE.c.name, _TABLE.c.value).where(_TABLE.c.name.startswith(prefix, autoescape=True))
        with self.engine.connect() as connection:
            return {row.name: float(row.value) for row in connection.execute(query)}

    def forget(self, names: Iterable[str]) -> None:
        """Delete numbers."""
        with self.engine.begin() as connection:
            connection.execute(sa.delete(_TABLE).where(_TABLE.c.name.in_(list(names))))
        self._known = (-inf, {})

    def take(self, tenant: str, day: str, model: str, most: Usage, stop: Callable[[], bool]) -> float | str:
        """Wait until a call of at `most` this cost may be made; return the tokens it took, or why it may not be made.

        Of a minute's tokens it takes what such a call used lately, of a tenant's day the most that it may. A level
        may go below zero, and whoever comes next waits until it is above again: so a large call is never
        passed over, and a rate is kept but for one call. Of a worker's threads one at a time looks, in turn.
        """
        with self._guard:
            turn = self._turns.setdefault(model, threading.Lock())
        with turn:
            while not stop():
                tokens = most.tokens * self._share.get(model, 1.0)
                wait = self._try(tenant, day, model, most, tokens)
                if isinstance(wait, str):
                    return wait
                if wait <= 0:
                    return tokens
                time.sleep(min(wait, NAP) * random.uniform(0.9, 1.1))  # noqa: S311 - so that workers don't march
        return "the worker is told to stop"

    def _try(self, tenant: str, day: str, model: str, most: Usage, tokens: float) -> float | str:
        """Take the call's share, and return 0; else how many seconds to wait, or why it may never be."""
        rates = (f"calls:{model}", f"tokens:{model}")
        spends = (f"tokens:{day}:{tenant}", f"usd:{day}:{tenant}")
        bounds = [*(f"bound:{rate}" for rate in rates), "bound:day:tokens", "bound:day:usd"]
        levels = [*(f"level:{rate}" for rate in rates), *(f"spent:{spend}" for spend in spends)]
        costs = (1.0, tokens, float(most.tokens), most.cost_usd or 0.0)
        bound = self._bounds()
        mine = {
            level: (setting, cost)
            for setting, level, cost in zip(bounds, levels, costs, strict=True)
            if setting in bound
        }
        if not mine:
            return 0.0
        with self.engine.begin() as connection:
            now = self._now(connection)
            rows = sa.select(_TABLE.c.name, _TABLE.c.value, _TABLE.c.at).where(_TABLE.c.name.in_(list(mine)))
            asked = rows.order_by("name").with_for_update()
            found = {row.name: row for row in connection.execute(asked)}
            if len(found) < len(mine):  # so that there is a row to lock
                for level, (setting, _) in sorted(mine.items()):
                    begins = bound[setting] / MINUTE * BURST if level.startswith("level:") else 0.0
                    connection.execute(_BEGIN, {"name": level, "value": begins, "at": now})
                found = {row.name: row for row in connection.execute(asked)}
            wait, values = 0.0, {}
            for level, (setting, cost) in mine.items():
                value, limit = found[level].value, bound[setting]
                if level.startswith("spent:"):
                    if value + cost > limit:
                        return f"what {tenant} may spend a day is used up ({setting.removeprefix('bound:day:')})"
                    values[level] = value + cost
                    continue
                rate = limit / MINUTE
                filled = min(rate * BURST, value + rate * max(0.0, now - found[level].at))
                wait = max(wait, -filled / rate if filled <= 0 else 0.0)
                values[level] = filled - cost
            if wait > 0:
                return wait
            connection.execute(_SET, [{"name": level, "value": value, "at": now} for level, value in values.items()])
        return 0.0

    def _bounds(self) -> dict[str, float]:
        """Read what operators have set, once a second."""
        read, known = self._known
        if time.monotonic() - read > FRESH:
            self._known = read, known = time.monotonic(), self.get("bound:")
        return known

    def paid(self, tenant: str, day: str, model: str, most: Usage, took: float, bill: Usage) -> None:
        """Book what a call cost in place of what it `took`."""
        if bill.tokens:
            used = bill.tokens / max(most.tokens, 1)
            self._share[model] = (1 - LEARNT) * self._share.get(model, used) + LEARNT * used
        changes = {
            f"level:tokens:{model}": took - bill.tokens,
            f"spent:tokens:{day}:{tenant}": float(bill.tokens - most.tokens),
            f"spent:usd:{day}:{tenant}": (bill.cost_usd or 0.0) - (most.cost_usd or 0.0),
        }
        with self.engine.begin() as connection:
            rows = [{"name": name, "change": change} for name, change in sorted(changes.items()) if change]
            if rows:
                connection.execute(_CHANGE, rows)

    def _now(self, connection: sa.Connection) -> float:
        """Read the database's clock: those of the machines may differ."""
        if self._sqlite:
            return time.time()
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _plain(connection: Any, record: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA busy_timeout=30000")
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute("PRAGMA synchronous=OFF")  # a loss of power may cost the file, which is made anew
