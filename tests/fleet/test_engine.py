"""The queue, the limits and the window: who comes when, and what all workers share."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dream.fleet.engine import Queue, Waiting
from dream.fleet.limits import Ledger
from dream.fleet.members import Member, Note, Root, Window
from dream.reports import Usage

NOW = datetime(2026, 11, 20, 2, tzinfo=UTC)
CALL = Usage(calls=1, input_tokens=100, cost_usd=0.5)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    made = Queue(f"sqlite:///{tmp_path / 'fleet.sqlite'}")
    yield made
    made.close()


@pytest.fixture
def ledger(queue: Queue) -> Ledger:
    return queue.ledger


def never() -> bool:
    return False


def in_turn(queue: Queue) -> list[str]:
    """Return the waiting nights as workers will take them."""
    rows = queue._client.list_workflows(status="ENQUEUED")
    return [str(row.input["args"][1]) for row in sorted(rows, key=lambda row: (row.priority or 0, row.created_at or 0))]


def waits(tenant: str, number: int, since: str = "") -> Waiting:
    return Waiting(Member(Root("r", Path("/r")), f"{tenant}/{number}"), tenant, since, "x")


def test_a_tenant_with_a_hundred_times_the_work_delays_another_by_one_night(queue: Queue) -> None:
    queue.put([waits("large", number) for number in range(100)], NOW)
    queue.put([waits("small", 0)], NOW)

    assert in_turn(queue).index("small/0") <= 1


def test_who_waits_longest_comes_first_and_nobody_waits_for_ever(queue: Queue) -> None:
    queue.put([waits("a", 1, "2026-11-19"), waits("a", 2, "2026-11-18"), waits("b", 1, "2026-11-17")], NOW)
    queue.put([waits("c", 1), waits("d", 1)], NOW + timedelta(minutes=5))

    assert in_turn(queue) == ["b/1", "a/2", "a/1", "c/1", "d/1"]


def test_a_night_is_put_into_the_queue_once_whoever_asks(queue: Queue) -> None:
    assert queue.put([waits("a", 1)], NOW) == 1
    assert queue.put([waits("a", 1)], NOW) == 0


def test_a_rate_is_kept_by_all_who_call(ledger: Ledger) -> None:
    ledger.set({"bound:calls:m": 60 * 20})
    made: list[float] = []

    def calls() -> None:
        for _ in range(10):
            assert ledger.take("t", "d", "m", CALL, never) == 100
            made.append(time.monotonic())

    threads = [threading.Thread(target=calls) for _ in range(4)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    # A second's worth at once, the other twenty at twenty a second.
    assert 0.9 <= time.monotonic() - began <= 3
    assert len(made) == 40


def test_what_a_call_did_not_use_is_given_back(ledger: Ledger) -> None:
    ledger.set({"bound:tokens:m": 6_000, "bound:day:tokens": 1_000, "bound:day:usd": 10})
    most = Usage(calls=1, input_tokens=900, cost_usd=0.9)

    assert ledger.take("t", "d", "m", most, never) == 900
    ledger.paid("t", "d", "m", most, 900, Usage(calls=1, input_tokens=50, output_tokens=10, cost_usd=0.1))

    assert ledger.get("spent:tokens:d:t") == {"spent:tokens:d:t": 60}
    assert ledger.get("spent:usd:d:t")["spent:usd:d:t"] == pytest.approx(0.1)
    assert ledger.get("level:tokens:m")["level:tokens:m"] == pytest.approx(100 - 60)


def test_a_tenant_s_day_is_bounded_and_another_s_is_not(ledger: Ledger) -> None:
    ledger.set({"bound:day:tokens": 250})

    assert [isinstance(ledger.take("t", "d", "m", CALL, never), str) for _ in range(4)] == [False, False, True, True]
    assert ledger.take("u", "d", "m", CALL, never) == 100
    assert ledger.take("t", "next day", "m", CALL, never) == 100


def test_the_nights_are_spread_over_the_window_of_each_workspace_s_own_zone() -> None:
    window = Window.parse("22:00-02:00", "UTC")
    root = Root("r", Path("/r"))
    tokyo = Note(zone="Asia/Tokyo")
    slots = [
        window.last(Member(root, f"w{number}"), tokyo, NOW).astimezone(ZoneInfo("Asia/Tokyo")) for number in range(400)
    ]

    hours = [(slot.hour + slot.minute / 60 - 22) % 24 for slot in slots]
    assert 0 <= min(hours) < 0.1
    assert 3.9 < max(hours) < 4
    quarters = [sum(quarter <= hour < quarter + 1 for hour in hours) for quarter in range(4)]
    assert min(quarters) > 70


def test_a_night_is_due_once_a_day() -> None:
    window = Window.parse("03:00-06:00", "Europe/Berlin")
    member = Member(Root("r", Path("/r")), "w")
    seen = {window.last(member, None, NOW + timedelta(minutes=10 * step)) for step in range(6 * 24 * 3)}

    assert len(seen) == 4  # the last one before, and three
