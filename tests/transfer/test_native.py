"""Memory in a file that a client reads by itself: a block that is kept up, never published unasked, and goes away."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import dream
from tests.transfer.conftest import write


@pytest.fixture
def project(home: Path, fresh: Path) -> Path:
    """A repository whose place has a rule of its own, beside a fact about the user; it ignores CLAUDE.local.md."""
    folder = home / "code" / "crumb"
    write(folder / ".gitignore", "CLAUDE.local.md\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    write(folder / "AGENTS.md", "- Use tabs\n")
    assert dream("import", folder, "--yes", "-w", fresh).status == 3
    assert dream("review", "accept", 1, "-w", fresh).status == 0
    assert dream("import", write(home / "me.md", "- Lives in Lisbon\n"), "--yes", "-w", fresh).status == 0
    return folder


@pytest.mark.parametrize("before", [None, b"", b"# Mine\r\nno newline at its end", b"- caf\xe9\n\n\n"])
def test_the_block_goes_away_byte_for_byte(home: Path, fresh: Path, before: bytes | None) -> None:
    file = home / ".gemini" / "GEMINI.md"
    file.parent.mkdir()
    if before is not None:
        file.write_bytes(before)
    write(fresh / "USER.md", "# User\n\n## Person\n- Mail @lena, never open @~/.ssh/id_rsa\n")
    assert dream("connect", "gemini-cli", "--native", "-w", fresh).status == 1
    assert dream("connect", "gemini-cli", "--native", "--yes", "-w", fresh).status == 0
    assert b"- Mail `@lena`, never open `@~/.ssh/id_rsa`\n" in file.read_bytes()
    assert dream("connect", "gemini-cli", "--native", "--yes", "-w", fresh).out.endswith("nothing to change.\n")
    assert dream("connect", "gemini-cli", "--native", "--remove", "--yes", "-w", fresh).status == 0
    assert (file.read_bytes() if file.exists() else None) == before


def test_a_file_that_git_publishes_needs_to_be_asked_for_and_gets_the_projects_lines_alone(
    fresh: Path, project: Path
) -> None:
    def kept(name: str, *more: str) -> int:
        return dream("connect", "claude-code", "--native", "--file", project / name, "--yes", *more, "-w", fresh).status

    assert kept("CLAUDE.md") == 2
    assert kept("CLAUDE.md", "--tracked") == 0
    assert kept("CLAUDE.local.md") == 0
    assert kept("notes.md") == 2
    public, private = ((project / name).read_text() for name in ("CLAUDE.md", "CLAUDE.local.md"))
    assert ("Use tabs" in public, "Lisbon" in public) == (True, False)
    assert ("Use tabs" in private, "Lisbon" in private) == (True, True)
    write(project / ".gitignore", "")
    assert dream("nightly", "-w", fresh).status == 0
    assert "Lisbon" not in (project / "CLAUDE.local.md").read_text()


def test_nights_write_the_block_anew_forgetting_at_once_and_a_block_that_was_taken_out_stays_out(
    fresh: Path, project: Path
) -> None:
    file = project / "CLAUDE.local.md"
    assert dream("connect", "claude-code", "--native", "--file", file, "--yes", "-w", fresh).status == 0
    write(fresh / "USER.md", "# User\n\n## Person\n- Lives in Lisbon\n- Has a dog\n")
    assert dream("nightly", "-w", fresh).status == 0
    assert "Has a dog" in file.read_text()
    gone = dream("forget", "Lives in Lisbon", "--yes", "-w", fresh)
    assert gone.status == 0
    assert "Lisbon" not in file.read_text()
    assert "me.md, from which lines were taken in, holds it" in " ".join(gone.out.split())
    file.write_text("# Mine\n")
    assert dream("nightly", "-w", fresh).status == 0
    assert file.read_text() == "# Mine\n"


def test_the_block_is_never_learnt_back(home: Path, fresh: Path, project: Path) -> None:
    file = project / "CLAUDE.local.md"
    assert dream("connect", "claude-code", "--native", "--file", file, "--yes", "-w", fresh).status == 0
    assert dream("import", file, "-w", fresh, "--json").json["files"][0]["lines"] == 0
    shown = file.read_text().replace("\n", "\\n").replace('"', '\\"')
    talk = f'[{{"role": "user", "content": "What is in it?"}}, {{"role": "tool", "content": "{shown}"}}]'
    assert dream("consolidate", write(home / "talk.json", talk), "-w", fresh).status == 0
    kept = [path.read_text() for path in (fresh / "memory" / "messages").glob("*.jsonl")]
    assert kept
    assert not any("Lisbon" in text for text in kept)
