"""Speed against plain git: `pytest -m bench tests/git -s`."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.actions.restore import restore
from dream.directory import Workspace
from dream.dreaming.authors import person_lines
from tests.benchmarks.measure import median, pairs, seconds
from tests.benchmarks.versions import grown
from tests.git.support import NOW, add, make, type_line

COMMITS = 10_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with 10,000 changes, packed as `pack` would have them; one in a hundred is a person's."""
    return grown(tmp_path_factory.mktemp("large") / "w", COMMITS)


def plain(root: Path, *commands: list[str]) -> Callable[[], None]:
    """The same deed with nothing but git."""

    def run() -> None:
        for command in commands:
            subprocess.run(["git", *command], cwd=root, capture_output=True, check=False)

    return run


def show(name: str, ours: float, floor: float) -> None:
    print(f"\n{name}: {ours * 1e3:.1f} ms, plain git {floor * 1e3:.1f} ms, ratio {ours / floor:.2f}", end="")


@pytest.mark.bench
def test_log_and_resolve_are_as_fast_as_the_git_commands_they_need(large: Workspace) -> None:
    store, root = large.git, large.root
    old = store.log()[COMMITS // 2].sha
    few = ["log", "-20", "--numstat", "--format=%H %P %cI %s %B", "--grep=^Dream-Kind: ", "--no-renames"]
    every = [few[0], *few[2:]]
    cases = {
        "log 20": (lambda: store.log(20), plain(root, few)),
        "log 10,000": (store.log, plain(root, every)),
        "show": (lambda: store.show(old), plain(root, ["show", "--patch", "--numstat", old])),
        "resolve": (
            lambda: store.resolve(old[:12]),
            plain(
                root,
                ["rev-parse", f"--disambiguate={old[:12]}"],
                ["cat-file", "-p", old],
                ["merge-base", "--is-ancestor", old, "HEAD"],
            ),
        ),
    }
    for name, (deed, floor) in cases.items():
        ours, theirs, _ = pairs(deed, floor, 3 if "10,000" in name else 15)
        show(name, ours, theirs)
        assert ours < 1.5 * theirs + 0.005, name


@pytest.mark.bench
def test_a_dreams_commit_is_flat_over_ten_thousand_commits(large: Workspace, tmp_path: Path) -> None:
    small = make(tmp_path / "w")
    add(small, "- x", 1)
    counter = iter(range(20_000, 30_000))
    ours, floor, _ = pairs(
        lambda: add(large, f"- new {next(counter)}", next(counter)),
        lambda: add(small, f"- new {next(counter)}", next(counter)),
        15,
    )
    print(f"\na dream's commit: {floor * 1e3:.1f} ms at 10 commits, {ours * 1e3:.1f} ms at 10,000", end="")
    assert ours < 1.5 * floor


@pytest.mark.bench
def test_a_persons_lines_are_flat_over_ten_thousand_commits(large: Workspace) -> None:
    first = seconds(lambda: person_lines(large.git))
    counter = iter(range(40_000, 50_000))

    def after_an_edit() -> None:
        type_line(large, f"- typed {next(counter)}")
        add(large, f"- new {next(counter)}", next(counter))
        times.append(seconds(lambda: person_lines(large.git)))

    times: list[float] = []
    for _ in range(5):
        after_an_edit()
    after = statistics.median(times)
    print(f"\nperson_lines: first {first * 1e3:.0f} ms, then {after * 1e3:.1f} ms", end="")
    assert after < 0.06


@pytest.mark.bench
def test_a_restore_of_ten_thousand_commits_ago(large: Workspace) -> None:
    old = large.git.log()[-100].sha
    plan = median(lambda: restore(large, old, dry_run=True, now=NOW), 3) * 1e3
    recent = large.git.log(5)[-1].sha
    near = median(lambda: restore(large, recent, dry_run=True, now=NOW), 5) * 1e3
    deed = median(lambda: restore(large, large.git.log(1)[0].sha, now=NOW), 3) * 1e3
    print(
        f"\nrestore: plan {plan:.0f} ms for an old change, {near:.0f} ms for a recent one; done {deed:.0f} ms", end=""
    )
    assert deed < 1000
