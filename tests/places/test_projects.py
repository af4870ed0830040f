"""Which project a folder is: its path and its git remote together, until a person says that two are the same."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream.directory import Workspace
from tests.cli.commands import dream
from tests.sources.test_places import git, row
from tests.transcripts.reading import lines

LENA, EVIL = "git@github.com:lena/crumb.git", "https://github.com/mallory/crumb.git"


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Workspace:
    """A project with a rule and a fact, dreamt by the default model."""
    dream("init", tmp_path / "ws")
    workspace = Workspace.open(tmp_path / "ws")
    repository(home / "work" / "crumb", LENA)
    says(workspace, home / "work" / "crumb", "Always use tabs.", "Our staging server listens on port 7391.")
    return workspace


def repository(folder: Path, *remotes: str) -> None:
    git(folder, "init", "-q")
    for name, remote in zip(("origin", "upstream"), remotes, strict=False):
        git(folder, "remote", "add", name, remote)


def says(workspace: Workspace, folder: Path, *said: str, when: datetime | None = None) -> None:
    session, now = f"s{len(list(workspace.root.parent.glob('*.jsonl')))}", (when or datetime.now(UTC)).isoformat()
    rows = [row(at, text, folder, session=session) for at, text in enumerate(said)]
    rows = [one | {"uuid": f"{session}{at:030}", "timestamp": now} for at, one in enumerate(rows)]
    dream("consolidate", lines(workspace.root.parent / f"{session}.jsonl", *rows), "-w", workspace.root)
    assert dream("run", "-w", workspace.root).status == 0


def names(workspace: Workspace) -> list[str]:
    return [place.name for place in workspace.places().all()]


def given(workspace: Workspace, folder: Path) -> str:
    return dream("context", "-w", workspace.root, cwd=folder).out


def test_another_repository_at_a_known_path_inherits_nothing_and_writes_nothing_there(
    workspace: Workspace, home: Path
) -> None:
    crumb = home / "work" / "crumb"
    shutil.rmtree(crumb)
    repository(crumb, EVIL)
    assert "7391" not in given(workspace, crumb)
    says(workspace, crumb, "Our staging server listens on port 6666.")
    assert names(workspace) == ["crumb", "crumb-2"]
    assert "6666" not in workspace.read_file("places/crumb/MEMORY.md")
    assert ("6666" in given(workspace, crumb), "7391" in given(workspace, crumb)) == (True, False)
    shutil.rmtree(crumb)
    repository(crumb, LENA)
    assert ("6666" in given(workspace, crumb), "7391" in given(workspace, crumb)) == (False, True)


def test_a_session_that_is_read_after_its_folder_was_replaced_goes_to_the_project_that_was_there(
    workspace: Workspace, home: Path
) -> None:
    crumb, then = home / "work" / "crumb", datetime.now(UTC)
    shutil.rmtree(crumb)
    repository(crumb, EVIL)
    says(workspace, crumb, "Our oven server listens on port 4711.", when=then)
    assert names(workspace) == ["crumb", "crumb-2"]
    assert ("4711" in given(workspace, crumb), "7391" in given(workspace, crumb)) == (False, False)
    assert "4711" in workspace.read_file("places/crumb/MEMORY.md")
    says(workspace, crumb, "Our staging server listens on port 6666.")
    says(workspace, crumb, "Our mail server listens on port 5555.", when=then)  # an older one, read still later
    assert "6666" in given(workspace, crumb)
    assert "5555" in workspace.read_file("places/crumb/MEMORY.md")


def test_where_nobody_can_tell_which_project_lay_there_it_is_neither_until_a_person_says(
    workspace: Workspace, home: Path
) -> None:
    crumb, beside = home / "work" / "crumb", home / "work" / "clone"
    repository(beside, EVIL)
    then = datetime.now(UTC)  # the clone is there already, and the project still at its path
    shutil.rmtree(crumb)
    beside.rename(crumb)
    says(workspace, crumb, "Our oven server listens on port 4711.", when=then + timedelta(microseconds=1))
    assert names(workspace) == ["crumb", "crumb-2", "crumb-earlier"]
    assert "4711" not in given(workspace, crumb)
    assert "4711" not in "".join(map(workspace.read_file, ("memory/MEMORY.md", "places/crumb/MEMORY.md")))
    assert dream("places", "merge", "crumb-earlier", "crumb", "-w", workspace.root).status == 0
    assert "4711" in workspace.read_file("places/crumb/MEMORY.md")


def test_a_person_is_asked_once_whether_it_is_the_same_project(workspace: Workspace, home: Path) -> None:
    crumb, asked = home / "work" / "crumb", "lies where crumb was, with another remote"
    git(crumb, "remote", "set-url", "origin", "git@gitlab.com:lena/crumb.git")
    says(workspace, crumb, "Never use emojis.")
    for command in ("places", "status"):
        assert asked in " ".join(dream(command, "-w", workspace.root).out.split())
    before = workspace.git.head()
    assert dream("places", "apart", "crumb-2", "crumb", "-w", workspace.root).status == 0
    assert asked not in dream("status", "-w", workspace.root).out
    assert dream("restore", workspace.git.head() or "", "--yes", "-w", workspace.root).status == 0
    assert asked in " ".join(dream("status", "-w", workspace.root).out.split())
    assert before != workspace.git.head()
    assert dream("places", "merge", "crumb-2", "crumb", "-w", workspace.root).status == 0
    assert asked not in dream("status", "-w", workspace.root).out
    assert all(word in given(workspace, crumb) for word in ("7391", "emojis"))
    git(crumb, "remote", "set-url", "origin", LENA)
    assert "7391" in given(workspace, crumb)


def test_a_project_keeps_its_memory_when_its_remotes_are_renamed_removed_or_written_otherwise(
    workspace: Workspace, home: Path
) -> None:
    crumb = home / "work" / "crumb"
    git(crumb, "remote", "rename", "origin", "upstream")
    git(crumb, "remote", "add", "origin", "https://github.com/lena-fork/crumb.git")
    assert "7391" in given(workspace, crumb)
    git(crumb, "remote", "remove", "origin")
    git(crumb, "remote", "set-url", "upstream", "https://lena:hunter2@GitHub.com/lena/crumb")
    assert "7391" in given(workspace, crumb)
    git(crumb, "remote", "remove", "upstream")
    assert "7391" in given(workspace, crumb)
    shutil.rmtree(crumb)
    assert names(workspace) == ["crumb"]
    says(workspace, crumb / "src", "Never use emojis.")
    assert names(workspace) == ["crumb"]


def test_the_first_remote_of_a_project_is_noted_and_no_later_one(workspace: Workspace, home: Path) -> None:
    oven = home / "work" / "oven"
    repository(oven)
    says(workspace, oven, "Our oven server listens on port 4711.")
    git(oven, "remote", "add", "origin", "/srv/git/oven.git")
    assert "4711" in given(workspace, oven)
    says(workspace, oven, "Never use emojis.")
    (known,) = [place for place in workspace.places().all() if place.name == "oven"]
    assert known.remotes == ("/srv/git/oven",)
    git(oven, "remote", "set-url", "origin", "/srv/git/other.git")
    assert "4711" not in given(workspace, oven)


def test_where_several_repositories_were_seen_one_without_a_remote_is_none_of_them(
    workspace: Workspace, home: Path
) -> None:
    crumb = home / "work" / "crumb"
    git(crumb, "remote", "set-url", "origin", EVIL)
    says(workspace, crumb, "Our staging server listens on port 6666.")
    git(crumb, "remote", "remove", "origin")
    assert not [port for port in ("7391", "6666") if port in given(workspace, crumb)]
    says(workspace, crumb, "Our staging server listens on port 5555.")
    assert names(workspace) == ["crumb", "crumb-2", "crumb-3"]
    assert "5555" in given(workspace, crumb)


def test_a_worktree_has_the_remote_of_its_repository(workspace: Workspace, home: Path) -> None:
    crumb, tree = home / "work" / "crumb", home / "trees" / "fix"
    git(crumb, "commit", "-q", "--allow-empty", "-m", "first")
    git(crumb, "worktree", "add", "-q", str(tree))
    assert "7391" in given(workspace, tree)
    assert os.path.lexists(tree / ".git")
    git(crumb, "remote", "set-url", "origin", EVIL)
    assert "7391" not in given(workspace, tree)


@pytest.mark.parametrize(
    "remote",
    [
        "https://lena:hunter@2@host.example/lena/oven.git",
        "https://host.example/lena/oven?private_token=hunter2",
        "https://hunter2@host.example",
    ],
)
def test_no_part_of_a_remote_s_credentials_is_noted(workspace: Workspace, home: Path, remote: str) -> None:
    oven = home / "work" / "oven"
    repository(oven, remote)
    says(workspace, oven, "Our oven server listens on port 4711.")
    assert "hunter" not in workspace.read_file("places/places.toml")
    assert names(workspace) == ["crumb", "oven"]


def test_a_submodule_is_a_project_with_its_own_remote_if_its_repository_points_back_at_it(
    workspace: Workspace, home: Path
) -> None:
    above, oven, fake = home / "work" / "bakery", home / "work" / "oven", home / "work" / "fake"
    repository(oven)
    git(oven, "commit", "-q", "--allow-empty", "-m", "first")
    repository(above, "git@github.com:lena/bakery.git")
    git(above, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(oven), "parts/oven")
    inside = above / "parts" / "oven"
    git(inside, "remote", "set-url", "origin", "git@github.com:lena/oven.git")
    says(workspace, inside, "Our oven server listens on port 4711.")
    fake.mkdir()
    (fake / ".git").write_text(f"gitdir: {above / '.git' / 'modules' / 'parts' / 'oven'}\n", encoding="utf-8")
    says(workspace, fake, "Our oven server listens on port 6666.")
    known = {place.name: (place.paths, place.remotes) for place in workspace.places().all()}
    assert known["oven"] == ((str(inside),), ("github.com/lena/oven",))
    assert known["fake"] == ((str(fake),), ())
    git(inside, "remote", "set-url", "origin", EVIL)
    assert "4711" not in given(workspace, inside)
