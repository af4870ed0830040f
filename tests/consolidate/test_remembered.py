"""What memory said itself is not learnt again."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.consolidate.prepare import known_lines, without_remembered

KNOWN = frozenset(("# User", "- Lives in Osaka", "- Has two cats", "- Likes tea"))


@pytest.mark.parametrize(
    "text",
    [
        "# User\n\n- Lives in Osaka\n- Has two cats",
        "     1\t# User\n     2\t\n     3\t- Lives in Osaka",
        "1→# User\n2→- Lives in Osaka",
        "- Likes tea",
        "<history>\n[3] 2026-11-01 10:00 note\n    always x\n</history>",
        "<findings>\n1. [SOUL] always x {1}\n</findings>",
        '<file path="SOUL.md">\n- always x\n</file>',
        '<conversation session="a" messages="1-2">\n[1] user: always x\n</conversation>',
        '{"cursor": 42, "timestamp": "2026-11-21T03:00:07+00:00", "content": "- x"}',
        "[SOUL] always x {41,44}",
    ],
)
def test_memory_s_own_words_are_taken_out(text: str) -> None:
    assert without_remembered(text, KNOWN).strip() == ""


@pytest.mark.parametrize(
    "text",
    [
        "Lives in Osaka",
        "I live in Osaka and I have two cats\n- Likes tea",
        "the <history> tag is empty",
        "In [USER] mode it fails",
        '<file path="notes.md">\nx\n</file>',
    ],
)
def test_what_a_person_types_stays(text: str) -> None:
    assert without_remembered(text, KNOWN) == text


def test_only_the_pasted_lines_go() -> None:
    text = "my file:\n- Lives in Osaka\n\n- Has two cats\nI now live in Kyoto"
    assert without_remembered(text, KNOWN) == "my file:\nI now live in Kyoto"


def test_the_lines_known_are_those_of_the_files_and_the_prompts(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "MEMORY.md").write_bytes(b"- The API runs on port 8080\r\n\xff\n")
    known = known_lines(tmp_path, None)
    assert "- The API runs on port 8080" in known
    assert any("long-term memory of an AI agent" in line for line in known)
