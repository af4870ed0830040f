"""Several workers on Postgres, as on several machines: killed at random, with one limit for a real HTTP provider."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from dream.fleet.engine import Looked, Queue, find
from dream.fleet.places import Root
from tests.cli.commands import command, environment
from tests.fleet import postgres
from tests.fleet.fleets import dreams, workspace
from tests.provider import Provider, text

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(postgres.program("initdb") is None, reason="there is no Postgres on this machine"),
]
NIGHTS = 60
WORKERS = 8


@pytest.fixture
def database() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def worker(root: Path, url: str, log: Path, *more: str) -> subprocess.Popen[bytes]:
    line = command("fleet", "worker", "--root", f"all={root}", "--database", url, *more)
    with log.open("ab") as out:
        return subprocess.Popen(line, env=environment(), stdout=out, stderr=out)


def everything(url: str) -> str:
    """Return all rows of all tables as text."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    tables = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('dbos', 'public')"
    with engine.connect() as connection:
        names = [f'"{schema}"."{name}"' for schema, name in connection.execute(sa.text(tables))]
        rows = [row for name in names for row in connection.execute(sa.text(f"SELECT * FROM {name}"))]
    engine.dispose()
    return repr(rows)


def test_workers_killed_at_random_lose_nothing_double_nothing_and_mix_nothing(tmp_path: Path, database: str) -> None:
    root, log, chance = tmp_path / "agents", tmp_path / "log", random.Random(17)
    made = [workspace(root, f"t{n % 9}/w{n:04}", f"My bank is called Canary{n:04}x.") for n in range(NIGHTS)]
    queue = Queue(database)
    now = datetime.now(UTC)
    known = Root("all", root)
    assert queue.put(find([known], now, os.environ, Looked()), now) == NIGHTS

    workers = [worker(root, database, log, "-j", "2") for _ in range(WORKERS)]
    killed = 0
    until = time.monotonic() + 900
    try:
        while not queue.drained([known]) and time.monotonic() < until:
            time.sleep(6)
            place = chance.randrange(WORKERS)
            os.kill(workers[place].pid, signal.SIGKILL)
            workers[place].wait()
            workers[place] = worker(root, database, log, "-j", "2")
            killed += 1
    finally:
        for one in workers:
            one.terminate()
        assert {one.wait(120) for one in workers} <= {0, -signal.SIGTERM}  # the last ones may have hardly begun

    assert killed > 3
    assert queue.waiting() == {"success": NIGHTS}
    assert Counter(len(dreams(one)) for one in made) == {1: NIGHTS}
    for number, one in enumerate(made):
        own, files = f"Canary{number:04}x", [path.read_bytes() for path in one.root.rglob("*") if path.is_file()]
        assert one.read_file("USER.md").count(own) + one.read_file("memory/MEMORY.md").count(own) == 1
        assert all(data.count(b"Canary") == data.count(own.encode()) for data in files)
    assert "Canary" not in everything(database)
    assert b"Canary" not in log.read_bytes()
    queue.close()


def test_all_workers_together_keep_one_rate_of_the_provider_and_the_bills_agree(tmp_path: Path, database: str) -> None:
    root, log, nights = tmp_path / "agents", tmp_path / "log", 24
    made = [workspace(root, f"t{n % 3}/w{n:02}", f"My cat is called Mimi{n}.") for n in range(nights)]
    queue = Queue(database)
    now = datetime.now(UTC)
    known = Root("all", root)
    queue.ledger.set({"bound:calls:openai/scripted": 120, "bound:day:tokens": 1_000_000})
    queue.put(find([known], now, os.environ, Looked()), now)
    with Provider([text("[USER] has a cat {1}", usage={"prompt_tokens": 70, "completion_tokens": 7})]) as provider:
        settings = f"api_base={provider.base}", "api_key=x", "phase2_model=embedded"
        more = [word for pair in settings for word in ("--set", pair)]
        workers = [worker(root, database, log, "-j", "4", "-m", "openai/scripted", *more) for _ in range(2)]
        with ExitStack() as ended:
            for one in workers:
                ended.callback(one.wait, 120)
                ended.callback(one.terminate)
            until = time.monotonic() + 300
            while not queue.drained([known]) and time.monotonic() < until:
                time.sleep(0.5)
        at = sorted(request.at for request in provider.requests)
    assert queue.waiting() == {"success": nights}, log.read_text()
    assert len(at) == nights
    assert all(
        later - earlier > 0.7 for earlier, later in zip(at[3:], at[7:], strict=False)
    )  # four in a second, less a burst
    spent = sum(value for name, value in queue.ledger.get("spent:tokens:").items())
    assert spent == 77 * nights == sum(bill(one) for one in made)
    queue.close()


def bill(one: object) -> int:
    from dream.workspace.runs import Bills
    from dream.workspace.workspace import Workspace

    assert isinstance(one, Workspace)
    return Bills(one.private).spent(datetime.now(UTC), UTC).paid_today.tokens
