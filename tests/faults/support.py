"""What the fault tests share: a workspace with a past, real `dream` processes, faults put into them, and a checker.

The checker reads the disk with nothing of ours: JSON lines, `git`, and the names in directories.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, pairwise
from pathlib import Path
from typing import Any

from dream.cli.group import dream_group
from tests.forking import Forked, Server
from tests.workspaces import copied

ROOT = Path(__file__).parent.parent.parent
DEMO = ROOT / "dream" / "demo"
SESSIONS = [DEMO / f"{number}-{day}.jsonl" for number, day in enumerate(("monday", "wednesday", "friday", "sunday"), 1)]
TYPED = "- I typed this myself\n"  # by a person, in SOUL.md, not committed when the fault strikes
FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
# Several dreams in a run, and history that is over its budget, so that the archive is written too.
SMALL = 'timezone = "UTC"\nbatch_tokens = 300\nhistory_tokens = 400\n'
LEFTOVERS = (
    "*.dream-tmp",
    "*.dream-swap",
    "*.dream-swap-new",
    "*.lock",
    "fast_import_crash_*",
    "apply.json",
    "git.new",
)
OURS = {
    "run.lock",
    "history.lock",
    "places.lock",
    "runs.lock",
    "index.sqlite.lock",
}  # lock files of ours stay; whether they are locked, the kernel says


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. `calls` counts its calls that change the disk, where the shim was loaded."""

    status: int
    out: str
    err: str
    calls: int = 0

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Fault:
    """The `at`-th call that changes the disk kills (`kind` 0) or fails with errno `kind`; `stays`: so do all after."""

    shim: Path
    at: int
    kind: int = 0
    stays: bool = False

    def environment(self, root: Path, counter: Path) -> dict[str, str]:
        counter.write_bytes(bytes(8))
        return {
            "LD_PRELOAD": str(self.shim),
            "FAULT_ROOT": str(root),
            "FAULT_COUNT": str(counter),
            "FAULT_AT": str(self.at),
            "FAULT_KIND": str(self.kind),
            "FAULT_STAYS": str(int(self.stays)),
        }


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **more}


def start(root: Path, *arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `python -m dream` on the workspace, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "dream", *map(str, arguments), "-w", str(root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env or environment(),
        start_new_session=True,
    )


def dream(root: Path, *arguments: object, fault: Fault | None = None, **more: str) -> Ended:
    """Run one command to its end, with a fault or without."""
    counter = root.with_name(f"{root.name}.count")
    env = environment(**more, **(fault.environment(root, counter) if fault else {}))
    status, out, err = forked(root, *arguments, env=env).wait()
    calls = struct.unpack("q", counter.read_bytes())[0] if fault else 0
    return Ended(status, out, err, calls)


def forked(root: Path, *arguments: object, env: Mapping[str, str] | None = None) -> Forked:
    """Start `dream` on the workspace from a server that has it loaded: a process and a session of its own."""
    return Server.running().start([*map(str, arguments), "-w", str(root)], env or environment())


def called(root: Path, *arguments: object) -> Ended:
    """Run one command in this process, where starting hundreds of them would take minutes."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = dream_group.main([*map(str, arguments), "-w", str(root)], "dream", standalone_mode=False)
    return Ended(status if isinstance(status, int) else 0, out.getvalue(), err.getvalue())


def kill_after(root: Path, seconds: float, *arguments: object) -> bool:
    """Start a command and kill it with all it has started after `seconds`; False where it had ended by then."""
    process = forked(root, *arguments)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()[0] == -signal.SIGKILL


def build(root: Path) -> None:
    """Make a workspace with a past: two dreams, two sessions that wait to be dreamt, and a line typed by hand."""
    ran(root, "init", root)
    (root / "dream.toml").write_text(SMALL, encoding="utf-8")
    for session in SESSIONS[:2]:
        ran(root, "consolidate", session)
        ran(root, "run")
    ran(root, "consolidate", *SESSIONS[2:3])
    ran(root, "note", "I am allergic to walnuts")
    soul = root / "SOUL.md"
    soul.write_text(soul.read_text(encoding="utf-8") + TYPED, encoding="utf-8")


def ran(root: Path, *arguments: object) -> Ended:
    done = dream(root, *arguments)
    return done if done.status in (0, 3) else _fail(done)


def _fail(done: Ended) -> Ended:
    raise AssertionError(f"exit {done.status}: {done.err}{done.out}")


def copy(pattern: Path, root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    return copied(pattern, root)


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "replace")


def rows(root: Path) -> list[dict[str, Any]]:
    """Return all of history in order, the archive first; every line must be a whole object.

    Until the next append the log may begin with what a killed move has put in the archive: readers pass over it.
    """
    archive = sorted((root / "memory/archive").glob("history-*.jsonl"), key=lambda path: int(path.name.split("-")[1]))
    moved, log = [line for path in archive for line in _lines(path)], _lines(root / "memory/history.jsonl")
    rest = list(dropwhile(lambda line: line in moved, log))
    return [json.loads(line) for line in [*moved, *rest]]


def _lines(path: Path) -> list[bytes]:
    data = path.read_bytes() if path.exists() else b""
    assert not data or data.endswith(b"\n"), f"{path} ends in the middle of a line"
    return data.splitlines()


def messages(root: Path) -> list[tuple[str, int, str]]:
    """Return what was said, by session and position; every line must be a whole object."""
    paths = sorted((root / "memory/messages").glob("*.jsonl"))
    found = [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]
    return sorted((row["session"], row["position"], row["text"]) for row in found)


def memory(root: Path) -> dict[str, str]:
    """Return everything that a dream writes and a person reads, by path."""
    paths = [root / file for file in FILES] + sorted((root / "memory/archive").glob("*.md"))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths if path.exists()}


def dreamt(root: Path) -> list[tuple[int, int]]:
    """Return the entries of every dream that stands in the log, oldest first; what a restore took back is left out."""
    form = "%(trailers:key=Dream-Kind,valueonly,separator=)%x09%(trailers:key=Dream-Entries,valueonly,separator=)"
    found = []
    for line in git(root, "log", "--reverse", f"--format={form}").splitlines():
        kind, _, entries = line.partition("\t")
        if kind == "dream" and entries:
            first, last = entries.split("-")
            found.append((int(first), int(last)))
    return found


@dataclass(slots=True)
class Checker:
    """Every promise about the disk, checked after the command that follows a fault."""

    root: Path
    typed: bool = True  # the line of `TYPED` waits in SOUL.md, or is committed as the person's
    once: bool = True  # no dream was taken back, so none was dreamt again
    # An append that failed in its fsync was seen by readers for an instant: its cursor is not given out again.
    gapless: bool = True
    problems: list[str] = field(default_factory=list)

    def check(self) -> None:
        history = rows(self.root)
        self._cursors([row["cursor"] for row in history])
        self._spans(history)
        self._messages(history)
        if self.once:
            self._dreams([row["cursor"] for row in history])
        self._git()
        self._leftovers()
        if self.typed:
            self._the_person_s_line()
        assert self.problems == [], self.problems

    def _say(self, wrong: object, text: str) -> None:
        if wrong:
            self.problems.append(text)

    def _cursors(self, cursors: Sequence[int]) -> None:
        if not self.gapless:
            self._say(any(one >= other for one, other in pairwise(cursors)), f"cursors do not rise: {cursors}")
            return
        self._say(cursors != list(range(1, len(cursors) + 1)), f"cursors have gaps or repeat: {cursors}")
        given = int((self.root / "memory/.cursor").read_text())
        # The log says it too, so a crash may leave this behind until the next append; it never may be ahead.
        self._say(given > len(cursors), f".cursor says {given} of {len(cursors)}")

    def _spans(self, history: Sequence[Mapping[str, Any]]) -> None:
        """No message missing, none archived twice: the spans of a session follow each other from its first.

        What was read again has its span a second time, and an old entry is read again once.
        """
        ends: dict[str, int] = {}
        readings = {tuple(row["rereads"]) for row in history if row.get("rereads")}
        again = [cursor for reading in readings for cursor in reading]
        self._say(len(again) != len(set(again)), f"read again twice: {readings}")
        for row in history:
            if row.get("session") is None or "span" not in row or row.get("rereads"):
                continue
            first, last = row["span"]
            end = ends.get(row["session"], 0)
            inside = first == last == end or first == end  # several entries may share one message's position
            self._say(not inside, f"entry {row['cursor']} begins at {first}, but its session was at {end}")
            ends[row["session"]] = last

    def _messages(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Each message once, and none that no entry stands for."""
        kept = [one[:2] for one in messages(self.root)]
        self._say(len(kept) != len(set(kept)), f"messages stand there twice: {kept}")
        ends = {row["session"]: row["span"][1] for row in history if row.get("session") and "span" in row}
        self._say([one for one in kept if one[1] >= ends.get(one[0], 0)], f"messages without an entry: {kept}, {ends}")

    def _dreams(self, cursors: Sequence[int]) -> None:
        """No entry dreamt twice or skipped; a dream without findings makes no commit, so gaps are only at a SKIP."""
        last = 0
        for first, end in dreamt(self.root):
            self._say(first <= last, f"entry {first} was dreamt twice")
            last = end
        cursor = int((self.root / "memory/.dream_cursor").read_text())
        committed = int(git(self.root, "show", "HEAD:memory/.dream_cursor") or 0)
        self._say(cursor < max(committed, last), f"the cursor {cursor} is behind its commit {committed}")
        self._say(cursor > max(cursors, default=0), f"the cursor {cursor} is past history")

    def _git(self) -> None:
        git(self.root, "fsck", "--full", "--strict")
        # Not versioned; moved past a SKIP, which makes no commit; a place that was heard, or what was typed, which no
        # dream has committed yet.
        expected = {"?? dream.toml", " M memory/.dream_cursor", " M places/places.toml"}
        expected |= set() if self.typed else {" M SOUL.md"}
        changed = [line for line in git(self.root, "status", "--porcelain").splitlines() if line not in expected]
        if not self.gapless:  # the disk refused git its index: the next commit brings that to HEAD
            changed = [line for line in changed if not line.startswith("MM ")]
        self._say(changed, f"git status: {changed}")

    def _leftovers(self) -> None:
        # A disk that refuses git the removal of its own lock leaves it; the next commit takes it away.
        excused = OURS if self.gapless else OURS | {"HEAD.lock", "main.lock", "next.lock", "packed-refs.lock"}
        found = [path for pattern in LEFTOVERS for path in self.root.rglob(pattern) if path.name not in excused]
        self._say(found, f"left over: {found}")
        with (self.root / ".dream/run.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.problems.append("run.lock is still locked")

    def _the_person_s_line(self) -> None:
        self._say(TYPED not in (self.root / "SOUL.md").read_text(encoding="utf-8"), "the typed line is gone")
        for line in git(self.root, "log", "-S", TYPED.strip(), "--format=%an %s", "--", "SOUL.md").splitlines():
            self._say(not line.startswith("person hand: "), f"the typed line is in {line!r}")


def every(first: int, last: int, stride: int) -> Iterator[int]:
    """Yield the numbers of the calls to strike at."""
    yield from range(first, last + 1, stride)
