"""A line says what it is about: it does not begin with "it" or "that", and it speaks to nobody."""

import pytest

from dream.llm.embedded.asking import asked
from dream.llm.embedded.impersonal import passive
from dream.llm.embedded.pointing import points, unpointed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("That's why I want to mend the mast", "I want to mend the mast"),
        ("It was great to meet the pilots", "I found it great to meet the pilots"),
        ("It's hard sharing a cabin with strangers", "I find it hard sharing a cabin with strangers"),
        ("It was so windy, I had to turn back", "I had to turn back"),
        ("This compass is special to me", "The compass is special to me"),
        ("Those maps remind me of Bergen", "The maps remind me of Bergen"),
        ("It was a reading of poems by sailors", "There was a reading of poems by sailors"),
        ("This week I sailed to Bergen", "This week I sailed to Bergen"),
        ("I sailed to Bergen", "I sailed to Bergen"),
    ],
)
def test_a_sentence_is_said_without_pointing_back(text: str, said: str) -> None:
    assert unpointed(text) == said
    assert not points(said)


@pytest.mark.parametrize("text", ["That's a memory for life", "It was like a new start", "This was ours"])
def test_what_can_only_point_back_is_seen(text: str) -> None:
    assert points(unpointed(text))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How long have you been sailing?", "how long they have been sailing"),
        ("How've you been using the lathe?", "how they have been using the lathe"),
        ("What wood do you use?", "what wood they use"),
        ("Do you need a new mast?", "whether they need a new mast"),
        ("What are you doing with your old boat?", "what they are doing with their old boat"),
        ("Could you tell me more about the trip?", "about the trip"),
        ("What made you sell the boat?", '"What made you sell the boat?"'),
        ("Did you reach the island, Vera?", '"Did you reach the island, Vera?"'),
        ("Which islands?", '"Which islands?"'),
    ],
)
def test_a_question_is_told_without_speaking_to_the_one_asked(question: str, told: str) -> None:
    assert asked(question) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("They rescheduled my exam to 27 August", "My exam was rescheduled to 27 August"),
        ("They've raised our fees to 40 euros", "Our fees were raised to 40 euros"),
        ("They moved to Bergen", "They moved to Bergen"),
        ("They love my boat", "They love my boat"),
    ],
)
def test_what_nobody_in_particular_did_is_told_of_the_thing(text: str, told: str) -> None:
    assert passive(text) == told
