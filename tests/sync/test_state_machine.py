"""Three machines that do anything in any order, and are killed at any call, end up with the same memory.

.venv/bin/pytest -m long tests/sync/test_state_machine.py
.venv/bin/python -m tests.sync.test_state_machine 1 200     # seeds, one a line
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.actions import drop, forget, restore, review, scopes
from dream.models import Proposal
from dream.workspace.review_files import PENDING, render_pending
from tests.git.test_crash import die_at, in_a_process
from tests.sync.test_forgetting import everything, reachable
from tests.sync.world import FILES, Machine, family, rounds

DEEDS = (
    "add",
    "type",
    "remove",
    "change",
    "restore",
    "note",
    "drop",
    "forget",
    "place",
    "rename",
    "merge",
    "line",
    "review",
)


class World:
    """Three machines of one memory; `gone` are lines that may be away at the end, `forgotten` words that must be."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.folder = folder
        laptop, server = family(folder)
        desktop = Machine(folder / "desktop", folder / "remote.git").clone()
        self.machines = [laptop, server, desktop]
        rounds(*self.machines)
        desktop.trust(laptop, server)
        laptop.trust(desktop)
        server.trust(desktop)
        rounds(*self.machines)
        self.number = 0
        self.gone: set[str] = set()
        self.forgotten: set[str] = set()
        self.deeds: list[str] = []

    def step(self) -> None:
        """Let one machine do something, or sync, or be killed while it syncs."""
        self.number += 1
        one = self.random.choice(self.machines)
        deed = self.random.choice([*DEEDS, "sync", "sync", "sync", "sync", "kill", "kill"])
        self.deeds.append(f"{one.folder.name}: {deed}")
        if deed in ("remove", "change", "drop"):
            self._edit(one, deed)
        elif deed in ("place", "rename", "merge", "line"):
            self._place(one, deed)
        elif deed in ("add", "type"):
            line = f"fact {self.number} is word{self.number}"
            one.add(line, self.random.choice(FILES), by_hand=deed == "type")
        elif deed == "note":
            one.note(f"note {self.number} is word{self.number}")
        else:
            others = {"forget": self._forget, "restore": self._restore, "review": self._review}
            (others | {"sync": Machine.sync, "kill": self._kill})[deed](one)

    def _edit(self, one: Machine, deed: str) -> None:
        file = self.random.choice(FILES)
        facts = [line for line in one.text(file).splitlines() if line.startswith("- ")]
        if not facts:
            return
        self.gone.add(fact := self.random.choice(facts))
        if deed == "drop":
            self._drop(one, fact)
        elif deed == "remove":
            one.dream(file, one.text(file).replace(f"{fact}\n", ""))
        else:
            one.type(file, one.text(file).replace(f"{fact}\n", f"{fact} changed {self.number}\n"))

    def _drop(self, one: Machine, fact: str) -> None:
        with one.here() as workspace:
            drop.drop(workspace, drop.named(workspace, fact), now=one.clock)

    def _forget(self, one: Machine) -> None:
        known = everything(one)
        words = [f"word{number}" for number in range(1, self.number) if f"word{number}".encode() in known]
        if words:
            self.forgotten.add(word := self.random.choice(words))
            with one.here() as workspace:
                done = forget.forget(workspace, word, now=one.clock)
                assert done.whole or not done.found, done.remains

    def _restore(self, one: Machine) -> None:
        with one.here() as workspace:
            change = self.random.choice(workspace.git.log())
            if change.parent:
                self.gone |= {line for name in _files(one) for line in one.text(name).splitlines()}
                restore.restore(workspace, change.sha, now=one.clock)

    def _review(self, one: Machine) -> None:
        """Let an edit be held, and a person accept or reject it; what is rejected on one machine goes nowhere."""
        line = f"- fact {self.number} is word{self.number}\n"
        with one.here() as workspace:
            last = max((held.id for held in workspace.pending()), default=0)
            held = Proposal(last + 1, one.clock, "USER.md", "", line, "x", "held", (), ())
        one.dream(PENDING, render_pending([*one.workspace.pending(), held]).decode())
        accepts = self.random.random() < 0.5
        with one.here() as workspace:
            if accepts:
                review.accept(workspace, [held.id], now=one.clock)
            else:
                review.reject(workspace, [held.id], now=one.clock)

    def _place(self, one: Machine, deed: str) -> None:
        with one.here() as workspace:
            known = [place.name for place in workspace.places().all()]
            if deed == "place":
                project = self.folder / "projects" / f"p{self.random.randrange(3)}"
                subprocess.run(["git", "init", "--quiet", str(project)], check=True)
                workspace.places().for_note(str(project))
            elif deed == "rename" and known:
                scopes.rename(workspace, self.random.choice(known), f"n{self.number}", now=one.clock)
            elif deed == "merge" and len(known) > 1:
                self.gone |= {line for name in _files(one) for line in one.text(name).splitlines()}
                scopes.merge(workspace, *self.random.sample(known, 2), now=one.clock)
            elif deed == "line" and known:
                name = self.random.choice(known)
                (workspace.root / "places" / name).mkdir(exist_ok=True)
                file = f"places/{name}/MEMORY.md"
                line = f"- fact {self.number} is word{self.number}\n"
                (workspace.root / file).write_text(one.text(file) + line, encoding="utf-8")

    def _kill(self, one: Machine) -> None:
        step = self.random.randrange(1, 260)
        with one.here() as workspace:
            child = in_a_process(lambda _: one.sync(), workspace, lambda: die_at(step))
            os.waitpid(child, 0)

    def check(self) -> None:
        """Let everybody meet, and hold what they have against what they did."""
        for _ in range(3):
            rounds(*self.random.sample(self.machines, 3))
        one, *others = self.machines
        files = {name: one.text(name) for name in _files(one)}
        for other in others:
            assert {name: other.text(name) for name in _files(other)} == files
        lines = [line for text in files.values() for line in text.splitlines() if line.startswith("- ")]
        assert len({*lines}) == len(lines), "twice"
        known = "\n".join(
            workspace.git.show(change.sha).diff
            for each in self.machines
            for workspace in [each.workspace]
            for change in workspace.git.log()
        )
        said = {line[1:] for line in known.splitlines() if line.startswith("+- fact")}
        kept = {line for line in said - self.gone if not any(f"{word}" in line.split() for word in self.forgotten)}
        assert kept <= {*lines}, f"lost: {kept - {*lines}}"
        for each in self.machines:
            found = everything(each)
            assert not [
                word for word in self.forgotten if word.encode() + b" " in found or word.encode() + b"\n" in found
            ]
            each.workspace.git.fsck()
        remote = reachable(self.folder / "remote.git")
        assert not [word for word in self.forgotten if word.encode() + b'"' in remote]


def _files(one: Machine) -> list[str]:
    root = one.workspace.root
    of_places = [
        path for path in sorted(root.glob("places/*/*.md")) if path.read_bytes()
    ]  # a forgetting leaves it empty
    return [*FILES, *(str(path.relative_to(root)) for path in of_places)]


def run(folder: Path, seed: int, steps: int = 14) -> None:
    """Play one seed."""
    world = World(folder, seed)
    try:
        for _ in range(steps):
            world.step()
        world.check()
    except BaseException:
        print("\n".join(world.deeds), file=sys.stderr)
        raise


@pytest.mark.long
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1 << 32))
def test_three_machines_end_up_the_same_whatever_they_did(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    run(tmp_path_factory.mktemp("world"), seed)


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        folder = Path(tempfile.mkdtemp())
        try:
            run(folder, seed)
            print(seed, "ok", flush=True)
        except Exception:  # noqa: BLE001 - the seed is told, and the next one is played
            print(seed, "FAILED", folder, traceback.format_exc(), flush=True)
        else:
            shutil.rmtree(folder)
