"""What a file may be that is no ordinary one, and how transcripts are found."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC
from pathlib import Path

import pytest

from dream import transcripts
from dream.errors import TranscriptError
from tests.transcripts.reading import document, lines, read, told

HELLO = {"role": "user", "content": "Grüße"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "{path} does not exist; check the path."),
        (b"", "{path} is empty; there is nothing to read in it."),
        (b" \n\r\n", "{path} is empty; there is nothing to read in it."),
        (b"\xef\xbb\xbf", "{path} is empty; there is nothing to read in it."),
        (b"\0" * 50, "{path} is empty; there is nothing to read in it."),
        (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            "{path} is a binary file, not a transcript; name a JSON, JSONL or text file.",
        ),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TranscriptError) as caught:
        read(path)
    assert str(caught.value) == sentence.format(path=path)


@pytest.mark.parametrize("content", ["[]", "[\n]\n", '{"messages": []}'])
def test_a_document_without_messages_is_said_to_have_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(TranscriptError, match=r"a\.json holds no messages; there is nothing to read in it\."):
        read(path)


def test_an_unknown_format_names_those_there_are(tmp_path: Path) -> None:
    path = document(tmp_path / "a.json", {"name": "package", "version": 1})
    with pytest.raises(TranscriptError, match=r"a.json is in no format that is known; .*claude-code.*openai, text"):
        read(path)
    with pytest.raises(TranscriptError, match="'word' is no known format; the formats are claude-code"):
        read(path, format="word")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("shape", ["lines", "array", "text"])
def test_every_encoding_gives_the_same(tmp_path: Path, encoding: str, shape: str) -> None:
    texts = {
        "lines": (json.dumps(HELLO, ensure_ascii=False) + "\n") * 2,
        "array": json.dumps([HELLO] * 2, ensure_ascii=False, indent=1),
        "text": "User: Grüße\nUser: Grüße\n",
    }
    path = tmp_path / "a"
    path.write_bytes(texts[shape].encode(encoding))
    assert told(path) == [("user", "Grüße")] * 2


def test_bytes_that_are_not_utf8_are_replaced_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"role": "user", "content": "caf\xe9"}\n')
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["caf�"]
    assert [str(found) for found in diagnostics] == [
        f"{path}:1: The line holds bytes that are not UTF-8; they were replaced by �."
    ]


def test_unpaired_surrogates_are_replaced_and_big_numbers_survived(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        '{"role": "user", "content": "a\\ud83db", "n": NaN}',
        '{"role": "user", "content": "\\ud83d\\ude00", "id": 123456789012345678901234567890}',
        '{"role": "user", "content": "deep", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    )
    pairs, diagnostics = read(path)
    assert [message.content for _, message in pairs] == ["a�b", "😀"]
    assert [found.line for found in diagnostics] == [3]


def test_a_tail_of_nuls_does_not_make_good_lines_binary(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", HELLO)
    path.write_bytes(path.read_bytes() + b"\0" * 512)
    pairs, diagnostics = read(path)
    assert ([message.content for _, message in pairs], [found.line for found in diagnostics]) == (["Grüße"], [2])


def test_a_long_file_is_read_in_little_memory(tmp_path: Path) -> None:
    row = json.dumps({"role": "user", "content": "word " * 2_000}) + "\n"
    count = 400  # 4 MB
    shapes = {"a.jsonl": row * count, "a.json": f"[{','.join([row] * count)}]", "b.json": ""}
    shapes["b.json"] = json.dumps({"messages": 0}).replace("0", shapes["a.json"].replace("\n", ""))
    for name, text in shapes.items():
        path = tmp_path / name
        path.write_text(text)
        tracemalloc.start()
        found = sum(1 for _ in transcripts.read(path, zone=UTC, report=print))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (found, peak < 3_000_000) == (count, True), (name, peak)


def test_a_first_line_longer_than_the_head_is_still_a_line(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "x" * 300_000}]}
    assert [len(text) for _, text in told(lines(tmp_path / "a.jsonl", chat, chat))] == [300_000] * 2
    assert [len(text) for _, text in told(lines(tmp_path / "b.jsonl", chat))] == [300_000]


def test_a_directory_gives_its_transcripts_and_reports_the_rest(tmp_path: Path) -> None:
    lines(tmp_path / "b.jsonl", HELLO)
    (tmp_path / "deep").mkdir()
    lines(tmp_path / "deep" / "a.jsonl", HELLO | {"content": "deep"})
    bad = document(tmp_path / "package.json", {"name": "x"})
    pairs, diagnostics = read(tmp_path)
    assert [message.content for _, message in pairs] == ["Grüße", "deep"]
    assert [found.file for found in diagnostics] == [str(bad)]


def test_transcripts_are_found_in_order_and_memory_is_not_one(tmp_path: Path) -> None:
    names = [
        *("b.jsonl", "a.json", "x/c.md", "x/d.zip", "x/notes.py", ".git/e.jsonl", "subagents/f.jsonl"),
        *("memory/MEMORY.md", "memory/history.jsonl", "memory/archive/2026.md", "SOUL.md", "node_modules/g.json"),
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [tmp_path / name for name in ("a.json", "b.jsonl", "x/c.md", "x/d.zip")]
    assert transcripts.names(tmp_path) == [str(path) for path in found]
    assert transcripts.names(tmp_path / "*.json*") == [str(path) for path in found[:2]]
    assert transcripts.names(tmp_path / "x/notes.py") == [str(tmp_path / "x/notes.py")]


@pytest.mark.parametrize("name", ["gone", "gone/*.jsonl", "empty"])
def test_nothing_found_is_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TranscriptError, match=name.replace("*", r"\*")):
        transcripts.names(tmp_path / name)
    with pytest.raises(TranscriptError, match="holds no transcript"):
        read(tmp_path / "empty")


def test_a_name_with_glob_characters_is_a_name_first(tmp_path: Path) -> None:
    path = lines(tmp_path / "[a].jsonl", HELLO)
    assert transcripts.names(path) == [str(path)]


def test_places_lie_under_home_or_where_the_environment_says() -> None:
    place = transcripts.known_formats()["claude-code"].places[0]
    assert place.glob(Path("/home/al"), {}) == "/home/al/.claude/projects/*/*.jsonl"
    assert place.glob(Path("/home/al"), {"CLAUDE_CONFIG_DIR": "/x"}) == "/x/projects/*/*.jsonl"
