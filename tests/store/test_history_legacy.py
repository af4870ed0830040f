"""nanobot's older HISTORY.md becomes entries, once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from dream.store.history_legacy import SESSION, entries
from tests.store.helpers_history import NOW, contents, cursors, history, log, row


def said(text: str) -> list[tuple[datetime, str, str]]:
    """Return (time, kind, content) of each entry."""
    return [(at, new.kind, new.content) for new, at in entries(text, UTC)]


def test_each_dated_paragraph_is_an_entry() -> None:
    text = "# History\n\n[2026-04-03 10:00] First.\nSecond line.\n\nSecond paragraph.\n\n[2026-04-04 11:30] Next.\n"

    assert said(text) == [
        (datetime(2026, 4, 3, 10, 0, tzinfo=UTC), "summary", "First.\nSecond line.\n\nSecond paragraph."),
        (datetime(2026, 4, 4, 11, 30, tzinfo=UTC), "summary", "Next."),
    ]


def test_entries_without_an_empty_line_between_them_are_not_merged() -> None:
    assert [content for _, _, content in said("[2026-04-03 10:00] a\n[2026-04-03 10:05] b")] == ["a", "b"]


def test_a_raw_block_stays_together() -> None:
    text = (
        "[2026-04-03 10:00] [RAW] 2 messages\n[2026-04-03 09:58] USER: hi\n[2026-04-03 09:59] ASSISTANT [x]: yo\n"
        "\n[2026-04-03 10:05] b"
    )

    found = said(text)

    assert [kind for _, kind, _ in found] == ["raw", "summary"]
    assert found[0][2].startswith("[RAW] 2 messages\n[2026-04-03 09:58] USER: hi\n")
    assert found[0][2].endswith("yo")


def test_other_ways_to_write_a_date_are_understood() -> None:
    text = "[2026/4/3] a\n\n[2026-04-03T10:00:00Z] b\n\n## 2026-04-05\nc\n\n[2026-13-45 99:99] d"

    assert said(text) == [
        (datetime(2026, 4, 3, tzinfo=UTC), "summary", "a"),
        (datetime(2026, 4, 3, 10, 0, tzinfo=UTC), "summary", "b"),
        (datetime(2026, 4, 5, tzinfo=UTC), "summary", "c"),
        (datetime(1970, 1, 1, tzinfo=UTC), "summary", "[2026-13-45 99:99] d"),
    ]


def test_without_dates_each_paragraph_is_an_entry() -> None:
    assert [content for _, _, content in said("# Title\n\none\nmore\n\ntwo\n")] == ["one\nmore", "two"]


def test_nothing_comes_of_nothing() -> None:
    assert said("") == said("\n\n") == said("# Only a title\n") == []


def test_an_import_happens_once_and_keeps_the_file(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(b"")
    old = tmp_path / "memory/HISTORY.md"
    old.write_bytes(b"[2026-04-03 10:00] bad \xff byte\n\n[2026-04-04 10:00] b\n")
    log_ = history(tmp_path)

    assert cursors(log_.import_legacy(old, now=NOW)) == [1, 2]
    assert history(tmp_path).import_legacy(old, now=NOW) == []
    assert old.exists()
    assert contents(list(log_.after(0))) == ["bad \ufffd byte", "b"]
    assert log_.position(SESSION) == 2


def test_an_import_comes_after_what_history_has(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(1) + row(2))
    old = tmp_path / "memory/HISTORY.md"
    old.write_text("[2026-04-03 10:00] a\n")

    assert cursors(history(tmp_path).import_legacy(old, now=NOW)) == [3]


def test_no_file_is_nothing_to_import(tmp_path: Path) -> None:
    assert history(tmp_path).import_legacy(tmp_path / "memory/HISTORY.md", now=NOW) == []
