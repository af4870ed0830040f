"""The log as it should be: cursors, spans, reading from both ends, sizes."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from dream.errors import HistoryError
from dream.history.history import History, StalePosition
from dream.models import Entry, NewEntry
from tests.store.helpers_history import NOW, contents, cursors, fact, facts, history, log, row


def test_an_appended_entry_is_read_back_whole(tmp_path: Path) -> None:
    new = NewEntry("summary", "- Moved to Tokyo\n- 東京 🗼", "claude-code:6f1e", (118, 164), 11, "openai/gpt-5-mini")

    appended = history(tmp_path).append([new], now=NOW)

    expected = Entry("summary", new.content, "claude-code:6f1e", (118, 164), 11, "openai/gpt-5-mini", cursor=1, at=NOW)
    assert appended == [expected]
    assert list(history(tmp_path).after(0)) == [expected]


def test_a_line_has_the_promised_fields(tmp_path: Path) -> None:
    history(tmp_path).append([fact("- Moved", "claude-code:6f1e", (118, 164), 11)], now=NOW)

    assert orjson.loads(log(tmp_path).read_bytes()) == {
        "cursor": 1,
        "timestamp": "2026-11-21T03:00:07+00:00",
        "kind": "summary",
        "content": "- Moved",
        "session": "claude-code:6f1e",
        "span": [118, 164],
        "tokens": 11,
        "checksum": "00000000-96df85fa",
    }


def test_cursors_rise_by_one_over_appends_and_restarts(tmp_path: Path) -> None:
    history(tmp_path).append(facts(3), now=NOW)
    history(tmp_path).append(facts(2), now=NOW)

    assert cursors(list(history(tmp_path).after(0))) == [1, 2, 3, 4, 5]
    assert (tmp_path / "memory/.cursor").read_text() == "5\n"


def test_two_objects_on_one_log_never_give_a_cursor_twice(tmp_path: Path) -> None:
    one, other = history(tmp_path), history(tmp_path)
    for number in range(50):
        (one, other)[number % 2].append(facts(1), now=NOW)

    assert cursors(list(one.after(0))) == list(range(1, 51))


def test_an_empty_append_changes_nothing(tmp_path: Path) -> None:
    assert history(tmp_path).append([], now=NOW) == []
    assert not (tmp_path / "memory").exists()


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    empty = history(tmp_path)

    assert list(empty.after(0)) == []
    assert empty.last(5) == []
    assert empty.size() == (0, 0)
    assert (empty.last_cursor(), empty.position("s"), empty.positions()) == (0, 0, {})
    assert not (tmp_path / "memory").exists()


@pytest.mark.few(2)
@pytest.mark.parametrize("cursor", [0, 1, 499, 998, 999, 1000, 5000])
def test_reading_after_a_cursor_begins_with_the_next(tmp_path: Path, cursor: int) -> None:
    history(tmp_path).append(facts(1000), now=NOW)

    assert cursors(list(history(tmp_path).after(cursor))) == list(range(cursor + 1, 1001))


def test_reading_stops_before_the_token_limit_but_gives_one(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("a", tokens=50), fact("b", tokens=30), fact("c", tokens=30)], now=NOW)

    assert contents(list(log_.after(0, limit_tokens=80))) == ["a", "b"]
    assert contents(list(log_.after(0, limit_tokens=10))) == ["a"]


def test_the_newest_entries_come_in_order(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append(facts(100), now=NOW)

    assert cursors(log_.last(3)) == [98, 99, 100]
    assert cursors(log_.last(1000)) == list(range(1, 101))
    assert log_.last(0) == []


def test_entries_between_two_cursors_include_both(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append(facts(100), now=NOW)

    assert cursors(log_.between(40, 43)) == [40, 41, 42, 43]
    assert cursors(log_.between(99, 200)) == [99, 100]


def test_a_position_is_the_highest_span_end_of_its_session(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("a", "one", (0, 5)), fact("b", "two", (0, 3)), fact("c", "one", (5, 9))], now=NOW)
    log_.append([NewEntry("nothing", "", "two", (3, 8))], now=NOW)

    assert log_.positions() == {"one": 9, "two": 8}
    assert history(tmp_path).position("two") == 8
    assert history(tmp_path).position("three") == 0


def test_a_position_is_the_same_without_its_cache(tmp_path: Path) -> None:
    history(tmp_path).append([fact("a", "one", (0, 5))], now=NOW)
    (tmp_path / ".dream/index.sqlite").unlink(missing_ok=True)

    assert history(tmp_path).position("one") == 5


@pytest.mark.parametrize("rubbish", [b"", b"{", b"null", b'{"version":1}', b'{"version":1,"history":{},"archived":3}'])
def test_a_damaged_cache_is_built_anew(tmp_path: Path, rubbish: bytes) -> None:
    history(tmp_path).append([fact("a", "one", (0, 5))], now=NOW)
    (tmp_path / ".dream/index.sqlite").write_bytes(rubbish)

    assert history(tmp_path).position("one") == 5


def test_an_entry_for_messages_that_are_archived_already_is_refused(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("a", "one", (0, 5))], now=NOW)
    before = log(tmp_path).read_bytes()

    with pytest.raises(StalePosition, match="up to message 5; messages 3 to 8 were not added again"):
        history(tmp_path).append([fact("b", "one", (3, 9))], now=NOW)

    assert log(tmp_path).read_bytes() == before


def test_parts_of_one_message_are_no_conflict(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("1", "one", (0, 0)), fact("2", "one", (0, 0)), fact("3", "one", (0, 1))], now=NOW)

    assert log_.position("one") == 1
    assert contents(list(log_.after(0))) == ["1", "2", "3"]


def test_size_counts_entries_and_tokens(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("a", tokens=5), fact("b", tokens=7)], now=NOW)

    assert log_.size() == (2, 12)
    assert history(tmp_path).size() == (2, 12)


def test_tokens_that_nobody_counted_are_estimated(tmp_path: Path) -> None:
    entry = history(tmp_path).append([NewEntry("note", "東京に引っ越した")], now=NOW)[0]

    assert entry.tokens == 8


def test_a_lone_surrogate_becomes_a_replacement_character(tmp_path: Path) -> None:
    new = NewEntry("note", "broken \ud83d and whole \ud83d\ude00")

    history(tmp_path).append([new], now=NOW)

    assert contents(history(tmp_path).last(1)) == ["broken \ufffd and whole 😀"]


def test_text_that_looks_like_our_marks_stays_text(tmp_path: Path) -> None:
    texts = ['","more":3}', "<think>hidden</think> <t", "\x00\u2028\r\n", "[RAW] 5 messages", "x" * 100_000]
    log_ = history(tmp_path)
    for text in texts:
        log_.append([NewEntry("note", text)], now=NOW)

    assert contents(list(history(tmp_path).after(0))) == texts


def test_times_are_written_in_utc(tmp_path: Path) -> None:
    from datetime import timedelta, timezone

    at = datetime(2026, 11, 21, 12, 0, 7, 5, tzinfo=timezone(timedelta(hours=9)))

    entry = history(tmp_path).append(facts(1), now=at)[0]

    assert entry.at == NOW
    assert history(tmp_path).last(1) == [entry]


def test_rows_of_nanobot_are_read(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(
        row(1, "- Likes tea", session_key="telegram:1") + row(2, "[RAW] 3 messages\nhi") + row(3, "(nothing)")
    )

    found = list(History(tmp_path / "memory", private=tmp_path / ".dream", zone=UTC).after(0))

    at = datetime(2026, 4, 3, 0, 2, tzinfo=UTC)
    assert found == [
        Entry("summary", "- Likes tea", "telegram:1", None, 3, cursor=1, at=at),
        Entry("raw", "[RAW] 3 messages\nhi", None, None, 7, cursor=2, at=at),
        Entry("nothing", "", None, None, 3, cursor=3, at=at),
    ]


def test_a_reader_keeps_reading_while_others_append(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append(facts(1000), now=NOW)
    reading = history(tmp_path).after(0)
    first = next(reading)

    log_.append(facts(5), now=NOW)

    assert [first.cursor, *cursors(list(reading))] == list(range(1, 1001))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which files are open")
def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    with history(tmp_path) as log_:
        log_.append(facts(10), now=NOW)
        next(iter(log_.after(0)))
        log_.archive(10, 20, now=NOW)
        log_.append(facts(10), now=NOW)
        assert open_below(tmp_path)

    assert open_below(tmp_path) == []


def open_below(folder: Path) -> list[str]:
    """List the files in `folder` that this process has open; what other tests left is none of them."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            found.append(str(descriptor.readlink()))
    return [path for path in found if path.startswith(str(folder))]


def test_a_closed_log_opens_again(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append(facts(1), now=NOW)
    log_.close()

    assert cursors(log_.append(facts(1), now=NOW)) == [2]


def test_a_directory_in_place_of_the_log_is_said(tmp_path: Path) -> None:
    log(tmp_path).mkdir()

    with pytest.raises(HistoryError, match=r"history\.jsonl cannot be read: .*directory|ordinary"):
        list(history(tmp_path).after(0))
    with pytest.raises(HistoryError, match=r"history\.jsonl cannot be appended to: a directory stands there"):
        history(tmp_path).append(facts(1), now=NOW)


def test_a_file_in_place_of_the_memory_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("oops")

    with pytest.raises(HistoryError, match="cannot be appended to: a file stands where a directory should be"):
        history(tmp_path).append(facts(1), now=NOW)
