"""`dream note`: what a person says directly becomes a line that memory could hold, in the file where it belongs."""

import pytest

from tests.embedded.asking import findings

DAY = " (9 May 2023) {1}"


@pytest.mark.parametrize(
    ("note", "found"),
    [
        ("I love sailing", ["[USER] Loves sailing"]),
        ("I'm Ada", ["[USER] The user is called Ada"]),
        ("My name is Ada and I live in Oslo", ["[USER] The user is called Ada", "[USER] Lives in Oslo"]),
        ("we use pnpm, not npm", ["[USER] Uses pnpm, not npm"]),
        (
            "I like dark mode. My birthday is on 3 May",
            ["[USER] Likes dark mode", "[USER] The user's birthday is on 3 May"],
        ),
        ("please remember I'm diabetic", ["[USER] Is diabetic"]),
        ("Remember that Ben is allergic to nuts", ["[MEMORY] Ben is allergic to nuts"]),
        ("deploys: make ship", ["[MEMORY] Deploys: make ship"]),
    ],
)
def test_a_note_is_written_about_the_user_and_goes_where_it_belongs(note: str, found: list[str]) -> None:
    assert findings({}, note, kind="note") == [line + DAY for line in found]


def test_a_date_in_a_note_is_absolute() -> None:
    assert findings({}, "dentist tomorrow at 9", kind="note") == ["[MEMORY] Dentist on 10 May 2023 at 9 {1}"]


@pytest.mark.parametrize("note", ["Always answer in German", "Never push to main"])
def test_a_standing_instruction_in_a_note_is_for_the_agent(note: str) -> None:
    assert findings({}, note, kind="note") == [f"[SOUL] {note} {{1}}"]
