"""Many processes at one workspace: each promise holds, whoever comes first, stops, or dies."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support import Checker, Ended, copy, dream, git, ran, rows, start
from tests.faults.test_crash import Count


def holding(pattern: Path, root: Path) -> subprocess.Popen[str]:
    """Start a dream and stop it, as a laptop that sleeps does, while it holds the workspace."""
    for _ in range(20):  # on a busy machine it may be over before it is stopped
        if (process := stopped_with_the_lock(copy(pattern, root))) is not None:
            return process
    raise AssertionError("no dream could be stopped while it held the workspace")


def stopped_with_the_lock(root: Path) -> subprocess.Popen[str] | None:
    process = start(root, "run")
    lock = root / ".dream/run.lock"
    while process.poll() is None:
        if lock.exists() and lock.read_bytes().strip():
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(0.05)
            # One that waits for what it is starting doesn't stop, for that has stopped before it has begun.
            stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if stopped and lock.read_bytes().strip():
                return process
            os.killpg(process.pid, signal.SIGCONT)  # or it had let go in between, and takes the lock again
        time.sleep(0.001)
    process.communicate()
    return None


@pytest.mark.slow
def test_of_two_dreams_at_once_one_works_and_the_other_exits_4_at_once(pattern: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    first = holding(pattern, root)
    second = dream(root, "run", "--json")
    assert second.status == 4  # at once: the first one stands still, and would never have let it in
    assert f"process {first.pid}" in second.err
    assert dream(root, "restore", git(root, "rev-parse", "--short=10", "HEAD").strip(), "--yes").status == 4
    os.killpg(first.pid, signal.SIGCONT)
    _, err = first.communicate(timeout=200)
    assert first.returncode in (0, 3), err
    Checker(root).check()


@pytest.mark.slow
def test_a_lock_of_a_dead_process_and_of_a_reused_pid_is_taken_over(pattern: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    dead = holding(pattern, root)
    os.killpg(dead.pid, signal.SIGKILL)
    dead.communicate()
    lock = root / ".dream/run.lock"
    who = json.loads(lock.read_bytes())
    lock.write_text(json.dumps({**who, "pid": os.getpid()}) + "\n", encoding="utf-8")  # alive, and not a dream
    ran(root, "run")
    Checker(root).check()


class Mayhem:
    """Threads that start one `dream` after the other, and a person who keeps saving SOUL.md."""

    def __init__(self, root: Path, seconds: float) -> None:
        self.root = root
        self.end = time.monotonic() + seconds
        self.ended: list[tuple[str, Ended]] = []
        self.notes: list[str] = []
        self.typed: list[str] = []
        self.said = 0
        self._transcript = root.with_name("talk.jsonl")

    def run(self) -> None:
        deeds: list[Callable[[random.Random], None]] = [self.note, self.talk, self.sleep, self.take_back, self.decide]
        threads = [threading.Thread(target=self._repeat, args=(deed, n)) for n, deed in enumerate([*deeds, self.type])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _repeat(self, deed: Callable[[random.Random], None], seed: int) -> None:
        chance = random.Random(seed)
        deed(chance)  # once in any case
        while time.monotonic() < self.end:
            deed(chance)

    def _dream(self, *arguments: object) -> Ended:
        done = dream(self.root, *arguments)
        self.ended.append((str(arguments[0]), done))
        return done

    def note(self, chance: random.Random) -> None:
        text = f"The shelf {len(self.notes)} holds {chance.randint(100, 999)} blue jars"
        if self._dream("note", text).status == 0:
            self.notes.append(text)

    def talk(self, chance: random.Random) -> None:
        with self._transcript.open("a", encoding="utf-8") as talk:
            for _ in range(chance.randint(1, 4)):
                said = {"role": "user", "content": f"I own boat number {self.said} since {1900 + self.said}."}
                talk.write(json.dumps(said) + "\n" + json.dumps({"role": "assistant", "content": "Noted."}) + "\n")
                self.said += 1
        self._dream("consolidate", self._transcript)

    def sleep(self, chance: random.Random) -> None:
        self._dream("run", "--max-batches", chance.randint(1, 3))  # what is noted meanwhile would never let it end
        time.sleep(chance.random() * 0.2)

    def take_back(self, chance: random.Random) -> None:
        listed = git(self.root, "log", "--grep=^Dream-Kind: dream$", "--format=%H").split()
        if listed:
            only = ["--only"] if chance.random() < 0.5 else []
            self._dream("restore", chance.choice(listed[:5]), "--yes", *only)
        time.sleep(chance.random())

    def decide(self, chance: random.Random) -> None:
        self._dream("review", chance.choice(("accept", "reject")), "--all")
        time.sleep(chance.random())

    def type(self, chance: random.Random) -> None:
        """Save as editors do: in place, or by a new file in the place of the old."""
        line = f"- typed {len(self.typed)}\n"
        path = self.root / "SOUL.md"
        text = path.read_text(encoding="utf-8") + line
        if chance.random() < 0.5:
            path.write_text(text, encoding="utf-8")
        else:
            fresh = self.root / "SOUL.md~"
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)
        self.typed.append(line)
        time.sleep(0.2 + chance.random() * 0.3)

    def check(self) -> None:
        for name, done in self.ended:
            assert "Traceback" not in done.err, f"{name}: {done.err}"
            assert done.status in (0, 1, 3, 4), f"{name}: exit {done.status}: {done.err}"
        ran(self.root, "consolidate", self._transcript)
        ran(self.root, "run")
        history = rows(self.root)
        told = Counter(row["content"] for row in history)
        assert {note: told[note] for note in self.notes} == dict.fromkeys(self.notes, 1)
        spans = [row["span"] for row in history if "talk" in str(row.get("session"))]
        assert max((span[1] for span in spans), default=0) == 2 * self.said
        soul = (self.root / "SOUL.md").read_text(encoding="utf-8")
        assert [line for line in self.typed if line not in soul] == []
        for record in git(self.root, "log", "--format=%x1e%s", "-p", "--", "SOUL.md").split("\x1e")[1:]:
            if record.startswith(("dream: ", "init: ")):
                assert "+- typed " not in record
        Checker(self.root, typed=False, once=False).check()


def mayhem(pattern: Path, root: Path, seconds: float) -> Counter[str]:
    copy(pattern, root)
    ran(root, "run")
    chaos = Mayhem(root, seconds)
    chaos.run()
    chaos.check()
    return Counter(f"{name} {done.status}" for name, done in chaos.ended)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, pytest.param(4, marks=pytest.mark.slow)])
def test_everything_at_once_for_a_few_seconds(pattern: Path, tmp_path: Path, seconds: float) -> None:
    assert sum(mayhem(pattern, tmp_path / "w", seconds).values()) >= 5


@pytest.mark.long
def test_everything_at_once_for_a_minute(pattern: Path, tmp_path: Path, count: Count) -> None:
    for what, number in mayhem(pattern, tmp_path / "w", 60).items():
        count(f"commands at once in a minute: {what}", number)
