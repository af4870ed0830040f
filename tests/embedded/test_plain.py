"""Short plain facts are kept, short moods are not."""

import pytest

from tests.embedded.asking import findings, said, summary


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The launch is next Friday.", "The launch is on Friday 19 May 2023"),
        ("I'm a vegetarian.", "Is a vegetarian (8 May 2023)"),
        ("Our dog Mochi is three years old.", "Our dog Mochi is three years old (8 May 2023)"),
        ("My dog is called Rex.", "The user's dog is called Rex (8 May 2023)"),
        ("I'm vegan.", "Is vegan (8 May 2023)"),
        ("I'm left-handed.", "Is left-handed (8 May 2023)"),
        ("My name is Ada Brown.", "The user is called Ada Brown (8 May 2023)"),
        ("我的狗叫小白。", "用户的狗叫小白（2023年5月8日）"),
    ],
)
def test_a_short_fact_is_kept(text: str, line: str) -> None:
    assert said(text) == [line]


def test_facts_in_one_transcript_stay_apart() -> None:
    talk = [("user", text) for text in ("The launch is next Friday.", "I'm a vegetarian.", "I'm vegan.")]
    assert len(summary(talk)) == 3


@pytest.mark.parametrize("text", ["I'm tired.", "I'm so happy.", "The food is great.", "I'm ready."])
def test_a_mood_is_not(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize("text", ["My email is ada@example.org", "My phone number is +49 30 1234567"])
def test_how_to_reach_the_user_is_about_the_user(text: str) -> None:
    (finding,) = findings({}, text, kind="note")
    assert finding.startswith("[USER] The user's ")
