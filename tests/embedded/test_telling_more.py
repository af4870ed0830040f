"""What people say in short is kept whole: the words that they leave out, answers, advice, and what goes on."""

from datetime import date

import pytest

from dream.llm.embedded.advising import advised
from dream.llm.embedded.elliptic import completed, is_verbless
from dream.llm.embedded.trimming import terse
from tests.embedded.asking import dreamt, facts, findings, said, summary

NOVEMBER = date(2026, 11, 13)


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        ("Trying to sell the boat before winter", "I'm trying to sell the boat before winter"),
        ("Still working on the loft", "I'm still working on the loft"),
        ("Researching wind farms - it's been a dream", "I'm researching wind farms - it's been a dream"),
        ("Don't feel like I'm getting anywhere", "I don't feel like I'm getting anywhere"),
        ("Started rowing to mend my back", "I started rowing to mend my back"),
        ("Got the loom from my aunt", "I got the loom from my aunt"),
        ("Need a bigger cellar", "I need a bigger cellar"),
    ],
)
def test_a_subject_left_out_is_put_back(said: str, whole: str) -> None:
    assert completed(said) == whole


@pytest.mark.parametrize(
    "text",
    [
        "Sailing makes me happy",
        "Finding a mooring's a tough job",
        "Seeing the harbour at dawn warms my heart",
        "Exciting but a bit cold",
        "Working together, we can fix the pier",
        "Don't forget the ropes",
        "Excited to see the boats",
        "Lost dogs come home",
        "Used boats are cheap",
        "Inspired by the sea, the house is blue",
    ],
)
def test_a_sentence_with_a_subject_stays_as_it_is(text: str) -> None:
    assert completed(text) == text


def test_a_list_has_no_verb_and_a_statement_has_one() -> None:
    assert is_verbless("Mostly birch, oak and a little larch")
    assert not is_verbless("We sold the boat")


@pytest.mark.parametrize(
    ("said", "deed"),
    [
        ("Make sure you oil the blade", "to oil the blade"),
        ("Don't forget to sand your boards, since varnish shows all", "to sand their boards, since varnish shows all"),
        ("Don't buy green wood", "not to buy green wood"),
        ("Tell the mill what you need", "to tell the mill what they need"),
        ("Keep going", ""),
        ("The mill is closed", ""),
    ],
)
def test_advice_is_a_deed(said: str, deed: str) -> None:
    assert advised(said) == deed


def test_advice_is_kept_where_it_was_asked_for() -> None:
    talk = [
        ("user Vera", "Any tips for carving? I bought a birch log in Hamar."),
        ("assistant Otto", "Sure! Sharpen your knife on a leather strop. Don't forget to soak the log overnight."),
    ]
    assert summary(talk)[-1] == "Otto advises Vera to sharpen their knife on a leather strop; to soak the log overnight"
    assert not any("strop" in line for line in summary(talk[1:]))


def test_what_begins_with_when_is_no_question() -> None:
    talk = [("user Vera", "When I was a child, I spent summers in a lighthouse near Bergen.")]
    assert summary(talk)[-1] == "When they were a child, Vera spent summers in a lighthouse near Bergen"


def test_a_question_about_the_same_thing_does_not_break_what_goes_on() -> None:
    talk = [
        ("user Vera", "I took the twins to the whale museum yesterday."),
        ("assistant Otto", "Oh nice! What did they like?"),
        ("user Vera", "They were stunned by the skeleton of a narwhal!"),
    ]
    line = "Vera took the twins to the whale museum on 7 May 2023; They were stunned by the skeleton of a narwhal"
    assert summary(talk)[-1] == line


def test_a_list_is_told_with_the_question_that_it_answers() -> None:
    talk = [
        ("user Vera", "What have you been carving lately?"),
        ("assistant Otto", "Lately, puffins and chess pieces."),
    ]
    assert (
        summary(talk)[-1]
        == "Otto, asked what they have been carving lately: Lately, puffins and chess pieces (8 May 2023)"
    )


def test_a_picture_is_told_as_shared() -> None:
    talk = [("user Vera", "Here's a pic of my uncle on a kayak in Lofoten.")]
    assert summary(talk)[-1].startswith("Vera shared a picture of their uncle on a kayak in Lofoten")


def test_short_statements_one_after_the_other_share_a_line_unless_they_have_a_day() -> None:
    talk = [
        ("user Vera", "I collect barometers from old ships."),
        ("assistant Otto", "That's great, Vera!"),
        ("user Vera", "I restore barometers and sextants in Tromsø."),
        ("assistant Otto", "Good for you!"),
        ("user Vera", "My cousin repairs clocks."),
        ("assistant Otto", "Oh, nice!"),
        ("user Vera", "I sold a barometer yesterday."),
    ]
    assert summary(talk)[1:] == [
        "Vera collects barometers from old ships; restores barometers and sextants in Tromsø",
        "Vera's cousin repairs clocks",
        "Vera sold a barometer on 7 May 2023",
    ]


def test_what_tells_little_of_the_user_does_not_stand_before_all_else() -> None:
    files = dreamt(
        {},
        "- The user is called Vera\n- Vera keeps bees\n- Vera thinks that there is probably a way to make it work "
        "somehow and that all of it takes a good while to get going",
    )
    assert facts(files["USER.md"]) == ["The user is called Vera", "Vera keeps bees"]


def test_what_hangs_on_the_sentence_before_stands_with_it() -> None:
    talk = [
        ("user Vera", "My uncle gave me a brass sextant. I keep it in the lantern room for visitors."),
        ("assistant Otto", "Wonderful!"),
    ]
    line = "Vera's uncle gave them a brass sextant; they keep it in the lantern room for visitors"
    assert line in [found.removesuffix(" (8 May 2023)") for found in summary(talk)]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("I just really wanted to sail", "I wanted to sail"),
        ("We actually sold the boat", "We sold the boat"),
        ("It was just like home", "It was just like home"),
        ("I'm not really a sailor", "I'm not really a sailor"),
        ("We were just in time", "We were just in time"),
    ],
)
def test_adverbs_that_only_lend_weight_are_left_out(said: str, written: str) -> None:
    assert terse(said) == written


@pytest.mark.parametrize(
    ("said_then", "written"),
    [
        (
            "Vera wants the charts as PDF by December 4. I'd like to use Pandoc for that.",
            ["Vera wants the charts as PDF by December 4, 2026; the user would like to use Pandoc for that"],
        ),
        (
            "We ship the charts as CSV. We use Polars for that.",
            ["We ship the charts as CSV; we use Polars for that (13 November 2026)"],
        ),
        ("I'd like to use Pandoc for that.", []),
    ],
)
def test_what_ends_with_a_pronoun_stands_with_what_it_means(said_then: str, written: list[str]) -> None:
    assert said(said_then, day=NOVEMBER) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Hi, I'm Lena. I moved to Porto.", ["The user is called Lena (8 May 2023)", "Moved to Porto (8 May 2023)"]),
        ("Hello! I am Lena Okafor.", ["The user is called Lena Okafor (8 May 2023)"]),
        ("I'm Lena, nice to meet you!", ["The user is called Lena (8 May 2023)"]),
        ("Hey, I'm Done!", []),
        ("Hi, I'm confused.", []),
        ("I'm German.", ["Is German (8 May 2023)"]),
        ("Hi, I'm French.", ["Is French (8 May 2023)"]),
        ("I'm German and I live in Bonn.", ["Is German (8 May 2023)", "Lives in Bonn (8 May 2023)"]),
    ],
)
def test_who_greets_with_a_name_is_called_so(text: str, written: list[str]) -> None:
    assert said(text) == written


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("I now work from 8 to 16.", "USER"),
        ("I'm German.", "USER"),
        ("I work remotely from Tromsø.", "USER"),
        ("The harbour office now works from 8 to 16.", "MEMORY"),
        ("I now work on the harbour app.", "MEMORY"),
    ],
)
def test_what_the_user_is_and_when_they_work_is_about_the_user(text: str, file: str) -> None:
    (line,) = said(text)
    assert findings({}, f"- {line}") == [f"[{file}] {line} {{1}}"]
