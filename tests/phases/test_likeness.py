"""Likeness of statements, without a model."""

from __future__ import annotations

import pytest

from dream.text.alike import near_fact, nearest, same_fact, states
from dream.text.words import coverage, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes green tea", "- likes green tea."),
        ("User's dog is called Rex", "The user's dog is called Rex"),
        ("- Visited the museum in Kyoto on 5 May 2026", "On 5 May 2026 visited the Kyoto museum"),
        ("喜欢喝绿茶", "- 喜欢喝绿茶"),
    ],
)
def test_light_paraphrases_are_the_same_fact(one: str, other: str) -> None:
    assert same_fact(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Osaka", "Lives in Tokyo"),
        ("Likes green tea", "Does not like green tea"),
        ("Release is on 5 May", "Release is on 6 May"),
        ("Prefers tea", "Prefers tea ceremonies in old Kyoto houses"),
        ("喜欢喝绿茶", "不喜欢喝绿茶"),
        ("Marta leads Julia", "Julia leads Marta"),  # who begin like months
    ],
)
def test_other_values_negations_and_numbers_are_other_facts(one: str, other: str) -> None:
    assert not same_fact(one, other)


def test_a_line_that_says_more_states_the_fact() -> None:
    assert states("- Mei: the API runs on port 8080 behind nginx", "API runs on port 8080")
    assert not states("- Mei: the API runs on port 8081 behind nginx", "API runs on port 8080")


def test_the_nearest_line_is_the_one_that_covers_most() -> None:
    assert (
        nearest("lives in Osaka", ["- likes tea", "- Lives in Osaka, Japan", "- Osaka"])[1] == "- Lives in Osaka, Japan"
    )
    assert nearest("", ["- a"]) == (0.0, None)


def test_coverage_is_a_share() -> None:
    assert coverage("red green blue yellow", "green and blue") == 0.5


@pytest.mark.parametrize(
    ("taken_back", "line"),
    [
        ("Likes green tea", "Favourite tea: green tea"),
        ("Likes green tea", "Note: likes green tea"),
        ("Lives in Osaka", "Home: Osaka"),
        ("Lives in Osaka", "Is an Osaka resident"),
        ("The API runs on port 8080", "Port 8080 is used by the API"),
        ("The API runs on port 8080", "The API listens on port 8080"),
        ("Works at Globex as a data engineer", "Employed by Globex as data engineer"),
        ("Prefers dark mode in the editor", "Uses dark mode in editor"),
    ],
)
def test_a_fact_put_otherwise_is_near_it(taken_back: str, line: str) -> None:
    assert near_fact(taken_back, line)


@pytest.mark.parametrize(
    ("taken_back", "line"),
    [
        ("Likes green tea", "Likes black tea"),
        ("Works at Globex as a data engineer", "Works at Initech as a data engineer"),
        ("Lives in Osaka", "Moved to Osaka"),
        ("Lives in Osaka", "Does not live in Osaka"),
        ("The API runs on port 8080", "The API runs on port 8081"),
        ("Has two cats", "Has three cats"),
        ("Uses Vim", "Uses Emacs"),
        ("住在大阪", "住在神户"),
    ],
)
def test_another_thing_number_or_negation_is_not_near(taken_back: str, line: str) -> None:
    assert not near_fact(taken_back, line)


def test_a_note_is_no_negation() -> None:
    assert words("Note: likes tea") != words("not likes tea")
