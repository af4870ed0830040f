"""What people say of themselves and hold to be so, where it is no event: kept where it says something."""

import pytest

from dream.llm.embedded.addressing import own_half
from dream.llm.embedded.noise import is_pleasantry
from dream.llm.embedded.views import OWN, view
from tests.embedded.asking import said, summary


def told(text: str) -> list[str]:
    """Return what is kept of what Ben says to Ann."""
    return summary([("user Ann", "Hi Ben!"), ("assistant Ben", text)])[1:]


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("I'm passionate about old maps", OWN),
        ("Baking keeps my mind calm", OWN),
        ("The people at the harbour have become like family to me", OWN),
        ("Heather honey needs a cold cellar", 0),
        ("I bet the twins are proud", 0),
        ("I hope the harvest is good", 0),
        ("That kettle is gorgeous", 0),
        ("It's great to see such craft", 0),
        ("Capture the light on those hills", 0),
        ("Together we can mend the whole pier", 0),
        ("Honey is nice", 0),
        ("Rowing sounds like a fine sport", 0),
        ("The red sail looks so fancy", 0),
        ("Your kettle looks like copper", 0),
    ],
)
def test_a_view_counts_less_than_an_event_and_more_than_a_mood(text: str, worth: float) -> None:
    assert view(text) == worth


def test_what_somebody_loves_is_told_of_them() -> None:
    assert told("I'm passionate about old maps! Baking keeps my mind calm.") == [
        "Ben is passionate about old maps; Baking keeps their mind calm"
    ]


def test_what_a_group_plans_is_no_judgement() -> None:
    assert told("We're thinking about going sailing next month.") == [
        "Ben: We're thinking about going sailing in June 2023"
    ]


def test_a_user_who_works_with_an_agent_tells_no_views() -> None:
    assert said("Heather honey needs a cold cellar.") == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Been busy fixing the roof of the barn and training for a swim.",
            "Ben has been busy fixing the roof of the barn and training for a swim",
        ),
        (
            "Just wanted to let you know that I'm standing for the council again.",
            "Ben is standing for the council again",
        ),
        (
            "It reminds me of the rowing boat I had as a kid, I took plenty of trips on the lake.",
            "Ben remembers the rowing boat they had as a kid, took plenty of trips on the lake",
        ),
        (
            "It feels like all the hours I've put in have paid off now that I'm a head gardener.",
            "All the hours Ben has put in have paid off now that they are a head gardener (8 May 2023)",
        ),
        (
            "You told me about your choir last time, so I just joined a brass band.",
            "Ben joined a brass band (8 May 2023)",
        ),
        (
            "It was great to sail round the island with the twins.",
            "Ben found it great to sail round the island with the twins (8 May 2023)",
        ),
    ],
)
def test_what_stands_behind_a_lead_in_is_kept(text: str, kept: str) -> None:
    assert told(text) == [kept]


@pytest.mark.parametrize(
    "text",
    [
        "Feels like just yesterday I planted this pear tree!",
        "I got some great news to share!",
        "I couldn't agree more.",
        "Here's our latest one.",
    ],
)
def test_what_only_leads_up_to_something_is_not_kept(text: str) -> None:
    assert told(text) == []


def test_what_is_needed_is_told_of_who_needs_it() -> None:
    assert told("Need help with the accounts of the bakery.") == ["Ben needs help with the accounts of the bakery"]


def test_a_smiley_ends_a_sentence() -> None:
    assert told("Lovely ⛵ I sold the old dinghy.") == ["Ben sold the old dinghy (8 May 2023)"]


def test_praise_of_what_was_shown_is_no_answer() -> None:
    talk = [("user Ann", "How do you choose the wood for your tables?"), ("assistant Ben", "That one is cool.")]
    assert summary(talk) == []


def test_what_reminds_of_something_unnamed_is_not_kept() -> None:
    assert told("It reminds me of something from my childhood.") == []


def test_only_what_is_said_to_the_other_is_cut_off() -> None:
    assert own_half("You sang so well, and I've joined the choir too") == "I've joined the choir too"
    assert own_half("I joined the choir, and I told you so") == "I joined the choir, and I told you so"
    assert own_half("You sang so well, and I love your voice") == "You sang so well, and I love your voice"


@pytest.mark.parametrize(
    "text", ["I see", "I see what you mean", "It's great to hear about your trip", "That was great"]
)
def test_a_reaction_stays_a_pleasantry(text: str) -> None:
    assert is_pleasantry(text)


@pytest.mark.parametrize(
    "text", ["I see my aunt once a week", "It was fun to row on the lake", "It was a lovely day with my aunt"]
)
def test_what_the_speaker_did_is_no_pleasantry(text: str) -> None:
    assert not is_pleasantry(text)


def test_short_statements_of_one_thing_share_a_line_though_the_other_spoke_in_between() -> None:
    talk = [
        ("user Ann", "I love jazz clubs."),
        ("assistant Ben", "I keep bees behind the mill. How is the garden?"),
        ("user Ann", "I grow leeks and kale."),
        ("assistant Ben", "I sell what the bees make on market days."),
    ]
    assert summary(talk)[1:] == [
        "Ann loves jazz clubs",
        "Ben keeps bees behind the mill; sells what the bees make on market days",
        "Ann grows leeks and kale",
    ]


def test_a_statement_in_the_speaker_s_own_words_is_not_continued_as_if_it_had_the_name() -> None:
    assert told("We raised a barn. I had to borrow three ladders.") == [
        "Ben: We raised a barn; they had to borrow three ladders"
    ]


def test_statements_of_different_things_do_not_share_a_line() -> None:
    talk = [
        ("user Ann", "I love jazz clubs."),
        ("assistant Ben", "We stack the copper kettles behind the mill. How is the garden?"),
        ("user Ann", "I grow leeks and kale."),
        ("assistant Ben", "I sell candles on market days."),
    ]
    assert [line for line in summary(talk) if "Ben" in line] == [
        "Ben: We stack the copper kettles behind the mill",
        "Ben sells candles on market days",
    ]


def test_who_did_it_is_named_where_the_line_tells_of_something_else() -> None:
    assert told("This necklace is a gift from my grandma in Sweden. It was great to sail round the island.") == [
        "The necklace is a gift from Ben's grandma in Sweden; Ben found it great to sail round the island"
    ]


def test_what_somebody_thinks_of_the_world_is_small_talk() -> None:
    assert told("Heather honey needs a cold cellar. Copper kettles take polish and patience.") == []


@pytest.mark.parametrize(
    "text", ["I'll stay motivated until the race", "I'll be proud of my boat", "I'll feel fulfilled on my farm"]
)
def test_how_a_user_will_feel_is_not_kept(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize("text", ["I'll be 40 in May", "I'll stay in Bergen until June", "I'll be working from home"])
def test_where_and_what_a_user_will_be_is_kept(text: str) -> None:
    assert len(said(text)) == 1


def test_a_value_is_told_of_what_has_it() -> None:
    asks = ", can you help me with the drawing of it?"
    assert said(f"I'm trying to see how my time in the harbour race improved to 12 minutes{asks}") == [
        "The user's time in the harbour race improved to 12 minutes (8 May 2023)"
    ]
    assert said(f"I'm trying to improve my kiln.py by adding a slow ramp with a max of 3 steps{asks}") == []
    assert said(f"I'm trying to see how my time in the harbour race improved from 12 minutes{asks}") == []
    assert said("My project's scope and timeline.") == []
