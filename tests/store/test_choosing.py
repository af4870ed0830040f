"""What of a memory file is shown where it doesn't fit: what tells most for its length, in its order."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.recall import context

NAME = "## memory/MEMORY.md\n\n"


def chosen(text: str, fits: Callable[[str], bool]) -> str:
    """Return what is shown of one file, without its name."""
    return context.chosen({"memory/MEMORY.md": text}, lambda shown: fits(shown.removeprefix(NAME))).removeprefix(NAME)


def within(size: int) -> Callable[[str], bool]:
    """Say whether a text is at most `size` characters long."""
    return lambda text: len(text) <= size


FILE = """# Memory

What is true of the work.

## Facts
- The API runs on port 8080
- The API runs on port 8080 still, as it has for a long while
- Backups go to Hetzner every Sunday

## Decisions

## People
- Ines keeps the keys
  and the alarm code
"""


def test_a_text_that_fits_is_shown_without_headings_that_have_nothing_below() -> None:
    assert chosen(FILE, within(1000)) == FILE.replace("## Decisions\n\n", "")


def test_only_headings_say_nothing() -> None:
    assert chosen("# Memory\n\n## Facts\n\n## Decisions\n", within(1000)) == ""
    assert chosen("", within(1000)) == ""


def test_what_was_told_before_goes_first_wherever_it_stands() -> None:
    assert (
        chosen(FILE, within(len(FILE) - 40))
        == """# Memory

What is true of the work.

## Facts
- The API runs on port 8080
- Backups go to Hetzner every Sunday

## People
- Ines keeps the keys
  and the alarm code
(1 more line)
"""
    )


def test_a_new_fact_at_the_end_of_a_full_file_is_shown() -> None:
    old = "".join(f"- The nightly job number {n} ran well and nothing was found\n" for n in range(300))

    shown = chosen(f"{old}- Ines moved to Braga\n", within(2_000))

    assert "- Ines moved to Braga\n" in shown


def test_of_equals_the_first_are_shown() -> None:
    file = "".join(f"- {word} {word}ly\n" for word in ("alpha", "bravo", "chart", "delta", "eagle", "flint"))

    assert chosen(file, within(65)) == "- alpha alphaly\n- bravo bravoly\n- chart chartly\n(3 more lines)\n"


def test_a_heading_in_a_code_block_is_no_heading() -> None:
    file = "# Memory\n\n```sh\n# build\nmake\n\nmake check\n```\n"

    assert chosen(file, within(1000)) == file


def test_nothing_fits() -> None:
    assert chosen("- a statement\n- another one\n", within(5)) == ""


@pytest.mark.parametrize("lines", [1_500, pytest.param(5_000, marks=pytest.mark.slow)])
def test_a_large_file_takes_little_time(lines: int) -> None:
    file = "".join(f"- Statement {n} about subject {n % 97} of chapter {n % 31}\n" for n in range(lines))
    begun = time.process_time()

    chosen(file, within(8_000))

    assert time.process_time() - begun < lines / 1_000


@given(
    st.lists(st.sampled_from(["- a b", "  c", "", "# H", "## I", "text", "```", "- d e f g", "### J"])),
    st.integers(0, 80),
)
def test_what_is_shown_fits_and_stands_in_the_file_in_its_order(rows: list[str], size: int) -> None:
    shown = chosen("\n".join(rows), within(size))

    assert len(shown) <= size
    lines = iter(rows)
    assert all(any(row == line for line in lines) for row in shown.splitlines() if row and not row.startswith("("))
