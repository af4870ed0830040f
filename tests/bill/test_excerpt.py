"""Phase 2 is shown of large files what its findings are about, and what it is shown can be edited as it stands."""

from __future__ import annotations

from datetime import UTC, date

from hypothesis import given
from hypothesis import strategies as st

from dream.dreaming import draft, phase2
from dream.dreaming.draft import Brief
from dream.dreaming.guards import Protected
from dream.llm import Json
from dream.models import Finding, MemoryFile
from dream.settings import Settings
from dream.text import tokens
from tests.scripted import ScriptedModel, tool_calls

PROJECTS = [f"- Project {name}{n} runs on port {8000 + n} since May" for n, name in enumerate(["Orion", "Vega"] * 60)]
LARGE = "# Memory\n\n## Projects\n" + "\n".join(PROJECTS) + "\n\n## People\n- Mei is the designer\n- Tom bakes bread\n"
FILES: dict[MemoryFile, str] = {"SOUL.md": "# Soul\n- Be brief\n", "USER.md": "# User\n", "memory/MEMORY.md": LARGE}
PORT = Finding("memory/MEMORY.md", "Project Vega7 runs on port 9000 since June", (1,))
BRIEF = Brief(Settings(), date(2026, 11, 21), UTC)


def test_small_files_are_shown_whole() -> None:
    small: dict[MemoryFile, str] = {**FILES, "memory/MEMORY.md": "# Memory\n- a\n- b\n"}
    assert draft.shown_near(small, {}, tokens.estimate) == small


def test_of_large_files_headings_section_ends_and_near_lines_are_shown() -> None:
    shown = draft.shown_near(FILES, {"memory/MEMORY.md": [PORT.text]}, tokens.estimate)

    lines = shown["memory/MEMORY.md"].splitlines()
    assert {"# Memory", "## Projects", "## People", PROJECTS[7], PROJECTS[-1], "- Tom bakes bread"} <= set(lines)
    assert len(lines) < 20
    assert shown["SOUL.md"] == f"# Soul\n{draft.OMITTED}"  # no finding is about it


@given(st.lists(st.text("ab c#-", max_size=12), max_size=60), st.lists(st.text("ab c", min_size=1), max_size=4))
def test_every_line_shown_is_a_line_of_the_file_and_in_its_order(lines: list[str], topics: list[str]) -> None:
    texts: dict[MemoryFile, str] = {"USER.md": "\n".join(lines), "memory/MEMORY.md": LARGE}

    shown = draft.shown_near(texts, {"USER.md": topics}, tokens.estimate)["USER.md"].splitlines()

    rest = iter(texts["USER.md"].splitlines())
    assert all(line in rest for line in shown if line != draft.OMITTED)


def test_an_edit_of_what_is_shown_lands_in_the_whole_file() -> None:
    arguments: dict[str, Json] = {
        "path": "memory/MEMORY.md",
        "old_text": PROJECTS[7],
        "new_text": f"- {PORT.text}",
        "findings": [1],
    }
    model = ScriptedModel(tool_calls(("edit_file", arguments)))

    edited = phase2.edit([PORT], Protected(FILES, {}, ()), model, BRIEF)

    assert edited.draft.texts["memory/MEMORY.md"] == LARGE.replace(PROJECTS[7], f"- {PORT.text}")
    assert [outcome.state for outcome in edited.outcomes] == ["applied"]
    assert len(model.calls) == 1
    assert tokens.estimate(model.calls[0].user) < tokens.estimate(LARGE) / 3


def test_the_rest_can_be_read() -> None:
    reading = ScriptedModel(tool_calls(("read_file", {"path": "memory/MEMORY.md"})), "done")
    phase2.edit([PORT], Protected(FILES, {}, ()), reading, BRIEF)
    assert reading.calls[1].messages[-1].content == LARGE
