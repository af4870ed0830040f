"""Several workers on one database, as on several machines: killed at random, one limit for a real HTTP provider."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.fleet.engine import Queue
from dream.fleet.members import Root
from dream.fleet.news import Looked, find
from tests.cli.commands import command, environment
from tests.fleet import postgres
from tests.fleet.fleets import CANARY, Crew, Metered, agent, billed, canary, check, dreams, say, workspace
from tests.provider import Provider

MODEL = "openai/scripted"
LONG = [
    pytest.mark.long,
    pytest.mark.skipif(postgres.program("initdb") is None, reason="there is no Postgres on this machine"),
]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=LONG)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'fleet.sqlite'}"
        return
    with postgres.server() as url:
        yield url


def asking(provider: Provider) -> list[str]:
    """Return the options by which all nights ask `provider`."""
    pairs = (f"api_base={provider.base}", "api_key=x", "phase2_model=embedded")
    return ["-m", MODEL, *(word for pair in pairs for word in ("--set", pair))]


def dumped(url: str, folder: Path) -> bytes:
    """Return all bytes of the database: those of SQLite's files, or Postgres's own dump."""
    if url.startswith("sqlite"):
        return b"".join(path.read_bytes() for path in folder.glob("fleet.sqlite*"))
    return subprocess.run([str(postgres.program("pg_dump")), "-d", url], check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("workspaces", "nights", "workers"),
    [pytest.param(8, 3, 3, marks=LONG), pytest.param(1_000, 1, 8, marks=LONG)],
    ids=["small", "thousand"],
)
def test_workers_killed_at_random_lose_nothing_double_nothing_and_mix_nothing(
    tmp_path: Path, database: str, workspaces: int, nights: int, workers: int
) -> None:
    root, log, chance = tmp_path / "agents", tmp_path / "log", random.Random(17)
    made = [agent(root, f"t{n % 9}/w{n:04}") for n in range(workspaces)]
    known, queue, meter = Root("all", root), Queue(database), Metered(rate=20)
    queue.ledger.set({f"bound:calls:{MODEL}": 60 * meter.rate})
    began = time.monotonic()
    with Provider([meter]) as provider:
        crew = Crew(workers, root, database, log, "-j", "2", *asking(provider))
        try:
            for night in range(nights):
                for number, one in enumerate(made):
                    say(one, canary(number, night))
                now = datetime.now(UTC)
                assert queue.put(find([known], now, os.environ, Looked()), now) == workspaces
                until, next_one = time.monotonic() + 3600, time.monotonic() + chance.uniform(10, 40)
                while not queue.drained([known]) and time.monotonic() < until:
                    time.sleep(0.5)
                    if time.monotonic() > next_one:
                        crew.kill(chance.randrange(workers), with_nights=crew.killed % 4 == 3)
                        next_one = time.monotonic() + chance.uniform(10, 40)
        finally:
            ended = crew.stop()
        answered = [one.body["usage"]["total_tokens"] for one in provider.answered if one.status == 200]
    minutes = (time.monotonic() - began) / 60
    print(
        f"\n{workspaces * nights} nights in {minutes:.1f} min: {workspaces * nights / minutes:.0f} a minute; "
        f"{crew.killed} kills, {crew.cut} of them with the nights; {len(answered)} answers, "
        f"{len(meter.prompts) - len(answered)} that nobody waited for any more, {meter.refused} refused; billed "
        f"{billed(made)}"
    )

    assert ended <= {0, -15}  # the last ones may have hardly begun
    assert queue.waiting() == {"success": workspaces * nights}
    for number, one in enumerate(made):
        check(one, number, nights)
    calls, tokens = billed(made)
    assert 0 <= len(answered) - calls <= crew.cut  # a night that dies with the answer in its hands has not booked it
    assert tokens == calls * sum(answered) // len(answered)
    assert meter.refused <= crew.killed
    assert {len({word[6:10] for word in words}) for words in meter.prompts} == {1}
    for data in (dumped(database, tmp_path), log.read_bytes()):
        assert not CANARY.search(data)
    queue.close()


FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
# A machine of its own: process ids, host name, /tmp with home, working directory; it sees `eu` at a path of its own.
MACHINE = """
hostname $NAME && mount --bind $EU $AT && mount --bind $OWN /media && mount -t tmpfs none /tmp
mkdir -p /tmp/home /tmp/cwd && cd /tmp/cwd && export HOME=/tmp/home XDG_CONFIG_HOME=/tmp/home/.config LD_PRELOAD=$SKEW
export XDG_STATE_HOME=/tmp/home/state
for one in $AT/w* /media/w*; do $PYTHON -c 'from dream.cli import main; main()' trust --yes -w $one >/dev/null; done
exec "$@"
"""
UNSHARE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--uts",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
]


@contextmanager
def machine(name: str, eu: Path, own: Path, at: str, url: str, log: Path, minutes: int = 0) -> Iterator[str]:
    """Run a worker on a machine that sees one root with others and one alone; its clock is ahead by `minutes`."""
    line = command("fleet", "worker", "--root", f"eu={at}", "--root", f"{name}=/media", "--database", url, "-j", "2")
    skew = {"SKEW": str(FAKETIME or ""), "FAKETIME": f"{minutes:+d}m", "DONT_FAKE_MONOTONIC": "1"}
    env = environment(
        skew
        | {"PYTHON": sys.executable, "NAME": name, "EU": str(eu), "OWN": str(own), "AT": at, "DREAM_MODEL": "embedded"}
    )
    with log.open("ab") as out:
        started = [*UNSHARE, "sh", "-c", MACHINE, "sh", *line]
        running = subprocess.Popen(started, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        yield name
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def can_unshare() -> bool:
    return (
        subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", "/tmp"], check=False, capture_output=True).returncode
        == 0
    )


def wait_for(what: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.5)
    return what()


@pytest.mark.parametrize("database", [pytest.param("postgres", marks=LONG)], indirect=True)
def test_a_night_goes_to_a_machine_that_sees_it_and_another_takes_over_from_a_dead_one(
    tmp_path: Path, database: str
) -> None:
    if not can_unshare():
        pytest.skip("this machine has no namespaces for users")
    roots = {name: Root(name, tmp_path / name) for name in ("eu", "a", "b")}
    made = {name: [workspace(roots[name].path, f"w{n}", "I live in Paris.") for n in range(6)] for name in roots}
    logs = {name: tmp_path / f"log-{name}" for name in "ab"}
    queue, now = Queue(database), datetime.now(UTC)
    queue.put(find([*roots.values()], now, os.environ, Looked()), now)

    def had(name: str) -> int:
        return sum(len(dreams(one)) for one in made[name])

    with machine("a", roots["eu"].path, roots["a"].path, "/mnt", database, logs["a"]):
        assert wait_for(lambda: had("eu") + had("a") > 2, 300)
    assert had("b") == 0
    with machine("b", roots["eu"].path, roots["b"].path, "/srv", database, logs["b"], minutes=7):
        assert wait_for(lambda: queue.drained([roots["eu"], roots["b"]]), 300), logs["b"].read_text()
        left = had("a")
    with machine("a", roots["eu"].path, roots["a"].path, "/mnt", database, logs["a"], minutes=-7):
        assert wait_for(lambda: queue.drained([*roots.values()]), 300), logs["a"].read_text()

    assert left < 6  # what only `a` sees had waited for it
    for name in roots:
        assert [len(dreams(one)) for one in made[name]] == [1] * 6
    assert queue.waiting() == {"success": 18}
    queue.close()
