"""Machines with homes, clocks and workspaces of their own, that meet at a remote in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dream.actions import membership, note, sync
from dream.actions.configure import set_values
from dream.actions.exchange import Synced
from dream.directory import Workspace
from dream.models import NewEntry
from dream.settings import Settings
from tests.git.support import dream, read, save

BEGAN = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")


class Machine:
    """A machine that syncs at `remote`; `clock` says how late it is there."""

    def __init__(self, folder: Path, remote: Path, clock: datetime = BEGAN) -> None:
        self.folder, self.remote, self.clock = folder, str(remote), clock
        self.workspace = Workspace(folder / "ws")
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def here(self) -> Iterator[Workspace]:
        """Be this machine for the block."""
        before = {name: os.environ.get(name) for name in ("HOME", "XDG_STATE_HOME")}
        os.environ |= {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state")}
        self.clock += timedelta(minutes=1)
        try:
            yield self.workspace
        finally:
            self.workspace.history.close()
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})

    def init(self) -> Machine:
        with self.here():
            self.workspace = Workspace.create(self.folder / "ws", now=self.clock)
        return self

    def clone(self) -> Machine:
        with self.here():
            self.workspace, _ = sync.clone(self.remote, self.folder / "ws", now=self.clock)
        return self

    def sync(self) -> Synced:
        with self.here() as workspace:
            if membership.member(workspace) is None:
                membership.begin(workspace, self.remote)
                set_values(workspace.root, {"sync": self.remote})
            return sync.sync(workspace, self.remote, settings=workspace.settings(), now=self.clock)

    def trust(self, *others: Machine) -> None:
        for other in others:
            with self.here() as workspace, other.here() as theirs:
                name, key = membership.member(theirs), membership.member(workspace)
                assert name is not None
                assert key is not None
            with self.here() as workspace:
                membership.accept(workspace, name.name, "" if key.key else name.key, now=self.clock)

    def note(self, text: str) -> int:
        with self.here() as workspace:
            return note.note(workspace, text, settings=Settings(), now=self.clock).cursor

    def dream(self, file: str, text: str) -> None:
        """Let a dream write a file, from an entry that was said now."""
        with self.here() as workspace:
            entry = workspace.history.append([NewEntry("summary", f"- {self.clock}", said=self.clock)], now=self.clock)
            dream(workspace, {file: text.encode()}, entry[0].cursor, now=self.clock)

    def type(self, file: str, text: str) -> None:
        with self.here() as workspace:
            save(workspace, file, text.encode())

    def text(self, file: str = "USER.md") -> str:
        return (read(self.workspace, file) or b"").decode()

    def memory(self) -> dict[str, str]:
        return {file: self.text(file) for file in FILES}

    def add(self, line: str, file: str = "USER.md", *, by_hand: bool = False) -> None:
        (self.type if by_hand else self.dream)(file, self.text(file) + f"- {line}\n")


def family(folder: Path, clock: datetime = BEGAN) -> tuple[Machine, Machine]:
    """Two machines of one memory that obey each other."""
    laptop, server = (Machine(folder / name, folder / "remote.git", clock) for name in ("laptop", "server"))
    laptop.init().sync()
    server.clone()
    server.sync()
    laptop.sync()
    server.trust(laptop)
    laptop.trust(server)
    return laptop, server


def rounds(*machines: Machine) -> None:
    """Let everybody sync until all have what the others had."""
    for _ in range(2):
        for machine in machines:
            machine.sync()
