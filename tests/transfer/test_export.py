"""What is exported and read back is the same memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.directory import Workspace
from dream.transfer.bundle import lines
from tests import workspaces
from tests.cli.commands import dream
from tests.transfer.conftest import NOW, write

SOUL = (
    "# Soul\n\n## Rules\n- Answer in German.\n- Never force-push:\n  - not on main\n\n### Tests\n- [ ] run them first\n"
)
USER = "# User\n\nWho I work for, and what they prefer.\n\n## Person\n- Port: 8080\n- Lives in Lisbon\nA paragraph...\n"
PLACE = "# Soul\n\n## Rules\n- Use tabs\n"
MEMORY = "# Memory\n\n## Facts\n- Use tabs\n\n## Decisions\n- Use tabs\n- [2025-01-01] moved to (Postgres)\n"


def memory(root: Path) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.file, one.headings, one.row) for one in lines(Workspace.open(root))]


@pytest.mark.parametrize("form", ["md", "json", "okf"])
def test_what_is_exported_and_read_back_is_the_same_memory(fresh: Path, home: Path, form: str) -> None:
    files = {"SOUL.md": SOUL, "USER.md": USER, "memory/MEMORY.md": MEMORY, "places/crumb/SOUL.md": PLACE}
    for name, text in files.items():
        write(fresh / name, text)
    done = dream("export", home / "out", "--format", form, "-w", fresh)
    assert (done.status, done.err) == (0, "")
    other = workspaces.fresh(home / "other", NOW).root
    assert dream("import", home / "out", "--yes", "-w", other).status == 0
    assert sorted(memory(other)) == sorted(memory(fresh))
    assert "Use tabs" in dream("context", "--place", "crumb", "-w", other).out.partition("places/crumb/SOUL.md")[2]
    assert dream("export", home / "out", "--format", form, "-w", fresh).status == 2


def test_markdown_goes_to_standard_output_and_comes_back(fresh: Path, home: Path) -> None:
    write(fresh / "USER.md", USER)
    text = dream("export", "-w", fresh).out
    other = workspaces.fresh(home / "other", NOW).root
    assert dream("import", write(home / "out.md", text), "--yes", "-w", other).status == 0
    assert memory(other) == memory(fresh)
    assert dream("export", "-w", other).out == text


def test_json_tells_where_a_line_comes_from_and_a_place_can_be_exported_alone(fresh: Path, home: Path) -> None:
    source = write(home / "mem0.json", '[{"memory": "Likes tea", "hash": "x", "updated_at": "2026-03-05T10:00:00Z"}]')
    assert dream("import", source, "--yes", "-w", fresh).status == 0
    write(fresh / "places" / "crumb" / "SOUL.md", PLACE)
    tea, tabs = dream("export", "--format", "json", "-w", fresh).json["lines"]
    assert (tea["text"], tea["day"], tea["sources"][0]["cite"]) == ("Likes tea", "2026-03-05", "history:1")
    assert tea["sources"][0]["session"].endswith(":mem0:~/mem0.json")
    assert (tea["sources"][0]["voice"], tabs["place"]) == ("user", "crumb")
    only = dream("export", "--format", "json", "--place", "crumb", "-w", fresh).json["lines"]
    assert [one["text"] for one in only] == ["Use tabs"]
    assert "there is crumb" in dream("export", "--place", "nowhere", "-w", fresh).err
