"""Killed at every instant: the next command finds nothing lost, nothing half-done, and nothing done twice.

A real process is killed with SIGKILL before each write, rename, link, removal, fsync and each git process, at each
named checkpoint, and, with everything it has started, after a random time.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.actions.restore import restore
from dream.directory import Workspace
from dream.versions import transaction
from dream.workspace import files
from tests.git.support import CURSOR, NOW, add, dream, git, make, read, save, state, type_line
from tests.workspaces import copied

TELLING = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "subprocess.Popen", "ctypes.call_function"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

Deed = Callable[[Workspace], object]


def arrange(root: Path) -> Workspace:
    """A workspace with a past, and a line that its person has typed and not committed."""
    workspace = make(root)
    add(workspace, "- old fact", 1)
    dream(workspace, {"memory/archive/gone.md": b"- gone\n"}, 2)
    type_line(workspace, "- typed by hand", "SOUL.md")
    return workspace


def a_dream(workspace: Workspace) -> None:
    """Change one file, make one, remove one, and fill the review queue."""
    changes = {
        "USER.md": (read(workspace, "USER.md") or b"") + b"- new fact\n",
        "memory/archive/new.md": b"- new\n",
        "memory/archive/gone.md": None,
        "memory/.pending.jsonl": b"{}\n",
    }
    dream(workspace, changes, 3)


def a_restore(workspace: Workspace) -> None:
    second = next(change.sha for change in workspace.git.log() if change.entries == (2, 2))
    restore(workspace, second, forget=True, now=NOW, locked=True)


def die_at(step: int) -> None:
    """Kill this process at its `step`-th telling instant."""
    count = 0

    def reached(_: str) -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in TELLING or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
            reached(event)

    real = os.fsync

    def fsync(descriptor: int) -> None:
        reached("fsync")
        real(descriptor)

    files.checkpoint = reached
    os.fsync = fsync
    sys.addaudithook(audit)


def in_a_process(deed: Deed, workspace: Workspace, prepare: Callable[[], None]) -> int:
    """Do `deed` in a process of its own group and return that process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            prepare()
            deed(workspace)
            status = 0
        finally:
            os._exit(status)
    return child


def check_and_finish(workspace: Workspace, deed: Deed) -> None:
    """Be the next command: recover, then see that every promise holds, then do the deed if it is not done."""
    transaction.recover(workspace)
    transaction.commit_hand_edits(workspace, NOW)
    cursor = int(read(workspace, CURSOR) or b"0")
    committed = workspace.git.read_all("HEAD")
    assert committed == {path: data for path, data in present(workspace).items() if data is not None}
    assert b"- typed by hand\n" in (read(workspace, "SOUL.md") or b"")
    whole = {
        2: (b"- old fact\n", b"- gone\n", None, None),
        3: (b"- old fact\n- new fact\n", None, b"- new\n", b"{}\n"),
        1: (b"- old fact\n", None, None, None),
    }[cursor]
    user = (read(workspace, "USER.md") or b"").partition(b"## Plans\n")[2]
    paths = ("memory/archive/gone.md", "memory/archive/new.md", "memory/.pending.jsonl")
    assert (user, *(read(workspace, path) for path in paths)) == whole
    workspace.git.fsck()
    assert git(workspace.root, "status", "--porcelain") == ""
    assert leftovers(workspace) == []
    for change in workspace.git.log():
        assert ("typed by hand" in workspace.git.show(change.sha).diff.replace(" - typed", "")) == (
            change.kind == "hand"
        )
    if cursor == 2:
        deed(workspace)
        assert int(read(workspace, CURSOR) or b"0") != 2
    assert sum(1 for change in workspace.git.log() if change.entries == (3, 3)) <= 1


def present(workspace: Workspace) -> dict[str, bytes | None]:
    return {**state(workspace), "memory/.rejected.jsonl": read(workspace, "memory/.rejected.jsonl")}


def leftovers(workspace: Workspace) -> list[str]:
    names = [path.name for path in workspace.root.rglob("*") if path.name not in ("run.lock", "history.lock")]
    return [name for name in names if name.endswith((".lock", ".dream-tmp", ".dream-swap"))] + [
        name for name in names if name == "apply.json" or name.startswith("fast_import_crash")
    ]


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pattern") / "w"
    arrange(root)
    return root


def fresh(pattern: Path, root: Path) -> Workspace:
    shutil.rmtree(root, ignore_errors=True)
    copied(pattern, root)
    return Workspace.open(root)


def kill_at(pattern: Path, root: Path, deed: Deed, step: int) -> bool:
    """Kill at one step; return whether the deed got that far."""
    workspace = fresh(pattern, root)
    status = os.waitpid(in_a_process(deed, workspace, lambda: die_at(step)), 0)[1]
    check_and_finish(Workspace.open(workspace.root), deed)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def kill_at_steps(pattern: Path, root: Path, deed: Deed, first: int, stride: int) -> int:
    """Kill at every `stride`-th step from `first` until the deed comes to its end; return how often."""
    for count, step in enumerate(range(first, 1000, stride)):
        if not kill_at(pattern, root, deed, step):
            return count
    pytest.fail("the deed never came to its end")


def kill_while_recovering_at(pattern: Path, root: Path, deed: Deed, step: int) -> bool:
    """Kill the repair of a crash at one step; return whether it got that far."""
    workspace = fresh(pattern, root)
    faults_until_head_moved(deed, workspace)
    status = os.waitpid(in_a_process(transaction.recover, workspace, lambda: die_at(step)), 0)[1]  # type: ignore[arg-type]
    check_and_finish(Workspace.open(workspace.root), deed)
    return os.WIFSIGNALED(status)


def kill_while_recovering(pattern: Path, root: Path, deed: Deed, stride: int) -> int:
    """Kill the repair of a crash at every `stride`-th step; return how often."""
    for count, step in enumerate(range(1, 1000, stride)):
        if not kill_while_recovering_at(pattern, root, deed, step):
            return count
    pytest.fail("recovery never came to its end")


@pytest.mark.few(1)
@pytest.mark.parametrize(("deed", "step"), [(a_dream, 31), (a_restore, 23)])
def test_killed_at_one_step(pattern: Path, tmp_path: Path, deed: Deed, step: int) -> None:
    assert kill_at(pattern, tmp_path / "w", deed, step)


@pytest.mark.slow
def test_killed_at_one_step_of_recovering(pattern: Path, tmp_path: Path) -> None:
    """A second crash during the repair of the first."""
    assert kill_while_recovering_at(pattern, tmp_path / "w", a_dream, 8)


@pytest.mark.slow
@pytest.mark.parametrize(("deed", "first"), [(a_dream, 1), (a_dream, 4), (a_restore, 3)])
def test_killed_at_some_steps(pattern: Path, tmp_path: Path, deed: Deed, first: int) -> None:
    assert kill_at_steps(pattern, tmp_path / "w", deed, first, 11) >= 4


@pytest.mark.long
@pytest.mark.parametrize("deed", [a_dream, a_restore])
def test_killed_at_every_step(pattern: Path, tmp_path: Path, deed: Deed, count: Callable[[str, int], None]) -> None:
    tried = kill_at_steps(pattern, tmp_path / "w", deed, 1, 1)
    assert tried > 40
    count("SIGKILL at each step of a transaction", tried)


@pytest.mark.slow
@pytest.mark.parametrize("deed", [a_dream, a_restore])
def test_killed_while_recovering(pattern: Path, tmp_path: Path, deed: Deed) -> None:
    assert kill_while_recovering(pattern, tmp_path / "w", deed, 7) >= 2


@pytest.mark.long
@pytest.mark.parametrize("deed", [a_dream, a_restore])
def test_killed_at_every_step_of_recovering(
    pattern: Path, tmp_path: Path, deed: Deed, count: Callable[[str, int], None]
) -> None:
    tried = kill_while_recovering(pattern, tmp_path / "w", deed, 1)
    assert tried > 10
    count("SIGKILL at each step of the repair of a crash", tried)


def faults_until_head_moved(deed: Deed, workspace: Workspace) -> None:
    def prepare() -> None:
        seen = []

        def reached(name: str) -> None:
            seen.append(name)
            if seen.count("after update-ref") == 2:  # the person's commit moves HEAD first
                os.kill(os.getpid(), signal.SIGKILL)

        files.checkpoint = reached

    os.waitpid(in_a_process(deed, workspace, prepare), 0)


def kill_at_random(pattern: Path, tmp_path: Path, times: int, seed: int = 0) -> None:
    chance = random.Random(20261121 + seed)
    for deed in (a_dream, a_restore):
        began = time.perf_counter()
        os.waitpid(in_a_process(deed, fresh(pattern, tmp_path / "w"), lambda: None), 0)
        whole = time.perf_counter() - began
        for _ in range(times):
            workspace = fresh(pattern, tmp_path / "w")
            child = in_a_process(deed, workspace, lambda: None)
            time.sleep(chance.random() * whole)
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            check_and_finish(Workspace.open(workspace.root), deed)


@pytest.mark.slow
def test_killed_with_all_it_started_at_random_instants(pattern: Path, tmp_path: Path) -> None:
    kill_at_random(pattern, tmp_path, 4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_killed_with_all_it_started_at_many_random_instants(
    pattern: Path, tmp_path: Path, seed: int, count: Callable[[str, int], None]
) -> None:
    kill_at_random(pattern, tmp_path, 50, seed)
    count("SIGKILL at random instants of a transaction", 100)


@pytest.mark.slow
def test_a_person_who_saves_between_the_crash_and_the_repair_loses_nothing(pattern: Path, tmp_path: Path) -> None:
    workspace = fresh(pattern, tmp_path / "w")
    faults_until_head_moved(a_dream, workspace)
    before = read(workspace, "USER.md") or b""
    assert b"new fact" not in before
    save(workspace, "USER.md", before.replace(b"# User\n", b"# User Mei\n"))
    workspace = Workspace.open(workspace.root)
    transaction.recover(workspace)
    after = read(workspace, "USER.md") or b""
    assert after == before.replace(b"# User\n", b"# User Mei\n") + b"- new fact\n"
