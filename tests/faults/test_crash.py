"""Killed at any instant: the next command finds nothing lost, nothing half-done, nothing done twice.

A real `dream` process is killed with everything that it has started: at each of its calls that change the disk
(write, fsync, rename, link, unlink, truncate, mkdir, open for writing; git's own included), and at random instants.
"""

from __future__ import annotations

import hashlib
import random
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.consolidate.reread import NOTE
from tests.faults.support import SESSIONS, Checker, Fault, copy, dream, kill_after, memory, messages, ran, rows

CONSOLIDATE = ("consolidate", *SESSIONS)
RUN = ("run",)
REREAD = ("reread", "--again", "--yes")
NO_MORE = 10_000  # a stride beyond the last call
Command = tuple[object, ...]
Count = Callable[[str, int], None]


Done = tuple[dict[str, str], int, list[tuple[str, int, str]], int]

_known: dict[tuple[Path, Command], Done] = {}


def undisturbed(pattern: Path, root: Path, command: Command, shim: Path) -> Done:
    """Do the work with no fault: what memory is then, how many entries, which messages, and how many calls it took."""
    if (pattern, command) not in _known:
        _known[pattern, command] = _work(pattern, root, command, shim)
    return _known[pattern, command]


def _work(pattern: Path, root: Path, command: Command, shim: Path) -> Done:
    copy(pattern, root)
    done = dream(root, *command, fault=Fault(shim, 0))
    assert done.status in (0, 3), done.err
    ran(root, *_next(root, command))
    Checker(root, typed=command is RUN).check()
    return memory(root), len(rows(root)), messages(root), done.calls


def finish(root: Path, command: Command, expected: Done, *, gapless: bool = True) -> None:
    """Be the next command, and compare with the work as it is when nobody is killed.

    Of a rereading that is the next night: it reads what is left, or dreams what was read.
    """
    ran(root, *_next(root, command))
    if command is REREAD:
        ran(root, "nightly")
    Checker(root, typed=command is RUN, gapless=gapless).check()
    assert (memory(root), len(rows(root)), messages(root)) == expected[:3]


def _next(root: Path, command: Command) -> Command:
    """Return the command that follows: of a rereading that has read everything it is the one that reads nothing."""
    if command is not REREAD or (root / ".dream" / NOTE).exists():
        return command
    return ("reread", "--yes") if any(row.get("rereads") for row in rows(root)) else command


def kill_at_calls(pattern: Path, root: Path, command: Command, shim: Path, first: int, stride: int) -> int:
    """Kill at every `stride`-th call from `first`; return how many instants that were."""
    expected = undisturbed(pattern, root, command, shim)
    tried = 0
    for at in range(first, expected[3] + 1, stride):
        copy(pattern, root)
        struck = dream(root, *command, fault=Fault(shim, at)).status  # git gc doesn't make the same calls each time
        assert struck in (-9, 0, 3)
        finish(root, command, expected)
        tried += struck == -9
    return tried


def kill_at_random(pattern: Path, root: Path, command: Command, shim: Path, times: int, seed: int = 0) -> int:
    """Kill after random times, until `times` were killed before their end; return how many."""
    expected = undisturbed(pattern, root, command, shim)
    chance = random.Random(20261121 + seed)
    copy(pattern, root)
    began = time.perf_counter()
    dream(root, *command)
    whole = time.perf_counter() - began
    struck = 0
    while struck < times:
        copy(pattern, root)
        struck += kill_after(root, whole * chance.random(), *command)
        finish(root, command, expected)
    return struck


@pytest.mark.few(1)
@pytest.mark.parametrize(("command", "at"), [(RUN, 112), (CONSOLIDATE, 10), (REREAD, 10)])
def test_killed_at_one_call(pattern: Path, tmp_path: Path, shim: Path, command: Command, at: int) -> None:
    assert kill_at_calls(pattern, tmp_path / "w", command, shim, at, NO_MORE) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("command", "first", "stride"), [(CONSOLIDATE, 3, 7), (RUN, 32, 80), (REREAD, 5, 90)])
def test_killed_at_some_calls(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, first: int, stride: int
) -> None:
    assert kill_at_calls(pattern, tmp_path / "w", command, shim, first, stride) >= 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "share", "shares"),
    [(CONSOLIDATE, 1, 1), *((command, share, 4) for command in (RUN, REREAD) for share in range(1, 5))],
)
def test_killed_at_every_call(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, share: int, shares: int, count: Count
) -> None:
    tried = kill_at_calls(pattern, tmp_path / "w", command, shim, share, shares)
    count(f"SIGKILL at each call of dream {command[0]}", tried)
    assert tried >= 10


def with_loose_objects(pattern: Path, root: Path) -> Path:
    """Copy the pattern with as many loose objects as make the next dream pack them, so that git gc is struck too."""
    copy(pattern, root)
    made, number = 0, 0
    while made < 5:
        number += 1
        data = b"blob %d\0loose %d" % (len(f"loose {number}"), number)
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        if name.startswith("17"):
            path = root / ".git/objects/17" / name[2:]
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(data))
            made += 1
    return root


@pytest.mark.long
def test_killed_at_each_call_while_git_packs(pattern: Path, tmp_path: Path, shim: Path, count: Count) -> None:
    loose = with_loose_objects(pattern, tmp_path / "loose")
    calls = undisturbed(pattern, tmp_path / "w", RUN, shim)[3]
    tried = kill_at_calls(loose, tmp_path / "w", RUN, shim, calls - 5, 1)
    count("SIGKILL at each call of a dream's git gc", tried)
    assert tried > 20


@pytest.mark.few(1)
@pytest.mark.parametrize(("command", "times"), [(RUN, 1), (RUN, 2), (CONSOLIDATE, 1)])
def test_killed_at_random(pattern: Path, tmp_path: Path, shim: Path, command: Command, times: int) -> None:
    assert kill_at_random(pattern, tmp_path / "w", command, shim, times) == times


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "times", "seed"), [(CONSOLIDATE, 60, 1), (CONSOLIDATE, 60, 2), *((RUN, 50, seed) for seed in range(4))]
)
def test_killed_at_many_random_instants(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, times: int, seed: int, count: Count
) -> None:
    assert kill_at_random(pattern, tmp_path / "w", command, shim, times, seed) == times
    count(f"SIGKILL at random instants of dream {command[0]}", times)
