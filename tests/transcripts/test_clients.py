"""What the clients of today write, in small: the user is heard in each, and nothing is taken for what it is not."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from dream.errors import TranscriptError
from dream.models import Message
from dream.transcripts import UNHEARD, known_formats
from tests.transcripts.reading import at, document, lines, read, told

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def event(kind: str, number: int, **data: Any) -> dict[str, Any]:
    about = {"id": f"event-number-{number:04}", "timestamp": f"2026-11-22T01:17:{number:02}Z", "parentId": None}
    return {"type": kind, "data": data} | about


def hooked(number: int, prompt: str) -> dict[str, Any]:
    return event("hook.start", number, hookType="userPromptSubmitted", input={"prompt": prompt})


def test_copilot_is_read_from_its_user_messages(tmp_path: Path) -> None:
    dated = "<current_datetime>2026-11-22</current_datetime>\n\nMy horse is Bella."
    path = lines(
        tmp_path / "events.jsonl",
        event("session.start", 0, sessionId="s1", copilotVersion="1.0.102"),
        event("user.message", 1, content="My horse is Bella.", transformedContent=dated, delivery="idle"),
        event("system.message", 2, role="system", content="You are Copilot."),
        event("assistant.turn_start", 3, turnId="0"),
        event("assistant.message", 4, content="", toolRequests=[{"toolCallId": "c", "name": "ls", "arguments": {}}]),
        event("tool.execution_complete", 5, toolCallId="c", success=True, result={"content": "a.txt"}),
        event("assistant.message", 6, content="Noted.", toolRequests=[]),
        event("assistant.message", 7, content="aside", parentToolCallId="c"),
        event("user.message", 8, content="Read this skill.", source="skill-pdf"),
    )
    pairs, diagnostics = read(path)
    assert [(key, message.role, message.content) for key, message in pairs] == [
        ("copilot-cli:s1", "user", "My horse is Bella."),
        ("copilot-cli:s1", "assistant", "→ ls()"),
        ("copilot-cli:s1", "tool", "a.txt"),
        ("copilot-cli:s1", "assistant", "Noted."),
    ]
    assert (pairs[0][1].at, pairs[0][1].id) == (at("2026-11-22T01:17:01"), "event-number-0001")
    assert diagnostics == []


def test_a_prompt_that_copilot_writes_in_two_places_is_said_once(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "events.jsonl",
        *(hooked(1, "yes"), event("user.message", 2, content="yes"), event("assistant.message", 3, content="one")),
        *(event("user.message", 4, content="yes"), hooked(5, "yes"), event("assistant.message", 6, content="two")),
        *(hooked(7, "only hooked"), event("user.message", 8, content="yes"), event("user.message", 9, content="yes")),
    )
    said = [content for role, content in told(path) if role == "user"]
    assert said == ["yes", "yes", "only hooked", "yes", "yes"]


def opencode(path: Path) -> Path:
    """Write a database as OpenCode does: two sessions, the older one, of `opencode run`, last; and a sub-agent's."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE session (id TEXT, parent_id TEXT, permission TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute(
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT)"
        )
        run = json.dumps([{"permission": "question", "pattern": "*", "action": "deny"}])
        sessions = [("new", None, None), ("old", None, run), ("sub", "new", None)]
        database.executemany("INSERT INTO session VALUES (?, ?, ?)", sessions)
        for number, (session, said, parts) in enumerate(TALK):
            when = 1_795_309_855_316 + number * 1_000 - (10_000_000 if session == "old" else 0)
            compacted = said == "assistant" and parts[0].get("text") == "What was said so far."
            about = json.dumps({"role": said, "time": {"created": when}, "summary": compacted or {"diffs": []}})
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"msg_{number}", session, when, about))
            for place, part in enumerate(parts):
                row = (f"prt_{9 - place}", f"msg_{number}", session, when + place, json.dumps(part))
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
        database.commit()
    return path


def text(said: str, **more: object) -> dict[str, Any]:
    return {"type": "text", "text": said} | more


TALK: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("new", "user", [text('"I live in Graz."'), text("Called the Read tool.", synthetic=True)]),
    (
        "new",
        "assistant",
        [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            {"type": "tool", "callID": "c", "tool": "ls", "state": {"input": {"path": "."}, "output": "a.txt"}},
            text("Noted."),
        ],
    ),
    ("new", "user", [{"type": "compaction", "auto": False}]),
    ("new", "assistant", [text("What was said so far.")]),
    ("sub", "user", [text("You are a sub-agent.")]),
    ("old", "user", [text('"My \\"garden\\" is large."'), {"type": "file", "mime": "image/png", "url": "data:x"}]),
]


def test_the_database_of_opencode_is_read_session_by_session(tmp_path: Path) -> None:
    path = opencode(tmp_path / "opencode.db")
    pairs, diagnostics = read(path)
    assert [(key, message.role, message.content) for key, message in pairs] == [
        ("opencode:old", "user", 'My "garden" is large.'),
        ("opencode:old", "user", "[image]"),
        ("opencode:new", "user", '"I live in Graz."'),
        ("opencode:new", "assistant", "→ ls(.)"),
        ("opencode:new", "tool", "a.txt"),
        ("opencode:new", "assistant", "Noted."),
    ]
    assert pairs[2][1].at == at("2026-11-22T01:10:55.316")
    assert diagnostics == []


def test_opencode_is_found_where_it_keeps_its_database(tmp_path: Path) -> None:
    globs = [place.glob(tmp_path, {"XDG_DATA_HOME": "/data"}) for place in known_formats()["opencode"].places]
    assert globs == ["/data/opencode/opencode.db"]
    globs = [place.glob(tmp_path, {}) for place in known_formats()["opencode"].places]
    assert globs == [str(tmp_path / ".local/share/opencode/opencode.db")]


def local(number: int, role: str, content: object, when: int | None = None, **more: object) -> dict[str, Any]:
    about = {"agent_id": "agent-local-1", "conversation_id": "local-conv-1", "created_at": "2026-01-01T00:00:01.000Z"}
    counted = 1_767_225_600_000 + 1_000 * number
    return {"id": f"ui-msg-{number}", "role": role, "metadata": about, "content": content, "timestamp": when or counted}


def test_the_local_backend_of_letta_code_dates_what_was_asked_by_the_answer(tmp_path: Path) -> None:
    reminder = {"type": "text", "text": "<system-reminder>(the client's)</system-reminder>"}
    asked = [{"type": "toolCall", "id": "c", "name": "ls", "arguments": {"path": "."}}]
    path = lines(
        tmp_path / "messages.jsonl",
        local(1, "user", [reminder, {"type": "text", "text": "My tent is green."}]),
        local(2, "assistant", asked, 1_795_310_648_130),
        local(3, "toolResult", [{"type": "text", "text": "a.txt"}]) | {"toolCallId": "c", "toolName": "ls"},
        local(4, "assistant", [{"type": "text", "text": "Noted."}], 1_795_310_649_130),
    )
    pairs, diagnostics = read(path)
    key, answered = "agent-local-1/local-conv-1", at("2026-11-22T01:24:08.130")
    assert pairs[0] == (f"letta-code:{key}", Message("user", "My tent is green.", answered, None, f"{key}/ui-msg-1"))
    assert [(message.role, message.content) for _, message in pairs[1:]] == [
        ("assistant", "→ ls(.)"),
        ("tool", "a.txt"),
        ("assistant", "Noted."),
    ]
    assert pairs[1][1].at == answered
    assert diagnostics == []


def gemini(kind: str, number: int, content: object, **more: object) -> dict[str, Any]:
    return {
        "id": f"row-{number}",
        "timestamp": f"2026-11-22T13:36:{number:02}Z",
        "type": kind,
        "content": content,
    } | more


@pytest.mark.parametrize("name", ["session-1.jsonl", "session-1.json"])
def test_a_session_of_gemini_cli_belongs_to_the_project_that_its_hash_is_of(tmp_path: Path, name: str) -> None:
    header = {"sessionId": "s", "projectHash": sha256(b"/home/ida/src/kiln").hexdigest()}
    said = gemini("user", 1, "We deploy on Mondays.")
    chats = tmp_path / ".gemini" / "tmp" / "kiln" / "chats"
    chats.mkdir(parents=True)
    if name.endswith("jsonl"):
        path = lines(chats / name, header, said)
    else:
        path = document(chats / name, header | {"messages": [said]})

    assert [message.cwd for _, message in read(path)[0]] == [""]  # a chat that was copied somewhere
    (chats.parent / ".project_root").write_text("/home/ida/src/kiln")
    assert [message.cwd for _, message in read(path)[0]] == ["/home/ida/src/kiln"]
    (chats.parent / ".project_root").write_text("/home/ida/src/loom")
    assert [message.cwd for _, message in read(path)[0]] == [""]


def test_of_gemini_cli_with_hooks_what_was_said_is_heard_once(tmp_path: Path) -> None:
    header = {"sessionId": "s", "projectHash": "0", "startTime": "2026-11-22T13:36:00Z", "kind": "main"}
    context = gemini("user", 0, [text("<session_context>\nThis is the Gemini CLI.\n</session_context>")])
    hooked = "<hook_context>&lt;dream-memory&gt;\nI live in Osaka.\n&lt;/dream-memory&gt;\n</hook_context>\n\n"
    asked = gemini("user", 1, [text(f"{hooked}My tent is green.")])
    ran: dict[str, Any] = {"id": "c", "name": "ls", "args": {"path": "."}, "timestamp": "2026-11-22T13:36:03Z"}
    ran["result"] = [{"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a.txt"}}}]
    answered = gemini("gemini", 4, "Noted.")
    shell = "I ran the following shell command:\n```sh\ncat a\n```\n\nThis produced the following result:\n```\nb\n```"
    path = lines(
        tmp_path / "session.jsonl",
        *(header, {"$set": {"messages": [context]}}, asked, gemini("gemini", 2, "")),
        gemini("gemini", 2, "", toolCalls=[ran]),
        gemini("user", 3, ran["result"]),
        *(answered, {"$set": {"lastUpdated": "2026-11-22T13:36:04Z"}}),
        *(header, {"$set": {"sessionId": "s"}}, {"$set": {"messages": [context, asked, answered]}}),
        *(gemini("user", 5, [text(shell)]), gemini("user", 6, [text("And the stove?")])),
    )
    pairs, diagnostics = read(path)
    assert [(key, message.role, message.content) for key, message in pairs] == [
        ("gemini-cli:s", "user", "My tent is green."),
        ("gemini-cli:s", "assistant", "→ ls(.)"),
        ("gemini-cli:s", "tool", "a.txt"),
        ("gemini-cli:s", "assistant", "Noted."),
        ("gemini-cli:s", "user", "And the stove?"),
    ]
    assert diagnostics == []


def cursor(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def test_of_cursors_transcripts_what_was_typed_is_kept_with_its_day(tmp_path: Path) -> None:
    asked = "<timestamp>Sunday, Nov 22, 2026, 3:20 PM (UTC+0)</timestamp>\n<open_files>a.py</open_files>"
    path = lines(
        tmp_path / "chat.jsonl",
        cursor("user", text(f"{asked}\n<user_query>\nMy tent is green.\n</user_query>")),
        cursor("assistant", text("Noted."), {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}),
    )
    pairs, diagnostics = read(path)
    assert [(message.role, message.content) for _, message in pairs] == [
        ("user", "My tent is green."),
        ("assistant", "Noted.\n→ Shell(ls)"),
    ]
    assert {message.at for _, message in pairs} == {at("2026-11-22T00:00:00")}
    assert diagnostics == []
    assert told(lines(tmp_path / "b.jsonl", cursor("user", text("plain")))) == [("user", "plain")]


def key_value(path: Path, **rows: object) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        written = [(name, None if row is None else json.dumps(row)) for name, row in rows.items()]
        database.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", written)
        database.commit()
    return path


def test_the_database_of_cursor_is_read_conversation_by_conversation(tmp_path: Path) -> None:
    began = 1_795_309_855_000
    ran = {"toolCallId": "t", "name": "run_terminal_cmd", "rawArgs": '{"command": "ls"}', "result": "a.txt"}
    order = [{"bubbleId": one} for one in ("q", "a", "gone", "n")]
    path = key_value(
        tmp_path / "state.vscdb",
        **{
            "composerData:new": {"composerId": "new", "createdAt": began, "fullConversationHeadersOnly": order}
            | {"subComposerIds": ["sub"]},
            "composerData:old": {"composerId": "old", "createdAt": began - 1_000_000}
            | {"conversation": [{"type": 1, "bubbleId": "1", "text": "Earlier."}]},
            "composerData:sub": {"composerId": "sub", "conversation": [{"type": 1, "bubbleId": "s", "text": "Go."}]},
            "composerData:none": None,
            "bubbleId:new:n": {"type": 2, "bubbleId": "n", "text": "Noted.", "createdAt": "2026-11-22T01:12:00Z"},
            "bubbleId:new:q": {"type": 1, "bubbleId": "q", "text": "My tent is green.", "images": [{}]},
            "bubbleId:new:a": {"type": 2, "bubbleId": "a", "text": "", "toolFormerData": ran},
            "bubbleId:other:x": {"type": 1, "bubbleId": "x", "text": "of no conversation"},
        },
    )
    pairs, diagnostics = read(path)
    assert [(key, message.role, message.content) for key, message in pairs] == [
        ("cursor:old", "user", "Earlier."),
        ("cursor:new", "user", "My tent is green.\n\n[image]"),
        ("cursor:new", "assistant", "→ run_terminal_cmd(ls)"),
        ("cursor:new", "tool", "a.txt"),
        ("cursor:new", "assistant", "Noted."),
    ]
    assert [message.at for _, message in pairs][1::3] == [at("2026-11-22T01:10:55"), at("2026-11-22T01:12:00")]
    assert diagnostics == []


def test_the_database_of_cursors_command_line_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE blobs (id, data); CREATE TABLE meta (key, value);")
    with pytest.raises(TranscriptError, match="of Cursor's command line, which dream can't read yet"):
        read(path)


def test_rows_of_hermes_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "role": "user", "content": "first", "timestamp": 10.0, "active": 1},
        {"id": 2, "role": "assistant", "content": "third", "timestamp": 30.0, "active": 1},
        {"id": 3, "role": "user", "content": "second", "timestamp": 20.0, "active": 1},
        {"id": 4, "role": "user", "content": "rewound", "timestamp": 40.0, "active": 0},
    ]
    said = [("user", "first"), ("user", "second"), ("assistant", "third")]
    assert told(document(tmp_path / "a.json", {"session": {"id": "s", "source": "tui"}, "messages": rows})) == said
    assert told(lines(tmp_path / "a.jsonl", {"id": "s", "source": "tui", "messages": rows}), format="hermes") == said
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sessions (id TEXT, source TEXT)")
        database.execute("CREATE TABLE messages (id INTEGER, role, content, timestamp REAL, active, session_id)")
        database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, 's')", [tuple(row.values()) for row in rows])
        database.commit()
    assert told(path) == said


def codex(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-22T05:38:34Z", "type": "response_item", "payload": payload}


def pi(role: str, number: int, content: object, **more: object) -> dict[str, Any]:
    said = {"role": role, "content": content} | more
    return {"type": "message", "id": f"entry-{number}", "parentId": None, "message": said}


def hermes(role: str, number: int, content: object, **more: object) -> dict[str, Any]:
    return {"id": number, "session_id": "s", "role": role, "content": content, "observed": 0} | more


def result(text: str, answers: str) -> dict[str, Any]:
    return {"type": "tool_result", "content": text, "tool_use_id": answers}


TWICE_ANSWERED = {
    "codex": [
        codex(type="message", role="user", content="go"),
        codex(type="function_call", name="ls", call_id="c", arguments="{}"),
        *(
            codex(type="function_call_output", call_id=call, output=out)
            for call, out in [("c", "a"), ("c", "b"), ("x", "")]
        ),
    ],
    "pi": [
        pi("user", 1, "go"),
        pi("assistant", 2, [{"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}]),
        *(pi("toolResult", at, out, toolCallId=call) for at, call, out in [(3, "c", "a"), (4, "c", "b"), (5, "x", "")]),
    ],
    "hermes": [
        hermes("user", 1, "go"),
        hermes("assistant", 2, None, tool_calls=[{"id": "c", "function": {"name": "ls"}}]),
        *(hermes("tool", at, out, tool_call_id=call) for at, call, out in [(3, "c", "a"), (4, "c", "b"), (5, "x", "")]),
    ],
    "claude-code": [
        {"type": "user", "uuid": "1", "sessionId": "s", "message": {"content": "go"}},
        {"type": "assistant", "uuid": "2", "message": {"content": [{"type": "tool_use", "id": "c", "name": "ls"}]}},
        *(
            {"type": "user", "uuid": f"{at}", "message": {"content": [result(text, call)]}}
            for at, call, text in [(3, "c", "a"), (4, "c", "b"), (5, "x", "")]
        ),
    ],
}


@pytest.mark.parametrize("name", TWICE_ANSWERED)
def test_a_second_answer_and_one_to_no_call_are_left_out_and_told(tmp_path: Path, name: str) -> None:
    path = lines(tmp_path / "a.jsonl", *TWICE_ANSWERED[name])
    assert told(path) == [("user", "go"), ("assistant", "→ ls()"), ("tool", "a")]
    assert [found.text for found in read(path)[1]] == [
        "2 results of tools were left out: no call waits for such an answer."
    ]


SHOWN = [{"type": "text", "text": "What is this?"}, {"type": "image", "data": "iVBOR", "mimeType": "image/png"}]


def test_where_the_user_showed_an_image_a_mark_stands(tmp_path: Path) -> None:
    said = [("user", "What is this?\n\n[image]")]
    assert told(lines(tmp_path / "a.jsonl", pi("user", 1, SHOWN))) == said
    typed = lines(tmp_path / "b.jsonl", pi("user", 1, "Put [image] there."))
    assert told(typed) == [("user", "Put [image] there.")]


def test_a_file_in_which_the_user_is_not_heard_is_told(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "events.jsonl",
        event("session.start", 0, sessionId="s1"),
        event("user.prompt", 1, text="of a version to come"),
        event("assistant.message", 2, content="Noted."),
    )
    assert [found.text for found in read(path)[1]] == [UNHEARD.format("copilot-cli")]


def test_a_file_of_which_nothing_was_read_is_told_where_a_user_speaks_in_it(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "events.jsonl",
        event("session.start", 0, sessionId="s1"),
        event("user.prompt", 1, text="of a version to come"),
    )
    assert [found.text for found in read(path)[1]] == [UNHEARD.format("copilot-cli")]


@pytest.mark.parametrize(
    "rows",
    [
        [event("session.start", 0, sessionId="s1"), event("session.shutdown", 1)],
        [{"type": "user", "uuid": "1", "sessionId": "s", "isSidechain": True, "message": {"content": "side"}}],
        [{"type": "user", "uuid": "1", "sessionId": "s", "isMeta": True, "message": {"content": "Caveat"}}],
        [{"type": "user", "uuid": "1", "sessionId": "s", "message": {"content": "<command-name>/exit</command-name>"}}],
        [{"_type": "metadata", "key": "cron:daily"}, {"role": "user", "content": "report"}],
        [{"_type": "metadata", "key": "cli:x"}, {"role": "user", "content": "/new", "_command": True}],
        [{"type": "session", "id": "s"}, pi("user", 1, "[cron:daily] report")],
    ],
)
def test_what_is_left_out_on_purpose_is_no_fault(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert read(lines(tmp_path / "a.jsonl", *rows)) == ([], [])


def openclaw(path: Path, programs: Sequence[dict[str, str]] = ()) -> Path:
    """Write a database as OpenClaw does: a private talk, whose long message is compressed, a group and a sub-agent.

    `programs` are the provenances of further messages of the private talk.
    """
    said = [
        ("dm", {"role": "user", "content": "I live in Graz. " + "long " * 300}),
        ("dm", {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}),
        ("dm", {"role": "user", "content": "Sent by a task.", "provenance": {"kind": "inter_session"}}),
        ("group", {"role": "user", "content": "Always in English!", "__openclaw": {"senderName": "Mina"}}),
        ("group", {"role": "user", "content": "I agree.", "__openclaw": {"senderName": "Me", "senderIsOwner": True}}),
        ("sub", {"role": "user", "content": "You are a sub-agent."}),
        *(("dm", {"role": "user", "content": f"Sent by {one}.", "provenance": one}) for one in programs),
    ]
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE transcript_events (session_id, seq, event_json, created_at, event_zstd)")
        database.execute("CREATE TABLE session_windows (session_id, session_key, chat_type, spawned_by)")
        database.execute("CREATE TABLE session_nodes (session_key, created_via)")
        windows = [("dm", "agent:main:main", "direct", None), ("group", "agent:main:chat:group:7", "group", None)]
        database.executemany("INSERT INTO session_windows VALUES (?, ?, ?, ?)", [*windows, ("sub", "s", None, "dm")])
        for number, (session, message) in enumerate(said):
            event = {"type": "message", "id": f"e{number}", "timestamp": "2026-11-22T01:00:00Z", "message": message}
            text = json.dumps(event).encode()
            packed = zstd.compress(text) if len(text) >= 1024 else None
            row = (session, number, None if packed else text.decode(), 1_795_309_855_316 + number, packed)
            database.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", row)
        database.commit()
    return path


def test_the_database_of_openclaw_is_read_and_a_group_names_who_speaks(tmp_path: Path) -> None:
    pairs, diagnostics = read(openclaw(tmp_path / "openclaw-agent.sqlite"))
    assert [(key, message.role, message.name, message.content[:18]) for key, message in pairs] == [
        ("pi:dm", "user", None, "I live in Graz. lo"),
        ("pi:dm", "assistant", None, "Noted."),
        ("pi:dm", "user", "inter_session", "Sent by a task."),
        ("pi:group", "user", "Mina", "Always in English!"),
        ("pi:group", "user", None, "I agree."),
    ]
    assert len(pairs[0][1].content) == 16 + 5 * 300 - 1
    assert diagnostics == []


def test_answers_to_a_clients_questions_are_the_users(tmp_path: Path) -> None:
    questions = {"questions": [{"question": "Which port?", "id": "port"}]}
    told_by = 'User has answered your questions: "Which port?"="8080". You can now continue.'
    asked = {"type": "tool", "callID": "c", "tool": "question", "state": {"input": questions, "output": told_by}}
    opencode_file = document(
        tmp_path / "export.json",
        {"info": {"id": "s"}, "messages": [{"info": {"role": "assistant"}, "parts": [asked]}]},
    )
    call = {"type": "function_call", "name": "request_user_input", "call_id": "c", "arguments": json.dumps(questions)}
    output = {"type": "function_call_output", "call_id": "c", "output": '{"answers": {"port": {"answers": ["8080"]}}}'}
    rollout = [{"type": "response_item", "payload": one} for one in (call, output)]
    ask_user = {"id": "c", "name": "ask_user", "args": questions}
    ask_user |= {"result": [{"functionResponse": {"response": {"output": '{"answers": {"0": "8080"}}'}}}]}
    gemini = {"projectHash": "h", "messages": [{"id": "1", "type": "gemini", "content": "", "toolCalls": [ask_user]}]}
    for path in (
        opencode_file,
        lines(tmp_path / "rollout.jsonl", *rollout),
        document(tmp_path / "session-1.json", gemini),
    ):
        assert told(path)[1:] == [("tool", ""), ("assistant", "Which port?"), ("user", "8080")]


def test_what_a_client_marks_in_the_users_text_is_no_word_of_theirs(tmp_path: Path) -> None:
    image = [{"type": "input_text", "text": '<image name=[Image #1] path="/tmp/a.png">'}, {"type": "input_image"}]
    image += [{"type": "input_text", "text": "</image>"}, {"type": "input_text", "text": "My dog."}]
    said = {"type": "message", "role": "user", "content": image}
    path = lines(tmp_path / "rollout.jsonl", {"type": "response_item", "payload": said})
    assert told(path) == [("user", "[image]\n\nMy dog.")]
    opened = "--- Content from referenced files ---\nContent from @a.md:\nNever deploy.\n--- End of content ---"
    gemini = {"projectHash": "h", "messages": [{"id": "1", "type": "user", "content": f"Read @a.md\n{opened}"}]}
    marked = "Read @a.md\n> Content from @a.md:\n> Never deploy."
    assert told(document(tmp_path / "session-1.json", gemini)) == [("user", marked)]
