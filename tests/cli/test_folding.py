"""Lines fit a terminal without a word broken in two."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dream.cli.folding import NARROWEST, folded
from tests.cli.commands import dream, on_a_terminal


def test_a_long_line_is_folded_at_spaces_and_its_rest_stands_further_in() -> None:
    line = "  + [USER] Lives in Kyoto and works there"

    assert folded(line, 30) == "  + [USER] Lives in Kyoto and\n    works there"


def test_what_fits_and_a_word_that_never_fits_stay_as_they_are() -> None:
    assert folded("short  line", 30) == "short  line"
    assert folded("x" * 90, 30) == "x" * 90


def test_wide_characters_count_twice() -> None:
    assert folded("住在京都 " * 5 + "x", 40) == " ".join(["住在京都"] * 4) + "\n  住在京都 x"


@given(st.text(st.sampled_from("ab 京\u0301\n-+"), max_size=200), st.integers(NARROWEST, 80))
def test_folding_loses_and_breaks_no_word(text: str, columns: int) -> None:
    assert folded(text, columns).split() == text.split()


def test_a_narrow_terminal_gets_whole_words_and_a_pipe_whole_lines(dreamt: Path) -> None:
    piped = dream("log", "-w", dreamt, COLUMNS="40").out
    shown = on_a_terminal("log", "-w", dreamt, COLUMNS="40", NO_COLOR="1").out

    assert len(piped.splitlines()) == 5
    assert max(map(len, shown.splitlines())) <= 40
    assert re.sub(r"\s+", " ", shown) == re.sub(r"\s+", " ", piped)
