"""The run record: one line a run, torn ones passed over, bounded in size."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dream.reports import Usage
from dream.workspace import runs
from dream.workspace.runs import RunRecord
from tests.store.helpers_history import NOW


def record(ended: datetime = NOW, tokens: int = 100, reason: str = "") -> RunRecord:
    """Make a record of a run that cost `tokens`."""
    return RunRecord(
        started=ended - timedelta(minutes=1),
        ended=ended,
        command="dream run",
        outcome="committed",
        reason=reason,
        entries=(41, 60),
        findings={"applied": 3, "held": 1},
        usage=Usage(2, tokens, 10, 0.5, 4),
        commits=("a" * 40,),
        model="embedded",
    )


def test_records_come_back_newest_first(tmp_path: Path) -> None:
    for number in range(3):
        runs.append(tmp_path, record(reason=str(number)))

    assert runs.last(tmp_path, 2) == [record(reason="2"), record(reason="1")]
    assert [one.reason for one in runs.last(tmp_path, 10)] == ["2", "1", "0"]


def test_before_the_first_run_there_is_none(tmp_path: Path) -> None:
    assert runs.last(tmp_path / "missing") == []


def test_a_run_without_entries_is_kept_too(tmp_path: Path) -> None:
    nothing = RunRecord(NOW, NOW, "dream run", "nothing", "no new entries", usage=Usage(cost_usd=None))
    runs.append(tmp_path, nothing)

    assert runs.last(tmp_path) == [nothing]


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    runs.append(tmp_path, record(reason="one"))
    with (tmp_path / "runs.jsonl").open("ab") as file:
        file.write(b'null\n{"started": 5}\n{"ended": "2026')
    runs.append(tmp_path, record(reason="two"))

    assert [one.reason for one in runs.last(tmp_path, 9)] == ["two", "one"]


def test_the_record_is_bounded(tmp_path: Path) -> None:
    for number in range(30):
        runs.append(tmp_path, record(reason=f"{number} " + "x" * 100_000))

    assert sum(path.stat().st_size for path in tmp_path.glob("runs*.jsonl")) < 2 << 20
    assert [one.reason.split()[0] for one in runs.last(tmp_path, 12)] == [str(29 - number) for number in range(12)]


def test_runs_that_end_together_are_all_recorded(tmp_path: Path) -> None:
    threads = [threading.Thread(target=runs.append, args=(tmp_path, record(reason=str(n)))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(one.reason for one in runs.last(tmp_path, 20)) == [str(number) for number in range(8)]
    assert runs.last(tmp_path)[0].ended.tzinfo is UTC
