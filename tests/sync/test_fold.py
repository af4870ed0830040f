"""The fold: machines that hold the same operations have the same files, whatever the order in which they met."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from dream.versions.fold import By, Folded, Op, derive, fold

FILE = "USER.md"
BEGINNING = "# User\n\n## Person\n\n- Likes tea\n\n## Plans\n"


class Machine:
    """A machine with one file and the operations it holds; `clock` is when what it writes next was said."""

    def __init__(self, name: str, text: str = "") -> None:
        self.name, self.ops, self.base, self.text = name, list[Op](), Folded(), text

    def write(self, clock: int = 1, by: By = "dream") -> None:
        self.ops += derive(self.base, {FILE: self.text}, self.name, lambda *_: (clock, by))
        self.base = fold(self.ops)
        self.text = self.base.text(FILE)

    def meet(self, *others: Machine) -> None:
        known = {op.id: op for other in (self, *others) for op in other.ops}
        self.ops = list(known.values())
        self.base = fold(self.ops)
        self.text = self.base.text(FILE)

    def lines(self) -> list[str]:
        return self.text.splitlines()


def two(text: str = BEGINNING) -> tuple[Machine, Machine]:
    a, b = Machine("m-a", text), Machine("m-b")
    a.write()
    b.meet(a)
    return a, b


def met(a: Machine, b: Machine) -> str:
    a.meet(b)
    b.meet(a)
    assert a.text == b.text
    return a.text


def test_what_two_machines_add_stands_under_its_heading_on_both() -> None:
    a, b = two()
    a.text = a.text.replace("- Likes tea\n", "- Likes tea\n- Plays chess\n")
    b.text = b.text.replace("## Plans\n", "## Plans\n\n- Moves to Lisbon\n")
    a.write(2)
    b.write(3)

    assert met(a, b) == "# User\n\n## Person\n\n- Likes tea\n- Plays chess\n\n## Plans\n\n- Moves to Lisbon\n"


def test_of_two_changes_of_one_line_the_later_statement_wins_and_the_other_is_named() -> None:
    a, b = two()
    a.text = a.text.replace("- Likes tea", "- Likes green tea")
    b.text = b.text.replace("- Likes tea", "- Likes black tea")
    a.write(5)
    b.write(4)

    assert "- Likes green tea\n" in met(a, b)
    assert "black" not in a.text
    assert [(one.kept, one.lost, one.machine) for one in a.base.lost] == [
        ("- Likes green tea", "- Likes black tea", "m-b")
    ]


def test_a_hand_edit_beats_a_later_dream() -> None:
    a, b = two()
    a.text = a.text.replace("- Likes tea", "- Likes green tea")
    b.text = b.text.replace("- Likes tea", "- Likes black tea")
    a.write(5, "hand")
    b.write(9)

    assert "- Likes green tea\n" in met(a, b)


def test_a_removal_takes_away_what_another_machine_had_and_loses_to_what_is_said_again_later() -> None:
    a, b, c = *two(), Machine("m-c", "# User\n\n## Person\n\n- Likes tea\n")
    c.write(3)
    a.text = a.text.replace("- Likes tea\n", "")
    a.write(5)

    a.meet(b, c)
    assert "- Likes tea" not in a.text
    d = Machine("m-d", "# User\n\n## Person\n\n- Likes tea\n")
    d.write(6)
    a.meet(d)
    assert a.lines().count("- Likes tea") == 1


def test_workspaces_that_had_memory_before_they_met_share_their_headings() -> None:
    a, b = Machine("m-a", BEGINNING), Machine("m-b", BEGINNING.replace("tea", "coffee") + "\n- Runs a marathon\n")
    a.write()
    b.write()

    text = met(a, b)
    assert text == "# User\n\n## Person\n\n- Likes tea\n- Likes coffee\n\n## Plans\n\n- Runs a marathon\n"


def test_a_line_that_was_taken_back_and_written_again_stays() -> None:
    a, b = two()
    a.text = a.text.replace("- Likes tea\n", "")
    a.write(9)
    a.text = BEGINNING
    a.write(2)  # said before the removal, and written by who knew of it

    assert "- Likes tea\n" in met(a, b)


def edit(random: Random, lines: Sequence[str], fresh: str) -> list[str]:
    """Change a file as a dream or a person does: a new line, a line that goes, changes, or moves; a heading."""
    found, deed = list(lines), random.randrange(6)
    if deed < 3 or not found:
        found.insert(
            random.randrange(len(found) + 1), random.choice([f"- {fresh}", f"- {fresh} tea", "", f"## {fresh}"])
        )
        return found
    at = random.randrange(len(found))
    line = found.pop(at)
    if deed == 4:
        found.insert(at, f"{line} {fresh}")
    if deed == 5:
        found.insert(random.randrange(len(found) + 1), line)
    return found


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(2, 30))
def test_three_machines_that_hold_the_same_have_the_same(seed: int, steps: int) -> None:
    random = Random(seed)
    machines = [Machine(name, BEGINNING if random.random() < 0.5 else "") for name in ("m-a", "m-b", "m-c")]
    for number in range(steps):
        one, other = random.sample(machines, 2)
        if random.random() < 0.4:
            one.meet(other)
            continue
        wanted = edit(random, one.lines(), f"fact{number}")
        one.text = "".join(f"{line}\n" for line in wanted)
        one.write(random.randrange(100), random.choice(["hand", "dream"]))
        # What is on a machine's disk is what it wrote: none lost and none twice.
        assert sorted(filter(str.strip, one.lines())) == sorted(filter(str.strip, wanted))
    everything = {op.id: op for one in machines for op in one.ops}
    shuffled = random.sample(list(everything.values()), len(everything))
    for one in random.sample(machines, 3):
        one.meet(*random.sample(machines, 3))
    assert {fold(shuffled).text(FILE)} == {one.text for one in machines}
    # What nobody has changed or removed stands there, once, or is named as what gave way.
    past = {everything[version].text for op in everything.values() for version in op.over}
    past |= {one.lost for one in machines[0].base.lost}
    for text in {op.text for op in everything.values() if "- fact" in (op.text or "")} - past:
        assert machines[0].lines().count(text or "") == 1, text
