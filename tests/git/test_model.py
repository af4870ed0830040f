"""Random sequences of dreams, hand edits and restores against a model that holds plain lists of lines."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dream.actions.restore import restore
from dream.errors import Conflict
from dream.versions import transaction
from dream.workspace.workspace import Workspace
from tests.git.support import CURSOR, NOW, dream, make, read, save, state

PATHS = ("USER.md", "memory/MEMORY.md")
STEPS = st.one_of(
    st.tuples(st.just("dream"), st.sampled_from(PATHS), st.booleans()),
    st.tuples(st.just("hand"), st.sampled_from(PATHS), st.booleans()),
    st.tuples(st.sampled_from(["before", "at", "only"]), st.integers(0, 20), st.booleans()),
)


@dataclass
class Model:
    """What must be so: the state after each commit, and every line that a person ever typed."""

    workspace: Workspace
    states: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    typed: set[bytes] = field(default_factory=set)
    number: int = 0

    def line(self, path: str, removes: bool, who: str) -> bytes:
        """Return the file with a line added at its end, or with its last fact gone."""
        self.number += 1
        lines = (read(self.workspace, path) or b"").splitlines(keepends=True)
        if removes and lines and lines[-1].startswith(b"- dreamt"):
            return b"".join(lines[:-1])
        return b"".join(lines) + b"- %s %d\xe9\n" % (who.encode(), self.number)

    def dream(self, path: str, removes: bool) -> None:
        self.settle()
        sha = dream(self.workspace, {path: self.line(path, removes, "dreamt")}, self.number).sha
        assert sha is not None
        self.states[sha] = state(self.workspace)

    def hand(self, path: str, removes: bool) -> None:
        data = self.line(path, removes, "typed")
        self.typed |= {line for line in data.splitlines() if line.startswith(b"- typed")}
        save(self.workspace, path, data)
        if removes:
            self.settle()

    def settle(self) -> None:
        sha = transaction.commit_hand_edits(self.workspace, NOW)
        if sha:
            self.states[sha] = {**state(self.workspace)}

    def take_back(self, mode: str, place: int) -> None:
        changes = self.workspace.git.log()
        change = changes[place % len(changes)]
        if change.parent is None and mode == "before":
            return
        before, head = state(self.workspace), self.workspace.git.read_all("HEAD")
        typing = any(before[path] != head.get(path) for path in PATHS)
        try:
            done = restore(self.workspace, change.sha[:12], mode=mode, now=NOW)  # type: ignore[arg-type]
        except Conflict:
            assert state(self.workspace) == before
            return
        later = changes[: place % len(changes)]
        exact = mode == "at" or (mode == "before" and not typing and not any(x.kind == "hand" for x in later))
        known = self.states.get(change.sha if mode == "at" else change.parent or "")
        if exact and known is not None:
            assert state(self.workspace) == known
        if mode == "only":
            assert read(self.workspace, CURSOR) == before[CURSOR]
        if done.hand:
            self.states[done.hand] = before
        if done.sha:
            self.states[done.sha] = state(self.workspace)

    def check(self) -> None:
        git_says = self.workspace.git.read_all("HEAD")
        on_disk = {path: data for path, data in state(self.workspace).items() if data is not None}
        assert {path: data for path, data in git_says.items() if "rejected" not in path} == on_disk
        history = self.workspace.git.git.run("log", "--format=%x01%an", "-p", "--text", "HEAD")
        by_person = b"".join(part for part in history.split(b"\x01") if part.startswith(b"person"))
        for line in self.typed:
            assert b"+" + line in by_person


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=2, max_size=8))
def test_dreams_hand_edits_and_restores_in_any_order_lose_nothing(steps: list[tuple[str, object, bool]]) -> None:
    run(steps)


def run(steps: list[tuple[str, object, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Model(make(Path(folder) / "w"))
        model.states[model.workspace.git.head() or ""] = state(model.workspace)
        for deed, what, flag in steps:
            if deed == "dream":
                model.dream(str(what), flag)
            elif deed == "hand":
                model.hand(str(what), flag)
            else:
                model.take_back(deed, int(str(what)))
        model.settle()
        model.check()
        model.workspace.git.fsck()
