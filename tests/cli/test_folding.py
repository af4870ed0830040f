"""Lines fit a terminal without a word broken in two."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dream.cli.output import NARROWEST, folded
from tests.cli.commands import dream, on_a_terminal


def test_a_long_line_is_folded_at_spaces_and_its_rest_stands_further_in() -> None:
    line = "  + [USER] Lives in Kyoto and works there"

    assert folded(line, 30) == "  + [USER] Lives in Kyoto and\n    works there"


def test_what_fits_and_a_word_that_never_fits_stay_as_they_are() -> None:
    assert folded("short  line", 30) == "short  line"
    assert folded("x" * 90, 30) == "x" * 90


def test_wide_characters_count_twice_and_a_line_of_them_ends_behind_any() -> None:
    assert (
        folded("- 演示之前，别再改数据库结构了，也别动接口。", 30) == "- 演示之前，别再改数据库结构\n  了，也别动接口。"
    )


def test_no_line_begins_with_a_full_stop_or_comma_of_such_a_script() -> None:
    assert folded("住" * 15 + "。住", 30) == "住" * 14 + "\n  住。住"


def test_a_command_in_backticks_stays_in_one_line_where_it_fits_into_one() -> None:
    assert folded("There is nothing yet; make one with `dream init`.", 40) == (
        "There is nothing yet; make one with\n  `dream init`."
    )
    assert (
        folded("a `command that is longer than the terminal` b", 30)
        == "a `command that is longer than\n  the terminal` b"
    )


@given(st.text(st.sampled_from("ab 京\u0301\n-+"), max_size=200), st.integers(NARROWEST, 80))
def test_folding_loses_and_breaks_no_word(text: str, columns: int) -> None:
    shown = folded(text, columns)

    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
    assert re.findall("[ab+-]+", shown) == re.findall("[ab+-]+", text)


def test_a_narrow_terminal_gets_whole_words_and_a_pipe_whole_lines(dreamt: Path) -> None:
    piped = dream("log", "-w", dreamt, COLUMNS="40").out
    shown = on_a_terminal("log", "-w", dreamt, COLUMNS="40", NO_COLOR="1").out

    assert len(piped.splitlines()) == 6
    assert max(map(len, shown.splitlines())) <= 40
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", piped)  # Chinese is folded between any two characters
    assert re.findall(r"[a-z]+", shown) == re.findall(r"[a-z]+", piped)


def test_a_narrow_terminal_gets_the_help_and_problems_in_whole_words(fresh: Path) -> None:
    for words in (["--help"], ["log", "nonsense", "-w", fresh], ["status", "-w", fresh]):
        shown = on_a_terminal(*words, COLUMNS="40", NO_COLOR="1").out.rpartition("Options:")[2]

        assert max(len(line) for line in shown.splitlines() if str(fresh) not in line) <= 40, shown
