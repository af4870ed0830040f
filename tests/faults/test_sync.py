"""`dream sync` killed at each of its calls, while it sends, joins or follows a forgetting: the next syncs make it good.

A real process is killed with all the git that it has started, on both sides of a remote in a folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from tests.faults.support import LEFTOVERS, OURS, Ended, Fault, environment, forked, git
from tests.faults.test_crash import NO_MORE, Count
from tests.sync.test_forgetting import SECRET, everything, forgets, know, reachable
from tests.sync.world import Machine, family

SENDS, JOINS, FOLLOWS = ROLES = ("sends", "joins", "follows")
SHARES = 6
Arrange = Callable[[Machine, Machine], Machine]


def sends(laptop: Machine, server: Machine) -> Machine:
    """The laptop has dreamt, typed and taken back."""
    laptop.note("Remember the milk")
    laptop.add("Likes coffee")
    laptop.add("Works in Porto", by_hand=True)
    laptop.type("USER.md", laptop.text().replace("- Likes tea\n", ""))
    return laptop


def joins(laptop: Machine, server: Machine) -> Machine:
    """Both have news, and each has changed a line that the other has."""
    sends(laptop, server).sync()
    server.note("Remember the bread")
    server.add("Answer in short sentences", "SOUL.md")
    server.type("USER.md", server.text().replace("- Likes tea\n", "- Likes tea with milk\n"))
    return server


def follows(laptop: Machine, server: Machine) -> Machine:
    """What the laptop has forgotten is everywhere on the server, also in what it has not sent yet."""
    server.add(f"{SECRET}, says the server")
    server.note(f"Another word: {SECRET}")
    forgets(laptop, "marmot")
    return server


@dataclass(frozen=True, slots=True)
class World:
    """Two machines and their remote in a folder that is put back before each try, and what undisturbed syncs make."""

    folder: Path
    pattern: Path
    laptop: Machine
    server: Machine
    one: Machine
    shim: Path
    calls: int
    expected: tuple[object, ...]

    @classmethod
    def made(cls, folder: Path, arrange: Arrange, shim: Path) -> World:
        place, pattern = folder / "world", folder / "pattern"
        laptop, server = family(place, datetime.now(UTC) - timedelta(hours=12))
        know(laptop, server)
        one = arrange(laptop, server)
        shutil.copytree(place, pattern, symlinks=True)
        first = cls(place, pattern, laptop, server, one, shim, 0, ())
        done = first.sync(one, Fault(shim, 0))
        assert done.status == 0, done.err
        return cls(place, pattern, laptop, server, one, shim, done.calls, first.settled())

    def sync(self, one: Machine, fault: Fault | None = None) -> Ended:
        """Run `dream sync` on a machine; a fault strikes on the machine and on the remote."""
        counter = self.folder.with_name("count")
        homes = {"HOME": str(one.folder), "XDG_STATE_HOME": str(one.folder / "state")}
        struck = fault.environment(self.folder, counter) if fault else {}
        status, out, err = forked(one.workspace.root, "sync", env=environment(**homes, **struck)).wait()
        return Ended(status, out, err, int.from_bytes(counter.read_bytes(), "little") if fault else 0)

    def settled(self) -> tuple[object, ...]:
        """Let both sync until nothing is new, and return what each has."""
        other = self.server if self.one is self.laptop else self.laptop
        for machine in (self.one, other, self.one, other):
            done = self.sync(machine)
            assert done.status == 0, done.err
        for machine in (self.one, other):
            assert "Nothing new" in self.sync(machine).out
        return tuple(self._of(machine) for machine in (self.laptop, self.server))

    def _of(self, one: Machine) -> tuple[object, ...]:
        root = one.workspace.root
        git(root, "fsck", "--full", "--strict")
        assert [row for row in git(root, "status", "--porcelain").splitlines() if row != "?? dream.toml"] == []
        found = [path for name in LEFTOVERS for path in root.rglob(name) if path.name not in OURS]
        assert found == []
        names = ("memory/history.jsonl", *(f"memory/{one}" for one in ("machines/*/history.jsonl", "messages/*.jsonl")))
        logs = [path for name in names for path in sorted(root.glob(name))]
        rows = [[_known(orjson.loads(line)) for line in path.read_bytes().splitlines()] for path in logs]
        assert all(len({*some}) == len(some) for some in rows)
        review = [path.read_bytes() for path in sorted((root / "memory").glob(".*ed.jsonl"))]
        return one.memory(), rows, len(review)

    def killed(self, at: int) -> bool:
        """Kill the sync at one call, and hold what the next ones make of it against what is expected."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.pattern, self.folder, symlinks=True)
        struck = self.sync(self.one, Fault(self.shim, at)).status
        assert struck in (-9, 0, 1)  # 1: the git that reaches the remote is killed alone, and `dream` says so
        for lock in Path(self.one.remote).rglob("*.lock"):  # nobody else works there for an hour
            os.utime(lock, (long_ago := lock.stat().st_mtime - 3600, long_ago))
        assert self.settled() == self.expected, at
        if "marmot" not in str(self.expected):
            for machine in (self.laptop, self.server):
                assert b"marmot" not in everything(machine)
            assert b"marmot" not in reachable(Path(self.laptop.remote))
        return struck != 0


def _known(row: dict[str, object]) -> tuple[object, ...]:
    return row.get("cursor"), row.get("session"), row.get("position"), row.get("content", row.get("text"))


def kill_at_calls(folder: Path, role: str, shim: Path, first: int, stride: int) -> int:
    """Kill at every `stride`-th call from `first`; return how many instants that were."""
    world = World.made(folder, {SENDS: sends, JOINS: joins, FOLLOWS: follows}[role], shim)
    return sum(world.killed(at) for at in range(first, world.calls + 1, stride))


def test_a_sync_that_is_killed_at_one_call_is_made_good(tmp_path: Path, shim: Path) -> None:
    assert kill_at_calls(tmp_path, JOINS, shim, 100, NO_MORE) == 1


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_a_sync_that_is_killed_at_some_calls_is_made_good(tmp_path: Path, shim: Path, role: str) -> None:
    assert kill_at_calls(tmp_path, role, shim, 30, 120) >= 1


@pytest.mark.long
@pytest.mark.parametrize("share", range(1, SHARES + 1))
@pytest.mark.parametrize("role", ROLES)
def test_a_sync_that_is_killed_at_any_call_is_made_good(
    tmp_path: Path, shim: Path, role: str, share: int, count: Count
) -> None:
    tried = kill_at_calls(tmp_path, role, shim, share, SHARES)
    count(f"SIGKILL at each call of dream sync that {role}", tried)
    assert tried >= 10
