"""What model calls cost is noted as they are answered, and added up by the local day and month."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dream.errors import SpendingLimit
from dream.llm import Card
from dream.llm.spending import Meter, open_meter
from dream.reports import Usage
from dream.settings import Settings
from dream.workspace.bills import Bills, Spent
from tests.cli.commands import dream
from tests.workspaces import fresh

NOW = datetime(2026, 11, 30, 20, tzinfo=UTC)
ONE = Usage(1, 100, 10, 0.5, 4)
PRICE = Card(input_usd=0.001, output_usd=0.001)


def test_before_the_first_call_nothing_is_spent(tmp_path: Path) -> None:
    assert Bills(tmp_path).spent(NOW, UTC) == Spent()
    assert list(tmp_path.iterdir()) == []


def test_a_day_and_its_month_are_those_of_the_zone(tmp_path: Path) -> None:
    bills = Bills(tmp_path)
    for hours in (0, 6, 30, 24 * 30):
        bills.add("openai/m", ONE, NOW - timedelta(hours=hours))

    in_london, in_tokyo = bills.spent(NOW, UTC), bills.spent(NOW, ZoneInfo("Asia/Tokyo"))

    assert (in_london.today.calls, in_london.month.calls) == (2, 3)
    assert (in_tokyo.today.calls, in_tokyo.month.calls) == (1, 1)  # it is December there
    assert in_london.today == ONE + ONE
    assert sorted(path.name for path in (tmp_path / "bills").iterdir()) == ["2026-10.jsonl", "2026-11.jsonl"]


def test_free_tokens_do_not_use_up_the_bound_of_a_paid_model(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    settings = Settings(timezone="UTC", max_day_tokens=1000)
    now = datetime.now(UTC)
    Bills(workspace.private).add("embedded", Usage(1, 10**6, 10), now)

    open_meter(Bills(workspace.private), settings, now).reserve("openai/m", 800, 100, PRICE)
    Bills(workspace.private).add("openai/m", Usage(1, 900, 50), now)

    assert Bills(workspace.private).spent(now, UTC).today.input_tokens == 10**6 + 900
    with pytest.raises(SpendingLimit, match="max_day_tokens"):
        open_meter(Bills(workspace.private), settings, now).reserve("openai/m", 100, 1, PRICE)


def test_nor_do_they_within_one_run() -> None:
    meter = Meter(Settings(max_run_tokens=1000, max_day_tokens=1000))
    meter.record(meter.reserve("embedded", 400, 0, PRICE), Usage(1, 400, 0, 0.0))

    meter.record(meter.reserve("openai/m", 900, 0, PRICE), Usage(1, 900, 0, 0.9))

    with pytest.raises(SpendingLimit, match="900 used in this run"):
        meter.reserve("openai/m", 101, 0, PRICE)
    with pytest.raises(SpendingLimit, match="1,300 used in this run"):  # an explicit bound holds the free model too
        meter.reserve("embedded", 1, 0, PRICE)


def test_the_log_ends_with_the_day_and_the_month_where_something_was_paid(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    assert "Cost" not in dream("log", "-w", workspace.root).out

    Bills(workspace.private).add("openai/m", ONE, datetime.now(UTC))

    cost = "1 call, 100 tokens in, 10 out, $0.5000"
    assert dream("log", "-w", workspace.root).out.splitlines()[-1] == f"Cost today: {cost}. This month: {cost}."


def test_money_that_is_known_counts_beside_a_price_that_is_not(tmp_path: Path) -> None:
    bills = Bills(tmp_path)
    bills.add("openai/m", ONE, NOW)
    bills.add("some/model", Usage(1, 1, 1, None), NOW)

    assert bills.spent(NOW, UTC).today.cost_usd is None
    assert bills.spent(NOW, UTC).paid_today.cost_usd == 0.5


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    bills = Bills(tmp_path)
    bills.add("openai/m", ONE, NOW)
    with (tmp_path / "bills" / "2026-11.jsonl").open("ab") as file:
        file.write(b'null\n{"at": 5}\n{"at":"2026-11-30T1')
    bills.add("openai/m", ONE, NOW)

    assert bills.spent(NOW, UTC).today == ONE + ONE


def test_calls_made_at_the_same_time_are_all_billed(tmp_path: Path) -> None:
    bills = Bills(tmp_path)
    threads = [threading.Thread(target=bills.add, args=("openai/m", ONE, NOW)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert bills.spent(NOW, UTC).today.calls == 16


def test_what_a_killed_run_spent_is_counted(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    code = f"""
import os, signal
from datetime import UTC, datetime
from pathlib import Path
from dream.llm import Card
from dream.llm.spending import Meter, open_meter
from dream.reports import Usage
from dream.settings import Settings
from dream.workspace.bills import Bills
from dream.directory import Workspace
meter = open_meter(Bills(Workspace.open(Path({str(workspace.root)!r})).private), Settings(), datetime.now(UTC))
meter.record(meter.reserve("openai/m", 900, 50, Card()), Usage(1, 900, 50, 0.25))
os.kill(os.getpid(), signal.SIGKILL)
"""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=environ, check=False, capture_output=True, text=True)

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert Bills(workspace.private).spent(datetime.now(UTC), UTC).paid_today == Usage(1, 900, 50, 0.25)
