"""What was said later stands in the end, in whatever order the transcripts are read."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dream import pipeline, transcripts
from dream.directory import Workspace
from dream.settings import Settings
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)
EARLIER, LATER = "2026-05-02", "2026-10-18"
FACTS = [
    ("I live in Oslo.", "I moved from Oslo to Rome.", "Rome"),
    ("I work as a nurse.", "I now work as a pilot instead of as a nurse.", "pilot"),
    ("My favourite tea is sencha.", "My favourite tea is oolong now, not sencha.", "oolong"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "chats").mkdir()
    return fresh(tmp_path / "ws", NOW)


def talk(path: Path, day: str, *said: str) -> Path:
    rows = []
    for number, text in enumerate(said):
        about = {"uuid": f"{path.stem}-a-long-id-{number}", "sessionId": path.stem}
        rows.append({"type": "user", "timestamp": f"{day}T09:0{number}:00Z", "message": {"content": text}} | about)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(path, (0, 0))  # as a copy may have it
    return path


def memory(workspace: Workspace) -> str:
    return workspace.read_file("USER.md") + workspace.read_file("memory/MEMORY.md")


def consolidate(workspace: Workspace, *paths: Path) -> None:
    pipeline.consolidate(workspace, paths, settings=SETTINGS, now=NOW)


def dream(workspace: Workspace, *, batch_tokens: int = 16_000) -> None:
    settings = Settings(timezone="UTC", durable=False, batch_tokens=batch_tokens)
    report = pipeline.run(workspace, settings=settings, now=NOW)
    assert report.outcome in ("committed", "nothing"), report.reason


def test_an_entry_says_when_the_last_of_its_messages_was(workspace: Workspace, tmp_path: Path) -> None:
    consolidate(workspace, talk(tmp_path / "chats" / "a.jsonl", LATER, "I live in Rome.", "I like tea."))
    (entry,) = Workspace.open(workspace.root).history.after(0)
    assert (entry.when, entry.at) == (datetime(2026, 10, 18, 9, 1, tzinfo=UTC), NOW)


def test_sessions_of_one_reading_are_appended_in_the_order_of_their_talks(workspace: Workspace, tmp_path: Path) -> None:
    days = {"a": "2026-10-18", "b": "2026-05-02", "c": "2026-07-09", "d": "2026-01-30"}
    for name, day in days.items():
        talk(tmp_path / "chats" / f"{name}.jsonl", day, f"I moved to house {name}.")
    consolidate(workspace, tmp_path / "chats")
    assert [entry.session for entry in workspace.history.after(0)] == [f"claude-code:{name}" for name in "dbca"]


@pytest.mark.few(1)
@pytest.mark.parametrize(("earlier", "later", "word"), FACTS)
@pytest.mark.parametrize("batch_tokens", [16_000, 60])
def test_one_reading_ends_with_what_was_said_last(
    workspace: Workspace, tmp_path: Path, earlier: str, later: str, word: str, batch_tokens: int
) -> None:
    talk(tmp_path / "chats" / "a.jsonl", LATER, later)
    talk(tmp_path / "chats" / "b.jsonl", EARLIER, earlier)
    consolidate(workspace, tmp_path / "chats")
    dream(workspace, batch_tokens=batch_tokens)
    assert word in memory(workspace)
    assert EARLIER not in memory(workspace)


@pytest.mark.few(1)
@pytest.mark.parametrize(("earlier", "later", "word"), FACTS)
@pytest.mark.parametrize("batch", [True, False])
def test_what_is_read_later_but_was_said_earlier_takes_nothing_away(
    workspace: Workspace, tmp_path: Path, earlier: str, later: str, word: str, batch: bool
) -> None:
    consolidate(workspace, talk(tmp_path / "chats" / "a.jsonl", LATER, later))
    if not batch:
        dream(workspace)
    kept = [line for line in memory(workspace).splitlines() if word in line]
    consolidate(workspace, talk(tmp_path / "chats" / "b.jsonl", EARLIER, earlier))
    dream(workspace)
    assert word in memory(workspace)
    assert [line for line in memory(workspace).splitlines() if line in kept] == kept


@pytest.mark.few(1)
@pytest.mark.parametrize(("earlier", "later", "word"), FACTS[1:])
def test_what_a_later_line_corrects_already_is_not_added_again(
    workspace: Workspace, tmp_path: Path, earlier: str, later: str, word: str
) -> None:
    consolidate(workspace, talk(tmp_path / "chats" / "a.jsonl", LATER, later))
    dream(workspace)
    before = memory(workspace)
    consolidate(workspace, talk(tmp_path / "chats" / "b.jsonl", EARLIER, earlier))
    dream(workspace)
    assert word in before
    assert memory(workspace) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"timestamp": "2026-11-18T09:00:00Z"}\n{"ts": 1}\n', "2026-11-18T09:00:00+00:00"),
        ('{"timestamp": 1784874063547}\n', "2026-07-24T06:21:03.547000+00:00"),
        ('{"created_at": "2026-11-18 09:00"}\n' + "x" * 200_000, "2026-11-18T00:00:00+00:00"),
        ('{"time": "noon"}', "2026-01-02T00:00:00+00:00"),
    ],
)
def test_the_newest_time_of_a_file_is_told_from_its_ends(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    modified = int(datetime(2026, 1, 2, tzinfo=UTC).timestamp() * 1e9)
    assert transcripts.newest(str(tmp_path / "a.jsonl"), ZoneInfo("Asia/Tokyo"), modified).isoformat() == told


def test_a_named_pipe_among_the_files_keeps_nobody_waiting(workspace: Workspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "chats" / "a.jsonl")
    talk(tmp_path / "chats" / "b.jsonl", LATER, "I live in Rome.")
    report = pipeline.consolidate(workspace, [tmp_path / "chats"], settings=SETTINGS, now=NOW)
    assert (report.messages, len(report.diagnostics)) == (1, 1)


def test_conversations_of_one_export_come_in_the_order_in_which_they_ended(tmp_path: Path) -> None:
    rows = []
    for number, time in enumerate((1_760_000_000, 1_750_000_000, 1_755_000_000)):
        author, content = {"role": "user"}, {"content_type": "text", "parts": [f"I moved to house {number}."]}
        message = {"id": f"m{number}", "author": author, "create_time": time, "content": content}
        rows.append({"id": f"c{number}", "current_node": "a", "mapping": {"a": {"id": "a", "message": message}}})
    (tmp_path / "conversations.json").write_text(json.dumps(rows), encoding="utf-8")
    assert keys(tmp_path / "conversations.json") == ["chatgpt:c1", "chatgpt:c2", "chatgpt:c0"]


def test_sessions_of_one_database_come_in_the_order_in_which_they_ended(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as database, database:
        database.execute("CREATE TABLE sessions (id, source)")
        database.execute("CREATE TABLE messages (id, session_id, role, content, timestamp)")
        said = [(1, "a", 5.0), (2, "b", 3.0), (3, "b", 4.0), (4, "c", 1.0), (5, "a", 6.0), (6, None, 2.0)]
        for number, session, time in said:
            row = (number, session, "user", f"I moved to house {number}.", 1_760_000_000 + time)
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
    found = keys(tmp_path / "state.db")
    assert [key.partition("-")[0] for key in found] == [
        "hermes:c",
        "hermes:state",
        *["hermes:b"] * 2,
        *["hermes:a"] * 2,
    ]


def keys(path: Path) -> list[str]:
    return [key for key, _ in transcripts.read(path, zone=UTC, report=print)]
