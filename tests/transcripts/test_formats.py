"""The formats beside OpenAI's and Claude Code's: the sample of each, and a worse file."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dream.errors import TranscriptError
from dream.models import Message
from tests.cli.commands import ROOT, dream
from tests.transcripts.reading import at, document, lines, read, sample, told

SAMPLES: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "codex": (
        "codex:s1",
        [
            ("user", "create one focused commit"),
            ("assistant", "→ update_plan(review and commit)"),
            ("tool", "Plan updated"),
            ("assistant", "→ apply_patch(*** Begin Patch *** End Patch)"),
            ("tool", "Done"),
            ("assistant", "→ tool_search(filesystem tools)"),
            ("tool", '[{"name": "read_file"}]'),
            ("assistant", "Created one focused commit."),
        ],
    ),
    "copilot-cli": (
        "copilot-cli:copilot-session-1",
        [
            ("user", "Refresh the landing page."),
            ("assistant", "I will inspect the page.\n→ read_file(index.html)"),
            ("tool", "Current landing page"),
        ],
    ),
    "opencode": (
        "opencode:oc-session-1",
        [
            ("user", "Inspect the project notes."),
            ("assistant", "→ glob(notes/*.md)"),
            ("tool", "notes/plan.md"),
            ("assistant", "I found the project plan."),
        ],
    ),
    "gemini-cli": (
        "gemini-cli:gemini-session-1",
        [
            ("user", "Read the project overview."),
            ("assistant", "I will inspect the overview.\n→ read_file(OVERVIEW.md)"),
            ("tool", "Project overview"),
        ],
    ),
    "hermes": (
        "hermes:hermes-session-0001",
        [
            ("user", "Check the current directory."),
            ("assistant", "→ terminal(pwd)"),
            ("tool", "/workspace/demo"),
            ("assistant", "You are in /workspace/demo."),
        ],
    ),
    "openclaw": (
        "pi:openclaw-session-0001",
        [
            ("user", "What files are in the workspace?"),
            ("assistant", "→ bash(ls)"),
            ("tool", "README.md\nsrc"),
            ("assistant", "The workspace contains README.md and a src directory."),
        ],
    ),
    "pi": (
        "pi:019f92c8-d694-7ac3-9144-e3b22add01f3",
        [
            ("user", "Create notes.txt with a short todo list, then show it with bash."),
            ("assistant", "→ write(notes.txt)"),
            ("tool", "Successfully wrote 46 bytes to notes.txt"),
            ("assistant", "→ bash(cat notes.txt)"),
            ("tool", "TODO:\n- collect pi traces\n- write the adapter"),
            ("assistant", "Done. I created `notes.txt` with a short TODO list and displayed its contents above."),
        ],
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sample_is_read_whole(name: str) -> None:
    pairs, diagnostics = read(sample(name))
    key, said = SAMPLES[name]
    assert [(message.role, message.content) for _, message in pairs] == said
    assert {found for found, _ in pairs} == {key}
    assert all(message.at is not None for _, message in pairs)
    assert diagnostics == []


def test_the_sample_of_letta_code_is_read_whole() -> None:
    pairs, _ = read(sample("letta-code"))
    assert [message for _, message in pairs][2:4] == [
        Message(
            "assistant",
            "→ Read(src/app.ts)",
            at("2026-07-22T12:00:02"),
            id="call-read-1",
            calls=("call-read-1",),
        ),
        Message(
            "tool",
            "export const value = 1;",
            at("2026-07-22T12:00:02"),
            name="Read",
            id="call-read-1#1",
            answers="call-read-1",
        ),
    ]


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-30T05:38:34Z", "type": kind, "payload": payload}


def test_codex_leaves_out_what_is_injected_and_takes_the_first_session_id(tmp_path: Path) -> None:
    injected = [{"type": "input_text", "text": "# AGENTS.md instructions for /x\n<INSTRUCTIONS>do</INSTRUCTIONS>"}]
    output = json.dumps({"output": "fine", "metadata": {"exit_code": 0}})
    path = lines(
        tmp_path / "rollout.jsonl",
        codex("session_meta", id="fork"),
        codex("session_meta", id="parent"),
        codex("response_item", type="message", role="developer", content="obey"),
        codex("response_item", type="message", role="user", content=injected),
        codex("event_msg", type="user_message", message="twice"),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "run it"}]),
        codex("response_item", type="local_shell_call", call_id="c", action={"command": ["bash", "-lc", "make all"]}),
        codex("response_item", type="function_call_output", call_id="c", output=output),
        codex("response_item", type="reasoning", summary=[]),
        "garbage",
        codex("response_item", type="function_call_output", call_id="orphan", output=None),
    )
    pairs, diagnostics = read(path)
    assert [(key, m.role, m.content, m.answers) for key, m in pairs] == [
        ("codex:fork", "user", "run it", None),
        ("codex:fork", "assistant", "→ local_shell(make all)", None),
        ("codex:fork", "tool", "fine", "c"),
    ]
    assert [found.line for found in diagnostics] == [10, 0]
    assert diagnostics[1].text == "A tool's result was left out: no call waits for such an answer."


def test_codex_sub_agents_are_left_out(tmp_path: Path) -> None:
    meta = codex("session_meta", id="s", source={"subagent": "review"})
    said = codex("response_item", type="message", role="user", content="look")
    path = lines(tmp_path / "a.jsonl", meta, said)
    assert read(path) == ([], [])


def test_pi_reads_the_file_in_order_whatever_the_parents_say(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"type": "session", "id": "s"},
        {"type": "message", "id": "1", "parentId": "2", "message": {"role": "user", "content": "one"}},
        {"type": "message", "id": "2", "parentId": "1", "message": {"role": "assistant", "content": ["two"]}},
        {"type": "message", "id": "2", "parentId": "1", "message": {"role": "assistant", "content": ["two"]}},
        {"type": "message", "id": "3", "parentId": "9", "message": {"role": "compactionSummary", "content": "x"}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall", "name": "ls"}]}},
        {"type": "message", "message": {"role": "toolResult", "toolName": "ls", "content": [{"type": "text"}]}},
        {"type": "message", "message": "nonsense"},
    )
    assert told(path) == [("user", "one"), ("assistant", "two"), ("assistant", "→ ls()"), ("tool", "")]


def test_sessions_of_a_scheduler_are_left_out(tmp_path: Path) -> None:
    said = {"role": "user", "content": "[cron:daily] report"}
    openclaw = lines(tmp_path / "a.jsonl", {"type": "session"}, {"type": "message", "parentId": None, "message": said})
    nanobot = lines(
        tmp_path / "b.jsonl", {"_type": "metadata", "key": "cron:daily"}, {"role": "user", "content": "report"}
    )
    assert (told(openclaw), told(nanobot)) == ([], [])


def test_nanobot_reads_naive_times_and_leaves_out_commands(tmp_path: Path) -> None:
    from zoneinfo import ZoneInfo

    path = lines(
        tmp_path / "telegram_42.jsonl",
        {"_type": "metadata", "key": "telegram:42", "created_at": "2026-11-20T10:00:00"},
        {"_type": "provider_state", "content": "x"},
        {"role": "user", "content": "/new", "_command": True, "timestamp": "2026-11-20T10:00:00"},
        {"role": "user", "content": "report", "injected_event": "subagent_result"},
        {"role": "user", "content": "I moved to Tokyo", "timestamp": "2026-11-20T10:01:00.5"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "ls"}}]},
        {"role": "tool", "tool_call_id": "c", "name": "ls", "content": "a"},
    )
    pairs, _ = read(path, zone=ZoneInfo("Asia/Tokyo"))
    assert [(key, m.role, m.content, m.at) for key, m in pairs] == [
        ("nanobot:telegram:42", "user", "I moved to Tokyo", at("2026-11-20T01:01:00.5")),
        ("nanobot:telegram:42", "assistant", "→ ls()", at("2026-11-20T01:01:00.5")),
        ("nanobot:telegram:42", "tool", "a", at("2026-11-20T01:01:00.5")),
    ]


def hermes_database(path: Path) -> Path:
    rows = [
        (3, "s1", "assistant", None, '[{"function": {"name": "terminal", "arguments": "{\\"command\\": \\"pwd\\"}"}}]'),
        (1, "s1", "user", '\0json:[{"type": "text", "text": "where?"}, {"type": "image_url"}]', None),
        (2, "cron1", "user", "nightly", None),
        (4, "s1", "tool", "/home", None),
        (5, "s1", "user", "never mind", None),
    ]
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sessions (id TEXT, source TEXT)")
        database.executemany("INSERT INTO sessions VALUES (?, ?)", [("s1", "tui"), ("cron1", "cron")])
        database.execute("CREATE TABLE messages (id INTEGER, session_id, role, content, tool_calls, timestamp, active)")
        database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, 1783000001.25, 1)", rows)
        database.execute("UPDATE messages SET active = 0 WHERE id = 5")
        database.commit()
    return path


def test_the_database_of_hermes_is_read_and_not_written(tmp_path: Path) -> None:
    path = hermes_database(tmp_path / "state.db")
    before = path.read_bytes()
    pairs, diagnostics = read(path)
    assert [(key, m.role, m.content, m.calls, m.answers, m.id) for key, m in pairs] == [
        ("hermes:s1", "user", "where?\n\n[image]", (), None, "hermes-message-1"),
        ("hermes:s1", "assistant", "→ terminal(pwd)", ("call-1",), None, "hermes-message-3"),
        ("hermes:s1", "tool", "/home", (), "call-1", "hermes-message-4"),
    ]
    assert pairs[0][1].at == at("2026-07-02T13:46:41.25")
    assert (diagnostics, path.read_bytes(), sorted(tmp_path.iterdir())) == ([], before, [path])


def test_a_damaged_database_is_an_error_or_is_reported(tmp_path: Path) -> None:
    path = hermes_database(tmp_path / "state.db")
    raw = path.read_bytes()
    path.write_bytes(raw[:300])
    with pytest.raises(TranscriptError, match=r"state.db is a database that cannot be read"):
        read(path)
    path.write_bytes(raw[:100] + b"\xff" * (len(raw) - 100))
    with pytest.raises(TranscriptError, match=r"state.db"):
        read(path)


def test_gemini_lines_that_are_written_again_add_only_what_is_new(tmp_path: Path) -> None:
    asked = {"id": "c1", "name": "read_file", "args": {"path": "a"}, "result": [{"functionResponse": {}}]}
    answer = {"id": "2", "type": "gemini", "content": "Let me look."}
    path = lines(
        tmp_path / "session.jsonl",
        {"sessionId": "g", "projectHash": "h"},
        {"id": "1", "type": "user", "content": [{"text": "look"}]},
        answer,
        answer | {"toolCalls": [asked]},
        {"$set": {"lastUpdated": "x"}},
        {"id": "3", "type": "info", "content": "notice"},
    )
    pairs, _ = read(path)
    assert [(m.role, m.content, m.id) for _, m in pairs] == [
        ("user", "look", "1"),
        ("assistant", "Let me look.", "2"),
        ("assistant", "→ read_file(a)", "2+c1"),
        ("tool", '{"functionResponse": {}}', "2+c1#1"),
    ]


def node(key: str, parent: str | None, role: str, content: object, **more: Any) -> dict[str, Any]:
    said = {"id": f"m-{key}", "author": {"role": role}, "create_time": 1_795_255_200.0, "content": content} | more
    return {"id": key, "parent": parent, "message": said}


def conversation() -> dict[str, Any]:
    text = {"content_type": "text"}
    nodes = [
        {"id": "root", "parent": None, "message": None},
        node("hidden", "root", "system", text, metadata={"is_visually_hidden_from_conversation": True}),
        node("about", "hidden", "user", {"content_type": "user_editable_context", "user_profile": "I am Al"}),
        node("ask", "about", "user", text | {"parts": ["plan a trip"]}),
        node("old", "ask", "assistant", text | {"parts": ["to Rome"]}),
        node("think", "ask", "assistant", {"content_type": "thoughts", "thoughts": []}),
        node("code", "think", "assistant", {"content_type": "code", "text": "1 + 1"}, recipient="python"),
        node("run", "code", "tool", {"content_type": "execution_output", "text": "2"}),
        node("new", "run", "assistant", {"content_type": "multimodal_text", "parts": ["to Oslo", {"asset": 1}]}),
    ]
    return {"id": "c1", "title": "Trip", "current_node": "new", "mapping": {one["id"]: one for one in nodes}}


TRIP = [("user", "plan a trip"), ("assistant", "→ python(1 + 1)"), ("tool", "2"), ("assistant", "to Oslo")]


def test_the_chatgpt_export_reads_the_branch_that_was_seen_last(tmp_path: Path) -> None:
    as_json = document(tmp_path / "conversations.json", [conversation()])
    as_zip = tmp_path / "export.zip"
    with zipfile.ZipFile(as_zip, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("conversations-000.json", json.dumps([conversation()]))
        archive.writestr("conversations-001.json", json.dumps([conversation() | {"id": "c2"}]))
    pairs, _ = read(as_json)
    assert [(m.role, m.content) for _, m in pairs] == TRIP
    assert (pairs[0][0], pairs[0][1].id, pairs[0][1].at) == ("chatgpt:c1", "m-ask", at("2026-11-21T10:00:00"))
    assert [(key, m.content) for key, m in read(as_zip)[0]] == [
        (key, content) for key in ("chatgpt:c1", "chatgpt:c2") for _, content in TRIP
    ]


def test_a_circle_or_a_lost_end_in_a_chatgpt_export_is_survived(tmp_path: Path) -> None:
    circle = conversation()
    circle["mapping"]["ask"]["parent"] = "new"
    lost = conversation() | {"id": "c2", "current_node": "gone"}
    pairs, diagnostics = read(document(tmp_path / "a.json", [circle, lost, {"mapping": {}}, {"mapping": {"a": 1}}]))
    assert [(m.role, m.content) for key, m in pairs if key == "chatgpt:c1"] == TRIP
    assert len([key for key, _ in pairs if key == "chatgpt:c2"]) > 0
    assert [found.text for found in diagnostics] == ["The conversation's nodes form a circle; it was read up to there."]


def test_a_damaged_zip_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    with pytest.raises(TranscriptError, match=r"export.zip is a zip file that cannot be read"):
        read(path)


BODY = "hello\nNote: not a speaker\n\n    user: nor this\n"
CHATS = {
    "plain": f"User: hi there\nAssistant: {BODY}User: bye\n",
    "bold": f"# Chat\n\n**User:** hi there\n\n**Assistant:** {BODY}\n**User:** bye\n",
    "heading": f"## User\n\nhi there\n\n## Assistant\n\n{BODY}\n## User\nbye\n",
}


@pytest.mark.parametrize("form", CHATS)
def test_a_chat_in_text_is_read_in_each_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / "chat.md"
    path.write_text(CHATS[form])
    assert told(path) == [
        ("user", "hi there"),
        ("assistant", "hello\nNote: not a speaker\n\n    user: nor this"),
        ("user", "bye"),
    ]


def test_dates_and_names_in_a_text_chat_are_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(b"[2026-11-20 10:00] Caroline: I moved\r\n[2026-11-20 10:01] Mel O'Hara: where?\r\n")
    pairs, _ = read(path)
    assert [(m.role, m.name, m.content, m.at) for _, m in pairs] == [
        ("user", "Caroline", "I moved", at("2026-11-20T10:00:00")),
        ("user", "Mel O'Hara", "where?", at("2026-11-20T10:01:00")),
    ]
    path.write_text("### User (2026-11-20 10:00)\nhi\n### Assistant — 2026-11-20T10:01:00Z\nhello\n")
    assert [m.at for _, m in read(path)[0]] == [at("2026-11-20T10:00:00"), at("2026-11-20T10:01:00")]
    path.write_text("2026-11-20\nUser: hi\n2026-11-21\nAssistant: hello\n")
    assert [(m.content, m.at) for _, m in read(path)[0]] == [
        ("hi", at("2026-11-20T00:00:00")),
        ("hello", at("2026-11-21T00:00:00")),
    ]


def test_a_bold_word_or_a_lower_case_key_is_no_speaker_among_bold_and_capital_ones(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    path.write_text("**User:** hi\n**Assistant:** well\n**Note:** be careful\n")
    assert told(path) == [("user", "hi"), ("assistant", "well\n**Note:** be careful")]
    path.write_text("User: hi\nAssistant: put this in\nuser: admin\n")
    assert told(path) == [("user", "hi"), ("assistant", "put this in\nuser: admin")]


def test_prose_is_not_a_chat(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# Title\n\nSome words: and more.\n\n## Usage\n\nTo do: run it.\n")
    with pytest.raises(TranscriptError, match="in no format that is known"):
        read(path)


FOREIGN = ["atif", "droid", "openhands"]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_format_of_the_extra_is_read_with_it_or_refused_in_a_sentence(name: str) -> None:
    path = sample(name)
    try:
        import trajectory  # noqa: F401
    except ImportError:
        with pytest.raises(TranscriptError, match=r"which needs .*`.*pip install .*agent-trajectory`\.$"):
            read(path)
        return
    pairs, _ = read(path)
    assert {key.partition(":")[0] for key, _ in pairs} == {name}
    assert next(message.role for _, message in pairs) == "user"


def checkpoints(path: Path, *said: str) -> Path:
    """Let LangGraph write what was said into its database, as Deep Agents does: a thread each, and an answer each."""
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite")
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda _: {"messages": [AIMessage("Noted.")]})
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    with sqlite.SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        for text in said:
            thread = {"configurable": {"thread_id": text.partition(":")[0]}}
            app.invoke({"messages": [HumanMessage(text)]}, thread)
    return path


def test_each_thread_of_a_deep_agents_database_is_a_session_that_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("trajectory")
    path = checkpoints(tmp_path / "sessions.db", "b: I moved to Tokyo", "a: I like tea")
    first, found = read(path)
    assert [(key, message.role, message.content) for key, message in first] == [
        ("deepagents:b", "user", "b: I moved to Tokyo"),
        ("deepagents:b", "assistant", "Noted."),
        ("deepagents:a", "user", "a: I like tea"),
        ("deepagents:a", "assistant", "Noted."),
    ]
    assert not found
    checkpoints(path, "b: and I like trains")
    grown = [message for key, message in read(path)[0] if key == "deepagents:b"]
    assert grown[:2] == [message for key, message in first if key == "deepagents:b"]
    assert [message.content for message in grown[2:]] == ["b: and I like trains", "Noted."]


def test_a_deep_agents_database_without_the_extra_is_refused_in_a_sentence(tmp_path: Path) -> None:
    if importlib.util.find_spec("trajectory"):
        pytest.skip("the extra is installed")
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE checkpoints (thread_id TEXT, checkpoint_id TEXT)")
        database.commit()
    with pytest.raises(
        TranscriptError, match=r'Deep Agents, which needs .*pip install .*"agent-trajectory\[deepagents\]"`'
    ):
        read(path)


@pytest.mark.parametrize(("count", "told_as"), [(2, 2), (0, 0), (-1, 0), (9, 0), (True, 0), ("2", 0), (None, 0)])
def test_nanobot_says_which_messages_it_has_summarised_itself(tmp_path: Path, count: object, told_as: int) -> None:
    rows = [{"role": "user", "content": f"message {number}"} for number in range(3)]
    path = lines(tmp_path / "a.jsonl", {"_type": "metadata", "key": "cli:x", "last_consolidated": count}, *rows)
    assert [message.summarised for _, message in read(path)[0]] == [number < told_as for number in range(3)]


def test_a_format_of_another_package_is_read_like_ours(tmp_path: Path) -> None:
    package = tmp_path / "installed"
    about = package / "chatter-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: chatter\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[dream.formats]\nchatter = chatter:READER\n")
    shown = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (package / "chatter.py").write_text(shown.partition("```python\n")[2].partition("```")[0])
    talk = {"talk": "t1", "by": "me", "chatter": "I live in Graz.", "when": "2026-11-22T01:00:00Z", "id": "c-1"}
    talks = tmp_path / "home" / ".chatter" / "talks"
    talks.mkdir(parents=True)
    path = lines(talks / "a.jsonl", talk)
    at = {"PYTHONPATH": f"{package}:{ROOT}", "HOME": str(tmp_path / "home")}
    workspace = ("-w", str(tmp_path / "ws"))
    dream("init", str(tmp_path / "ws"), **at)

    done = dream("consolidate", str(path), "--json", *workspace, **at).json
    assert (done["sessions"], done["messages"]) == (1, 1)
    assert "chatter:t1" in (tmp_path / "ws" / "memory" / "history.jsonl").read_text(encoding="utf-8")
    assert [row["source"] for row in dream("sources", "--json", *workspace, **at).json] == ["chatter"]
    (package / "chatter.py").write_text("READER = 1\n")
    assert "the package chatter is no Reader" in dream("sources", *workspace, **at).err
