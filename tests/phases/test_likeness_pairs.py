"""What a person took back stays out in slightly other words, and nothing else does: measured on pairs."""

from __future__ import annotations

import pytest

from dream.text.alike import same_fact
from tests.phases.pairs import OTHER, SAME


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_fact_in_slightly_other_words_is_recognised(one: str, other: str) -> None:
    assert same_fact(one, other)
    assert same_fact(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_fact_in_nearly_the_same_words_is_another(one: str, other: str) -> None:
    assert not same_fact(one, other)
    assert not same_fact(other, one)


def test_the_pairs_are_enough_to_measure_by() -> None:
    assert len(SAME) >= 40
    assert len(OTHER) >= 40
