"""No cursor is given out twice: whatever kills the append that gave it, and whatever becomes of `.cursor` then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support import Checker, Fault, copy, dream, ran, rows

LAGGING = {
    "as the kill left it": None,
    "one behind": lambda highest: b"%d\n" % (highest - 1),
    "far behind": lambda highest: b"1\n",
    "empty": lambda highest: b"",
    "torn": lambda highest: b"%d" % (highest // 10 or 1),
    "no number": lambda highest: b"many\n",
}


def seen(root: Path) -> list[int]:
    """Return every cursor that a reader may have met: whole lines of history and of its archive."""
    return [row["cursor"] for row in rows(root)]


def strike_and_lag(pattern: Path, root: Path, shim: Path, at: int, lag: str) -> tuple[int, int]:
    """Kill a note at one call, let `.cursor` lag, and note again; return the highest cursor before and the new one."""
    copy(pattern, root)
    dream(root, "note", "I keep bees", fault=Fault(shim, at))
    ran(root, "status")  # readers only; nothing is mended before the next append
    data = (root / "memory/history.jsonl").read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    torn = data != whole
    highest = max(seen(root)) if not torn else whole.count(b"\n")
    if LAGGING[lag] is not None:
        (root / "memory/.cursor").write_bytes(LAGGING[lag](highest))
    given = ran(root, "note", "I keep goats", "--json").json["cursor"]
    return highest, given


@pytest.mark.parametrize(
    ("lag", "stride"),
    [("one behind", 4), *(pytest.param(lag, 1, marks=pytest.mark.slow) for lag in LAGGING)],
)
def test_a_cursor_is_given_once_though_the_kill_left_its_file_behind(
    pattern: Path, tmp_path: Path, shim: Path, lag: str, stride: int
) -> None:
    root = copy(pattern, tmp_path / "w")
    calls = dream(root, "note", "I keep bees", fault=Fault(shim, 0)).calls
    assert calls > 2
    for at in range(1, calls + 1, stride):
        highest, given = strike_and_lag(pattern, root, shim, at, lag)
        assert given == highest + 1, f"killed at call {at} of {calls}"
        assert seen(root) == sorted(set(seen(root)))
        Checker(root, typed=False).check()


@pytest.mark.slow
@pytest.mark.parametrize("lag", LAGGING)
def test_where_all_of_history_is_archived_the_archive_says_the_highest(pattern: Path, tmp_path: Path, lag: str) -> None:
    root = copy(pattern, tmp_path / "w")
    (root / "dream.toml").write_text("history_tokens = 1\n", encoding="utf-8")
    ran(root, "run")
    assert (root / "memory/history.jsonl").read_bytes() == b""
    highest = max(seen(root))
    if LAGGING[lag] is not None:
        (root / "memory/.cursor").write_bytes(LAGGING[lag](highest))
    (root / "memory/.dream_cursor").unlink()
    assert ran(root, "note", "I keep goats", "--json").json["cursor"] == highest + 1
    assert max(seen(root)) == highest + 1
    assert (root / "memory/.cursor").read_text() == f"{highest + 1}\n"


def test_a_newest_line_that_was_damaged_after_its_kill_keeps_its_cursor(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    log = root / "memory/history.jsonl"
    highest = max(seen(root))
    (root / "memory/.cursor").write_bytes(b"%d\n" % (highest - 1))
    data = log.read_bytes()
    log.write_bytes(data[:-3] + b"#}\n")  # the last line is no JSON any more
    assert ran(root, "note", "I keep goats", "--json").json["cursor"] == highest + 1
