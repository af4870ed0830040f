"""The engine: the one door to DBOS, which keeps the nights in SQLite or Postgres through crashes.

A night is the workflow "night" of a workspace, by its root's name and its path beneath. Its steps are "consolidate"
and "dream"; what is recorded of a step is not done again, and a step that was cut short is: the workspace's own lock,
cursor and spans see to it that nothing is lost or doubled by that. The database holds paths, shas and counts.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
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
from dream.fleet.limits import PAUSE, ROWS, Ledger
from dream.fleet.members import Member, Note, Root
from dream.fleet.news import Waiting
from dream.fleet.nursery import Account, Nursery, Stage, both, failed
from dream.workspace.lock import FileLock, is_free

APPLICATION, VERSION, WORKFLOW = "dream-fleet", "2", "night"
WAITING = ["ENQUEUED", "PENDING"]
LOST = ("ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")  # states in which the queue has lost a night
COLUMNS = (
    "workflow_uuid",
    "status",
    "name",
    "queue_name",
    "application_version",
    "created_at",
    "completed_at",
    "executor_id",
)  # of the table of nights: those read here
POLL = 0.1  # seconds between two looks at the queue
REAP = 3.0  # seconds between two looks for workers that died
BUSY = 30.0  # seconds that a night waits for a workspace that another run holds: a killed worker's night, mostly
KEPT = timedelta(days=30)  # how long the database keeps the results of nights
AT_ONCE = 200  # nights that DBOS is asked for at once
SETTLE = 20.0  # seconds that workers have to come back to a Postgres that was restarted, before they count as dead
TRIES = 5  # workers that may die during a night, for whatever reason, before it counts as failed
AGAIN = "~"  # between a night's id and how often it was put back because its provider did not answer
FOR_EVER = 1_000_000
LONGEST_PAUSE = 600.0  # seconds between two such tries
HEAD_START = 60  # each further night of a tenant queues as if it had come so many seconds later


def _check_sqlite() -> None:
    """Raise DreamError where DBOS asks this SQLite for a clock that it does not have; it would fail at each write."""
    if tuple(sys.version_info) >= (3, 12) and sqlite3.sqlite_version_info < (3, 42):
        raise DreamError(
            f"With Python 3.12 or newer the fleet needs SQLite 3.42; this Python has {sqlite3.sqlite_version}. "
            "Use a Python that brings its own (`uv python install 3.13`), Python 3.11, or Postgres (--database)."
        )


class Queue:
    """The nights that wait, run and have ended; shared by workers and by those who enqueue nights.

    Everything waits for a database that is away for a while; see `Ledger`.
    """

    def __init__(self, url: str) -> None:
        self.url = _with_driver(url)
        schema = None if self.url.startswith("sqlite") else "dbos"
        self._table = sa.table("workflow_status", *map(sa.column, COLUMNS), schema=schema)
        self.file = Path(sa.make_url(self.url).database or "") if self.url.startswith("sqlite") else None
        if self.file is not None:
            _check_sqlite()
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
        self.ledger.patiently(
            lambda: self._client.register_queue(name, worker_concurrency=claims, polling_interval_sec=POLL)
        )

    def put(self, waiting: Iterable[Waiting], now: datetime, *, anew: bool = False) -> int:
        """Enqueue nights and return how many; a night that is or was in the queue is not enqueued again.

        A night that the queue has lost is. With `anew`, so is one that ended before `now` although something new was
        left: it came to nothing, and could not even be noted. The longest waiting comes first, tenants in turn: a
        tenant's next night counts as having begun to wait a minute after the one before it, so that a thousand nights
        of one delay nobody else's by more than one.
        """
        nights = {one.id: one for one in waiting}
        lost: list[str] = []
        known: set[str] = set()
        for row in self._rows(list(nights)):
            ended = anew and row.status == "SUCCESS" and (row.completed_at or 0) < now.timestamp() * 1000
            (lost.append if row.status in LOST or ended else known.add)(row.workflow_uuid)
        self.delete(lost)
        turns: dict[str, list[Waiting]] = {}
        for one in sorted((one for id_, one in nights.items() if id_ not in known), key=lambda one: one.since):
            turns.setdefault(one.tenant, []).append(one)
        if not turns:
            return 0
        least = now.timestamp() // HEAD_START
        begin = self.ledger.reach(least, {f"turn:{tenant}": len(mine) for tenant, mine in turns.items()})
        rows = [
            (int(begin[f"turn:{tenant}"]) + number, one)
            for tenant, mine in turns.items()
            for number, one in enumerate(mine)
        ]
        rows.sort(key=lambda row: (row[0], row[1].since))
        return self.ledger.patiently(lambda: self._insert(rows))

    def _insert(self, rows: Sequence[tuple[int, Waiting]]) -> int:
        """Insert nights, all in one transaction: a disk is waited for once, and not for each of thousands."""
        with self.ledger.engine.begin() as connection:
            for turn, one in rows:
                self._client.enqueue_in_transaction(connection, _options(one, turn), *one.arguments)
        return len(rows)

    def drained(self, roots: Sequence[Root]) -> bool:
        """Return whether no night of these roots waits or runs; one delayed because of its provider waits too."""
        table = self._table
        back = (table.c.status == "DELAYED") & table.c.workflow_uuid.contains(AGAIN, autoescape=True)
        here = table.c.queue_name.in_([root.name for root in roots]) & (table.c.name == WORKFLOW)
        return not self._read(sa.select(table.c.status).where(here, table.c.status.in_(WAITING) | back).limit(1))

    def waiting(self) -> dict[str, int]:
        """Count the nights by state, in words of DBOS: enqueued, pending, delayed, success, error."""
        table = self._table
        counted = sa.select(table.c.status, sa.func.count()).where(table.c.name == WORKFLOW).group_by(table.c.status)
        return {str(row[0]).lower(): int(row[1]) for row in self._read(counted)}

    def lost(self, nights: Iterable[Waiting]) -> list[Member]:
        """Return the workspaces of those nights that the queue itself has lost."""
        named = {one.id: one.member for one in nights}
        return [named[row.workflow_uuid] for row in self._rows(list(named)) if row.status in LOST]

    def free(self, dead: Callable[[str], bool]) -> int:
        """Requeue the nights of workers that are `dead`, and return how many; give back the room of their calls."""
        if self._has_just_started():
            return 0
        is_dead = cache(dead)
        lost = dict[str, list[str]]()
        for one in self._nights(status="PENDING", name=WORKFLOW):
            if one.queue_name and is_dead(one.executor_id or ""):
                lost.setdefault(one.queue_name, []).append(one.workflow_id)
        for queue, ids in lost.items():
            self.ledger.patiently(partial(self._client.resume_workflows, ids, queue_name=queue))
        self.ledger.give_back(is_dead)
        return sum(map(len, lost.values()))

    def adopt(self, dead: Callable[[str], bool]) -> None:
        """Requeue nights that wait for a worker of another version of this program, or that died with one."""
        table, is_dead = self._table, cache(dead)
        other = sa.select(table.c.workflow_uuid, table.c.status, table.c.executor_id).where(
            table.c.name == WORKFLOW,
            table.c.status.in_([*WAITING, "DELAYED"]),
            table.c.application_version != VERSION,
        )
        rows = self._read(other)
        ids = [row.workflow_uuid for row in rows if row.status != "PENDING" or is_dead(row.executor_id or "")]
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            found = self.ledger.patiently(partial(self._client.list_workflows, workflow_ids=part, load_output=False))
            self.delete(part)
            for one in found:
                arguments = one.input["args"] if one.input else ()
                self.ledger.patiently(partial(self._client.enqueue, _adopted(one), *arguments))

    def _has_just_started(self) -> bool:
        """Return whether Postgres started so recently that workers may not have reconnected: none counts as dead."""
        if self.file is not None:
            return False
        since = sa.text("SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())")
        return float(self._read(since)[0][0]) < SETTLE

    def forget(self, keys: Sequence[str]) -> int:
        """Delete every night of these workspaces from the database, and return how many there were."""
        ids: list[str] = []
        for start in range(0, len(keys), AT_ONCE):
            found = self._nights(workflow_id_prefix=list(keys[start : start + AT_ONCE]))
            ids += [one.workflow_id for one in found]
        self.delete(ids)
        return len(ids)

    def tidy(self, now: datetime) -> None:
        """Delete nights that ended long ago, and rows of limits that are no longer updated."""
        before = (now - KEPT).astimezone(UTC).isoformat()
        self.delete([one.workflow_id for one in self._nights(completed_before=before, limit=10_000)])
        self.ledger.tidy()

    def scrub(self) -> None:
        """Erase deleted rows from SQLite's file; on Postgres free their space for other rows.

        Postgres keeps what was deleted in its tables' files until other rows take its place, and in its write-ahead
        log and its backups until these go.
        """
        if self.file is None:
            named = "WHERE schemaname = 'dbos' OR tablename IN ('dream_fleet', 'dream_fleet_calls')"
            tables = self._read(sa.text("SELECT schemaname, tablename FROM pg_tables " + named))  # noqa: S608 - ours
            with self.ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for schema, table in tables:
                    connection.execute(sa.text(f'VACUUM "{schema}"."{table}"'))
        else:
            with closing(sqlite3.connect(self.file, timeout=30, isolation_level=None)) as plain:
                plain.execute("VACUUM")

    def delete_ended(self, ids: list[str]) -> None:
        """Delete the nights of `ids` that have ended, and keep only the others in `ids`."""
        if not ids:
            return
        ended = {one.workflow_id for one in self._nights(workflow_ids=ids, status="SUCCESS")}
        self.delete(sorted(ended))
        ids[:] = [one for one in ids if one not in ended]

    def delete(self, ids: Sequence[str]) -> None:
        """Delete nights from the database, so that they can be enqueued again."""
        for start in range(0, len(ids), AT_ONCE):
            self.ledger.patiently(partial(self._client.delete_workflows, list(ids[start : start + AT_ONCE])))

    def _nights(self, **which: Any) -> list[WorkflowStatus]:
        return self.ledger.patiently(partial(self._client.list_workflows, **which, load_input=False, load_output=False))

    def _rows(self, ids: Sequence[str]) -> list[Any]:
        """Read state and end of the nights with these ids."""
        table = self._table
        rows: list[Any] = []
        for start in range(0, len(ids), ROWS):
            part = sa.select(table.c.workflow_uuid, table.c.status, table.c.completed_at)
            rows += self._read(part.where(table.c.workflow_uuid.in_(ids[start : start + ROWS])))
        return rows

    def _read(self, query: Any) -> Sequence[Any]:
        def once() -> Sequence[Any]:
            with self.ledger.engine.connect() as connection:
                return connection.execute(query).all()

        return self.ledger.patiently(once)

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
        "workflow_id": one.id,
        "priority": turn,
        "app_version": VERSION,
    }
    if one.delay > 0:
        options["delay_seconds"] = one.delay
    return options


def _adopted(one: WorkflowStatus) -> EnqueueOptions:
    return {
        "workflow_name": WORKFLOW,
        "queue_name": str(one.queue_name),
        "workflow_id": one.workflow_id,
        "priority": one.priority or 0,
        "app_version": VERSION,
    }


class Worker:
    """Runs nights of the roots that it sees, `jobs` at a time, until `stop` is called.

    `tell` is given each workspace and how its night went, from several threads. A night whose provider does not answer
    is put back with a delay, `again` times at most.
    """

    def __init__(
        self,
        queue: Queue,
        roots: Sequence[Root],
        nursery: Nursery,
        jobs: int,
        tell: Callable[[Member, Account], None],
        again: int = FOR_EVER,
    ) -> None:
        self._queue = queue
        self._roots = {root.name: root for root in roots}
        self._nursery = nursery
        self._jobs = jobs
        self._slots = threading.Semaphore(jobs)
        self._tell = tell
        self._again = again
        self._name = queue.ledger.worker = uuid4().hex
        self._alive = _Alive(queue, self._name)
        self._over = threading.Event()
        self._not_had: list[str] = []  # nights that did not finish, by id
        self._reaper = threading.Thread(target=self._reap, daemon=True)

    def start(self) -> None:
        """Begin to take nights from the queue, after requeueing those of workers that died."""
        self._alive.sign()
        self._queue.free(self._alive.is_dead)
        self._queue.adopt(self._alive.is_dead)
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
        member, id_ = Member(self._roots[root], name), str(DBOS.workflow_id)
        with self._slots:
            account = {"outcome": "stopped"} if self._nursery.stopping.is_set() else self._tried(member)
        if account["outcome"] in ("stopped", "busy", "gone"):  # gone: another worker may see it
            self._not_had.append(id_)
        if account["outcome"] == "unavailable":
            account |= {"again": self._later(member, id_)}
        self._tell(member, account)
        return account

    def _tried(self, member: Member) -> Account:
        """Run a night, unless each try killed its worker; an error is noted, and ends only this night."""
        if not os.path.isdir(member.path):  # noqa: PTH112 - False also where it may not be asked
            return {"outcome": "gone"}
        now = datetime.now(UTC)
        try:
            known = members.read(member) or Note()
            if known.tries >= TRIES:
                members.write(member, replace(known, tries=0))
                return failed(member, "crashed", f"its worker died {TRIES} times while it ran", now)
            members.write(member, replace(known, tries=known.tries + 1))
            account = both(lambda half, read: DBOS.run_step({"name": half}, self._half, member, half, read))
            members.write(member, replace(members.read(member) or Note(), tries=0))
        except DBOSException:  # by which DBOS ends a workflow
            raise
        except DreamError as error:
            return failed(member, "failed", str(error), now)
        except Exception as error:  # noqa: BLE001 - a bug ends this night, and neither the worker nor its place in the queue
            return failed(member, "crashed", members.where(error), now)
        return account

    def _later(self, member: Member, id_: str) -> bool:
        """Requeue a night whose provider did not answer; return False if all its tries are used."""
        name, _, number = id_.partition(AGAIN)
        tried = int(number or 0) + 1
        if tried > self._again:
            return False
        mark = f"{name.removeprefix(f'{member.key}-')}{AGAIN}{tried}"
        delay = min(PAUSE * 2.0 ** (tried - 1), LONGEST_PAUSE)
        now = datetime.now(UTC)
        self._queue.put([Waiting(member, member.directory, "", mark, delay)], now)
        return True

    def _half(self, member: Member, half: Stage, read: Account) -> Account:
        """Run one step: half a night in its own process, when no other run holds the workspace any more."""
        began = time.monotonic()
        while True:
            account = self._nursery.run(member, half, read, datetime.now(UTC))
            if account["outcome"] != "busy" or time.monotonic() - began > BUSY or self._nursery.stopping.is_set():
                return account
            time.sleep(0.5)

    def _reap(self) -> None:
        while not self._over.wait(REAP):
            ended, self._not_had = self._not_had, []
            with suppress(sa.exc.SQLAlchemyError, DreamError):  # a database that is away; DBOS itself waits for it
                self._alive.sign()
                self._queue.free(self._alive.is_dead)
                self._queue.delete_ended(ended)
            self._not_had += ended


class _Alive:
    """Whether a worker is alive: its process holds a lock in the database's folder, or in Postgres."""

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


def _with_driver(url: str) -> str:
    """Add the driver that DBOS ships to a database URL; raises DreamError if `url` is not one."""
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
