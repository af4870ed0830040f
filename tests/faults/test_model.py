"""Random sequences of notes, dreams, hand edits and restores through the commands, against a simple model.

The model holds what every commit left in the files, and each line that a person typed. It says what must be there after
each command, whatever came before: restores of restores, of hand edits, of the first dream; `--only` and `--at`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from tests.faults.support import FILES, Checker, Ended, called, git, rows
from tests.faults.test_crash import Count
from tests.workspaces import copied

THINGS = ("boat", "violin", "greenhouse", "typewriter", "kayak", "telescope", "loom", "anvil", "canoe", "piano")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("dream"), st.integers(1, 2)),
        st.tuples(st.just("hand"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["before", "only", "at"]), st.integers(0, 8)),
    ),
    min_size=3,
    max_size=9,
)
State = tuple[dict[str, str], str]


@dataclass
class Model:
    root: Path
    states: dict[str, State] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)  # a person's line → the file it stands in
    undone: set[str] = field(default_factory=set)  # their lines that a restore named, or went back beyond
    number: int = 0

    def state(self) -> State:
        files = {file: (self.root / file).read_text(encoding="utf-8") for file in FILES if (self.root / file).exists()}
        cursor = self.root / "memory/.dream_cursor"
        return files, cursor.read_text() if cursor.exists() else ""

    def committed(self, sha: str) -> State:
        """Return what a commit holds; before the first dream there is no cursor."""
        there = set(git(self.root, "ls-tree", "-r", "--name-only", sha).splitlines())
        files = {file: git(self.root, "show", f"{sha}:{file}") for file in FILES if file in there}
        cursor = "memory/.dream_cursor"
        return files, git(self.root, "show", f"{sha}:{cursor}") if cursor in there else ""

    def head(self) -> str:
        return git(self.root, "rev-parse", "HEAD").strip()

    def remember(self) -> None:
        """Note what HEAD left; where nothing was committed it is known already."""
        if git(self.root, "status", "--porcelain", "--", *FILES) == "":
            self.states.setdefault(self.head(), self.state())

    def dream(self, notes: int) -> None:
        for _ in range(notes):
            self.number += 1
            said = f"I own a {THINGS[self.number % len(THINGS)]} that I bought in {1900 + self.number}"
            assert called(self.root, "note", said).status == 0
        done = called(self.root, "run", "--json")
        assert done.status in (0, 3), done.err
        assert int(self.state()[1]) == len(rows(self.root))

    def hand(self, which: int) -> None:
        self.number += 1
        path = self.root / FILES[which]
        line = f"- typed by hand, number {self.number}\n"
        text = path.read_text(encoding="utf-8") if path.exists() else ""  # a restore may have taken the file away
        path.write_text(text + line, encoding="utf-8")
        self.typed[line] = FILES[which]

    def restore(self, mode: str, place: int) -> None:
        changes = called(self.root, "log", "--json").json
        index = place % len(changes)
        change = changes[index]
        flags = [] if mode == "before" else [f"--{mode}"]
        before, clean = self.state(), git(self.root, "status", "--porcelain", "--", *FILES) == ""
        done = called(self.root, "restore", change["sha"][:12], "--yes", *flags)
        if done.status == 1:
            assert self.state() == before
            assert done.err.startswith("dream: ")
            return
        assert done.status == 0, done.err
        later_hands = not clean or any(one["kind"] == "hand" for one in changes[:index])
        self._check_exact(mode, change["sha"], later_hands=later_hands)
        self._check_typed(mode, change, changes[:index])
        if mode == "only":
            assert self.state()[1] == before[1]

    def _check_exact(self, mode: str, sha: str, *, later_hands: bool) -> None:
        if mode == "at":
            assert self.state() == self.states[sha]
        if mode == "before" and not later_hands:
            parent = git(self.root, "rev-parse", f"{sha}^").strip()
            assert self.state() == self.states[parent]

    def _check_typed(self, mode: str, change: dict[str, str], later: list[dict[str, str]]) -> None:
        """A person's line may go only where their change was named, or a state from before it was asked for."""
        named = git(self.root, "show", "--format=", change["sha"])
        past = git(self.root, "log", "-p", "--format=", change["sha"])
        for line, file in self.typed.items():
            path = self.root / file
            text = path.read_text(encoding="utf-8") if path.exists() else ""  # what takes back its first change
            if line in text:
                self.undone.discard(line)
                continue
            allowed = line in self.undone or mode == "at" or line.strip() in named
            # Taking back a restore that had brought the line is taking the line back.
            allowed = allowed or (line.strip() in past and any(one["kind"] == "restore" for one in [change, *later]))
            assert allowed, f"{line!r} is gone after {mode} {change['subject']}"
            self.undone.add(line)

    def check(self) -> None:
        self.dream(1)
        authors = git(self.root, "log", "--format=%x1e%an%x1f", "-p", "--", *FILES).split("\x1e")[1:]
        by_person = "".join(part for part in authors if part.startswith("person\x1f"))
        by_dream = "".join(git(self.root, "log", "--grep=^Dream-Kind: dream$", "-p", "--format=", "--", *FILES))
        for line in self.typed:
            assert f"+{line}" in by_person
            assert f"+{line}" not in by_dream
        Checker(self.root, typed=False, once=False).check()


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("begun") / "w"
    root.mkdir()
    done: Ended = called(root, "init", root)
    assert done.status == 0, done.err
    return root


def play(begun: Path, steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Model(copied(begun, Path(folder) / "w"))
        model.remember()
        for deed, number in [("dream", 1), *steps]:
            if deed == "dream":
                model.dream(number)
            elif deed == "hand":
                model.hand(number)
            else:
                model.restore(deed, number)
            model.remember()
            for sha in git(model.root, "log", "--format=%H").split():
                if sha not in model.states:  # a hand commit or an earlier dream of the same command
                    model.states[sha] = model.committed(sha)
        model.check()


@settings(max_examples=settings.default.max_examples // 10, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
@example(steps=[("before", 0), ("hand", 0), ("dream", 1)])
@example(steps=[("before", 0), ("only", 2), ("hand", 0)])
def test_any_sequence_of_commands_leaves_what_the_model_says(begun: Path, steps: list[tuple[str, int]]) -> None:
    play(begun, steps)


@pytest.mark.long
@pytest.mark.parametrize("share", range(3))
def test_many_sequences_of_commands_leave_what_the_model_says(begun: Path, share: int, count: Count) -> None:
    played = 0

    @seed(share)
    @settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(steps=STEPS)
    def every_sequence(steps: list[tuple[str, int]]) -> None:
        nonlocal played
        played += 1
        play(begun, steps)

    every_sequence()
    count("random sequences of commands against a model", played)
