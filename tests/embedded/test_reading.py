"""Memory reads like memory: whole statements, with their speaker and their date; no chit-chat, no fragments."""

import re

import pytest

from dream.llm.embedded.moods import is_mood
from dream.llm.embedded.person import third
from dream.llm.embedded.referring import shown
from dream.llm.embedded.telling import tells
from tests.embedded.asking import dreamt, facts, summary

# A conversation written for this test, as people who know each other talk.
TALK = [
    ("user Vera", "Hey Otto! Great to see you. I moved into a lighthouse near Bodø last month."),
    ("assistant Otto", "Wow, Vera, that's amazing! The view must be incredible. How's the stove?"),
    ("user Vera", "Thanks! It's from 1911, and my neighbour Sigrid restored it in her workshop."),
    ("assistant Otto", "That stove is so beautiful! Old things have such charm. Keep it up, you're an inspiration!"),
    ("user Vera", "I painted a seascape on Sunday. It shows the storm that took our jetty."),
    ("assistant Otto", "Life is full of storms. We all need a hobby. I've been carving wooden puffins with my son."),
    ("user Vera", "Puffins are so cute! Hope he likes it. What wood do you use?"),
    ("assistant Otto", "Birch from our garden. My knee surgery is next Friday, so I'm a bit nervous."),
    ("user Vera", "Good luck, Otto! Believe in yourself. It made me think of how I broke my wrist in 2019."),
    ("assistant Otto", "Here's a puffin I carved yesterday. I made it for your daughter."),
]
LINES = [
    "The user is called Vera",
    "Vera moved into a lighthouse near Bodø in April 2023",
    "Vera, asked \"How's the stove?\": It's from 1911, and their neighbour Sigrid restored it in her workshop",
    "Vera painted a seascape on Sunday; It shows the storm that took our jetty (8 May 2023)",
    "Otto has been carving wooden puffins with their son",
    "Otto, asked what wood they use: Birch from our garden",
    "Otto's knee surgery is on Friday 19 May 2023",
    "Otto carved a puffin on 7 May 2023; they made it for Vera's daughter",
]


def test_a_conversation_becomes_statements_that_a_person_would_write_down() -> None:
    found = summary(TALK)
    assert [line for line in LINES if line not in found] == []
    assert len(found) <= len(LINES) + 1


def test_memory_of_it_holds_no_reaction_no_question_to_somebody_and_no_line_twice() -> None:
    files = dreamt({}, "\n".join(f"- {line}" for line in summary(TALK)))
    lines = [line for text in files.values() for line in facts(text)]
    assert len(lines) == len(set(lines))
    assert [line for line in lines if re.search(r"amazing|cute|luck|inspiration|charm|storms\b", line)] == []


@pytest.mark.parametrize(
    "text",
    [
        "That sunset is stunning",
        "The black design looks so fancy",
        "Bet the atmosphere was incredible",
        "Horses have such grace",
        "Kids are amazingly resilient in tough situations",
        "Nature can be so refreshing",
        "You should believe in yourself",
        "Spill the beans",
        "We all have unique paths",
        "Hanging with loved ones is amazing",
        "For letting me join your journey",
        "I'm so thrilled about it",
        "If I lived in Lyon, I would buy a barge",
    ],
)
def test_reactions_praise_and_wisdom_are_nothing_to_write_down(text: str) -> None:
    assert not tells(text)


@pytest.mark.parametrize(
    "text",
    [
        "I ran a charity race in Leeds",
        "My sister opened a bakery",
        "The staging server runs Debian 12",
        "We explored the caves and roasted chestnuts",
        "A friend made the bowl for my birthday",
        "For Lantern we settled on CockroachDB",
    ],
)
def test_what_happened_and_what_is_so_is_worth_a_line(text: str) -> None:
    assert tells(text)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("It made me reflect on how far I've come", "It made Ann reflect on how far they have come"),
        ("My mom and I went hiking", "Ann and their mom went hiking"),
        ("I'm a nurse and I love my job", "Ann is a nurse and loves their job"),
        ("I no longer use Zed, I use Helix now", "Ann no longer uses Zed, uses Helix now"),
        ("Went to Oslo with my dad", "Ann went to Oslo with their dad"),
        ("When I was young, my dad took me fishing", "When Ann was young, their dad took them fishing"),
        ("we roasted chestnuts", "Ann: We roasted chestnuts"),
        ("I moved to Lisbon, I no longer live in Porto", "Ann moved to Lisbon, no longer lives in Porto"),
    ],
)
def test_a_line_names_its_speaker_once_and_stays_correct_english(said: str, written: str) -> None:
    assert third(said, "Ann") == written


def test_a_picture_is_told_as_what_it_shows() -> None:
    assert shown("Here's a pic from when we met up last week") == "we met up last week"
    assert shown("Here's a bowl I made yesterday") == "I made a bowl yesterday"


@pytest.mark.parametrize(
    "text",
    [
        "I won't let anything hold me back",
        "It'll be worth it",
        "Life sure can be a roller coaster",
        "Moments like this remind me why I'm chasing my dream",
        "I'm rooting for you all the way",
        "Tomorrow's gonna be an awesome night",
    ],
)
def test_what_keeps_the_spirits_up_is_a_mood(text: str) -> None:
    assert is_mood(text)


@pytest.mark.parametrize("text", ["It's a blue bowl", "I won't quit my job at Bosch", "It'll be worth 300 euros"])
def test_a_fact_in_like_words_is_none(text: str) -> None:
    assert not is_mood(text)
