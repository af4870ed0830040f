"""What a full file keeps: what stands as a fact of the work, and of all else the most telling."""

from dream.llm.embedded.fitting import ROOM, New, fitting
from dream.models import MemoryFile

MEMORY: MemoryFile = "memory/MEMORY.md"
STANDING = ["The harbour crane of the drawing is at work every Monday"]
THINGS = (
    *("valve", "hinge", "gasket", "rotor", "pulley", "flange", "washer", "bracket", "lever"),
    *("piston", "nozzle", "spring", "camshaft", "bearing", "crank"),
)


def busy(number: int) -> str:
    """Return a line of what a user did, with words of its own."""
    thing, other = THINGS[number % 15], THINGS[(number // 15) % 15]
    return f"Has added a {thing} and a {other} to drawing number {number} of the harbour crane"


def test_what_the_user_did_pushes_out_no_standing_fact() -> None:
    room = ROOM[MEMORY][0]
    lines = [*STANDING, *(busy(number) for number in range(room - 4))]
    text = "# Memory\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
    new = New(MEMORY, "Has replaced turbine, gearbox, anchor winch and rudder of the tug Amelia in Stavanger", (7,))
    chosen = fitting({MEMORY: text}, [(MEMORY, line) for line in lines], [new], frozenset(), 0.15)
    pushed = [line for _, gone in chosen for _, line in gone]
    assert len(pushed) == 1
    assert set(pushed).isdisjoint(STANDING)


def test_what_is_said_twice_in_other_lines_goes_first() -> None:
    room = ROOM[MEMORY][0]
    lines = ["Has added a valve to the drawing", *(busy(number) for number in range(room - 4))]
    text = "# Memory\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
    new = New(MEMORY, "Has replaced turbine, gearbox, anchor winch and rudder of the tug Amelia in Stavanger", (7,))
    chosen = fitting({MEMORY: text}, [(MEMORY, line) for line in lines], [new], frozenset(), 0.15)
    assert [line for _, gone in chosen for _, line in gone] == ["Has added a valve to the drawing"]
