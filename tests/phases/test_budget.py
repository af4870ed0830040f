"""What leaves a memory file that is over its budget, and what it leaves behind."""

from datetime import date

from dream.dreaming import budget
from dream.dreaming.budget import Fitted
from dream.settings import Settings

DAY = date(2026, 11, 21)
BIRDS = "heron kestrel plover dunnock wagtail siskin bittern curlew lapwing dipper whinchat fieldfare".split()


def fit(before: str, text: str, lines: int, *, keep: tuple[str, ...] = (), day: date = DAY) -> Fitted | None:
    """Fit MEMORY.md into `lines`."""
    return budget.fit_budget("memory/MEMORY.md", before, text, frozenset(keep), Settings(memory_max_lines=lines), day)


def seen(birds: list[str]) -> str:
    return "".join(f"- Saw a {bird} at the {bird} hide near mile {number}\n" for number, bird in enumerate(birds))


def test_the_oldest_lines_go_first() -> None:
    text = "# Memory\n\n## Birds\n\n" + seen(BIRDS) + "\n## Facts\n\n- The key hangs behind the boiler\n"
    fitted = fit(text, text, 17)
    assert fitted is not None
    assert fitted.moved == tuple(seen(BIRDS).splitlines()[: len(fitted.moved)])
    assert "- The key hangs behind the boiler\n" in fitted.text


def test_a_small_section_keeps_its_lines() -> None:
    text = "# Memory\n\n## Events\n\n" + seen(BIRDS) + "\n## Decisions\n\n- Saw to it\n"
    fitted = fit(text, text, 14)
    assert fitted is not None
    assert "- Saw to it\n" in fitted.text
    assert all(line.startswith("- Saw a ") for line in fitted.moved)


def test_what_a_dream_has_just_written_stays_this_time() -> None:
    before = "# Memory\n\n" + seen(BIRDS)
    text = before + "- Saw a heron\n"
    fitted = fit(before, text, 14)
    assert fitted is not None
    assert "- Saw a heron\n" in fitted.text


def test_one_line_is_left_behind_however_many_archives_there_are() -> None:
    first = fit("", "# Memory\n\n" + seen(BIRDS), 12)
    assert first is not None
    grown = first.text + seen(BIRDS[:6])
    second = fit(first.text, grown, 12, day=date(2027, 1, 3))
    assert second is not None
    pointers = [line for line in second.text.splitlines() if "older lines" in line]
    total = len(first.moved) + len(second.moved)
    assert pointers == [f"- {total} older lines are in memory/archive/MEMORY-2026-11.md to MEMORY-2027-01.md"]
    assert "\n\n\n" not in second.text
    assert second.archive == "memory/archive/MEMORY-2027-01.md"


def test_a_line_of_a_person_stays_whatever_it_tells() -> None:
    text = "# Memory\n\n" + seen(BIRDS) + "- Saw a heron\n"
    fitted = fit(text, text, 13, keep=("- Saw a heron",))
    assert fitted is not None
    assert "- Saw a heron\n" in fitted.text


def test_headings_that_nothing_stands_below_go_before_any_line() -> None:
    text = "# Memory\n\n## Facts\n\n## Decisions\n\n### Old\n\n## Events\n\n" + seen(BIRDS) + "\n## Solutions\n"
    fitted = fit(text, text, 18)
    assert fitted is not None
    assert fitted.moved == ()
    assert fitted.text == "# Memory\n\n## Events\n\n" + seen(BIRDS) + "\n"


def test_a_heading_of_a_person_and_one_with_a_section_below_stay() -> None:
    text = "# Memory\n\n## Facts\n\n## Birds\n\n### Seen\n\n" + seen(BIRDS)
    fitted = fit(text, text, 19, keep=("## Facts",))
    assert fitted is not None
    assert all(heading in fitted.text for heading in ("## Facts", "## Birds", "### Seen"))


def test_lines_of_this_week_stay_while_there_are_older_ones() -> None:
    text = "# Memory\n\n" + seen(BIRDS) + "- Saw a heron again\n"
    tight = Settings(memory_max_lines=12)
    fitted = budget.fit_budget(
        "memory/MEMORY.md", text, text, frozenset(), tight, DAY, lambda: frozenset(["- Saw a heron again"])
    )
    assert fitted is not None
    assert "- Saw a heron again\n" in fitted.text
    everything = budget.fit_budget(
        "memory/MEMORY.md", text, text, frozenset(), tight, DAY, lambda: set(text.splitlines())
    )
    assert everything is not None
    assert len(everything.text.splitlines()) == 12
