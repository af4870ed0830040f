"""What nanobot and OpenClaw kept as Markdown becomes entries, once, and no line of it is lost."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dream.directory import Workspace
from dream.dreaming import phase1
from dream.history.legacy import LATER, SESSION, decoded, entries
from dream.library import Dream
from dream.models import Diagnostic, Entry
from dream.pipeline import nothing_to_dream
from tests.store.helpers_history import NOW, contents, cursors, history, log, row

NOWHEN = datetime(1970, 1, 1, tzinfo=UTC)


def said(text: str, day: date | None = None) -> list[tuple[datetime, str, str]]:
    """Return (time, kind, content) of each entry."""
    return [(at, new.kind, new.content) for new, at in entries(text, SESSION, UTC, day)]


def taken(directory: Path, text: str | bytes) -> list[Entry]:
    """Take a HISTORY.md in."""
    log(directory)
    old = directory / "memory/HISTORY.md"
    old.write_bytes(text if isinstance(text, bytes) else text.encode())
    return history(directory).import_notes(old, now=NOW, session=SESSION, later=LATER)


def test_an_entry_begins_at_a_date_and_at_a_paragraph_and_keeps_every_line() -> None:
    text = "# History\n\n[2026-04-03 10:00] First.\nSecond line.\n\nWithout a date.\n\n[2026-04-04 11:30] Next.\n"

    assert said(text) == [
        (datetime(2026, 4, 3, 10, 0, tzinfo=UTC), "summary", "# History\n\n[2026-04-03 10:00] First.\nSecond line."),
        (NOWHEN, "summary", "Without a date."),
        (datetime(2026, 4, 4, 11, 30, tzinfo=UTC), "summary", "[2026-04-04 11:30] Next."),
    ]


def test_entries_without_an_empty_line_between_them_are_not_merged() -> None:
    assert [content[-1] for _, _, content in said("[2026-04-03 10:00] a\n[2026-04-03 10:05] b")] == ["a", "b"]


def test_a_raw_block_stays_together() -> None:
    text = (
        "[2026-04-03 10:00] [RAW] 2 messages\n[2026-04-03 09:58] USER: hi\n\nthere\n"
        "[2026-04-03 09:59] ASSISTANT [x]: yo\n\n[2026-04-03 10:05] b"
    )

    found = said(text)

    assert [kind for _, kind, _ in found] == ["raw", "summary"]
    assert found[0][2] == text.partition("\n\n[2026-04-03 10:05]")[0]


def test_dates_are_understood_however_they_are_written() -> None:
    lines = {
        "[2026/4/3] a": datetime(2026, 4, 3, tzinfo=UTC),
        "2026-04-01 10:00 quit smoking": datetime(2026, 4, 1, 10, 0, tzinfo=UTC),
        "2026-04-02 Moved to Rome": datetime(2026, 4, 2, tzinfo=UTC),
        "## 2026-04-03 Trip to Oslo": datetime(2026, 4, 3, tzinfo=UTC),
        "[2026-03-25–2026-04-02] away": datetime(2026, 3, 25, tzinfo=UTC),
        "[2026-04-03 10:00 Europe/Berlin] c": datetime(2026, 4, 3, 8, 0, tzinfo=UTC),
        "[2026-04-03T10:00:00Z] b": datetime(2026, 4, 3, 10, 0, tzinfo=UTC),
        "[2026-04-03 10:00 +02:00] d": datetime(2026, 4, 3, 8, 0, tzinfo=UTC),
        "[2026-13-45 99:99] e": NOWHEN,
    }

    for line, at in lines.items():
        assert said(line) == [(at, "summary", line)]


def test_the_date_of_a_heading_holds_for_the_paragraphs_under_it() -> None:
    assert said("## 2026-04-05\n\n- a\n\n- b\n\n## 2026-04-06\n- c\n") == [
        (datetime(2026, 4, 5, tzinfo=UTC), "summary", "## 2026-04-05\n\n- a"),
        (datetime(2026, 4, 5, tzinfo=UTC), "summary", "- b"),
        (datetime(2026, 4, 6, tzinfo=UTC), "summary", "## 2026-04-06\n- c"),
    ]


def test_what_has_no_date_has_that_of_its_file() -> None:
    assert said("# Notes\n\n- a\n", date(2026, 4, 5)) == [
        (datetime(2026, 4, 5, tzinfo=UTC), "summary", "# Notes\n\n- a")
    ]


def test_nothing_comes_of_nothing() -> None:
    assert said("") == said("\n\n") == []


lines_of = st.lists(
    st.one_of(
        st.sampled_from(
            ["", " ", "# Title", "## 2026-04-03", "[2026-04-03 10:00] a", "[2026-04-03 10:00] [RAW] 1 messages"]
        ),
        st.sampled_from(
            ["[2026-04-03 10:00] USER: hi", "2026-04-01 10:00 quit", "[2026-13-01] x", "- 2026", "\r", "b"]
        ),
        st.text(max_size=12),
    ),
    max_size=30,
)


@given(lines_of)
def test_every_line_is_in_an_entry_in_its_order(lines: list[str]) -> None:
    text = decoded("\n".join(lines).encode("utf-8", "surrogatepass"))

    found = [line for _, _, content in said(text) for line in content.split("\n")]

    assert [line for line in found if line.strip()] == [line for line in text.split("\n") if line.strip()]


def test_an_import_happens_once_and_keeps_the_file_and_every_byte(tmp_path: Path) -> None:
    text = b"[2026-04-03 10:00] bad \xff byte\r\n\r\n[2026-04-04 10:00] b\r\n"

    assert cursors(taken(tmp_path, text)) == [1, 2]
    assert taken(tmp_path, text) == []
    assert contents(list(history(tmp_path).after(0))) == ["[2026-04-03 10:00] bad \\xff byte", "[2026-04-04 10:00] b"]
    assert history(tmp_path).position(SESSION) == 2


def test_what_is_written_to_it_later_is_taken_in_too(tmp_path: Path) -> None:
    taken(tmp_path, "[2026-04-03 10:00] a\n")

    assert contents(taken(tmp_path, "[2026-04-03 10:00] a\n\n[2026-04-04 10:00] b\nand c\n")) == [
        "[2026-04-04 10:00] b\nand c"
    ]
    again = taken(tmp_path, "[2026-04-04 10:00] b\nand c\n\n[2026-04-05 10:00] d\n")  # the older half was cut off
    assert [(one.content, one.session, one.span) for one in again] == [("[2026-04-05 10:00] d", LATER, (1, 2))]


def test_what_an_earlier_version_took_in_without_its_dates_is_not_taken_in_again(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(1, "a\n\nand more", session=SESSION, span=[0, 1]))

    again = taken(tmp_path, "[2026-04-03 10:00] a\n\nand more\n\n2026-04-04 10:00 was lost\n")

    assert contents(again) == ["2026-04-04 10:00 was lost"]


def test_an_import_comes_after_what_history_has(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(1) + row(2))

    assert cursors(taken(tmp_path, "[2026-04-03 10:00] a\n")) == [3]


def test_no_file_is_nothing_to_import(tmp_path: Path) -> None:
    assert history(tmp_path).import_notes(tmp_path / "memory/HISTORY.md", now=NOW, session=SESSION) == []


def test_the_notes_and_the_memory_of_openclaw_are_taken_in(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- The server is called juno.\n")
    (tmp_path / "memory/2026-04-03.md").write_text("# 2026-04-03\n\n- Mei moved to Rome\n\n## Plans\n- a trip\n")
    (tmp_path / "memory/2026-04-04-trip.md").write_text("- Mei flies on Friday\n")
    reports: list[Diagnostic] = []

    workspace = Workspace.create(tmp_path, now=NOW, report=reports.append)

    local = datetime(2026, 4, 3).astimezone(UTC)
    assert [(one.at, one.content, one.session) for one in workspace.history.after(0)][:2] == [
        (local, "# 2026-04-03\n\n- Mei moved to Rome", "openclaw:memory/2026-04-03.md"),
        (local, "## Plans\n- a trip", "openclaw:memory/2026-04-03.md"),
    ]
    assert workspace.history.last(1)[0].content == "- Mei flies on Friday"
    assert workspace.dream_cursor() == 0
    assert workspace.read_file("memory/MEMORY.md") == "# Memory\n\n- The server is called juno.\n"
    assert [(one.file, one.text.split(",")[0]) for one in reports] == [
        ("MEMORY.md", "was copied to memory/MEMORY.md"),
        ("memory/2026-04-03.md", "2 entries of it went into history"),
        ("memory/2026-04-04-trip.md", "1 entry of it went into history"),
    ]


def test_what_is_not_taken_of_openclaw_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for name in ("AGENTS.md", "README.md", "memory/other.md", "memory/2026-04-03.md"):
        (tmp_path / name).write_text("- Mei moved to Rome\n")
    reports: list[Diagnostic] = []

    for _ in range(2):
        Workspace.create(tmp_path, now=NOW, report=reports.append)

    assert [one.file for one in reports] == ["AGENTS.md, memory/other.md", "memory/2026-04-03.md"]
    assert "not taken in" in reports[0].text


def test_what_was_dreamt_once_is_passed_over_and_what_was_written_since_is_dreamt(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(1) + row(2, "- I live in Oslo"))
    (tmp_path / "SOUL.md").write_text("# Soul\n")
    (tmp_path / "memory/.dream_cursor").write_text("1")
    old = tmp_path / "memory/HISTORY.md"
    old.write_text("[2026-04-03 10:00] a\n")
    workspace = Workspace.create(tmp_path, now=NOW)

    assert contents(phase1.that_say_something(list(workspace.history.after(1)))) == ["- I live in Oslo"]
    assert Dream(workspace).run(now=NOW).outcome in ("committed", "nothing")
    assert nothing_to_dream(workspace) is not None

    old.write_text("[2026-04-03 10:00] a\n\n[2026-04-04 10:00] b\n")

    Dream(workspace).run(now=NOW)
    (new,) = workspace.history.after(3)
    assert (phase1.that_say_something([new]), workspace.dream_cursor()) == ([new], 4)


def test_a_second_memory_is_said_to_be_left(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("theirs\n")
    (tmp_path / "memory/MEMORY.md").write_text("ours\n")
    reports: list[Diagnostic] = []

    workspace = Workspace.create(tmp_path, now=NOW, report=reports.append)

    assert workspace.read_file("memory/MEMORY.md") == "ours\n"
    assert [one.file for one in reports] == ["MEMORY.md"]
