"""With `sync_encrypt` the host of the remote reads nothing; the machines that are named read all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.actions.configure import set_values
from dream.errors import DreamError
from dream.versions.age import Age
from tests.sync.test_forgetting import forgets, know, reachable
from tests.sync.world import Machine, rounds


def encrypting(*machines: Machine) -> None:
    """Let machines encrypt for each other from now on."""
    recipients = []
    for one in machines:
        with one.here():
            recipients.append(Age().recipient)
    for one in machines:
        if one.workspace.root.exists():
            with one.here() as workspace:
                set_values(workspace.root, {"sync_encrypt": recipients})


def test_the_host_of_an_encrypted_memory_reads_nothing(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    server = Machine(tmp_path / "server", tmp_path / "remote.git")
    know(laptop)
    assert b"marmot" in reachable(Path(laptop.remote))  # before it was encrypted

    encrypting(laptop, server)
    laptop.sync()
    there = reachable(Path(laptop.remote))
    for word in (b"marmot", b"tea", b"USER.md", b'"session"', b'"memory"', b"laptop"):
        assert word not in there

    server.clone()
    assert server.memory() == laptop.memory()
    server.add("Works in Lisbon")
    server.sync()
    laptop.sync()
    laptop.trust(server)
    rounds(laptop, server)
    assert "- Works in Lisbon\n" in laptop.text()
    assert b"Lisbon" not in reachable(Path(laptop.remote))
    assert laptop.sync().outcome == server.sync().outcome == "nothing"


def test_an_encrypted_memory_hands_the_key_to_who_can_read_it(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    server = Machine(tmp_path / "server", tmp_path / "remote.git")
    encrypting(laptop, server)
    know(laptop)
    server.clone()
    laptop.sync()
    laptop.trust(server)
    forgets(laptop, "marmot")
    server.sync()
    (other,) = laptop.sync().machines
    assert (other.behind, other.has_key) == (0, True)
    assert "marmot" not in server.text()


def test_who_is_not_named_is_told_what_to_do_and_takes_nothing(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    encrypting(laptop)
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git")
    with server.here():
        own = Age().recipient
    with pytest.raises(DreamError, match=own):
        server.clone()
    assert not server.workspace.root.exists()


def test_a_machine_that_could_not_read_its_own_branch_sends_nothing(tmp_path: Path) -> None:
    laptop, other = (Machine(tmp_path / name, tmp_path / "remote.git").init() for name in ("laptop", "other"))
    with other.here():
        foreign = Age().recipient
    with laptop.here() as workspace:
        set_values(workspace.root, {"sync_encrypt": [foreign]})
    with pytest.raises(DreamError, match="lacks this machine's own recipient"):
        laptop.sync()
