"""A disk that is full, read-only, broken or not ours: one sentence, and what was there before stays.

Each call of a real command that changes the disk fails once, or it and every one after it; git's own calls too.
"""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.faults.support import Checker, Ended, Fault, copy, dream, memory, ran, rows
from tests.faults.test_crash import CONSOLIDATE, NO_MORE, RUN, Command, Count, finish, undisturbed

Kind = tuple[int, bool]  # the errno, and whether every call from that one on fails
NOTE = ("note", "I play the oboe")
FULL, READ_ONLY, DENIED, BROKEN = errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO


def check_said(done: Ended, where: str) -> None:
    """See that a command that failed said one sentence, and nothing of Python."""
    assert done.status in (0, 1, 3), f"{where}: exit {done.status}: {done.err}"
    assert "Traceback" not in done.err + done.out, f"{where}: {done.err}"
    if done.status == 1:
        said = [line for line in (done.err + done.out).splitlines() if line]
        assert said, f"{where}: failed in silence"


def refuse_at_calls(
    pattern: Path, root: Path, shim: Path, command: Command, kind: int, *, stays: bool, first: int = 1, stride: int = 1
) -> int:
    """Let calls fail one after the other; the command that comes after the fault must find all as it should be."""
    expected = undisturbed(pattern, root, command, shim)
    tried = 0
    for at in range(first, expected[3] + 1, stride):
        copy(pattern, root)
        before, history = memory(root), rows(root)
        done = dream(root, *command, fault=Fault(shim, at, kind, stays))
        check_said(done, f"call {at} with errno {kind}")
        if stays and command is not RUN and done.status == 1:
            assert memory(root) == before
            assert rows(root)[: len(history)] == history
        finish(root, command, expected, gapless=False)
        tried += 1
    return tried


@pytest.mark.few(1)
@pytest.mark.parametrize(("command", "kind", "stays", "at"), [(CONSOLIDATE, FULL, True, 10), (RUN, BROKEN, False, 215)])
def test_one_call_fails(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, kind: int, stays: bool, at: int
) -> None:
    root = tmp_path / "w"
    assert refuse_at_calls(pattern, root, shim, command, kind, stays=stays, first=at, stride=NO_MORE) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "kind", "stays", "first", "stride"),
    [
        (CONSOLIDATE, FULL, True, 3, 7),
        (RUN, FULL, True, 28, 80),
        (RUN, BROKEN, False, 190, 25),  # while files are swapped in, and the cursor after them
    ],
)
def test_some_calls_fail(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, kind: int, stays: bool, first: int, stride: int
) -> None:
    root = tmp_path / "w"
    assert refuse_at_calls(pattern, root, shim, command, kind, stays=stays, first=first, stride=stride) >= 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "share", "shares"), [(CONSOLIDATE, 1, 1), *((RUN, share, 4) for share in range(1, 5))]
)
@pytest.mark.parametrize("fault", [(FULL, True), (BROKEN, False), (READ_ONLY, True), (DENIED, True)])
def test_every_call_fails(
    pattern: Path, tmp_path: Path, shim: Path, command: Command, share: int, shares: int, fault: Kind, count: Count
) -> None:
    kind, stays = fault
    tried = refuse_at_calls(pattern, tmp_path / "w", shim, command, kind, stays=stays, first=share, stride=shares)
    count(f"{errno.errorcode[kind]}{' from then on' if stays else ''} at each call of dream {command[0]}", tried)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [FULL, READ_ONLY, DENIED, BROKEN])
def test_a_note_that_cannot_be_kept_is_said(pattern: Path, tmp_path: Path, shim: Path, kind: int) -> None:
    root = copy(pattern, tmp_path / "w")
    history = rows(root)
    done = dream(root, *NOTE, fault=Fault(shim, 1, kind, stays=True))
    assert done.status == 1
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("dream: ")
    assert rows(root) == history
    assert ran(root, *NOTE).status == 0
    assert rows(root)[-1]["content"] == NOTE[1]
    Checker(root, typed=False, gapless=False).check()
