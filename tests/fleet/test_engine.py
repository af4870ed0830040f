"""The queue, the limits and the window: who comes when, and what all workers share."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dream.fleet import limits
from dream.fleet.engine import Queue
from dream.fleet.limits import Ledger
from dream.fleet.members import Member, Note, Root, Window
from dream.fleet.news import Waiting
from dream.fleet.nursery import AWAY, Asked, GrantedCall
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


def take(ledger: Ledger, most: Usage = CALL, tenant: str = "t", day: str = "d") -> GrantedCall | str:
    """Ask for a call of the model m."""
    return ledger.take(Asked(tenant, day, "m", most), never)


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
            assert isinstance(take(ledger), GrantedCall)
            made.append(time.monotonic())

    threads = [threading.Thread(target=calls) for _ in range(4)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    # A second's worth at once, the other twenty at twenty a second.
    assert 0.9 <= time.monotonic() - began <= 60  # however busy the machine is
    assert len(made) == 40


def test_what_a_call_did_not_use_is_given_back(ledger: Ledger) -> None:
    ledger.set({"bound:tokens:m": 6_000, "bound:day:tokens": 1_000, "bound:day:usd": 10})
    most = Usage(calls=1, input_tokens=900, cost_usd=0.9)

    call = take(ledger, most)
    assert isinstance(call, GrantedCall)
    for _ in range(2):  # as after an answer of the database that was lost
        ledger.paid(call, Usage(calls=1, input_tokens=50, output_tokens=10, cost_usd=0.1))

    assert ledger.get("spent:tokens:d:t") == {"spent:tokens:d:t": 60}
    assert ledger.get("spent:usd:d:t")["spent:usd:d:t"] == pytest.approx(0.1)


def test_a_tenant_s_day_is_bounded_and_another_s_is_not(ledger: Ledger) -> None:
    ledger.set({"bound:day:tokens": 250})
    bill = Usage(calls=1, input_tokens=100)

    for _ in range(2):
        call = take(ledger)
        assert isinstance(call, GrantedCall)
        ledger.paid(call, bill)
    assert isinstance(take(ledger), str)
    assert isinstance(take(ledger, tenant="u"), GrantedCall)
    assert isinstance(take(ledger, day="next day"), GrantedCall)
    assert isinstance(ledger.take(Asked("t", "d", "m", CALL, bounds={"tokens": 900.0}), never), GrantedCall)


def test_a_call_waits_for_room_that_calls_under_way_may_leave(ledger: Ledger) -> None:
    ledger.set({"bound:day:tokens": 150})
    first = take(ledger)
    assert isinstance(first, GrantedCall)
    second: list[GrantedCall | str] = []
    waiting = threading.Thread(target=lambda: second.append(take(ledger)))
    waiting.start()
    time.sleep(0.3)
    assert second == []
    ledger.paid(first, Usage(calls=1, input_tokens=20))
    waiting.join(100)

    assert isinstance(second[0], GrantedCall)


def test_a_bound_in_dollars_stops_a_model_without_a_price_and_says_so(ledger: Ledger) -> None:
    ledger.set({"bound:day:usd": 1})

    assert "the price of m is not known" in str(take(ledger, Usage(calls=1, input_tokens=9, cost_usd=None)))


def test_a_dead_worker_s_calls_give_their_room_back(ledger: Ledger) -> None:
    ledger.set({"bound:day:tokens": 100})
    ledger.worker = "gone"
    assert isinstance(take(ledger), GrantedCall)

    ledger.give_back(lambda worker: worker == "gone")

    assert isinstance(take(ledger), GrantedCall)


def test_a_provider_that_does_not_answer_is_asked_now_and_then_and_goes_on_by_itself(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked("t", "d", "m", CALL, line="m")
    for _ in range(limits.FAULTS):
        assert isinstance(ledger.take(asked, never), GrantedCall)
        ledger.fault(asked)

    assert ledger.take(asked, never) == AWAY
    assert isinstance(take(ledger), GrantedCall)  # another line
    with monkeypatch.context() as later:
        later.setattr(limits, "PAUSE", 0.0)  # the pause is over
        tried = ledger.take(asked, never)
    assert isinstance(tried, GrantedCall)
    assert ledger.take(asked, never) == AWAY
    ledger.paid(tried, CALL)
    assert isinstance(ledger.take(asked, never), GrantedCall)


def test_the_nights_are_spread_over_the_window_of_each_workspace_s_own_zone() -> None:
    window = Window.parse("22:00-02:00", "UTC")
    root = Root("r", Path("/r"))
    tokyo = Note(zone="Asia/Tokyo")
    slots = [
        window.last(Member(root, f"w{number}"), tokyo, NOW)[0].astimezone(ZoneInfo("Asia/Tokyo"))
        for number in range(400)
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


def test_every_local_night_has_a_name_of_its_own_also_where_the_clocks_change() -> None:
    window = Window.parse("02:00-03:00", "UTC")
    helsinki, member = Note(zone="Europe/Helsinki"), Member(Root("r", Path("/r")), "w")
    spring = datetime(2026, 3, 25, tzinfo=UTC)

    nights = {window.last(member, helsinki, spring + timedelta(hours=hour)) for hour in range(24 * 10)}

    assert len({night for _, night in nights}) == len(nights) == 11
