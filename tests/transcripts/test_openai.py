from __future__ import annotations

import json
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from dream.models import Message
from tests.transcripts.reading import at, document, lines, read, told

CALL = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "git status"}'}}
CHAT = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": [{"type": "text", "text": "Status?"}, {"type": "image_url", "image_url": {}}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "clean"},
    {"role": "assistant", "content": "All clean."},
]
SAID = [
    ("user", "Status?\n\n[image]"),
    ("assistant", "→ Bash(git status)"),
    ("tool", "clean"),
    ("assistant", "All clean."),
]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_an_object_lines_and_a_list_of_conversations_say_the_same(tmp_path: Path, indent: int | None) -> None:
    shapes = [
        document(tmp_path / "array.json", CHAT, indent=indent),
        document(tmp_path / "object.json", {"model": "x", "messages": CHAT}, indent=indent),
        document(tmp_path / "list.json", [{"messages": CHAT}], indent=indent),
        lines(tmp_path / "lines.jsonl", *CHAT),
        lines(tmp_path / "conversations.jsonl", {"messages": CHAT}),
    ]
    assert [told(path) for path in shapes] == [SAID] * 5


def test_a_call_and_its_answer_carry_the_same_id(tmp_path: Path) -> None:
    pairs, diagnostics = read(document(tmp_path / "a.json", CHAT))
    assert [(message.calls, message.answers, message.name) for _, message in pairs] == [
        ((), None, None),
        (("c1",), None, None),
        ((), "c1", "Bash"),
        ((), None, None),
    ]
    assert diagnostics == []


def test_times_are_read_under_every_name_and_in_every_unit(tmp_path: Path) -> None:
    moment = 1_795_255_200
    values = [
        {"timestamp": moment},
        {"created_at": moment * 1000},
        {"time": "2026-11-21T10:00:00Z"},
        {"date": "2026-11-21T19:00:00+09:00"},
        {"timestamp": str(moment)},
        {"timestamp": "2026-11-21 19:00"},  # naive: read in the zone that is given
    ]
    path = document(tmp_path / "a.json", [{"role": "user", "content": "x"} | value for value in values])
    pairs, _ = read(path, zone=timezone(timedelta(hours=9)))
    assert [message.at for _, message in pairs] == [at("2026-11-21T10:00:00")] * 6


@pytest.mark.parametrize("time", [0, -5, 10**40, "soon", "", True, [], {"a": 1}, 1e300, "0001-01-01T00:00:00+14:00"])
def test_a_time_that_is_none_is_left_open(tmp_path: Path, time: object) -> None:
    pairs, _ = read(document(tmp_path / "a.json", [{"role": "user", "content": "x", "timestamp": time}]))
    assert [(message.content, message.at) for _, message in pairs] == [("x", None)]


def test_a_message_is_kept_whole_with_name_time_and_id(tmp_path: Path) -> None:
    row = {"role": "user", "name": "Caroline", "content": "hi", "timestamp": "2026-11-21T10:00:00Z", "id": "m1"}
    pairs, _ = read(document(tmp_path / "a.json", {"id": "s1", "messages": [row]}))
    assert pairs == [("openai:s1", Message("user", "hi", at("2026-11-21T10:00:00"), "Caroline", "m1"))]


def test_sharegpt_and_speakers_by_name_are_understood(tmp_path: Path) -> None:
    rows = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}, {"from": "Mel", "value": "me too"}]
    pairs, _ = read(document(tmp_path / "a.json", [{"conversations": rows}]))
    assert [(message.role, message.name, message.content) for _, message in pairs] == [
        ("user", None, "hi"),
        ("assistant", None, "hello"),
        ("user", "Mel", "me too"),
    ]


def test_conversations_of_one_file_have_keys_of_their_own(tmp_path: Path) -> None:
    chats = [{"id": "a", "messages": CHAT[1:2]}, {"id": "b", "messages": CHAT[4:]}]
    pairs, _ = read(document(tmp_path / "a.json", chats))
    assert [key for key, _ in pairs] == ["openai:a", "openai:b"]


def test_a_session_without_an_id_is_named_by_its_file(tmp_path: Path) -> None:
    path = document(tmp_path / "chat.json", [{"messages": CHAT[1:2]}, {"messages": CHAT[4:]}])
    first, second = [key for key, _ in read(path)[0]]
    assert first.startswith("openai:chat-")
    assert len(first) == len("openai:chat-") + 8
    assert second == f"{first}/1"


def test_a_record_without_role_time_or_id_is_a_users(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"role": "user", "content": "one"}, {"content": "two"})
    assert told(path) == [("user", "one"), ("user", "two")]


def test_broken_lines_are_reported_and_every_good_one_is_used(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", CHAT[1], '{"role": "user", "content": "cut off', "[1, 2]", "", "null", CHAT[4])
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["Status?\n\n[image]", "All clean."]
    assert [(found.file, found.line) for found in diagnostics] == [(str(path), 2), (str(path), 3), (str(path), 5)]
    assert diagnostics[1].text == "The line is JSON, but a list and not an object; it was left out."


def test_a_broken_element_of_an_array_does_not_take_the_others_along(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n{"role": "user", "content": "one"},\n{"role": user},\n{"role": "user", "content": "three"}\n]')
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["one", "three"]
    assert [found.line for found in diagnostics] == [3]


@pytest.mark.parametrize(
    "broken", ['{"role": "user", "content": "cut', "{broken", '{"role": "user", "x": [1, 2}', "}]}"]
)
@pytest.mark.parametrize("indent", [None, 2])
def test_an_element_without_its_bracket_takes_none_along(tmp_path: Path, broken: str, indent: int | None) -> None:
    rows = [json.dumps({"role": "user", "content": [str(number)]}, indent=indent) for number in range(4)]
    path = tmp_path / "a.json"
    path.write_text("[\n" + ",\n".join([*rows[:2], broken, *rows[2:]]) + "\n]\n")
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["0", "1", "2", "3"]
    assert broken == "}]}" or diagnostics[0].line == path.read_text().split("\n").index(broken + ",") + 1


def test_a_truncated_array_gives_what_is_whole(tmp_path: Path) -> None:
    whole = json.dumps([CHAT[1], CHAT[4]])
    path = tmp_path / "a.json"
    path.write_text(whole[:-20])
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["Status?\n\n[image]"]
    assert [found.line for found in diagnostics] == [1]


def test_orphan_and_unnamed_results_stay(tmp_path: Path) -> None:
    unnamed = {"function": {"name": "ls", "arguments": "{}"}}
    rows = [
        {"role": "tool", "tool_call_id": "gone", "content": "orphan"},
        {"role": "assistant", "tool_calls": [unnamed]},
        {"role": "tool", "content": "found"},
    ]
    pairs, _ = read(document(tmp_path / "a.json", rows))
    assert [(m.role, m.content, m.calls, m.answers) for _, m in pairs] == [
        ("tool", "orphan", (), "gone"),
        ("assistant", "→ ls()", ("call-1",), None),
        ("tool", "found", (), "call-1"),
    ]


def test_a_history_of_memory_is_not_a_transcript(tmp_path: Path) -> None:
    from dream.errors import TranscriptError

    path = lines(tmp_path / "history.jsonl", {"cursor": 1, "timestamp": "2026-04-03 00:02", "content": "- a fact"})
    with pytest.raises(TranscriptError, match="in no format that is known"):
        read(path)
