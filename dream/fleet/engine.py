"""The engine: the one door to DBOS, which keeps the nights in SQLite or Postgres through crashes.

A night is the workflow "night" of a workspace, by its root's name and its path beneath. Its steps are "consolidate"
and "dream"; what is recorded of a step is not done again, and a step that was cut short is: the workspace's own lock,
cursor and spans see to it that nothing is lost or doubled by that. The database holds paths, shas and counts.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from dbos import (
    DBOS,
    DBOSClient,
    DBOSPortableJSONSerializer,
    EnqueueOptions,
    WorkflowStatus,
    run_dbos_database_migrations,
)
from dbos._error import DBOSException

from dream.door import make_folder
from dream.errors import DreamError
from dream.fleet import members
from dream.fleet.limits import Ledger
from dream.fleet.members import Member, Note, Root, Window, Wrong
from dream.fleet.night import Account, Nursery, Stage, bill, failed, priced
from dream.workspace.idle import is_free
from dream.workspace.lock import FileLock

APPLICATION, VERSION, WORKFLOW = "dream-fleet", "1", "night"
WAITING = ["ENQUEUED", "PENDING"]
POLL = 0.1  # seconds between two looks at the queue
REAP = 3.0  # seconds between two looks for workers that died
BUSY = 30.0  # seconds that a night waits for a workspace that another run holds: a killed worker's night, mostly
KEPT = timedelta(days=30)  # how long the database keeps what nights came to
AT_ONCE = 200  # nights put into the queue in one transaction
HEAD_START = 60  # seconds of waiting that a tenant's next night in the queue is worth


@dataclass(frozen=True, slots=True)
class Waiting:
    """A workspace that is to have a night: whose it is, since when it waits, and what makes this night one of its own.

    `delay` is in seconds.
    """

    member: Member
    tenant: str
    since: str
    mark: str
    delay: float = 0.0


class Queue:
    """The nights that wait, run and have ended; shared by workers and by those who enqueue nights."""

    def __init__(self, url: str) -> None:
        self.url = _with_driver(url)
        self._schema = None if self.url.startswith("sqlite") else "dbos"
        self.file = Path(sa.make_url(self.url).database or "") if self.url.startswith("sqlite") else None
        try:
            with self._one_at_a_time():
                self.ledger = Ledger(self.url)  # first: DBOS itself would print why it cannot connect
                run_dbos_database_migrations(self.url)
            self._client = DBOSClient(
                system_database_url=self.url,
                serializer=DBOSPortableJSONSerializer(),
                application_name=APPLICATION,
                retry_connection_errors=False,
            )
        except (sa.exc.SQLAlchemyError, DBOSException) as error:
            raise DreamError(f"The fleet's database cannot be used: {str(error).splitlines()[0]}") from error

    def close(self) -> None:
        """Give the connections back."""
        self._client.destroy()
        self.ledger.close()

    def listen(self, name: str, claims: int) -> None:
        """Register the queue of a root; a worker takes so many of its nights at a time."""
        self._client.register_queue(name, worker_concurrency=claims, polling_interval_sec=POLL)

    def put(self, waiting: Iterable[Waiting], now: datetime) -> int:
        """Enqueue nights and return how many; a night that is or was in the queue is not enqueued again.

        The longest waiting comes first, tenants in turn: a tenant's next night counts as having begun to wait a minute
        after the one before it, so that a thousand nights of one delay nobody else's by more than one.
        """
        turns: dict[str, list[Waiting]] = {}
        for one in sorted(waiting, key=lambda one: one.since):
            turns.setdefault(one.tenant, []).append(one)
        rows = []
        least = now.timestamp() // HEAD_START
        for tenant, nights in turns.items():
            first = self.ledger.reach(f"turn:{tenant}", least, len(nights))
            rows += [(int(first) + number, one) for number, one in enumerate(nights)]
        rows.sort(key=lambda row: (row[0], row[1].since))
        before = sum(self.waiting().values())
        for start in range(0, len(rows), AT_ONCE):
            with self.ledger.engine.begin() as connection:
                for turn, one in rows[start : start + AT_ONCE]:
                    self._client.enqueue_in_transaction(
                        connection, _options(one, turn), one.member.root.name, one.member.name
                    )
        return sum(self.waiting().values()) - before

    def drained(self, roots: Sequence[Root]) -> bool:
        """Return whether no night of these roots waits or runs."""
        return not self._nights(status=WAITING, queue_name=[root.name for root in roots], limit=1)

    def waiting(self) -> dict[str, int]:
        """Count the nights by state, in words of DBOS: enqueued, pending, delayed, success."""
        table = sa.table("workflow_status", sa.column("status"), sa.column("name"), schema=self._schema)
        counted = sa.select(table.c.status, sa.func.count()).where(table.c.name == WORKFLOW).group_by(table.c.status)
        with self.ledger.engine.connect() as connection:
            return {str(state).lower(): int(count) for state, count in connection.execute(counted)}

    def free(self, dead: Callable[[str], bool]) -> int:
        """Requeue the nights of workers that are `dead`, and return how many."""
        lost, is_dead = dict[str, list[str]](), cache(dead)
        for one in self._nights(status="PENDING", name=WORKFLOW):
            if one.queue_name and is_dead(one.executor_id or ""):
                lost.setdefault(one.queue_name, []).append(one.workflow_id)
        for queue, ids in lost.items():
            self._client.resume_workflows(ids, queue_name=queue)
        return sum(map(len, lost.values()))

    def forget(self, keys: Sequence[str]) -> int:
        """Delete every night of these workspaces from the database, and return how many there were."""
        ids: list[str] = []
        for start in range(0, len(keys), AT_ONCE):
            found = self._nights(workflow_id_prefix=list(keys[start : start + AT_ONCE]))
            ids += [one.workflow_id for one in found]
        self.delete(ids)
        return len(ids)

    def tidy(self, now: datetime) -> None:
        """Delete nights that ended long ago."""
        before = (now - KEPT).astimezone(UTC).isoformat()
        self.delete([one.workflow_id for one in self._nights(completed_before=before, limit=10_000)])

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the database's files."""
        if self.file is None:
            with self.ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("VACUUM"))
        else:
            with closing(sqlite3.connect(self.file, timeout=30, isolation_level=None)) as plain:
                plain.execute("VACUUM")

    def delete_ended(self, ids: list[str]) -> None:
        """Delete those of the nights that have ended; leave the others in `ids`."""
        if not ids:
            return
        ended = {one.workflow_id for one in self._nights(workflow_ids=ids, status="SUCCESS")}
        self.delete(sorted(ended))
        ids[:] = [one for one in ids if one not in ended]

    def delete(self, ids: Sequence[str]) -> None:
        """Delete nights from the database, so that they can be enqueued again."""
        for start in range(0, len(ids), AT_ONCE):
            self._client.delete_workflows(list(ids[start : start + AT_ONCE]))

    def _nights(self, **which: Any) -> list[WorkflowStatus]:
        return self._client.list_workflows(**which, load_input=False, load_output=False)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Create the tables, one process at a time; a file that is damaged or no database is moved aside."""
        if self.file is None:
            yield
            return
        make_folder(self.file.parent)
        with FileLock(self.file.with_suffix(".making")):
            if self.file.exists() and not _is_sound(self.file):
                for end in ("", "-journal", "-wal", "-shm"):
                    self.file.with_name(self.file.name + end).unlink(missing_ok=True)
            yield


def _options(one: Waiting, turn: int) -> EnqueueOptions:
    options: EnqueueOptions = {
        "workflow_name": WORKFLOW,
        "queue_name": one.member.root.name,
        "workflow_id": f"{one.member.key}-{one.mark}",
        "priority": turn,
        "app_version": VERSION,
    }
    if one.delay > 0:
        options["delay_seconds"] = one.delay
    return options


class Worker:
    """Runs nights of the roots that it sees, `jobs` at a time, until it is told to stop.

    `tell` is given each workspace and how its night went, from several threads.
    """

    def __init__(
        self, queue: Queue, roots: Sequence[Root], nursery: Nursery, jobs: int, tell: Callable[[Member, Account], None]
    ) -> None:
        self._queue = queue
        self._roots = {root.name: root for root in roots}
        self._nursery = nursery
        self._jobs = jobs
        self._slots = threading.Semaphore(jobs)
        self._tell = tell
        self._name = uuid4().hex
        self._alive = _Alive(queue, self._name)
        self._over = threading.Event()
        self._not_had: list[str] = []  # nights that did not come to their end, by id
        self._reaper = threading.Thread(target=self._reap, daemon=True)

    def start(self) -> None:
        """Begin to take nights from the queue, after requeueing those of workers that died."""
        self._alive.sign()
        self._queue.free(self._alive.is_dead)
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._queue.url,
                "executor_id": self._name,
                "application_version": VERSION,
                "serializer": DBOSPortableJSONSerializer(),
                "log_level": "ERROR",
                "enable_otlp": False,
                "use_listen_notify": False,
                "max_executor_threads": 4 * self._jobs + 8,
                "sys_db_pool_size": 2 * self._jobs + 4,
            }
        )

        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
        def night(root: str, name: str) -> Account:
            return self._night(root, name)

        DBOS.listen_queues(list(self._roots))
        for name in self._roots:
            self._queue.listen(name, 2 * self._jobs)
        DBOS.launch()
        self._reaper.start()

    def stop(self) -> None:
        """Let running nights end at their next step, and return the rest to the queue."""
        self._nursery.stop()
        self._over.set()
        DBOS.destroy(workflow_completion_timeout_sec=3600 if self._nursery.busy else 0, destroy_registry=True)
        self._queue.delete(self._not_had)
        self._alive.leave()

    def _night(self, root: str, name: str) -> Account:
        """Run one night as a workflow: consolidate, then dream."""
        member = Member(self._roots[root], name)
        with self._slots:
            if self._nursery.stopping.is_set():
                account: Account = {"outcome": "stopped"}
            else:
                account = self._both(member)
        if account["outcome"] in ("stopped", "busy", "gone"):  # gone: another worker may see it
            self._not_had.append(str(DBOS.workflow_id))
        self._tell(member, account)
        return account

    def _both(self, member: Member) -> Account:
        """Run both steps and add up the night's seconds, calls, tokens and money."""
        read = DBOS.run_step({"name": "consolidate"}, self._half, member, "consolidate", {})
        if read["outcome"] not in ("read", "failed"):
            return read
        dreamt = DBOS.run_step({"name": "dream"}, self._half, member, "dream", read)
        return dreamt | priced(bill(read) + bill(dreamt)) | {"seconds": read["seconds"] + dreamt["seconds"]}

    def _half(self, member: Member, half: Stage, read: Account) -> Account:
        """Run one step: half a night in its own process."""
        began = time.monotonic()
        if not os.path.isdir(member.path):  # noqa: PTH112 - False also where it may not be asked
            return {"outcome": "gone"}
        while True:
            try:
                account = self._nursery.run(member, half, read, datetime.now(UTC))
            except OSError as error:  # no memory or no process for it
                account = {"outcome": "crashed", "reason": error.strerror or type(error).__name__}
            if account["outcome"] != "busy" or time.monotonic() - began > BUSY or self._nursery.stopping.is_set():
                break
            time.sleep(0.5)
        if account["outcome"] == "crashed":
            account |= failed(member, "crashed", str(account["reason"]), datetime.now(UTC))
        return account | {"seconds": round(time.monotonic() - began, 3)}

    def _reap(self) -> None:
        while not self._over.wait(REAP):
            ended, self._not_had = self._not_had, []
            with suppress(sa.exc.SQLAlchemyError):  # a database that is away for a while; DBOS itself waits for it
                self._alive.sign()
                self._queue.free(self._alive.is_dead)
                self._queue.delete_ended(ended)
            self._not_had += ended


class _Alive:
    """Whether a worker is alive: a lock in the database's folder, or in Postgres, that ends with its process."""

    def __init__(self, queue: Queue, name: str) -> None:
        self._queue = queue
        self._name = name
        self._file: FileLock | None = None
        self._connection: sa.Connection | None = None

    def sign(self) -> None:
        """Take the worker's own lock, or check that it is still held."""
        if self._queue.file is not None:
            if self._file is None:
                self._file = FileLock(self._path(self._name))
                self._file.__enter__()
            return
        try:
            if self._connection is not None:
                self._connection.execute(sa.text("SELECT 1"))
                return
        except sa.exc.SQLAlchemyError:
            self._connection = None
        connection = self._connected()
        connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": _number(self._name)})
        self._connection = connection

    def _connected(self) -> sa.Connection:
        return self._queue.ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def is_dead(self, name: str) -> bool:
        """Return whether a worker of that name has ended."""
        if name == self._name:
            return False
        if self._queue.file is not None:
            dead = is_free(self._path(name))
            if dead:
                self._path(name).unlink(missing_ok=True)
            return dead
        with self._connected() as connection:
            key = {"key": _number(name)}
            dead = bool(connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), key).scalar_one())
            if dead:
                connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), key)
        return dead

    def leave(self) -> None:
        """Let the lock go."""
        if self._file is not None:
            self._file.__exit__(None, None, None)
            self._file.close()
            self._path(self._name).unlink(missing_ok=True)
        if self._connection is not None:
            self._connection.invalidate()  # the lock is the session's: a pooled one would keep it
            self._connection.close()

    def _path(self, name: str) -> Path:
        assert self._queue.file is not None
        return self._queue.file.with_name("workers") / name


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
    """Find the workspaces with something new whose night comes within `ahead`, or was missed."""

    def comes(member: Member, known: Note | None) -> Waiting | None:
        at, slot = known.at if known else "", window.last(member, known, now + ahead)
        is_due = slot > now or (at != "" and datetime.fromisoformat(at) < slot)
        if not is_due or not _has_news(member, known, now, environ, looked):
            return None
        delay = max(0.0, (slot - now).total_seconds())
        tenant = member.tenant(members.current(member, environ).tenant)
        return Waiting(member, tenant, at, f"{slot:%Y%m%d}", delay)

    return _each(roots, looked, comes)


def _each(
    roots: Sequence[Root], looked: Looked, night: Callable[[Member, Note | None], Waiting | None]
) -> Iterator[Waiting]:
    """Ask each workspace by itself for its `night`: what is wrong with one stops no other."""
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


def _with_driver(url: str) -> str:
    """Add the driver that DBOS ships to a database URL; raises DreamError for what is none."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise DreamError(f"{url!r} is not a database URL; write postgresql://USER@HOST/NAME.") from error
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _is_sound(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            return connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.DatabaseError:
        return False


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
