"""The files of a place have versions, review, restore and all else that the three files have."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream.actions import review
from dream.directory import Workspace
from dream.models import Proposal
from dream.versions import read_memory, transaction
from dream.workspace.review_files import PENDING, render_pending
from tests.cli.commands import dream
from tests.workspaces import fresh

NOW = datetime(2026, 11, 18, 3, tzinfo=UTC)
SOUL, MEMORY = "places/crumb/SOUL.md", "places/crumb/MEMORY.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = fresh(tmp_path / "ws", NOW)
    (made.root / MEMORY).parent.mkdir(parents=True)
    (made.root / MEMORY).write_text("# Memory\n\n## Facts\n- Staging listens on port 7391\n", encoding="utf-8")
    (made.root / "places" / "places.toml").write_text('[p-0123abcd]\nname = "crumb"\npaths = ["/work/crumb"]\n')
    return made


def held(workspace: Workspace, *lines: str) -> None:
    wait = Proposal(1, NOW, SOUL, "", "".join(f"- {line}\n" for line in lines), "review", "it waits", (), ())
    found = {**read_memory(workspace.root)}
    done = {PENDING: render_pending([wait])}
    transaction.commit(workspace, done, expected=found, message=lambda counts: "hand\n\nDream-Kind: hand\n", now=NOW)


def test_what_a_person_typed_for_a_place_is_their_commit_and_a_restore_takes_it_back(workspace: Workspace) -> None:
    held(workspace, "use tabs")
    changes = workspace.git.log()
    assert [(one.kind, dict(one.files).keys()) for one in changes[1:2]] == [("hand", {MEMORY})]
    assert "crumb" in (workspace.git.read("HEAD", "places/places.toml") or b"").decode()
    decided = review.accept(workspace, [1], now=NOW + timedelta(minutes=1))
    assert "use tabs" in workspace.read_file(SOUL)
    assert workspace.files()[3:] == (SOUL, MEMORY)
    assert dream("restore", decided.sha, "--yes", "-w", workspace.root).status == 0
    assert workspace.files()[3:] == (MEMORY,)
    assert [one.file for one in workspace.pending()] == [SOUL]
    assert "crumb" in (workspace.root / "places" / "places.toml").read_text()
    again = dream("restore", "HEAD", "--yes", "-w", workspace.root)
    assert (again.status, "use tabs" in workspace.read_file(SOUL)) == (0, True)
    assert dream("doctor", "-w", workspace.root).status == 0


def test_a_line_of_a_place_is_found_explained_dropped_and_forgotten(workspace: Workspace) -> None:
    root = workspace.root
    (found,) = dream("search", "staging port", "--json", "-w", root).json
    assert found["cite"] == f"{MEMORY}:4"
    assert "7391" in dream("get", f"{MEMORY}:4", "-w", root).out
    assert "It was typed" in dream("why", "Staging listens", "-w", root).out
    assert MEMORY in dream("status", "--json", "-w", root).out
    dropped = dream("drop", f"{MEMORY}:4", "--yes", "-w", root)
    assert (dropped.status, "7391" in workspace.read_file(MEMORY)) == (0, False)
    assert dream("restore", "HEAD", "--yes", "-w", root).status == 0
    assert "7391" in workspace.read_file(MEMORY)
    assert dream("forget", "Staging listens on port 7391", "--yes", "-w", root).status == 0
    assert b"7391" not in b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert dream("search", "staging port", "--json", "-w", root).json == []


def test_through_a_link_nothing_of_a_place_is_read_or_written(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace.root / "places" / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    refused = dream("run", "-w", workspace.root)
    assert (refused.status, "symbolic link" in refused.err) == (1, True)


def test_two_places_of_one_name_are_refused(workspace: Workspace) -> None:
    with (workspace.root / "places" / "places.toml").open("a", encoding="utf-8") as file:
        file.write('[p-0123abce]\nname = "Crumb"\n')
    said = dream("note", "x", "-w", workspace.root, cwd=workspace.root)
    assert (said.status, "two places are named" in said.err) in {(1, True), (0, False)}


def test_what_is_over_a_place_s_budget_is_archived_under_its_name_and_given_there_alone(workspace: Workspace) -> None:
    root = workspace.root
    (root / "dream.toml").write_text("memory_max_lines = 12\n", encoding="utf-8")
    for number in range(20):
        port = 7000 + number
        noted = dream(
            "note", f"Service number {number} listens on port {port}", "-w", root, cwd=_repository(root.parent)
        )
        assert noted.status == 0, noted.err
        assert dream("run", "-w", root).status == 0
    (archive,) = [path.name for path in (root / "memory" / "archive").glob("*.md")]
    assert archive.startswith("crumb-2.MEMORY-")
    asked = ("search", "Service number listens", "--kind", "memory", "--json", "-w", root)
    here = {hit["cite"].partition(":")[0] for hit in dream(*asked, "--place", "crumb-2").json}
    assert f"archive/{archive}" in here
    assert not any("number" in hit["text"] for hit in dream(*asked, "--place", "crumb").json)
    assert dream("places", "rename", "crumb-2", "gamma", "-w", root).status == 0
    assert f"archive/gamma{archive.removeprefix('crumb-2')}" in {
        hit["cite"].partition(":")[0] for hit in dream(*asked, "--place", "gamma").json
    }


def _repository(folder: Path) -> Path:
    """Make a repository that memory does not know yet, of the same name as one that it knows."""
    (folder / "crumb" / ".git").mkdir(parents=True, exist_ok=True)
    return folder / "crumb"


@pytest.mark.parametrize("instant", ["after update-ref", f"after swap of {MEMORY}"])
def test_a_merge_that_is_killed_is_whole_or_not_there(workspace: Workspace, instant: str) -> None:
    root = workspace.root
    with (root / "places" / "places.toml").open("a", encoding="utf-8") as file:
        file.write('[p-0123abce]\nname = "other"\npaths = ["/work/other"]\n')
    held(workspace, "use tabs")
    code = (
        "import os, sys; from dream.workspace import files; from dream.cli import main\n"
        f"files.checkpoint = lambda name: os._exit(9) if name == {instant!r} else None\n"
        f"sys.argv = ['dream', 'places', 'merge', 'crumb', 'other', '-w', {str(root)!r}]; main()"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=False, text=True)
    assert killed.returncode == 9, killed.stderr
    assert dream("run", "-w", root).status in {0, 3}
    names = [place.name for place in workspace.places().all()]
    files = workspace.files()[3:]
    assert (names, files) in [(["other"], ("places/other/MEMORY.md",)), (["crumb", "other"], (MEMORY,))]
    assert dream("doctor", "-w", root).status == 0


ACTS = {
    "rename": ("rename", "crumb", "oven"),
    "move": ("move", "places/crumb/MEMORY.md:4", "everywhere"),
    "never": ("never", "crumb"),
    "apart": ("apart", "crumb", "other"),
}
INSTANTS = ("before intent", "after update-ref", "after swap of places/places.toml", "after swap of memory/MEMORY.md")


@pytest.mark.slow
@pytest.mark.parametrize("instant", INSTANTS)
@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
def test_an_act_on_places_that_is_killed_is_whole_or_not_there(
    workspace: Workspace, tmp_path: Path, act: tuple[str, ...], instant: str
) -> None:
    root = workspace.root
    with (root / "places" / "places.toml").open("a", encoding="utf-8") as file:
        file.write('[p-0123abce]\nname = "other"\npaths = ["/work/other"]\n')
    held(workspace, "use tabs")
    before = _state(workspace)
    code = (
        "import os, sys; from dream.workspace import files; from dream.cli import main\n"
        f"files.checkpoint = lambda name: os._exit(9) if name == {instant!r} else None\n"
        f"sys.argv = ['dream', 'places', *{act!r}, '-w', {str(root)!r}]; main()"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=False, text=True)
    assert killed.returncode in {0, 9}, killed.stderr
    assert dream("run", "-w", root).status in {0, 3}
    found = _state(workspace)
    if found == before:
        assert dream("places", *act, "-w", root).status == 0
        found = _state(workspace)
    assert found != before
    assert dream("restore", "HEAD", "--yes", "-w", root).status == 0
    assert _state(workspace) == before
    assert dream("doctor", "-w", root).status == 0


def _state(workspace: Workspace) -> dict[str, object]:
    known = workspace.places()
    texts = {file: workspace.read_file(file) for file in workspace.files()}
    return {**texts, "": (known.all(), known.never())}
