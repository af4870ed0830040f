"""A dream costs at most 0.55 of what the two-phase peer sends and receives for the same; each saving is one."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import bill
from tests.quality import datasets


def test_the_bill_and_each_saving(tmp_path: Path) -> None:
    paid = bill.dreamt(datasets.generate("en", sittings=6), tmp_path / "ws")

    # No further call on the night that changed a line: no other line holds a word that it lost.
    assert [(len(night.phase1), len(night.phase2)) for night in paid.nights] == [(1, 1)] * 6
    assert paid.ours <= 0.55 * paid.peer < 0.55 * paid.peer_one_by_one
    assert paid.nothing_new[0] <= 0.6 * paid.nothing_new[1]
    savings = bill.savings(paid)
    assert min(savings.values()) >= 0 < savings["making all edits in one round"]
    ours, news_first = bill.cached(paid)
    assert ours > news_first
