"""Fleets of real workspaces."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from dream.actions.note import note
from dream.directory import Workspace
from dream.fleet.members import Member, Root
from dream.settings import Settings
from dream.workspace.bills import Bills
from tests.cli.commands import command, environment
from tests.nights.world import answer
from tests.provider import Body, Reply, fault
from tests.workspaces import fresh

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def workspace(root: Path, name: str, *facts: str) -> Workspace:
    """Make a workspace in which these facts wait to be dreamt."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    made = fresh(root / name, NOW)
    for fact in facts:
        note(made, fact, settings=Settings(), now=NOW)
    made.history.close()
    return made


def member(root: Path, name: str) -> Member:
    """Name a workspace as the fleet does."""
    return Member(Root(str(root), root), name)


def dreams(made: Workspace) -> list[str]:
    """Return the shas of its dreams."""
    return [change.sha for change in made.git.log(100) if change.kind == "dream"]


CANARY = re.compile(rb"Canary\d{4}n\d\dx|Canary\d{4}x")
ANSWER_SECONDS = 0.2


def canary(number: int, night: int = 0) -> str:
    """Return a word that only one workspace has heard, on one day."""
    return f"Canary{number:04}n{night:02}x"


def agent(root: Path, name: str) -> Workspace:
    """Make a workspace whose nights read the chats in `said/`."""
    made = workspace(root, name)
    (made.root / "dream.toml").write_text("sources = ['said']\nidle_hours = 0\n", encoding="utf-8")
    (made.root / "said").mkdir()
    return made


def say(made: Workspace, word: str) -> None:
    """Let an agent have heard a fact with this word in it, in a chat of its own."""
    said = f"User: Hello! Project {word} ships on Monday.\nAssistant: Noted.\nUser: Thank you, bye.\n"
    (made.root / "said" / f"{word}.txt").write_text(said, encoding="utf-8")


@dataclass
class Metered:
    """A provider's answers: they take 200 ms, and there are so many a second; who asks for more is refused."""

    rate: float
    refused: int = 0
    prompts: list[set[bytes]] = field(default_factory=list)  # the canaries in each
    _left: float = 0.0
    _at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: Body) -> Reply:
        with self._lock:
            now = time.monotonic()
            self._left = min(2 * self.rate, self._left + (now - self._at) * self.rate) - 1
            self._at = now
            if self._left < 0:
                self._left += 1
                self.refused += 1
                return fault(429, "slow down", retry_after="1")
            self.prompts.append(set(CANARY.findall(json.dumps(body).encode())))
        return replace(answer(body), seconds=ANSWER_SECONDS)


class Crew:
    """Workers as processes, each the leader of a group of its own with the nights that it forked."""

    def __init__(self, size: int, root: Path, url: str, log: Path, *more: str) -> None:
        self._line = command("fleet", "worker", "--root", f"all={root}", "--database", url, *more)
        self._log = log
        self.killed = 0
        self.cut = 0  # of these, so many with all their nights
        self._workers = [self._start() for _ in range(size)]

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as out:
            return subprocess.Popen(self._line, env=environment(), stdout=out, stderr=out, start_new_session=True)

    def kill(self, place: int, *, with_nights: bool = False) -> None:
        """Kill a worker, or the power of its machine, and start another in its place."""
        gone = self._workers[place]
        (os.killpg if with_nights else os.kill)(gone.pid, signal.SIGKILL)
        gone.wait()
        self.killed, self.cut = self.killed + 1, self.cut + with_nights
        self._workers[place] = self._start()

    def stop(self) -> set[int]:
        """Let all end their nights, and return how they ended."""
        for one in self._workers:
            one.terminate()
        return {one.wait(120) for one in self._workers}


def billed(made: Iterable[Workspace]) -> tuple[int, int]:
    """Sum up what the workspaces' own bills say: calls, and tokens, of models that are paid for."""
    spent = [Bills(one.private).spent(datetime.now(UTC), UTC).paid_today for one in made]
    return sum(one.calls for one in spent), sum(one.tokens for one in spent)


def check(made: Workspace, number: int, nights: int) -> None:
    """See that a workspace has had its nights: nothing lost, nothing doubled, nothing of another's."""
    words = [canary(number, night) for night in range(nights)]
    entries = [entry for entry in made.history.after(0) if entry.kind != "nothing"]
    memory = "".join(made.read_file(name) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md"))
    kept = "".join(path.read_text() for path in (made.memory / "messages").iterdir())
    assert len(dreams(made)) == nights
    assert sorted(word for entry in entries for word in words if word in entry.content) == words
    assert [entry.cursor for entry in entries] == sorted({entry.cursor for entry in entries})
    assert made.dream_cursor() == entries[-1].cursor
    assert {word: memory.count(word) for word in words} == dict.fromkeys(words, 1)
    assert {word: kept.count(f"Project {word} ships") for word in words} == dict.fromkeys(words, 1)
    files = b"".join(path.read_bytes() for path in made.root.rglob("*") if path.is_file())
    assert {word[6:10] for word in CANARY.findall(files)} == {b"%04d" % number}
    made.history.close()
