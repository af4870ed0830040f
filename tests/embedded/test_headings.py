"""A fact stands under the heading that a person would look under."""

import pytest

from dream.llm.embedded.headings import heading


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Leo is allergic to nuts (1 April 2026)", "## People"),
        ("Clara does the reviews now", "## People"),
        ("Vera painted a seascape on 7 May 2023", "## People"),
        ("The staging server is at staging.crumb.example, port 8080", "## Environment"),
        ("Deploys go through make ship", "## Environment"),
        ("We moved from SQLite to Postgres 16 on 3 March 2026", "## Decisions"),
        ("The slow search was caused by a missing index; adding it helped", "## Solutions"),
        ("The dishwasher broke on 31 March 2026", "## Events"),
        ("The budget of Lantern is 72,000 euros", "## Facts"),
    ],
)
def test_what_is_true_of_the_work_has_its_heading(line: str, title: str) -> None:
    assert heading("memory/MEMORY.md", line, frozenset({"Vera"})) == title


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Doesn't eat meat (4 March 2026)", "## Preferences"),
        ("Mag Nussbaum lieber als Eiche", "## Preferences"),
        ("不吃辣，喜欢喝美式咖啡", "## Preferences"),
        ("The user's wife Paula is a dentist", "## Person"),
        ("Wants to run a half marathon", "## Plans"),
    ],
)
def test_who_the_user_is_has_its_heading(line: str, title: str) -> None:
    assert heading("USER.md", line) == title
