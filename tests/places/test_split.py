"""A memory of an older version, which knew no places: its lines are parted by what the transcripts tell."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import transcripts
from dream.consolidate.consolidator import Consolidator
from dream.directory import Workspace
from dream.llm.spending import open_meter, open_model
from dream.settings import Settings
from dream.workspace.bills import Bills
from tests.cli.commands import dream
from tests.places.test_projects import EVIL, LENA, repository
from tests.sources.test_places import row
from tests.transcripts.reading import lines

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Workspace:
    """Two projects whose rules and facts stand in the files for everywhere, as history without places has them."""
    dream("init", tmp_path / "ws")
    workspace, settings = Workspace.open(tmp_path / "ws"), Settings()
    model = open_model(settings, "consolidator", open_meter(Bills(workspace.private), settings, NOW, None))
    without_places = Consolidator(workspace.history, model, settings)
    for at, name, rule, port in ((10, "alpha", "Always use tabs.", 7391), (20, "beta", "Use four spaces.", 8080)):
        folder = home / "work" / name
        repository(folder, LENA.replace("crumb", name))
        said = [row(at, rule, folder, session=name), row(at + 1, "Sure.", folder, "assistant", name)]
        said.append(row(at + 2, f"Our staging server listens on port {port}.", folder, session=name))
        path = home / ".claude" / "projects" / name / f"{name}.jsonl"
        path.parent.mkdir(parents=True)
        read = list(transcripts.read(lines(path, *said)))
        without_places.consolidate(read[0][0], [message for _, message in read], now=NOW)
    dream("sources", "add", "claude-code", "-w", tmp_path / "ws")
    dream("note", "I prefer short answers.", "--everywhere", "-w", tmp_path / "ws")
    assert dream("run", "-w", tmp_path / "ws").status == 0
    assert {entry.place for entry in workspace.history.after(0)} == {""}
    return workspace


def files(workspace: Workspace) -> dict[str, str]:
    return {file: workspace.read_file(file) for file in workspace.files()}


def test_the_transcripts_tell_where_old_lines_belong_and_a_restore_takes_it_back(
    workspace: Workspace, home: Path
) -> None:
    before = files(workspace)
    assert all(word in before["memory/MEMORY.md"] for word in ("7391", "8080"))
    shown = dream("places", "split", "--dry-run", "-w", workspace.root).out
    assert shown.index("alpha") < shown.index("7391") < shown.index("beta") < shown.index("8080")
    assert (files(workspace), workspace.places().all()) == (before, ())
    commits = len(workspace.git.log())
    assert dream("places", "split", "--yes", "-w", workspace.root).status == 0
    after = files(workspace)
    for name, words in (("alpha", ("tabs", "7391")), ("beta", ("four spaces", "8080"))):
        here = dream("context", "-w", workspace.root, cwd=home / "work" / name).out
        assert all(word in here for word in words)
        assert [word for word in words if word in after["SOUL.md"] + after["memory/MEMORY.md"]] == []
    assert len(workspace.git.log()) - commits <= 2
    assert dream("restore", workspace.git.head() or "", "--yes", "-w", workspace.root).status == 0
    assert files(workspace) == before
    assert dream("doctor", "-w", workspace.root).status == 0


def test_a_line_stays_where_its_transcript_is_gone_and_moves_where_one_is_named(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    folder = home / ".claude" / "projects"
    moved = (folder / "beta" / "beta.jsonl").rename(tmp_path / "beta.jsonl")
    (folder / "alpha" / "alpha.jsonl").unlink()
    shown = dream("places", "split", "--dry-run", "--json", "-w", workspace.root).out
    assert json.loads(shown)["places"] == {}
    named = dream("places", "split", moved, "--dry-run", "-w", workspace.root).out
    assert ("8080" in named, "7391" in named) == (True, False)


def test_what_is_never_read_and_what_was_said_in_two_projects_stays(workspace: Workspace, home: Path) -> None:
    dream("places", "never", home / "work" / "alpha", "-w", workspace.root)
    path = home / ".claude" / "projects" / "beta" / "beta.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[-1]["cwd"] = str(home / "work" / "gamma")
    lines(path, *rows)
    assert json.loads(dream("places", "split", "--dry-run", "--json", "-w", workspace.root).out)["places"] == {}


def test_a_line_goes_to_the_place_that_history_names_and_not_to_another_repository_at_its_path(
    workspace: Workspace, home: Path
) -> None:
    assert dream("places", "split", "--yes", "-w", workspace.root).status == 0
    alpha = home / "work" / "alpha"
    said = [row(30, "Our mirror listens on port 5151.", alpha, session="later")]
    dream("consolidate", lines(workspace.root.parent / "later.jsonl", *said), "-w", workspace.root)
    assert dream("run", "-w", workspace.root).status == 0
    rows = workspace.read_file("places/alpha/MEMORY.md").splitlines()
    at = next(number for number, line in enumerate(rows, 1) if "5151" in line)
    assert dream("places", "move", f"places/alpha/MEMORY.md:{at}", "everywhere", "-w", workspace.root).status == 0
    shutil.rmtree(alpha)
    repository(alpha, EVIL)
    said = [row(40, "Our staging server listens on port 6666.", alpha, session="evil")]
    dream("consolidate", lines(workspace.root.parent / "evil.jsonl", *said), "-w", workspace.root)
    assert dream("run", "-w", workspace.root).status == 0
    found = json.loads(dream("places", "split", "--dry-run", "--json", "-w", workspace.root).out)["places"]
    assert list(found) == ["alpha"]
    assert "5151" in str(found["alpha"])
