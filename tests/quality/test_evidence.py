"""A line cites, of the messages that its finding rests on, the one that it is nearest to in its words."""

from __future__ import annotations

from datetime import UTC, datetime

from dream.models import Message
from dream.versions.trace import Origin
from tests.quality import Conversation, Question, Sitting, measures
from tests.quality.scratch import Again, Remembered

AT = datetime(2026, 11, 2, 9, tzinfo=UTC)


def cited(line: str, *said: str) -> list[str]:
    """Return which of the messages, named 0, 1, …, a line of memory cites."""
    messages = tuple(Message("user", text, AT, None, str(place)) for place, text in enumerate(said))
    asked = tuple(Question("?", "!", "one", (str(place),)) for place in range(len(said)))
    found = []
    for question in asked:
        talk = Conversation("talk", (Sitting("s", AT, messages),), (question,))
        one = Remembered(
            conversation=talk,
            contexts={100: line},
            files={},
            summaries=(),
            origins=(Origin("USER.md", line, (), (), (1,), (("s", 0, len(said)),)),),
            messages={("s", place): str(place) for place in range(len(said))},
            hits={},
            nights=(),
            again=Again(0, 0, 0, 0),
        )
        row_of = next(row for row in measures.evidence([one], [100]) if row.text == "memory, 100")
        found += [question.evidence[0]] if row_of.all else []
    return found


def test_the_message_that_holds_most_of_a_statement_is_cited() -> None:
    assert cited("- Ines moved to Braga", "Ines has a dog", "Ines moved to Braga in May", "it rains") == ["1"]


def test_of_two_that_hold_as_much_the_one_that_says_less_beside_it_is_cited() -> None:
    assert cited("- Ines moved", "So Ines moved there with all she had, and then came winter", "Ines moved") == ["1"]


def test_each_statement_of_a_line_cites_its_own() -> None:
    assert cited("- Ines moved to Braga; keeps bees (2 November 2026)", "she keeps bees", "Ines moved to Braga") == [
        "0",
        "1",
    ]


def test_what_no_message_holds_cites_none() -> None:
    assert cited("- Plays the viola every Sunday morning", "Ines has a dog", "it rains") == []
