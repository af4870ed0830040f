from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dream.models import Message
from tests.transcripts.reading import at, lines, read, sample, told


def row(kind: str, uuid: str, content: object, **more: Any) -> dict[str, Any]:
    said = {"role": kind, "content": content} | more.pop("message", {})
    return {"type": kind, "uuid": uuid, "sessionId": "s1", "timestamp": "2026-03-06T14:15:22Z", "message": said} | more


def test_the_sample_is_read_whole() -> None:
    pairs, diagnostics = read(sample("claude-code"))
    assert {message.cwd for _, message in pairs} == {"/workspace/project"}
    assert [replace(message, cwd="") for _, message in pairs] == [
        Message("user", "fix the flaky retry test", at("2026-03-06T14:15:22.394"), id="u1"),
        Message(
            "assistant",
            "Looking at retry.py now.\n→ Read(retry.py)",
            at("2026-03-06T14:15:30"),
            id="a1",
            calls=("toolu_01A",),
        ),
        Message("tool", "1\tdef retry():", at("2026-03-06T14:15:31"), name="Read", id="u2", answers="toolu_01A"),
        Message("assistant", "Patched the backoff.", at("2026-03-06T14:15:33"), id="a2"),
    ]
    assert {key.rpartition("-")[0] for key, _ in pairs} == {"claude-code:input"}
    assert diagnostics == []


def test_noise_meta_compaction_and_synthetic_rows_are_left_out(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s1.jsonl",
        {"type": "summary", "summary": "Old", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "x"},
        row("user", "1", "hello"),
        row("user", "2", "Caveat: …", isMeta=True),
        row("user", "3", "This session is being continued", isCompactSummary=True),
        row("assistant", "4", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
        row("assistant", "5", [{"type": "text", "text": "No response"}], message={"model": "<synthetic>"}),
        row("user", "6", "[Request interrupted by user]"),
        row("user", "7", "<command-name>/clear</command-name>\n<command-args></command-args>"),
        row("user", "8", "<local-command-stdout>done</local-command-stdout>"),
        row("assistant", "9", [{"type": "thinking", "thinking": "hm"}]),
        row("user", "10", "real<system-reminder>be good</system-reminder>"),
    )
    assert told(path) == [("user", "hello"), ("user", "real")]


def test_rows_that_a_resumed_session_repeats_are_read_once(tmp_path: Path) -> None:
    first, second = row("user", "1", "hello"), row("assistant", "2", [{"type": "text", "text": "hi"}])
    pairs, _ = read(lines(tmp_path / "a.jsonl", first, second, first, second, row("user", "3", "more")))
    assert [(message.id, message.content) for _, message in pairs] == [("1", "hello"), ("2", "hi"), ("3", "more")]


def test_streamed_rows_of_one_answer_are_messages_of_their_own(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls", "description": "List"}}
    path = lines(
        tmp_path / "a.jsonl",
        row("assistant", "1", [{"type": "text", "text": "Looking."}], message={"id": "msg_1"}),
        row("assistant", "2", [use], message={"id": "msg_1"}),
    )
    assert told(path) == [("assistant", "Looking."), ("assistant", "→ Bash(ls)")]


def test_mixed_session_ids_are_sessions_of_their_own(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", row("user", "1", "old", sessionId="s0"), row("user", "2", "new"))
    assert [(key, m.content) for key, m in read(path)[0]] == [("claude-code:s0", "old"), ("claude-code:s1", "new")]


def test_sub_agents_are_left_out(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        row("user", "1", "go"),
        row("assistant", "2", [{"type": "text", "text": "side"}], isSidechain=True, agentId="a7"),
        row("assistant", "3", [{"type": "text", "text": "done"}]),
    )
    assert told(path) == [("user", "go"), ("assistant", "done")]


def test_results_images_and_text_of_one_row_are_taken_apart(tmp_path: Path) -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "image", "source": {"data": "iVBOR"}}]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "x" * 5000},
        {"type": "text", "text": "and look at this"},
        {"type": "image", "source": {"type": "base64", "data": "iVBOR"}},
    ]
    calls = [{"type": "tool_use", "id": identity, "name": "Bash"} for identity in ("t1", "t2")]
    path = lines(tmp_path / "a.jsonl", row("assistant", "0", calls), row("user", "1", content))
    messages = [message for _, message in read(path, tool_result_chars=100)[0]][1:]
    assert [(m.role, m.id, m.answers) for m in messages] == [
        ("tool", "1", "t1"),
        ("tool", "1#1", "t2"),
        ("user", "1#2", None),
    ]
    assert messages[0].content == ""
    assert messages[1].content == "x" * 34 + "\n[… 4,933 characters left out …]\n" + "x" * 33
    assert messages[2].content == "and look at this\n\n[image]"


def test_a_file_that_grows_keeps_every_position_and_id(tmp_path: Path) -> None:
    rows = [
        row("user", "1", "one"),
        row("assistant", "2", [{"type": "text", "text": "two"}]),
        row("user", "3", "three"),
    ]
    path = lines(tmp_path / "a.jsonl", *rows)
    whole, raw = read(path)[0], path.read_bytes()
    for size in range(1, len(raw)):
        path.write_bytes(raw[:size])
        try:
            pairs, diagnostics = read(path, format="claude-code")
        except Exception as error:
            raise AssertionError(size) from error
        assert pairs == whole[: len(pairs)]
        assert len(diagnostics) <= 1


def test_a_torn_last_line_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", row("user", "1", "one"))
    with path.open("a") as file:
        file.write('{"type":"user","uuid":"2","mess')
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["one"]
    assert [str(found) for found in diagnostics] == [
        f"{path}:2: The line is not complete yet and will be read when it is."
    ]


def test_two_megabytes_in_one_message_pass_whole(tmp_path: Path) -> None:
    text = "é" * 1_000_000
    assert told(lines(tmp_path / "a.jsonl", row("user", "1", text), row("user", "2", "b"))) == [
        ("user", text),
        ("user", "b"),
    ]


def queued(uuid: str, prompt: object, **attachment: Any) -> dict[str, Any]:
    held = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt"} | attachment
    return {"type": "attachment", "attachment": held, "uuid": uuid, "sessionId": "s1"}


def test_what_is_typed_while_the_agent_works_is_the_users(tmp_path: Path) -> None:
    human = {"kind": "human"}
    path = lines(
        tmp_path / "a.jsonl",
        row("user", "1", "Mend the tests."),
        queued("2", "And always use tabs.", origin=human, humanTurn=True),
        queued("3", [{"type": "text", "text": "I moved to Graz."}, {"type": "image"}], origin=human),
        queued("4", "The build is done.", origin={"kind": "task-notification"}, commandMode="task-notification"),
        queued("5", "What the user said before.", origin={"kind": "unclassified"}, isMeta=True),
        queued("6", "Delete everything.", origin={"kind": "channel", "server": "chat"}),
        row("user", "7", "Push to main.", origin={"kind": "peer", "from": "s9"}),
    )
    assert [(m.role, m.name, m.content) for _, m in read(path)[0]] == [
        ("user", None, "Mend the tests."),
        ("user", None, "And always use tabs."),
        ("user", None, "I moved to Graz.\n\n[image]"),
        ("user", "channel", "Delete everything."),
        ("user", "peer", "Push to main."),
    ]


def test_answers_to_questions_and_refusals_are_the_users_words(tmp_path: Path) -> None:
    questions = [{"question": "Which database?", "options": []}, {"question": "Which port?", "options": []}]
    ask = {"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": {"questions": questions}}
    edit = {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": "a.py"}}
    said = 'The user answered: "Which database?"="SQLite", "Which port?"="8080". Read the answers carefully.'
    refused = "The tool use was rejected. To tell you how to proceed, the user said:\nNo, never touch a.py."
    kept = {"questions": questions, "answers": {"Which database?": "SQLite", "Which port?": "8080"}, "annotations": {}}
    results = [
        {"type": "tool_result", "tool_use_id": one["id"], "content": text}
        for one, text in ((ask, said), (edit, refused))
    ]
    asked, edited = row("assistant", "1", [ask]), row("assistant", "3", [edit])
    answered = [row("user", "2", [results[0]], toolUseResult=kept), row("user", "2", [results[0]])]
    for answer in answered:
        path = lines(tmp_path / "a.jsonl", asked, answer, edited, row("user", "4", [results[1]]))
        assert told(path)[:6] == [
            ("assistant", "→ AskUserQuestion()"),
            ("tool", ""),
            ("assistant", "Which database?"),
            ("user", "SQLite"),
            ("assistant", "Which port?"),
            ("user", "8080"),
        ]
        assert told(path)[7:] == [("tool", refused)]  # a tool can write this, too
    by_client = row("user", "4", [results[1]], toolDenialKind="user-rejected")
    assert told(lines(tmp_path / "b.jsonl", edited, by_client))[-1] == ("user", "No, never touch a.py.")


def test_what_is_pasted_is_marked_as_a_quotation(tmp_path: Path) -> None:
    pasted = 'Use tabs.\n<pasted_content id="b442">\nNever use tabs.\n</pasted_content id="b442">\nAnd short lines.'
    path = lines(tmp_path / "a.jsonl", row("user", "1", pasted))
    assert told(path) == [("user", "Use tabs.\n> Never use tabs.\nAnd short lines.")]
