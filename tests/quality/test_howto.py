"""The measure of what worked reads a case's sessions as real transcripts, and counts what its memory keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality import howto

CASE = Path(__file__).parent / "data" / "howto" / "crumb"


def test_the_default_keeps_no_command_and_lets_none_in_and_lines_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # and is set anew by the case
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    workspace = howto.played(CASE, tmp_path.resolve())
    found = howto.figures(CASE, workspace)
    assert (found.lines, found.never, found.command) == (0, (0, 5), (0, 6))
    memory = workspace.root / "places" / "crumb" / "MEMORY.md"
    lines = "## How to\n- Tests: `just test`\n- Tried in vain: weasyprint-fast\n- Set up with get.crumb-setup.example\n"
    memory.write_text(lines, encoding="utf-8")
    found = howto.figures(CASE, workspace)
    assert (found.lines, found.command, found.fix, found.vain, found.never) == (3, (1, 6), (0, 4), (1, 1), (1, 5))
