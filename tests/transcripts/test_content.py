"""What is kept of a text, of a call, of a result."""

from __future__ import annotations

import time

import pytest

from dream.transcripts import clean, parts


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain <b>bold</b> 1 < 2", "plain <b>bold</b> 1 < 2"),
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", ""),
        ("before <system-reminder>x</system-reminder> after", "before  after"),
        ("<memory>a<memory>b</memory>c</memory>kept", "kept"),
        ('<dream-memory version="1">I live in Osaka</dream-memory>\nhello', "hello"),
        ("<MEMORY>x</MEMORY>hello", "hello"),
        ("<hook_context>&lt;dream-memory&gt;\nOsaka\n&lt;/dream-memory&gt;\n</hook_context>\n\nhello", "hello"),
        ("<untrusted_context>\n<dream-memory>Osaka</dream-memory>\n</untrusted_context>", ""),
        ("<bash-input>cat a</bash-input><bash-stdout>always</bash-stdout>", ""),
        ("<user_shell_command>\n<command>\ncat a\n</command>\n<result>\nalways\n</result>\n</user_shell_command>", ""),
        (
            "I ran the following shell command:\n```sh\ncat a\n```\n\nThis produced the following result:\n```\nb\n```",
            "",
        ),
        ("<permissions instructions>x</permissions instructions>go", "go"),
        ("<system-reminder>never closed", ""),
        ("I wrote <memory> without an end", "I wrote <memory> without an end"),
        ("</memory> alone", "</memory> alone"),
        ("<command-message>x</command-message><command-args>I moved</command-args>", "I moved"),
        ("[Runtime Context — metadata only]\nTime: 10:00\n[/Runtime Context]\nhi", "hi"),
        ("Conversation info (untrusted metadata):\n```json\n{}\n```\n\nhi", "hi"),
        ("see ![x](data:image/png;base64,AAAA) and data:image/png;base64,iVBORw0KGgo= here", "see  and  here"),
        ("nul\0byte", "nulbyte"),
    ],
)
def test_only_what_was_said_is_kept(text: str, kept: str) -> None:
    assert clean.said(text) == kept


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        "<memory>" * 200_000,
        "<memory " * 200_000,
        "(untrusted " * 100_000,
        "data:image/" * 200_000 + "base64,",
    ],
)
def test_a_hostile_text_takes_no_longer_than_its_length(text: str) -> None:
    start = time.process_time()
    clean.said(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"description": "Show", "command": "git status"}, "→ Bash(git status)"),
        ("Bash", '{"command": "git\\n  status"}', "→ Bash(git status)"),
        ("Edit", {"file_path": "a.py", "old_string": "x" * 900}, "→ Edit(a.py)"),
        ("shell", ["bash", "-lc", "make"], "→ shell(make)"),
        ("shell", {"command": ["git", "log"]}, "→ shell(git log)"),
        ("wait", {"seconds": 5}, "→ wait(5)"),
        ("odd", {"command": 1, "deep": {"a": 1}}, "→ odd(1)"),
        ("none", None, "→ none()"),
        ("broken", '{"command": ', '→ broken({"command": )'),
        ("long", {"query": "w" * 900}, "→ long(" + "w" * 151 + "…)"),
        ("image", {"url": "data:image/png;base64,AAAA"}, "→ image()"),
    ],
)
def test_a_call_is_one_short_line_with_its_most_telling_argument(name: str, arguments: object, line: str) -> None:
    assert parts.line(name, arguments) == line
    assert len(line) <= 160


@pytest.mark.parametrize(
    ("chars", "kept"),
    [
        (100, "0123456789" * 10),
        (60, "012345678901234\n[… 71 characters left out …]\n67890123456789"),
        (0, "[… 100 characters left out …]"),
        (10, "[… 100 characters left out …]"),
    ],
)
def test_a_result_is_cut_in_its_middle(chars: int, kept: str) -> None:
    assert parts.cut("0123456789" * 10, chars) == kept
