"""Which statement takes another's place, and which stands beside it."""

import pytest

from dream.llm.embedded.changes import supersedes
from dream.llm.embedded.remaining import remainder
from tests.embedded.asking import findings, said


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("We've just moved to Ghent", "The user's flat is in Turin"),
        ("Has switched from Kakoune to Emacs", "The user's editor is Kakoune"),
        ("Lantern is now deployed on Friday instead of Monday", "We deploy Lantern every Monday"),
        ("The staging server listens on port 9238", "The staging server listens on port 8864"),
        ("The release moves to the 20th of March", "Our next release is on Friday 13 March 2026"),
        ("Clara does the reviews now", "Ben does the reviews"),
        ("Mia likes mushrooms now", "Mia hates mushrooms"),
        ("We're going with gas instead of induction", "We've decided to switch to an induction stove"),
        ("苍鹭的接口超时现在是1200毫秒", "苍鹭的接口超时是439毫秒"),
        ("苍鹭现在改到周五部署", "苍鹭每周一部署一次"),
    ],
)
def test_another_value_for_the_same_thing_takes_its_place(new: str, old: str) -> None:
    assert supersedes(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Has a dog called Pepper", "The user is called Ines"),
        ("Ines adopted a greyhound called Pepper", "The user is called Ines"),
        ("Is working on Sprint 2 with a deadline of April 20, 2024", "The new sprint deadline is April 5, 2024"),
        ("The crawler has 512 open tickets in Oslo", "The crawler was rewritten in 30 days"),
        ("Met Bo on Friday", "Met Bo on Monday"),
        ("Finished chapter 9 of Emma", "Finished chapter 16 of Emma"),
        ("Bo likes tea now", "Ann hates tea"),
        ("The server listens on port 9238", "The server listens on port 8864"),
        ("Owns boat number 2", "Owns boat number 1"),
        (
            "Has improved their score to 90% after completing 12 sewing problems",
            "Has completed 15 problems with 95% accuracy",
        ),
        ("Has improved the average API response time to 220ms", "The API timeout of Plover is 379 ms"),
        ("The standup is every Wednesday now instead of Monday", "We deploy Plover every Monday"),
        ("The user is called Petra", "The user is called Ingrid"),
        ("Sold boat #2", "Owns boat #1"),
    ],
)
def test_another_fact_stands_beside_it(new: str, old: str) -> None:
    assert not supersedes(new, old)


def test_things_that_a_number_tells_apart_are_all_kept() -> None:
    notes = [f"I own boat number {n}" for n in (1, 2, 3)]
    assert findings({}, *notes, kind="note") == [
        f"[MEMORY] Owns boat number {n} (9 May 2023) {{{n}}}" for n in (1, 2, 3)
    ]


def test_the_users_own_words_at_the_end_of_a_summary_are_read_as_what_they_said() -> None:
    entry = "- 2023-05-08 user: “It's sunny and 23 degrees here today.”\n- 2023-05-08 user: “My cat is called Fig.”"
    assert findings({}, entry) == ["[USER] The user's cat is called Fig (8 May 2023) {1}"]


@pytest.mark.parametrize(
    ("new", "old", "renewed"),
    [
        (
            "We moved from SQLite to Postgres 16 because the importer locked it",
            "Crumb runs on FastAPI with SQLite, hosted at Hetzner (2 May 2023)",
            "Crumb runs on FastAPI with Postgres 16, hosted at Hetzner",
        ),
        (
            "Dr. Hansen raised the ramipril to 10 mg",
            "Takes 5 mg ramipril every morning for blood pressure (2 May 2023)",
            "Takes 10 mg ramipril every morning for blood pressure",
        ),
        (
            "We skip Kanazawa and go to Hiroshima instead",
            "The trip goes to Tokyo, Kyoto and Kanazawa (2 May 2023)",
            "The trip goes to Tokyo, Kyoto and Hiroshima",
        ),
        ("Has switched from vim to Helix", "Uses vim as their editor (2 May 2023)", ""),
    ],
)
def test_a_change_of_one_half_leaves_the_other(new: str, old: str, renewed: str) -> None:
    assert supersedes(new, old)
    assert remainder(f"{new} (8 May 2023)", old) == (f"{renewed} (8 May 2023)" if renewed else "")


def test_what_leaned_on_the_old_value_goes_with_it() -> None:
    old = "Ines lives in Porto; It's the highlight of her life (2 May 2023)"
    assert remainder("Ines moved to Ghent (8 May 2023)", old) == ""


@pytest.mark.parametrize(
    ("new", "moved"),
    [
        ("The user's deadline is April 15, 2024", False),
        ("The user's deadline is 15 April", False),
        ("The user's deadline is April 18, 2024", True),
        ("The user's deadline is April 18", True),
    ],
)
def test_a_day_with_its_year_is_the_same_day(new: str, moved: bool) -> None:
    assert supersedes(new, "The user's deadline for the MVP is April 15") is moved


def test_what_grew_is_told_with_both_values() -> None:
    talk = "I'm trying to understand how my accuracy in sewing problems improved from 70% to 90%, can you help me?"
    assert said(talk) == ["The user's accuracy in sewing problems improved from 70% to 90% (8 May 2023)"]
