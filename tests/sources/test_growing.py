"""A file that grew is read from where it was, and what comes of it is what a whole reading gives."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dream import pipeline, transcripts
from dream.consolidate.feed import LEAST
from dream.models import Diagnostic, Message
from dream.settings import Settings
from dream.transcripts.turns import Carried
from dream.workspace.index import Index
from dream.workspace.workspace import Workspace
from tests.workspaces import copied, fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)
PAD = "." * 2_000  # so that few rows make a file that is worth a bookmark

Row = dict[str, Any]
TOWNS = ("Oslo", "Rome", "Lima", "Kyoto", "Quito", "Accra", "Perth")


def claude_code(number: int, session: str) -> list[Row]:
    about = {"sessionId": session, "timestamp": f"2026-11-18T09:{number % 60:02}:00Z", "parentUuid": None}
    asked = [{"type": "tool_use", "name": "Bash", "input": {"command": f"ls {number}"}}]
    answer = [{"type": "tool_result", "content": f"file {number}"}]
    return [
        {"type": "user", "uuid": f"uuid-of-row-{number}", "message": {"content": told(number)}} | about,
        {"type": "assistant", "uuid": f"uuid-of-call-{number}", "message": {"content": asked}} | about,
        {"type": "user", "uuid": f"uuid-of-result-{number // 3}", "message": {"content": answer}} | about,
        {"type": "user", "uuid": f"uuid-of-row-{number // 2}", "message": {"content": told(number // 2)}} | about,
    ]


def codex(number: int, session: str) -> list[Row]:
    def row(**payload: object) -> Row:
        return {"type": "response_item", "timestamp": f"2026-11-18T09:{number % 60:02}:00Z", "payload": payload}

    return [
        {"type": "session_meta", "payload": {"id": f"s{number}"}},
        row(type="message", role="user", content=[{"type": "input_text", "text": told(number)}]),
        row(type="function_call", name="shell", arguments="{}", call_id=f"c{number}" if number % 2 else None),
        row(type="function_call_output", output="done", call_id=f"c{number}" if number % 3 else None),
    ]


def pi(number: int, session: str) -> list[Row]:
    call = [{"type": "toolCall", "name": "bash", "arguments": {"command": "ls"}}]
    return [
        {"type": "session", "id": f"s{number}"},
        {"type": "message", "id": f"{number:08}", "message": {"role": "user", "content": told(number)}},
        {"type": "message", "timestamp": 1784874063547 + number, "message": {"role": "assistant", "content": call}},
        {"type": "message", "message": {"role": "toolResult", "toolName": "bash", "content": f"out {number}"}},
    ]


def nanobot(number: int, session: str) -> list[Row]:
    calls = [{"function": {"name": "shell", "arguments": "{}"}}]
    return [
        {"_type": "metadata", "key": session},
        {"role": "user", "content": told(number), "timestamp": f"2026-11-18T09:{number % 60:02}:00"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": f"out {number}", "name": "shell"},
    ]


def letta_code(number: int, session: str) -> list[Row]:
    return [
        {"kind": "user", "text": told(number), "captured_at": f"2026-11-18T09:{number % 60:02}:00Z"},
        {"kind": "tool_call", "name": "Read", "argsText": "{}", "resultText": "x", "source_line_id": f"line-{number}"},
        {"kind": "tool_call", "name": "Read", "argsText": "{}"},
        {"kind": "assistant", "text": f"Noted {number}.", "source_line_id": f"a-longer-line-id-{number // 2}"},
    ]


def gemini_cli(number: int, session: str) -> list[Row]:
    calls = [{"id": f"call-{number // 2}", "name": "ls", "args": {}, "result": "x"}, {"name": "rm", "result": "y"}]
    return [
        {"sessionId": "g", "projectHash": "h"},
        {"type": "user", "id": f"u{number}", "content": told(number)},
        {"type": "gemini", "id": f"g{number // 2}", "content": f"Noted {number}.", "toolCalls": calls},
    ]


def copilot_cli(number: int, session: str) -> list[Row]:
    def row(kind: str, **data: object) -> Row:
        about = {"timestamp": f"2026-11-18T09:{number % 60:02}:00Z", "id": f"event-of-{kind}-{number // 2}"}
        return {"type": kind, "data": data} | about

    hooked = {"hookType": "userPromptSubmitted", "input": {"prompt": told(number)}}
    return [
        row("session.start", sessionId=session),
        *([row("hook.start", **hooked)] if number % 3 else []),
        row("user.message", content=told(number)),
        row("assistant.message", content="", toolRequests=[{"toolCallId": f"c{number}", "name": "ls"}]),
        row("tool.execution_complete", toolCallId=f"c{number // 3}", result={"content": f"out {number}"}),
    ]


def hermes(number: int, session: str) -> list[Row]:
    about = {"session_id": session, "observed": 0, "timestamp": 1784874063.5 + number}
    return [
        {"role": "user", "content": told(number), "id": number} | about,
        {"role": "assistant", "content": "", "tool_calls": "[{}]"} | about,
        {"role": "tool", "content": "out", "active": number % 5} | about,
    ]


def openai(number: int, session: str) -> list[Row]:
    calls = [{"function": {"name": "shell", "arguments": "{}"}}]
    return [
        {"role": "user", "content": told(number), "session_id": session},
        {"role": "assistant", "content": None, "tool_calls": calls, "session_id": session},
        {"role": "tool", "content": f"out {number}", "session_id": session},
        *([{"messages": [{"role": "user", "content": f"apart {number}"}]}] if session == "mixed:1" else []),
    ]


def cursor(number: int, session: str) -> list[Row]:
    called = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    asked = f"<user_query>\n{told(number)}\n</user_query>"
    return [
        {"role": "user", "message": {"content": [{"type": "text", "text": asked}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": f"Noted {number}."}, called]}},
    ]


def told(number: int) -> str:
    return f"I moved to {TOWNS[number % len(TOWNS)]} in house {number}."


ROWS: dict[str, Callable[[int, str], list[Row]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "nanobot": nanobot,
    "letta-code": letta_code,
    "gemini-cli": gemini_cli,
    "hermes": hermes,
    "copilot-cli": copilot_cli,
    "cursor": cursor,
    "openai": openai,
}


def transcript(name: str, rows: int, pad: str = "", *, mixed: bool = False) -> bytes:
    """Return JSON lines of the format, some of them broken; sessions follow each other, or stand mixed."""
    found: list[bytes] = []
    for number in range(rows):
        session = f"mixed:{number % 5 == 4:d}" if mixed else f"session:{number // 9}"
        found += [json.dumps(row | {"pad": pad}).encode() for row in ROWS[name](number, session)]
        found += [b'{"broken": '] if number % 6 == 5 else []
        found += [b""] if number % 9 == 8 else []
    return b"\n".join(found) + b"\n"


def read(path: Path, at: Carried | None = None) -> tuple[list[tuple[str, Message]], list[Diagnostic]]:
    said: list[Diagnostic] = []
    return list(transcripts.read(path, zone=UTC, report=said.append, carried=at)), said


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ROWS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_reading_on_gives_what_a_whole_reading_gives(name: str, data: st.DataObject) -> None:
    raw = transcript(name, data.draw(st.integers(3, 20)), mixed=data.draw(st.booleans()))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(raw)
        whole, said_of_whole = read(path)
        state, found, said = b"", [], []
        for end in [*cuts, len(raw)]:
            path.write_bytes(raw[:end])
            at = Carried.load(state) if state else Carried()
            try:
                pairs, said = read(path, at)
            except (transcripts.FormatChanged, transcripts.TranscriptError):
                state, found = b"", []
                continue
            found = found + pairs if state else pairs
            state = at.dump() if at.whole else b""
            found = found if at.whole else []
        assert found == whole or not found
        if found:
            assert said == said_of_whole


def test_every_format_of_json_lines_is_among_these() -> None:
    grows = {name for name, reader in transcripts.known_formats().items() if reader.grows}
    assert grows - {"openclaw", "omp"} == set(ROWS)


def consolidate(workspace: Workspace, path: Path) -> tuple[list[Any], list[str]]:
    """Consolidate a file in a directory; return all that is in history then, and what was said of the file."""
    report = pipeline.consolidate(workspace, [path.parent], settings=SETTINGS, now=NOW)
    entries = [
        (one.kind, one.content, one.session, one.span, one.ids, one.prefix) for one in workspace.history.after(0)
    ]
    return entries, [f"{one.line} {one.text}" for one in report.diagnostics if "holds" not in one.text]


def kept(path: Path, raw: bytes, age: int) -> None:
    """Write the file in place, as it was `age` seconds before now."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(raw)
        file.truncate()
    os.utime(path, (NOW.timestamp() - age, NOW.timestamp() - age))


def grown(raw: bytes, end: int, data: st.DataObject) -> bytes:
    return raw


def cut_short(raw: bytes, end: int, data: st.DataObject) -> bytes:
    return raw[: data.draw(st.integers(end // 2, end))]


def changed(raw: bytes, end: int, data: st.DataObject) -> bytes:
    at = data.draw(st.integers(0, end - 1))
    return raw[:at] + b"7" + raw[at + 1 :]


def row_gone(raw: bytes, end: int, data: st.DataObject) -> bytes:
    rows = raw.splitlines(keepends=True)
    del rows[data.draw(st.integers(0, len(rows) // 2))]
    return b"".join(rows)


def put_before(raw: bytes, end: int, data: st.DataObject) -> bytes:
    return raw[data.draw(st.integers(0, end)) :].partition(b"\n")[2] + raw


MUTATIONS = [grown, grown, cut_short, changed, row_gone, put_before]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ROWS)
@settings(
    max_examples=1 + settings.default.max_examples // 20,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)
@given(data=st.data())
def test_history_is_the_same_with_and_without_a_bookmark(name: str, data: st.DataObject) -> None:
    raw = transcript(name, 24, PAD, mixed=data.draw(st.booleans()))
    end = data.draw(st.integers(LEAST, len(raw)))
    later = data.draw(st.sampled_from(MUTATIONS))(raw, end, data)
    with tempfile.TemporaryDirectory() as folder:
        workspace = fresh(Path(folder, "ws"), NOW)
        path = Path(folder, "chats", "a.jsonl")
        path.parent.mkdir()
        kept(path, raw[:end], 7200)
        consolidate(workspace, path)
        copied(workspace.root, Path(folder, "other"))
        Index(Path(folder, "other", ".dream")).remove()
        kept(path, later, 3600)
        first = consolidate(workspace, path)
        assert first == consolidate(Workspace.open(Path(folder, "other")), path)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "chats").mkdir()
    return fresh(tmp_path / "ws", NOW)


def bookmarks(workspace: Workspace) -> list[tuple[str]]:
    return workspace.history.index.rows("select file from bookmark") or []


def test_only_what_is_new_is_read_of_a_file_that_grew(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "chats" / "a.jsonl"
    raw = transcript("claude-code", 100, 4 * PAD)
    end = raw.index(b"\n", len(raw) - 36_000) + 1
    kept(path, raw[:end], 7200)
    consolidate(workspace, path)
    kept(path, raw, 3600)
    before = read_bytes()
    consolidate(workspace, path)
    assert read_bytes() - before < 600_000 < len(raw) / 4


def read_bytes() -> int:
    """Bytes that this process has read so far, of whatever (Linux)."""
    try:
        rows = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        pytest.skip("this system does not count the bytes that a process reads")
    return int(rows[0].removeprefix("rchar:"))


def test_a_bookmark_goes_with_its_file(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "chats" / "a.jsonl"
    kept(path, transcript("codex", 30, PAD), 7200)
    kept(tmp_path / "chats" / "b.jsonl", transcript("codex", 2), 7200)
    consolidate(workspace, path)
    assert len(bookmarks(workspace)) == 1
    path.unlink()
    consolidate(workspace, path)
    assert bookmarks(workspace) == []


@pytest.mark.slow
def test_a_history_that_was_lost_is_filled_again_from_the_whole_file(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "chats" / "a.jsonl"
    raw = transcript("pi", 30, PAD)
    kept(path, raw[: len(raw) * 3 // 4], 7200)
    consolidate(workspace, path)
    workspace.history.path.unlink()
    kept(path, raw, 3600)
    entries, _ = consolidate(Workspace.open(workspace.root), path)
    other = fresh(tmp_path / "other", NOW)
    assert entries == consolidate(other, path)[0]


@pytest.mark.slow
def test_a_damaged_bookmark_costs_time_and_nothing_else(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "chats" / "a.jsonl"
    raw = transcript("pi", 30, PAD)
    kept(path, raw[: len(raw) * 3 // 4], 7200)
    consolidate(workspace, path)
    assert len(bookmarks(workspace)) == 1
    rubbish = (b'{"format": 7}\nrubbish',)
    workspace.history.index.change(lambda db: db.execute("update bookmark set state = ?", rubbish))
    kept(path, raw, 3600)
    entries, _ = consolidate(workspace, path)
    assert positions(entries) == positions(consolidate(fresh(tmp_path / "other", NOW), path)[0])


def positions(entries: list[Any]) -> dict[str, int]:
    """The highest span end of each session."""
    return {session: max(one[3][1] for one in entries if one[2] == session) for _, _, session, *_ in entries}
