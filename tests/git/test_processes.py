"""How many git processes each deed starts, whatever lies behind it: what a command takes is mostly their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.actions.restore import restore
from dream.directory import Workspace
from dream.versions import transaction
from tests.git.support import NOW, add, make, type_line

_started: list[str] = []
_counting: list[bool] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if _counting and event == "subprocess.Popen":
        words = [str(word) for word in arguments[1]]  # type: ignore[attr-defined]
        _started.append(next(word for at, word in enumerate(words[1:], 1) if word != "-c" and words[at - 1] != "-c"))


sys.addaudithook(_note)


def started(deed: Callable[[], object]) -> list[str]:
    """Return the git commands that `deed` starts, by name, sorted."""
    _started.clear()
    _counting.append(True)
    try:
        deed()
    finally:
        _counting.clear()
    return sorted(_started)


@pytest.fixture(params=[pytest.param(3, marks=pytest.mark.slow), 12, pytest.param(30, marks=pytest.mark.slow)])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """A workspace with a few changes, or four or ten times as many; every third is a person's."""
    made = make(tmp_path / "w")
    for number in range(request.param):
        add(made, f"- fact {number}", number)
        if number % 3 == 0:
            type_line(made, f"- typed {number}")
            transaction.commit_hand_edits(made, NOW)
    return made


COMMIT = ["cat-file", "fast-import", "ls-tree", "update-index", "update-ref"]
PLAN = ["cat-file", "log", "rev-list", "show"]


def test_each_deed_starts_few_processes_and_no_more_where_more_lies_behind_it(workspace: Workspace) -> None:
    git, sha = workspace.git, workspace.git.log()[2].sha

    assert started(lambda: git.log(20)) == ["log"]
    assert started(lambda: git.show(git.resolve(sha[:12]))) == ["cat-file", "rev-list", "show"]
    assert started(lambda: restore(workspace, sha, dry_run=True, now=NOW)) == PLAN
    assert started(lambda: add(workspace, "- one more", 99)) == COMMIT
    assert started(lambda: restore(workspace, sha, now=NOW)) == sorted({*PLAN, *COMMIT})
