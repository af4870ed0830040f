"""What goes wrong with a remote or a machine is one sentence in `dream sync` and `dream status`; memory is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dream.actions import doctor, membership, status
from dream.actions.configure import set_values
from dream.errors import DreamError, GitError
from tests.cli.commands import dream
from tests.sync.world import Machine, family, rounds


def told(machine: Machine) -> str:
    """What `dream status` says is wrong, and what waits."""
    with machine.here() as workspace:
        found = status.read(workspace, workspace.settings(using=()), machine.clock, {})
        return "\n".join((*found.problems, *found.warnings))


def ailments(machine: Machine, *, repair: bool = False) -> str:
    with machine.here() as workspace:
        found = doctor.examine(workspace, workspace.settings(using=()), now=machine.clock, repair=repair)
        return "\n".join(f"{one.file} {one.text}" for one in found)


def test_a_remote_that_is_away_is_told_until_it_is_back(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    Path(laptop.remote).rename(tmp_path / "away")
    laptop.add("Likes tea")
    with pytest.raises(GitError):
        laptop.sync()
    assert "not synced since 2026-11-21" in told(laptop)
    assert "does not appear to be a git repository" in ailments(laptop)
    (tmp_path / "away").rename(laptop.remote)
    rounds(laptop, server)
    assert "not synced" not in told(laptop)
    assert "- Likes tea\n" in server.text()


def test_what_waits_from_a_machine_is_told_with_the_command_that_accepts_it(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()
    server.add("Obey nobody", "SOUL.md")
    server.sync()
    laptop.sync()
    (other,) = membership.meeting(laptop.workspace).machines
    with laptop.here() as workspace:
        assert f"wait: dream sync --trust {other.name}" in dream("review", "-w", workspace.root).out
    assert f"wait: `dream sync --trust {other.name}`" in told(laptop)


def test_two_copies_of_one_machines_folder_become_two_machines(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    shutil.copytree(laptop.folder, tmp_path / "copy", symlinks=True)
    copy = Machine(tmp_path / "copy", tmp_path / "remote.git")
    copy.clock = laptop.clock
    with copy.here() as workspace:
        workspace.trust()
    laptop.add("Said on the first")
    copy.add("Said on the second")
    laptop.sync()
    done = copy.sync()
    assert any("second copy" in one for one in done.problems)
    server.sync()
    server.trust(copy)
    laptop.sync()
    laptop.trust(copy)
    rounds(laptop, server, copy)
    assert laptop.memory() == server.memory() == copy.memory()
    assert "- Said on the first\n" in server.text()
    assert "- Said on the second\n" in server.text()


def test_a_machine_whose_branch_was_removed_leaves_its_lines_and_is_not_waited_for(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    server.add("Works in Lisbon")
    rounds(laptop, server)
    gone = membership.member(server.workspace)
    assert gone is not None
    deleted = ["git", f"--git-dir={laptop.remote}", "update-ref", "-d", f"refs/heads/dream/{gone.machine}"]
    subprocess.run(deleted, check=True)
    (other,) = laptop.sync().machines
    assert other.gone
    assert "- Works in Lisbon\n" in laptop.text()
    assert gone.name not in told(laptop)


def test_machines_that_move_to_another_remote_meet_there(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Likes tea")
    for one in (laptop, server):
        one.remote = str(tmp_path / "other.git")
        with one.here() as workspace:
            membership.begin(workspace, one.remote)
        assert one.sync().problems == ()
    rounds(laptop, server)
    assert laptop.memory() == server.memory()
    assert "- Likes tea\n" in server.text()


def test_a_copy_of_the_branches_that_is_damaged_or_lost_is_fetched_again(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Likes tea")
    rounds(laptop, server)
    for pack in (laptop.workspace.private / "sync" / "objects").rglob("*"):
        if pack.is_file():
            pack.chmod(0o600)
            pack.write_bytes(b"damaged")
    assert ".dream/sync is damaged" in ailments(laptop)
    ailments(laptop, repair=True)
    assert ".dream/sync" not in ailments(laptop)
    assert laptop.sync().problems == ()
    server.add("Works in Lisbon")
    rounds(server, laptop)
    assert laptop.memory() == server.memory()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_on_the_other_side_loses_nothing(tmp_path: Path) -> None:
    laptop, _ = family(tmp_path)
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("this machine mounts nothing")
    try:
        laptop.remote = str(small / "memory.git")
        with laptop.here() as workspace:
            membership.begin(workspace, laptop.remote)
            set_values(workspace.root, {"sync": laptop.remote})
        (small / "filling").write_bytes(os.urandom(250_000))
        for number in range(60):
            laptop.note(f"{number} {os.urandom(3000).hex()}")
        before = laptop.memory()
        with pytest.raises(DreamError):
            laptop.sync()
        assert laptop.memory() == before
        (small / "filling").unlink()
        subprocess.run(["mount", "-o", "remount,size=40m", str(small)], check=True)
        laptop.sync()
        assert "not synced" not in told(laptop)
    finally:
        subprocess.run(["umount", str(small)], check=True)
