"""A history row keeps for each line of its content what it rests on; rows of older versions still read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.history.entries import decode, encode, entry_of
from dream.models import UNKNOWN_LINE, EntryLine, NewEntry, Voice
from tests.store.helpers_history import history

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LINES = (EntryLine((3, 5), "user", "no emoji, please", "Mina"), EntryLine(), EntryLine((4,), "tool"))


def older(content: str, **fields: object) -> tuple[EntryLine, ...]:
    """Return the lines of a row of an older version."""
    return decode(
        json.dumps({"cursor": 1, "timestamp": "2026-04-03 00:02", "content": content} | fields).encode()
    ).lines


def voices(*lines: EntryLine) -> list[Voice | None]:
    return [line.voice for line in lines]


def test_what_each_line_rests_on_is_in_the_row_without_empty_keys(tmp_path: Path) -> None:
    (entry,) = history(tmp_path).append([NewEntry("summary", "- a\n- b\n- c", lines=LINES)], now=NOW)
    (row,) = map(json.loads, (tmp_path / "memory/history.jsonl").read_bytes().splitlines())
    assert row["lines"] == [
        {"cites": [3, 5], "voice": "user", "quote": "no emoji, please", "by": "Mina"},
        {},
        {"cites": [4], "voice": "tool"},
    ]
    assert list(history(tmp_path).after(0)) == [entry]
    assert entry.lines == LINES


@given(
    st.lists(
        st.builds(
            EntryLine,
            st.lists(st.integers(0, 10**9), max_size=4).map(tuple),
            st.sampled_from([None, "user", "agent", "tool", "pasted", "other", "note"]),
            st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
            st.text(st.characters(exclude_categories=("Cs",)), max_size=10),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_lines_come_back_as_they_were_written(lines: list[EntryLine]) -> None:
    entry = entry_of(NewEntry("summary", "\n".join("- x" for _ in lines), lines=tuple(lines)), 1, NOW)
    back = decode(encode(entry))
    assert back == entry
    assert back.lines == (tuple(lines) if any(line != UNKNOWN_LINE for line in lines) else ())


def test_an_entry_of_which_nothing_is_known_has_no_such_field() -> None:
    assert b'"lines"' not in encode(entry_of(NewEntry("summary", "- a\n- b", lines=(UNKNOWN_LINE,) * 2), 1, NOW))


@pytest.mark.parametrize("damaged", ["x", [{}], [1, 2], [{"cites": "x", "voice": "king", "quote": 4}, {"cites": [-1]}]])
def test_what_does_not_fit_the_content_is_not_believed(damaged: object) -> None:
    assert set(older("- a\n- b", lines=damaged)) <= {UNKNOWN_LINE}


def test_rows_of_older_versions_say_whose_voice_a_line_is() -> None:
    assert voices(*older("- a\n- b\n- c", by_user=[2], by_tool=[3])) == [None, "user", "tool"]
    assert voices(*older("- a\n- b\n- c", by_agent=[1], by_paste=[2], by_others=[3])) == ["agent", "pasted", "tool"]
    assert older("- a\n- b\n- c\n- d", rests=["u1,2", "a0", "p3", "?"]) == (
        EntryLine((1, 2), "user"),
        EntryLine((0,), "agent"),
        EntryLine((3,), "pasted"),
        EntryLine(),
    )
    assert older("- a\n- b", speakers=[["Ann"], []]) == (EntryLine(by="Ann", voice="other"), EntryLine())


def test_a_user_s_sentence_below_a_line_of_an_older_row_is_a_quotation() -> None:
    found = older("- No emoji\n    > no emoji, please", by_user=[2], rests=["u1", "u1"])
    assert found == (EntryLine((1,), "user"), EntryLine((1,), "user", "no emoji, please"))


@pytest.mark.parametrize("fields", [{}, {"by_user": ["x"]}, {"by_user": [10**12]}, {"rests": "u1"}, {"speakers": [1]}])
def test_a_row_that_does_not_say_so_is_unknown(fields: dict[str, object]) -> None:
    assert older("- a", **fields) == ()
