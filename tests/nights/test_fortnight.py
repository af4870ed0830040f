"""A fortnight on a clock that is moved: nights missed, a provider down, a restart, and an hour that comes twice."""

from __future__ import annotations

import gc
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dream.directory import Workspace
from dream.nights.nightly import NightReport
from dream.nights.serve import Server
from dream.settings import Settings
from tests.nights.world import FACT, Agents, Health
from tests.provider import Body, Provider, Reply
from tests.workspaces import fresh

ZONE = ZoneInfo("Europe/Berlin")
FIRST = datetime(2026, 10, 16, 12, tzinfo=ZONE).astimezone(UTC)  # the hour from 2 to 3 comes twice on the 25th
DOWN, RESTART, ASLEEP = 3, 6, (9, 10)  # nights, counted from 1


class Fortnight:
    """One machine, one workspace, one `dream serve` at a time."""

    def __init__(self, root: Path, provider: Provider) -> None:
        self.now = FIRST
        self.workspace = fresh(root / "ws", self.now)
        self.agents, self.health = Agents(root), Health()
        self.nights: list[tuple[datetime, NightReport]] = []
        self.provider = provider
        self.settings = Settings(
            model="openai/scripted",
            api_base=provider.base,
            api_key="sk-1",
            retries=0,
            durable=False,
            timezone="Europe/Berlin",
            schedule="30 2 * * *",
            sources=self.agents.sources,
        )
        provider.script(self.health)
        self.server = self.started()

    def started(self) -> Server:
        """Start `dream serve` anew, as after a restart of the machine."""
        server = Server(
            Workspace.open(self.workspace.root),
            lambda: self.settings,
            environ={},
            tell=lambda line: None,
            told=lambda report: self.nights.append((self.now, report)),
            clock=lambda: self.now,
        )
        server.begin()
        return server

    def until(self, end: datetime, *, asleep: bool = False) -> None:
        """Let the hours pass; the server looks at the clock every half hour unless the machine sleeps."""
        while self.now < end:
            self.now += timedelta(minutes=30)
            if not asleep:
                self.server.beat()

    def memory(self) -> list[tuple[str, str]]:
        return FACT.findall(self.workspace.read_file("memory/MEMORY.md"))

    def stopped_at_the_second_call(self) -> Callable[[Body], Reply]:
        """Answer, and let SIGTERM come while the second answer is awaited."""
        calls = Counter[str]()

        def answer(body: Body) -> Reply:
            calls["all"] += 1
            if calls["all"] == 2:
                self.server.stop()
            return self.health(body)

        return answer


@pytest.fixture
def _clients() -> Iterator[None]:
    """Let go of the clients that LiteLLM keeps, one for each thread: their sockets must not outlive the test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        sys.modules["litellm"].in_memory_llm_clients_cache.flush_cache()
        gc.collect()


@pytest.mark.long
@pytest.mark.usefixtures("_clients")
def test_a_fortnight(tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    world = Fortnight(tmp_path, provider)
    for number in range(14):
        night = number + 1
        day = FIRST + timedelta(days=number)
        world.until(day + timedelta(hours=9), asleep=night in ASLEEP[1:])
        world.agents.day(number, world.now)
        world.health.down = night == DOWN
        if night == RESTART:
            provider.script(world.stopped_at_the_second_call())
            world.until(day + timedelta(hours=16))
            provider.script(world.health)
            world.server = world.started()
        world.until(day + timedelta(hours=21), asleep=night in ASLEEP)
    world.health.down = False
    world.until(FIRST + timedelta(days=14, hours=20))

    # Every fact is in memory once, in its latest version.
    assert Counter(world.memory()) == Counter(world.agents.facts.items())
    # No night was run twice: the one that was stopped went on later; two that were slept through made one.
    had = Counter(_night(moment) for moment, _ in world.nights)
    assert had.pop(FIRST.astimezone(ZONE).date() + timedelta(days=RESTART)) == 2
    assert set(had.values()) == {1}
    assert len(had) == 15 - 1 - 1
    failed = [_night(moment) for moment, report in world.nights if report.exit_status == 1]
    assert failed == [FIRST.astimezone(ZONE).date() + timedelta(days=DOWN)]
    # Each message is in history once, in whichever format.
    told = re.findall(r"Project \w+ ships on \w+\.", "\n".join(e.content for e in world.workspace.history.after(0)))
    assert set(Counter(told).values()) == {1}
    # And another look at the clock, or another restart, costs nothing.
    before = world.health.requests
    world.started().beat()
    assert world.health.requests == before


def _night(moment: datetime) -> date:
    return moment.astimezone(ZONE).date()
