"""`--recall` asks the messages themselves, beside BM25 alone and grep."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dream.errors import ModelError
from dream.models import Message
from dream.settings import Settings
from tests.provider import Body, Provider, Reply, fault
from tests.quality import Conversation, Question, Sitting
from tests.quality.recall import Recalled, recall, table

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
TALK = (
    ("Ana", "My brother Teo keeps bees on the roof in Ghent."),
    ("Bo", "Bees! How many hives?"),
    ("Ana", "Three, and a fourth in spring."),
    ("Bo", "We went to the lake and the weather was fine."),
)


SETTINGS = Settings(timezone="UTC", durable=False)


def conversation() -> Conversation:
    sessions = []
    for day in range(3):
        at = START + timedelta(days=day)
        rows = TALK if day == 1 else (("Ana", f"Day {day}: rain again."), ("Bo", f"Number {day} it is."))
        messages = tuple(
            Message("user" if name == "Ana" else "assistant", text, at + timedelta(minutes=n), name, f"D{day}:{n}")
            for n, (name, text) in enumerate(rows)
        )
        sessions.append(Sitting(f"talk-{day}", at, messages))
    questions = (
        Question("Where does Teo keep his bees?", "Ghent", "single", ("D1:0",)),
        Question("How many hives are there?", "three", "single", ("D1:2",)),  # said in the turn after the words
        Question("Who is asked of what was never said?", "", "none", ()),
    )
    return Conversation("bees", tuple(sessions), questions)


def test_each_ranking_is_asked_every_question_that_has_evidence() -> None:
    found = {one.ranking: one for one in recall([conversation()], SETTINGS, tell=lambda what: None)}

    assert set(found) == {"dream search", "BM25 alone", "grep"}
    assert [one.questions for one in found.values()] == [2, 2, 2]
    ours, alone = found["dream search"], found["BM25 alone"]
    assert ours.messages[5] == 100
    assert ours.session == 100
    assert ours.whole == 100  # a talk of a few words stands in them as a whole
    assert alone.messages[10] < ours.messages[10]  # the answer holds none of the question's words
    assert len(table(list(found.values())).rows) == 3


def ours(settings: Settings) -> Recalled:
    return next(one for one in recall([meant()], settings, tell=lambda what: None) if one.ranking == "dream search")


def meant() -> Conversation:
    """A talk of which no word stands in the question."""
    question = Question("Which animals has he?", "bees", "single", ("D1:0",))
    return replace(conversation(), questions=(question,))


def meaning(body: Body) -> Reply:
    """Answer as a model would for which animals and bees are the same."""
    animals = [[1.0, 0.1] if "bees on" in said or "animals" in said else [-1.0, 0.1] for said in body["input"]]
    rows = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(animals)]
    return Reply({"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 7, "total_tokens": 7}})


@pytest.mark.slow
def test_with_an_embedding_model_the_messages_are_embedded_as_in_a_night(provider: Provider) -> None:
    provider.script(meaning)
    named = replace(SETTINGS, embedding_model="openai/m", api_base=provider.base, api_key="k", model="openai/x")

    assert ours(SETTINGS).messages[5] == 0
    assert ours(named).messages[5] == 100

    provider.script(fault(503))
    with pytest.raises(ModelError):
        ours(replace(named, retries=0))


def test_a_search_that_a_model_fails_is_no_figure_of_it(provider: Provider) -> None:
    provider.script(lambda body: meaning(body) if len(body["input"]) > 1 else fault(503))
    with pytest.raises(ModelError, match="by words alone"):
        ours(replace(SETTINGS, embedding_model="openai/m", api_base=provider.base, api_key="k", model="openai/x"))
