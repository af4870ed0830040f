"""Which file a new line goes to by the room that is there, and what a full memory has no place for."""

from dream.llm.embedded.fitting import New, fitting
from dream.models import MemoryFile
from tests.embedded.asking import findings

MEMORY: MemoryFile = "memory/MEMORY.md"
THINGS = ("valve", "hinge", "gasket", "rotor", "pulley", "flange", "washer", "bracket", "lever", "piston")


def busy(count: int) -> list[str]:
    """Return lines of what a user did, with words of their own."""
    return [
        f"Has added a {THINGS[number % 10]} and a {THINGS[number // 10 % 10]} to drawing {number} of the harbour crane"
        for number in range(count)
    ]


def fitted(known: list[str], *texts: str, file: MemoryFile = MEMORY) -> list[tuple[str, str]]:
    """Return the file and the text of each of `texts` that memory has a place for beside `known`."""
    whole = "# Memory\n\n" + "".join(f"- {line}\n" for line in known)
    new = [New(file, text, (7,)) for text in texts]
    return [
        (one.file, one.text) for one in fitting({MEMORY: whole}, [(MEMORY, line) for line in known], new, frozenset())
    ]


def test_a_full_memory_takes_what_tells_something_and_not_what_many_lines_tell() -> None:
    said_often = "Has added a valve and a hinge to a drawing of the harbour crane"
    telling = "Has replaced turbine, gearbox and anchor winch of the tug Amelia in Stavanger"
    assert fitted(busy(195), said_often, telling) == [(MEMORY, telling)]


def test_a_memory_with_room_takes_what_many_lines_tell_as_well() -> None:
    said_often = "Has added a valve and a hinge to a drawing of the harbour crane"
    assert fitted(busy(20), said_often) == [(MEMORY, said_often)]


def test_what_the_profile_has_no_room_for_stands_in_memory() -> None:
    traits = [f"Loves {first} {second}" for first in THINGS for second in THINGS]
    files = [file for file, _ in fitted([], *traits, file="USER.md")]
    assert files.count("USER.md") <= 70
    assert len(files) == 100


def test_a_file_that_a_person_filled_far_beyond_its_room_still_takes_a_new_fact() -> None:
    theirs = "# Memory\n" + "".join(
        f"- Shelf {number} holds the atlas of year {1500 + number}\n" for number in range(1_500)
    )

    assert findings({"memory/MEMORY.md": theirs}, "- The heron lives in Graz") == [
        "[MEMORY] The heron lives in Graz {1}"
    ]
