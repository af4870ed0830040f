"""The planted conversation: the same for a seed, and every fact stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.quality import datasets, metric
from tests.quality.measures import held, stands


def test_a_seed_gives_the_same_conversation_and_another_seed_another() -> None:
    assert datasets.generate("en", seed=4) == datasets.generate("en", seed=4)
    assert datasets.generate("en", seed=4).questions != datasets.generate("en", seed=5).questions


@pytest.mark.slow
@given(language=some.sampled_from(datasets.LANGUAGES), seed=some.integers(1, 10_000), sittings=some.integers(4, 40))
def test_what_is_planted_was_said(language: str, seed: int, sittings: int) -> None:
    conversation = datasets.generate(language, seed=seed, sittings=sittings)
    said = {one.id: one.content for session in conversation.sessions for one in session.messages}
    assert len(conversation.facts) == len(conversation.facts_first) == 28
    assert len(conversation.sessions) == sittings
    assert len(said) == sum(len(session.messages) for session in conversation.sessions)
    assert "{" not in "".join(said.values())
    for plant in conversation.planted:
        assert any(stands(plant.mark, text) for text in said.values())
    for change in conversation.changes:
        assert change.old is not None
        assert any(metric.says(change.new, text) for text in said.values())
        assert any(metric.says(change.old, text) for text in said.values())
        assert change.new != change.old
    undated = [fact for fact in conversation.facts if fact.name not in ("contract", "flight")]
    for fact in undated:
        assert held(fact, {"USER.md": "\n".join(said.values())}), fact


@given(language=some.sampled_from(datasets.LANGUAGES), seed=some.integers(1, 10_000))
def test_no_fact_is_said_where_a_mark_stands(language: str, seed: int) -> None:
    conversation = datasets.generate(language, seed=seed)
    evidence = {one for question in conversation.questions for one in question.evidence}
    told = [one.content for session in conversation.sessions for one in session.messages if one.id in evidence]
    for plant in conversation.planted:
        assert not any(stands(plant.mark, text) for text in told), plant
