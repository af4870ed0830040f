"""Each fact is a line of its own, complete without the others."""

import pytest

from dream.llm.embedded.splitting import facts_in
from tests.embedded.asking import said


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("I'm Ada, I work on Crumb", ["My name is Ada", "I work on Crumb"]),
        ("I'm Craig, a 44-year-old painter", ["My name is Craig", "I'm a 44-year-old painter"]),
        ("Leo is allergic to nuts and Mia hates mushrooms", ["Leo is allergic to nuts", "Mia hates mushrooms"]),
        ("I live in Oslo and work at Statkraft", ["I live in Oslo", "I work at Statkraft"]),
        ("Deploys go through make ship, never push to main", ["Deploys go through make ship", "Never push to main"]),
    ],
)
def test_independent_facts_are_parted(sentence: str, facts: list[str]) -> None:
    assert facts_in(sentence) == facts


@pytest.mark.parametrize(
    "sentence",
    [
        "I'm vegetarian but Tom isn't",
        "When I was young, my dad took me fishing",
        "My passport expires in September, so I need to renew it before that",
        "I no longer use Zed, I use Helix now",
        "I think Bob is right and Ann is wrong",
    ],
)
def test_what_leans_on_the_other_half_stays_with_it(sentence: str) -> None:
    assert facts_in(sentence) == [sentence]


def test_what_was_just_introduced_is_named_again() -> None:
    assert said("I work on Crumb, a small recipe manager. It runs on FastAPI with SQLite, hosted at Hetzner.") == [
        "Works on Crumb, a small recipe manager (8 May 2023)",
        "Crumb runs on FastAPI with SQLite, hosted at Hetzner (8 May 2023)",
    ]
    assert said("Tom's birthday is on 12 May. I want to get him a bow for his cello.") == [
        "Tom's birthday is on 12 May (8 May 2023)",
        "Wants to get Tom a bow for his cello (8 May 2023)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I've got a function that looks something like this.",
        "The tests fail.",
        "The fixture was stale.",
        "We decided that in the team meeting.",
        "My laptop is a potato today.",
        "I'm exhausted today.",
        "Here's my current setup:",
    ],
)
def test_what_points_at_something_else_or_holds_only_today_is_no_line(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure if this is the best way to do it.",
        "I've heard that Redis is a good fit for caching.",
        "I would appreciate any suggestions on error handling.",
        "I'm running into some issues.",
        "Here's an example of what I'm trying to do.",
        "The average input latency.",
        "Because I don't know the API.",
    ],
)
def test_what_somebody_is_only_after_or_has_only_heard_is_no_line(text: str) -> None:
    assert said(text) == []


def test_a_version_is_whole_and_a_preference_in_passing_is_kept() -> None:
    asked = (
        "Can you show lazy loading, considering my preference for small bundles, given that I'm using Bootstrap 5.3.0?"
    )
    assert said(asked) == ["Is using Bootstrap 5.3.0 (8 May 2023)", "Prefers small bundles (8 May 2023)"]
