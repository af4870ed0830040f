"""`sync_messages = false` keeps at home what was said word for word; what was sent before can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.actions import sync
from dream.actions.configure import set_values
from dream.actions.exchange import Synced
from tests.cli.commands import dream
from tests.sync.test_forgetting import everything, reachable
from tests.sync.test_machines import heard, talk
from tests.sync.world import Machine, family, rounds


def keeps_messages(machine: Machine, kept: bool = True) -> None:
    with machine.here() as workspace:
        set_values(workspace.root, {"sync_messages": not kept})


def unsends(machine: Machine) -> Synced:
    with machine.here() as workspace:
        return sync.sync(workspace, machine.remote, settings=workspace.settings(), now=machine.clock, unsends=True)


def test_messages_that_were_sent_are_named_and_can_be_taken_off_the_remote_and_the_other_machine(
    tmp_path: Path,
) -> None:
    laptop, server = family(tmp_path)
    talk(laptop, "one", "Hello", "The boat is called Marmot")
    laptop.add("Likes tea")
    rounds(laptop, server)
    assert "Marmot" in heard(server)
    keeps_messages(laptop)
    talk(laptop, "two", "Hello", "The cat is called Badger")

    (told,) = laptop.sync().problems
    assert "`dream sync --unsend`" in told
    assert laptop.remote in told
    assert b"Badger" not in reachable(Path(laptop.remote))

    unsends(laptop)
    assert b"Marmot" not in reachable(Path(laptop.remote))
    assert laptop.sync().problems == ()
    assert server.sync().problems == ()
    assert "Marmot" not in heard(server)
    rounds(laptop, server)
    assert laptop.memory() == server.memory()
    assert laptop.sync().outcome == server.sync().outcome == "nothing"
    assert b"Marmot" in everything(laptop)
    assert list((server.workspace.memory / "machines").glob("*/history.jsonl"))


def test_a_machine_that_never_sent_messages_is_told_nothing(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    keeps_messages(laptop)
    talk(laptop, "one", "Hello", "The boat is called Marmot")
    assert laptop.sync().problems == ()
    assert b"Marmot" not in reachable(Path(laptop.remote))


def test_messages_are_not_taken_back_while_they_would_be_sent_again(tmp_path: Path) -> None:
    laptop, _ = family(tmp_path)
    with laptop.here() as workspace:
        done = dream("sync", "--unsend", "-w", workspace.root)
    assert done.status == 2
    assert "sync_messages = false" in done.err


@pytest.mark.slow
def test_messages_that_are_synced_again_come_back(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    talk(laptop, "one", "Hello", "The boat is called Marmot")
    rounds(laptop, server)
    keeps_messages(laptop)
    unsends(laptop)
    rounds(laptop, server)
    keeps_messages(laptop, kept=False)
    talk(laptop, "two", "And the cat is called Badger")
    rounds(laptop, server)
    assert "Badger" in heard(server)
