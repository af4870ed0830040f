"""A fleet whose Postgres is killed with calls in flight, and one tenant of twenty who breaks what can be broken."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from dream.fleet.engine import Queue
from dream.fleet.members import Root
from dream.fleet.news import Looked, find
from tests.cli.commands import command, dream, environment
from tests.fleet import postgres
from tests.fleet.fleets import CANARY, Crew, agent, billed, canary, check, dreams, say, workspace
from tests.fleet.test_machines import LONG, asking, dumped, wait_for
from tests.nights.world import answer
from tests.provider import Body, Provider, Reply

pytestmark = LONG


@dataclass
class Slow:
    """A provider's answers, which take half a second."""

    asked: int = 0
    prompts: list[set[bytes]] = field(default_factory=list)

    def __call__(self, body: Body) -> Reply:
        self.asked += 1
        self.prompts.append(set(CANARY.findall(str(body).encode())))
        return replace(answer(body), seconds=0.5)


def answered(provider: Provider) -> tuple[int, int]:
    """Count the answers and their tokens."""
    tokens = [one.body["usage"]["total_tokens"] for one in provider.answered if one.status == 200]
    return len(tokens), sum(tokens)


def test_a_run_outlives_twelve_seconds_without_its_database(tmp_path: Path) -> None:
    made = [agent(tmp_path / "agents", f"t{number}/w") for number in range(12)]
    for number, one in enumerate(made):
        say(one, canary(number))
    slow = Slow()
    with postgres.running() as server, Provider([slow]) as provider:
        bound = ("--tenant-tokens", "900000", "--database", server.url, "-j", "2")
        line = command("fleet", "run", tmp_path / "agents", *bound, *asking(provider))
        run = subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert wait_for(lambda: slow.asked > 4, 60)
        server.stop(signal.SIGQUIT)
        time.sleep(12)
        server.start()
        out, err = run.communicate(timeout=300)
        queue = Queue(server.url)
        spent = sum(value for name, value in queue.ledger.get("spent:tokens:").items())
        queue.close()
        count, tokens = answered(provider)

    assert (run.returncode, err) == (0, ""), out + err
    assert "12 workspaces: 12 committed" in out
    for number, one in enumerate(made):
        check(one, number, 1)
    assert billed(made) == (count, tokens)
    assert spent == tokens  # nothing is reserved any more


KILLS = 10


def spoil(root: Path, neighbour: Path) -> None:
    """Let a tenant of these directories do at once what an agent of its can."""
    for name in ("forged", "linked", "zone", "deep", "claims", "tail", *(f"many{number:02}" for number in range(20))):
        workspace(root, name, "I live in Rome.")
    (root / "forged/.dream/nightly").mkdir()
    (root / "forged/.dream/nightly/fleet.json").write_text('{"tenant": "t01", "at": "garbage", "zone": "Nope/Zone"}')
    (root / "linked/.dream").rename(root / "own")
    (root / "linked/.dream").symlink_to(neighbour / ".dream")
    (root / "zone/dream.toml").write_text("timezone = 'Nope/Zone'\n")
    (root / "deep/dream.toml").write_text("a=" + "[" * 100_000)
    (root / "claims/.dream/trust").unlink()
    (root / "claims/dream.toml").write_text("tenant = 't01'\n")
    (root / "tail").rename(root / os.fsdecode(b"tail\xff"))


def test_nineteen_have_their_nights_beside_one_that_breaks_what_can_be_broken_while_the_database_is_killed(
    tmp_path: Path,
) -> None:
    root, log, chance, slow = tmp_path / "agents", tmp_path / "log", random.Random(7), Slow()
    made = [agent(root, f"t{number % 19:02}/w{number // 19}") for number in range(19 * 5)]
    for number, one in enumerate(made):
        say(one, canary(number))
    spoil(root / "t19", made[0].root)
    began = time.monotonic()
    with postgres.running() as server, Provider([slow]) as provider:
        queue, known = Queue(server.url), Root("all", root)
        queue.ledger.set({"bound:day:tokens": 900_000})
        now, looked = datetime.now(UTC), Looked()
        queue.put(find([known], now, os.environ, looked), now)
        crew = Crew(2, root, server.url, log, "-j", "2", *asking(provider))
        for _ in range(KILLS):
            had = slow.asked
            assert wait_for(lambda had=had: slow.asked > had + 2, 120)  # type: ignore[misc]
            server.stop(signal.SIGQUIT)
            time.sleep(chance.uniform(1, 8))
            server.start()
        assert wait_for(lambda: queue.drained([known]), 600), queue.waiting()
        ended = crew.stop()
        ran = dream("fleet", "run", f"all={root}", "--database", server.url, *asking(provider))
        status = dream("fleet", "status", f"all={root}", "--database", server.url, "--json").json
        spent = {one: value for one, value in queue.ledger.get("spent:tokens:").items() if not one.endswith(":t19")}
        states, data = queue.waiting(), dumped(server.url, tmp_path)
        erased = dream("fleet", "erase", "t19", f"all={root}", "--database", server.url)
        queue.close()
        theirs = [one for one, words in zip(provider.answered, slow.prompts, strict=False) if words]
    print(f"\n{KILLS} kills of Postgres in {time.monotonic() - began:.0f} s; {states}; {slow.asked} calls\n{ran.err}")

    assert ended == {0}
    assert ran.status == 1
    assert set(states) == {"success"}
    for number, one in enumerate(made):
        check(one, number, 1)
    calls, tokens = billed(made)
    assert calls == 2 * len(made) == len(theirs)
    assert sum(spent.values()) == tokens
    assert {len(words) for words in slow.prompts} <= {0, 1}
    named = [line.split(": ")[2] for line in ran.err.splitlines() if "looked at" in line]
    assert sorted(named) == ["t19/linked", "t19/tail\\udcff"]
    assert "failed: t19/claims, t19/deep, t19/zone" in ran.err
    assert not any(f"t{number:02}/" in ran.err for number in range(19))
    assert {one["workspaces"] for one in status["tenants"] if one["tenant"] != "t19"} == {5}
    for words in (data, log.read_bytes()):
        assert not CANARY.search(words)
    assert (erased.status, [one.name for one in (root / "t19").iterdir()]) == (0, ["own"])
    assert all(len(dreams(one)) == 1 for one in made)
