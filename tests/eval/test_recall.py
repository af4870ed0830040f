"""`dream eval --recall` asks the messages themselves, beside BM25 alone and grep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dream.eval.conversation import Conversation, Question, Sitting
from dream.eval.recall import recall, table
from dream.models import Message

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
TALK = (
    ("Ana", "My brother Teo keeps bees on the roof in Ghent."),
    ("Bo", "Bees! How many hives?"),
    ("Ana", "Three, and a fourth in spring."),
    ("Bo", "We went to the lake and the weather was fine."),
)


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
    found = {one.ranking: one for one in recall([conversation()], tell=lambda what: None)}

    assert set(found) == {"dream search", "BM25 alone", "grep"}
    assert [one.questions for one in found.values()] == [2, 2, 2]
    ours, alone = found["dream search"], found["BM25 alone"]
    assert ours.messages[5] == 100
    assert ours.session == 100
    assert ours.whole == 100  # a talk of a few words stands in them as a whole
    assert alone.messages[10] < ours.messages[10]  # the answer holds none of the question's words
    assert len(table(list(found.values())).rows) == 3
