"""What is forgotten on one machine is forgotten on all, and on the remote; and nothing brings it back."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dream.actions import drop, forget, membership
from dream.actions.forget import Forgotten
from tests.cli.commands import dream
from tests.git.test_crash import die_at, in_a_process
from tests.sync.test_machines import heard, talk
from tests.sync.world import Machine, family, rounds

SECRET = "The codename is marmot"


def forgets(machine: Machine, what: str, *, words: bool = False) -> Forgotten:
    with machine.here() as workspace:
        return forget.forget(workspace, what, words=words, now=machine.clock)


def everything(machine: Machine) -> bytes:
    """All that lies in a workspace, with every object of its two git directories."""
    root = machine.workspace.root
    found = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    return b"\n".join([*found, objects(root / ".git"), objects(root / ".dream" / "sync")])


def objects(git: Path) -> bytes:
    asked = ["git", f"--git-dir={git}", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(asked, check=True, capture_output=True).stdout


def reachable(git: Path) -> bytes:
    """What the branches of a remote lead to."""
    told = subprocess.run(
        ["git", f"--git-dir={git}", "rev-list", "--objects", "--all"], check=True, capture_output=True, text=True
    )
    names = "".join(f"{line.split()[0]}\n" for line in told.stdout.splitlines())
    asked = ["git", f"--git-dir={git}", "cat-file", "--batch"]
    return subprocess.run(asked, check=True, capture_output=True, input=names.encode()).stdout


def know(*machines: Machine) -> None:
    """Let the first machine say, dream and hear what will be forgotten, and the others know it."""
    talk(machines[0], "one", "Hello", f"{SECRET}, and tea is at four")
    machines[0].note(f"Remember: {SECRET}")
    machines[0].add(SECRET)
    machines[0].add("Likes tea")
    rounds(*machines)


def test_what_is_forgotten_on_one_machine_is_forgotten_on_the_other_and_on_the_remote(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    assert b"marmot" in everything(server)

    done = forgets(laptop, "marmot")
    assert done.whole
    assert b"marmot" not in everything(laptop)
    assert b"marmot" not in reachable(Path(laptop.remote))
    (other,) = laptop.sync().machines
    assert other.behind > 0

    server.sync()
    assert b"marmot" not in everything(server)
    assert "Likes tea" in server.text()
    (other,) = laptop.sync().machines
    assert other.behind == 0
    assert laptop.memory() == server.memory()
    assert laptop.sync().outcome == "nothing"
    assert server.sync().outcome == "nothing"


def test_a_machine_that_was_away_brings_nothing_back(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    server.add("The codename is marmot, as of March")
    server.note("Another word on marmot")
    forgets(laptop, "marmot")
    laptop.sync()
    shutil.copytree(laptop.remote, tmp_path / "after")

    server.sync()
    rounds(laptop, server)
    for one in (laptop, server):
        assert b"marmot" not in everything(one)
    assert b"marmot" not in reachable(Path(laptop.remote))
    assert laptop.memory() == server.memory()


def test_a_remote_that_was_put_back_to_before_the_forgetting_brings_nothing_back(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    shutil.copytree(laptop.remote, tmp_path / "before")
    forgets(laptop, "marmot")
    server.sync()
    shutil.rmtree(laptop.remote)
    (tmp_path / "before").rename(laptop.remote)

    rounds(server, laptop)
    for one in (laptop, server):
        assert b"marmot" not in everything(one)
    assert b"marmot" not in reachable(Path(laptop.remote))
    assert laptop.memory() == server.memory()


def test_the_words_alone_go_on_the_other_machine_too(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    forgets(laptop, "marmot", words=True)
    server.sync()

    assert b"marmot" not in everything(server)
    assert "- The codename is" in server.text()
    assert "tea is at four" in heard(server)
    assert laptop.memory() == server.memory()


def test_who_reads_the_remote_without_the_key_learns_no_word_of_it(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    forgets(laptop, "marmot")
    signs = reachable(Path(laptop.remote))
    assert b'"digest"' in signs
    assert b"marmot" not in signs
    with laptop.here() as workspace:
        us = membership.member(workspace)
    assert us is not None
    assert us.key.encode() not in signs


def test_signs_of_a_machine_that_is_not_accepted_wait(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    with server.here() as workspace:
        us = membership.member(workspace)
        assert us is not None
        membership.note(workspace, replace(us, accepted=()))
    forgets(laptop, "marmot")
    (other,) = server.sync().machines
    assert b"marmot" in everything(server)
    assert other.waiting > 0


def test_a_remote_that_refuses_force_is_told_loudly(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    for name in ("receive.denyNonFastForwards", "receive.denyDeletes"):
        subprocess.run(["git", f"--git-dir={laptop.remote}", "config", name, "true"], check=True)
    done = forgets(laptop, "marmot")
    assert not done.whole
    assert any("forced pushes" in one for one in done.remains)
    assert b"marmot" not in everything(laptop)

    subprocess.run(["git", f"--git-dir={laptop.remote}", "config", "receive.denyNonFastForwards", "false"], check=True)
    rounds(laptop, server)
    assert b"marmot" not in reachable(Path(laptop.remote))
    assert b"marmot" not in everything(server)


def test_without_a_network_it_is_forgotten_here_and_goes_out_with_the_next_sync(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    Path(laptop.remote).rename(tmp_path / "gone")
    done = forgets(laptop, "marmot")
    assert not done.whole
    assert b"marmot" not in everything(laptop)
    (tmp_path / "gone").rename(laptop.remote)
    rounds(laptop, server)
    assert b"marmot" not in reachable(Path(laptop.remote))
    assert b"marmot" not in everything(server)


def test_what_is_said_again_after_it_was_forgotten_is_written(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    forgets(laptop, "marmot")
    rounds(laptop, server)
    server.add("The codename is marmot again", by_hand=True)
    rounds(server, laptop)
    assert "- The codename is marmot again\n" in laptop.text()
    assert laptop.memory() == server.memory()


def test_a_dropped_line_goes_on_the_other_machine_and_no_dream_there_writes_it_again(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    with laptop.here() as workspace:
        drop.drop(workspace, drop.named(workspace, "Likes tea"), now=laptop.clock)
    rounds(laptop, server)
    assert "tea" not in server.text()
    with server.here() as workspace:
        assert [one.text for one in workspace.rejected()] == ["Likes tea"]


@pytest.mark.parametrize("step", [12, 40, 90, 150, 230])
def test_a_machine_that_is_killed_while_it_follows_goes_on_with_the_next_sync(tmp_path: Path, step: int) -> None:
    laptop, server = family(tmp_path)
    know(laptop, server)
    forgets(laptop, "marmot")
    with server.here() as workspace:
        child = in_a_process(lambda _: server.sync(), workspace, lambda: die_at(step))
        os.waitpid(child, 0)
    rounds(server, laptop)
    for one in (laptop, server):
        assert b"marmot" not in everything(one)
    assert laptop.memory() == server.memory()
    with server.here() as workspace:
        assert forget.unfinished(workspace) == []


def without_key(folder: Path) -> tuple[Machine, Machine]:
    """A laptop with the key of the memory, and a server that was cloned and has none; both obey each other."""
    laptop, server = (Machine(folder / name, folder / "remote.git") for name in ("laptop", "server"))
    laptop.init()
    know(laptop)
    server.clone()
    server.sync()
    laptop.sync()
    laptop.trust(server)
    rounds(laptop, server)
    return laptop, server


def test_a_machine_without_the_key_says_what_to_type_and_follows_first_once_it_has_it(tmp_path: Path) -> None:
    laptop, server = without_key(tmp_path)
    forgets(laptop, "marmot")
    (told,) = [one for one in server.sync().problems if "no key" in one]
    assert "type `dream sync --trust laptop" in told.replace(laptop_name(laptop), "laptop")
    assert b"marmot" in everything(server)

    server.trust(laptop)
    server.add("Works in Lisbon")
    assert not [one for one in server.sync().problems if "no key" in one]
    rounds(laptop, server)
    for one in (laptop, server):
        assert b"marmot" not in everything(one)
    assert b"marmot" not in reachable(Path(laptop.remote))
    assert laptop.memory() == server.memory()


def test_what_a_machine_without_the_key_forgets_is_to_be_forgotten_on_another_too(tmp_path: Path) -> None:
    laptop, server = without_key(tmp_path)
    done = forgets(server, "marmot")
    assert not done.whole
    (told,) = [one for one in done.remains if "type `dream sync --trust" in one]
    assert told.endswith("and forget it there too")

    server.trust(laptop)
    forgets(laptop, "marmot")
    rounds(server, laptop)
    for one in (laptop, server):
        assert b"marmot" not in everything(one)
    assert b"marmot" not in reachable(Path(laptop.remote))
    assert laptop.memory() == server.memory()


def laptop_name(one: Machine) -> str:
    us = membership.member(one.workspace)
    assert us is not None
    return us.name


def test_trust_names_no_command_that_was_typed_there_already(tmp_path: Path) -> None:
    laptop, server = without_key(tmp_path)
    with laptop.here() as workspace:
        first = dream("sync", "--trust", laptop_name(server), "-w", workspace.root).out
    assert f"run there `dream sync --trust {laptop_name(laptop)}`" in first
    with server.here() as workspace:
        typed = dream("sync", "--trust", laptop_name(laptop), "-w", workspace.root, stdin=first.split()[-1] + "\n").out
    assert "run there" not in typed
    rounds(server, laptop)
    with laptop.here() as workspace:
        assert "run there" not in dream("sync", "--trust", laptop_name(server), "-w", workspace.root).out
