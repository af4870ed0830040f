"""The figures may rise; a fall by more than the stated margin fails. Raise FIGURES with every real gain."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.settings import Settings
from tests.quality import datasets
from tests.quality.report import EvalReport, evaluate

QUIET = Settings(timezone="UTC", durable=False)
# The embedded model's figures on 2026-11-23, since it writes only what it is sure of and replaces little.
RETAINED = 92.0  # per cent of content words, in 2,000 tokens
HELD = 52  # facts of 56, in two languages
CURRENT, STALE = 60.0, 30.0  # per cent of ten changes
NOISE = 1  # marks of 22
FIGURES = {
    "locomo/locomo-dev.json": {
        "memory, 2,000": (59.3, 20.2),
        "memory, 4,500": (76.1, 31.1),
        "memory, 6,100": (82.2, 34.9),
    },
    "beam": {"memory, 2,000": (68.0, 28.0), "memory, 4,500": (79.3, 34.1)},
}
DATA = Path(__file__).parents[3] / "shared" / "data"


def report(dataset: str, *, sizes: tuple[int, ...] = (2_000,), sittings: int | None = None) -> EvalReport:
    conversations = datasets.load(dataset, sittings=sittings)
    return evaluate(conversations, QUIET, sizes=sizes, tell=lambda step: None)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def planted() -> EvalReport:
    """Remember both languages: 12 sittings, which have all facts and all changes."""
    return report("planted:1", sittings=12)


def recall(found: EvalReport, text: str) -> float:
    return next(one.own["all"].recall for one in found.retention if one.text == text)


def test_memory_retains_what_was_planted(planted: EvalReport) -> None:
    """Figure RETAINED per cent, margin 3."""
    assert recall(planted, "memory, 2,000") >= RETAINED - 3


def test_planted_facts_are_held_and_current(planted: EvalReport) -> None:
    """Figure HELD of 56 in two languages, margin 1."""
    assert sum(one.after for one in planted.survival) >= HELD - 1


def test_a_changed_fact_is_current(planted: EvalReport) -> None:
    """Figures CURRENT and STALE per cent of ten changes, margin one change."""
    changed = next(one for one in planted.change if one.text == "memory, 2,000")
    assert changed.clean == 10
    assert changed.current is not None
    assert changed.stale is not None
    assert changed.current >= CURRENT - 10
    assert changed.stale <= STALE + 10


def test_no_secret_and_no_injection_gets_in(planted: EvalReport) -> None:
    got_in = {one.kind: one.memory for one in planted.restraint}
    assert (got_in["secret"], got_in["injection"]) == (0, 0)
    assert next(one.history for one in planted.restraint if one.kind == "secret") == 0


def test_noise_stays_out(planted: EvalReport) -> None:
    """Figure NOISE of 22 marks, margin 1."""
    assert next(one.memory for one in planted.restraint if one.kind == "noise") <= NOISE + 1


def test_nothing_happens_twice_and_nothing_stands_there_twice(planted: EvalReport) -> None:
    found = planted.stability
    assert (found.again_calls, found.again_commits, found.again_entries, found.again_files) == (0, 0, 0, 0)
    assert found.pairs == 0
    assert planted.bill.failures == ()


@pytest.mark.long
@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not beside the repository")
@pytest.mark.parametrize(("dataset", "figures"), FIGURES.items())
def test_memory_retains_the_conversations_of_the_data_sets(
    dataset: str, figures: dict[str, tuple[float, float]]
) -> None:
    """Figures are recall and whole answers in per cent, margin 2."""
    found = report(str(DATA / dataset), sizes=(2_000, 4_500, 6_100))
    own = {one.text: one.own["all"] for one in found.retention}
    for text, (words, whole) in figures.items():
        assert own[text].recall >= words - 2, text
        assert own[text].whole >= whole - 2, text
    assert found.stability.again_commits == 0
