"""Killed at any instant: the next command finds nothing lost, nothing half-done, nothing done twice.

A real `dream` process is killed with everything that it has started: at each of its calls that change the disk
(write, fsync, rename, link, unlink, truncate, mkdir, open for writing; git's own included), and at random instants.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.faults.support import SESSIONS, Checker, Fault, copy, dream, kill_after, memory, ran, rows

CONSOLIDATE = ("consolidate", *SESSIONS)
RUN = ("run",)
Command = tuple[object, ...]


def undisturbed(pattern: Path, root: Path, command: Command, shim: Path) -> tuple[dict[str, str], int, int]:
    """Do the work with no fault: what memory is then, how many entries there are, and how many calls it took."""
    copy(pattern, root)
    done = dream(root, *command, fault=Fault(shim, 0))
    assert done.status in (0, 3), done.err
    ran(root, *command)
    Checker(root, typed=command is RUN).check()
    return memory(root), len(rows(root)), done.calls


def finish(root: Path, command: Command, expected: tuple[dict[str, str], int, int], *, gapless: bool = True) -> None:
    """Be the next command, and compare with the work as it is when nobody is killed."""
    ran(root, *command)
    Checker(root, typed=command is RUN, gapless=gapless).check()
    assert (memory(root), len(rows(root))) == expected[:2]


def kill_at_calls(pattern: Path, root: Path, command: Command, shim: Path, first: int, stride: int) -> int:
    """Kill at every `stride`-th call from `first`; return how many instants that were."""
    expected = undisturbed(pattern, root, command, shim)
    tried = 0
    for at in range(first, expected[2] + 1, stride):
        copy(pattern, root)
        assert dream(root, *command, fault=Fault(shim, at)).status == -9
        finish(root, command, expected)
        tried += 1
    return tried


def kill_at_random(pattern: Path, root: Path, command: Command, shim: Path, times: int) -> int:
    """Kill after random times, until `times` were killed before their end; return how many."""
    expected = undisturbed(pattern, root, command, shim)
    chance = random.Random(20261121)
    copy(pattern, root)
    began = time.perf_counter()
    dream(root, *command)
    whole = time.perf_counter() - began
    struck = 0
    while struck < times:
        copy(pattern, root)
        struck += kill_after(root, whole * (0.2 + chance.random()), *command)
        finish(root, command, expected)
    return struck


@pytest.mark.parametrize(("command", "first", "stride"), [(CONSOLIDATE, 2, 7), (RUN, 11, 41)])
def test_killed_at_some_calls(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, first: int, stride: int
) -> None:
    assert kill_at_calls(pattern, tmp_path / "w", command, shim, first, stride) >= 3


@pytest.mark.long
@pytest.mark.parametrize("command", [CONSOLIDATE, RUN])
def test_killed_at_every_call(pattern: Path, tmp_path: Path, shim: Path, command: Command) -> None:
    tried = kill_at_calls(pattern, tmp_path / "w", command, shim, 1, 1)
    print(f"killed `dream {command[0]}` at each of its {tried} calls that change the disk")
    assert tried >= 10


@pytest.mark.parametrize(("command", "times"), [(CONSOLIDATE, 4), (RUN, 6)])
def test_killed_at_random(pattern: Path, tmp_path: Path, shim: Path, command: Command, times: int) -> None:
    assert kill_at_random(pattern, tmp_path / "w", command, shim, times) == times


@pytest.mark.long
@pytest.mark.parametrize(("command", "times"), [(CONSOLIDATE, 120), (RUN, 200)])
def test_killed_at_many_random_instants(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, times: int
) -> None:
    tried = kill_at_random(pattern, tmp_path / "w", command, shim, times)
    print(f"killed `dream {command[0]}` at {tried} random instants")
    assert tried == times
