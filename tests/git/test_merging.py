"""Three-way merge by lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import Conflict
from dream.versions.diff import merge, merge_over, still_standing

LINES = st.lists(st.sampled_from([b"- a\n", b"- b\n", b"- c\n", b"\n", b"# h\n", b"- \xff\n"]), max_size=7).map(
    b"".join
)


def test_changes_of_different_lines_are_both_made() -> None:
    assert merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n") == b"A\nb\nC\n"


def test_a_line_taken_out_beside_a_line_added_is_no_conflict() -> None:
    assert merge(b"a\nx\n", b"a\nx\ny\n", b"a\n") == b"a\ny\n"


def test_the_same_change_on_both_sides_is_made_once() -> None:
    assert merge(b"a\n", b"a\nb\n", b"a\nb\n") == b"a\nb\n"


def test_two_changes_of_one_line_conflict_and_show_the_lines() -> None:
    with pytest.raises(Conflict, match=r"- Osaka\n<<< now\n- Kyoto\n===\n- Tokyo\n>>> then"):
        merge(b"- Osaka\n", b"- Kyoto\n", b"- Tokyo\n")


def test_two_insertions_at_one_place_conflict() -> None:
    with pytest.raises(Conflict):
        merge(b"a\n", b"a\nb\n", b"a\nc\n")


def test_a_missing_newline_at_the_end_is_no_change_of_the_last_line() -> None:
    assert merge(b"a\nb", b"A\nb", b"a\nb\nc\n") == b"A\nb\nc\n"
    assert merge(b"a\nb\nc", b"A\nb\nc", b"a\nb\nC") == b"A\nb\nC"


def test_bytes_that_are_no_utf8_are_kept() -> None:
    assert merge(b"caf\xe9\nm\nb\n", b"caf\xe9\nm\nB\n", b"x\ncaf\xe9\nm\nb\n") == b"x\ncaf\xe9\nm\nB\n"


def test_where_both_changed_a_line_the_winner_keeps_it_and_the_rest_is_made_too() -> None:
    assert merge_over(b"a\nb\nc\n", b"c\n", b"a\nB\nc\n") == b"B\nc\n"


def test_what_is_only_inserted_gives_way_to_nothing() -> None:
    assert merge_over(b"a\n", b"a\nb\n", b"a\nc\n") == b"a\nb\nc\n"
    assert merge_over(b"a\nb\nc\n", b"a\nnew\nb\nc\n", b"A\n") == b"new\nA\n"


@given(base=LINES, other=LINES)
def test_one_sided_changes_are_taken_whole(base: bytes, other: bytes) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other
    assert merge(base, other, other) == other


@given(base=LINES, ours=LINES, theirs=LINES)
def test_a_clean_merge_holds_every_line_that_a_side_added(base: bytes, ours: bytes, theirs: bytes) -> None:
    try:
        merged = merge(base, ours, theirs)
    except Conflict:
        return
    before = set(base.splitlines())
    for side in (ours, theirs):
        assert set(side.splitlines()) - before <= set(merged.splitlines())


@given(base=LINES, ours=LINES, theirs=LINES)
def test_the_winning_side_loses_no_line(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged = merge_over(base, ours, theirs)
    assert set(theirs.splitlines()) - set(base.splitlines()) <= set(merged.splitlines())


@given(before=LINES, after=LINES)
def test_a_change_that_is_still_there_stands_whole(before: bytes, after: bytes) -> None:
    standing = still_standing(before, after, after)
    assert set(after.splitlines()) <= set(standing.splitlines())
