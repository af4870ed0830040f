"""The log as it may be found: torn, foreign, out of order, edited, deleted. Nothing is lost, appends go on."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.models import Diagnostic, NewEntry
from tests.store.helpers_history import NOW, contents, cursors, fact, facts, history, log, row

FOREIGN = [
    b"null\n",
    b"[1,2]\n",
    b"true\n",
    b"42\n",
    b'"text"\n',
    b"not json at all\n",
    b'{"cursor": 3\n',
    b'{"cursor": 3, "timestamp": "2026-04-03 00:02"}\n',
    b'{"content": "no cursor"}\n',
    row("3"),
    row(3.0),
    row(True),
    row(-3),
    row(0),
    row(None),
    row([3]),
    row(10**30),
    row(1 << 62),
    row(3, None),
    row(3, ["list"]),
    b"\xff\xfe\x00\n",
    b"\x00" * 300 + b"\n",
    b"[" * 5000 + b"\n",
]


@pytest.mark.few(8)
@pytest.mark.parametrize("line", FOREIGN)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_foreign_line_stops_nothing_and_is_reported_once(tmp_path: Path, line: bytes, place: str) -> None:
    before, after = {"first": (b"", row(1) + row(2)), "middle": (row(1), row(2)), "last": (row(1) + row(2), b"")}[place]
    log(tmp_path).write_bytes(before + line + after)
    reports: list[Diagnostic] = []
    log_ = history(tmp_path, reports=reports)

    assert cursors(list(log_.after(0))) == [1, 2]
    assert cursors(log_.last(5)) == [1, 2]
    assert cursors(log_.append(facts(1), now=NOW)) == [3]
    assert cursors(list(log_.after(1))) == [2, 3]
    assert line in log(tmp_path).read_bytes()
    assert [(found.file, found.line) for found in reports] == [("memory/history.jsonl", before.count(b"\n") + 1)]


@pytest.mark.parametrize(
    ("line", "content"),
    [
        (b'\xef\xbb\xbf{"cursor":1,"content":"with a mark"}\n', "with a mark"),
        (b'{"cursor":1,"content":"windows"}\r\n', "windows"),
        (b'{"cursor":1,"content":"bad \xff byte"}\n', "bad \ufffd byte"),
        (b'{"cursor":1,"content":"half \\ud83d emoji"}\n', "half \ufffd emoji"),
        (b'  {"content":"order","cursor":1,"timestamp":7,"span":"x","tokens":-1,"kind":9}  \n', "order"),
        (b'{"cursor":1,"timestamp":"yesterday","content":"no time"}\n', "no time"),
    ],
)
def test_a_line_that_can_be_understood_is_read(tmp_path: Path, line: bytes, content: str) -> None:
    log(tmp_path).write_bytes(line)

    assert contents(list(history(tmp_path).after(0))) == [content]
    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [2]


def test_a_torn_tail_is_set_aside_before_the_next_append(tmp_path: Path) -> None:
    history(tmp_path).append(facts(2), now=NOW)
    whole = log(tmp_path).read_bytes()
    torn = whole + b'{"cursor":3,"timestamp":"2026'
    log(tmp_path).write_bytes(torn)
    reports: list[Diagnostic] = []
    log_ = history(tmp_path, reports=reports)

    assert cursors(list(log_.after(0))) == [1, 2]
    assert log(tmp_path).read_bytes() == torn
    assert cursors(log_.append(facts(1), now=NOW)) == [3]
    assert cursors(list(log_.after(0))) == [1, 2, 3]
    kept = orjson.loads((tmp_path / "memory/archive/set-aside.jsonl").read_bytes())
    assert kept["text"] == '{"cursor":3,"timestamp":"2026'
    assert reports == [Diagnostic("memory/history.jsonl", 3, "an append was cut short; its bytes are set aside")]


def test_a_whole_last_line_without_newline_counts(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(1) + row(2, "last", session="s", span=[0, 4]).rstrip())
    log_ = history(tmp_path)

    assert contents(log_.last(1)) == ["last"]
    assert log_.position("s") == 4
    assert cursors(log_.append(facts(1), now=NOW)) == [3]
    assert cursors(list(history(tmp_path).after(0))) == [1, 2, 3]
    assert not (tmp_path / "memory/archive").exists()


@pytest.mark.few(5)
@pytest.mark.parametrize("cut", range(1, 400, 13))
def test_an_append_of_several_entries_counts_as_a_whole_or_not_at_all(tmp_path: Path, cut: int) -> None:
    log_ = history(tmp_path)
    log_.append([fact("before", "one", (0, 2))], now=NOW)
    size = log(tmp_path).stat().st_size
    log_.append([fact("1", "one", (2, 2)), fact("2", "one", (2, 2)), fact("3", "one", (2, 3))], now=NOW)
    data = log(tmp_path).read_bytes()
    log(tmp_path).write_bytes(data[: max(size, len(data) - cut)])
    whole = cut == 1
    again = history(tmp_path)

    assert contents(list(again.after(0))) == (["before", "1", "2", "3"] if whole else ["before"])
    assert again.position("one") == (3 if whole else 2)
    again.append([fact("next", "one", (3, 4) if whole else (2, 3))], now=NOW)
    assert contents(history(tmp_path).last(1)) == ["next"]
    assert contents(list(again.after(0)))[:-1] == (["before", "1", "2", "3"] if whole else ["before"])


def test_a_cursor_is_never_used_again_when_the_log_is_deleted(tmp_path: Path) -> None:
    history(tmp_path).append(facts(7), now=NOW)
    log(tmp_path).unlink()

    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [8]


@pytest.mark.parametrize(
    "behind", [b"", b"\x00\x00\n", b'{"cursor":2,"kind\n'], ids=["nothing", "zeros", "an older row"]
)
def test_the_cursor_of_a_row_that_broke_is_never_used_again(tmp_path: Path, behind: bytes) -> None:
    history(tmp_path).append(facts(7), now=NOW)
    log(tmp_path).write_bytes(log(tmp_path).read_bytes()[:-3] + b"#}\n" + behind)
    (tmp_path / "memory/.cursor").write_text("6")

    assert history(tmp_path).last_cursor() == 7
    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [8]


def test_a_row_that_broke_is_not_named_as_missing_too(tmp_path: Path) -> None:
    history(tmp_path).append(facts(7), now=NOW)
    rows = log(tmp_path).read_bytes().splitlines(keepends=True)
    rows[2] = rows[2][:-3] + b"#}\n"
    log(tmp_path).write_bytes(b"".join(rows))
    reports: list[Diagnostic] = []

    assert cursors(history(tmp_path, reports=reports).append(facts(1), now=NOW)) == [8]
    assert [found.line for found in reports] == [3]


def test_a_cursor_file_from_a_backup_is_not_believed(tmp_path: Path) -> None:
    history(tmp_path).append(facts(7), now=NOW)
    (tmp_path / "memory/.cursor").write_text("2")

    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [8]
    assert (tmp_path / "memory/.cursor").read_text() == "8\n"


@pytest.mark.parametrize("rubbish", ["", "\n", "-4", "four", "1e9", "9" * 40, "12 13", "\x00\x00"])
def test_a_damaged_cursor_file_is_mended(tmp_path: Path, rubbish: str) -> None:
    history(tmp_path).append(facts(7), now=NOW)
    (tmp_path / "memory/.cursor").write_text(rubbish)

    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [8]
    assert (tmp_path / "memory/.cursor").read_text() == "8\n"


def test_new_entries_come_after_what_was_dreamt_even_if_the_log_and_its_cursor_are_gone(tmp_path: Path) -> None:
    log(tmp_path)
    (tmp_path / "memory/.dream_cursor").write_text("40")

    assert cursors(history(tmp_path).append(facts(1), now=NOW)) == [41]


def test_falling_cursors_hide_no_later_entry(tmp_path: Path) -> None:
    rows = [row(n, "x" * 200) for n in range(1, 1001)]
    rows[500:500] = [row(5, "x" * 200), row(6, "x" * 200)]
    rows += [row(3, "late")]
    log(tmp_path).write_bytes(b"".join(rows))
    reports: list[Diagnostic] = []
    log_ = history(tmp_path, reports=reports)

    for cursor in (0, 4, 499, 500, 501, 998):
        expected = [n for n in [*range(1, 501), 5, 6, *range(501, 1001), 3] if n > cursor]
        assert cursors(list(log_.after(cursor))) == expected
    assert cursors(log_.append(facts(1), now=NOW)) == [1001]
    assert {found.line for found in reports} == {501, 502, 1003}


def test_duplicate_cursors_are_all_read(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(1, "a") + row(2, "b") + row(2, "c") + row(3, "d"))

    assert contents(list(history(tmp_path).after(1))) == ["b", "c", "d"]


def test_an_editor_that_rewrote_the_log_is_noticed(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("one", "s", (0, 5)), fact("two", "t", (0, 5))], now=NOW)
    _, second = log(tmp_path).read_bytes().splitlines(keepends=True)
    log(tmp_path).write_bytes(second)

    assert log_.positions() == {"t": 5}
    assert cursors(log_.append(facts(1), now=NOW)) == [3]


def test_a_file_of_rubbish_is_reported_with_a_bound(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(b"rubbish\n" * 5000)
    reports: list[Diagnostic] = []

    assert list(history(tmp_path, reports=reports).after(0)) == []
    assert len(reports) == 50


damage = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("foreign"), st.integers(0, len(FOREIGN) - 1)),
        st.tuples(st.just("tear"), st.integers(1, 60)),
        st.tuples(st.just("cursor"), st.sampled_from(["", "1", "x", "999"])),
        st.tuples(st.just("cache"), st.sampled_from(["", "{}"])),
        st.tuples(st.just("archive"), st.integers(0, 40)),
        st.tuples(st.just("new object"), st.just(0)),
    ),
    max_size=25,
)


def harm(directory: Path, kind: str, value: int | str, highest: int) -> None:
    """Do to the files what other programs, power cuts and people do."""
    if kind in ("foreign", "tear"):
        torn = row(highest + 1, "torn" * 20)
        with log(directory).open("ab") as file:
            file.write(FOREIGN[int(value)] if kind == "foreign" else torn[: int(value)])
    elif kind == "cursor":
        (directory / "memory/.cursor").write_text(str(value))
    else:
        (directory / ".dream").mkdir(exist_ok=True)
        (directory / ".dream/index.sqlite").write_text(str(value))


@settings(max_examples=settings.default.max_examples * 2)
@given(steps=damage, seed=st.integers(0, 1000))
def test_whatever_happens_to_the_log_what_was_appended_is_read_and_no_cursor_comes_twice(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int | str]], seed: int
) -> None:
    directory = tmp_path_factory.mktemp("log")
    log(directory)
    log_ = history(directory)
    given_out: set[int] = set()
    expected: list[int] = []
    number = random.Random(seed)
    for kind, value in steps:
        if kind == "append":
            new = cursors(log_.append([NewEntry("note", "x" * number.randint(0, 90))] * int(value), now=NOW))
            assert not given_out & set(new)
            given_out |= set(new)
            expected += new
        elif kind == "archive":
            log_.archive(int(value), 5, now=NOW)
        elif kind == "new object":
            log_.close()
            log_ = history(directory)
        else:
            harm(directory, kind, value, max(given_out, default=0))
        high = max(given_out, default=0)
        assert [c for c in cursors(list(log_.after(0))) if c <= high or c == 999] == expected
        for cursor in (high // 2, high - 1):
            assert [c for c in cursors(list(log_.after(cursor))) if c <= high] == [c for c in expected if c > cursor]
        if len(expected) > 2:
            assert cursors(log_.last(2)) == expected[-2:]
    log_.close()
