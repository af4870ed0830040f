"""The token budget: the oldest dreamt entries move, nothing is deleted, a crash in between shows nothing twice."""

from __future__ import annotations

import tempfile
from pathlib import Path
from shutil import rmtree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.history.history import History
from dream.models import NewEntry
from tests.store.helpers_history import NOW, contents, cursors, fact, history, log


def filled(directory: Path, count: int = 100) -> History:
    """Make a log of entries of ten tokens each, in a session."""
    log_ = history(directory)
    for number in range(count):
        log_.append([fact(f"fact {number + 1}", "s", (number, number + 1))], now=NOW)
    return log_


def test_the_oldest_dreamt_entries_move_until_history_is_within_its_budget(tmp_path: Path) -> None:
    log_ = filled(tmp_path)
    before = log(tmp_path).read_bytes()

    moved = log_.archive(100, 500, now=NOW)

    archived = tmp_path / "memory/archive/history-1-55.jsonl"
    assert moved == 55
    assert log_.size() == (45, 450)
    assert archived.read_bytes() + log(tmp_path).read_bytes() == before


def test_within_its_budget_nothing_moves(tmp_path: Path) -> None:
    log_ = filled(tmp_path)

    assert log_.archive(100, 1000, now=NOW) == 0
    assert not (tmp_path / "memory/archive").exists()


@pytest.mark.parametrize("dreamt", [0, 1, 20])
def test_an_undreamt_entry_never_moves(tmp_path: Path, dreamt: int) -> None:
    log_ = filled(tmp_path)

    assert log_.archive(dreamt, 10, now=NOW) == dreamt
    assert log_.size() == (100 - dreamt, 1000 - 10 * dreamt)


def test_archived_entries_are_found_as_before(tmp_path: Path) -> None:
    log_ = filled(tmp_path)
    log_.archive(40, 800, now=NOW)
    log_.archive(60, 500, now=NOW)

    for reader in (log_, history(tmp_path)):
        assert cursors(list(reader.after(0))) == list(range(1, 101))
        assert cursors(list(reader.after(10))) == list(range(11, 101))
        assert cursors(reader.between(25, 70)) == list(range(25, 71))
        assert cursors(reader.last(95)) == list(range(6, 101))
        assert (reader.position("s"), reader.last_cursor()) == (100, 100)
    assert cursors(log_.append([fact("next", "s", (100, 101))], now=NOW)) == [101]


def test_when_everything_is_archived_cursors_go_on(tmp_path: Path) -> None:
    filled(tmp_path).archive(100, 0, now=NOW)
    for name in ("memory/.cursor", ".dream/index.sqlite"):
        (tmp_path / name).unlink(missing_ok=True)

    assert log(tmp_path).read_bytes() == b""
    assert history(tmp_path).position("s") == 100
    assert cursors(history(tmp_path).append([fact("next")], now=NOW)) == [101]


def test_a_crash_between_archive_and_log_shows_nothing_twice_and_is_finished_by_the_next_append(tmp_path: Path) -> None:
    log_ = filled(tmp_path)
    before = log(tmp_path).read_bytes()
    log_.archive(60, 500, now=NOW)
    rest = log(tmp_path).read_bytes()
    log(tmp_path).write_bytes(before)

    again = history(tmp_path)
    assert cursors(list(again.after(0))) == list(range(1, 101))
    assert cursors(list(again.after(30))) == list(range(31, 101))
    assert cursors(again.last(100)) == list(range(1, 101))
    assert again.size() == (45, 450)
    assert again.archive(60, 10, now=NOW) == 5
    assert rest.endswith(log(tmp_path).read_bytes())
    assert cursors(list(again.after(0))) == list(range(1, 101))


def test_a_reader_that_began_before_two_moves_sees_every_entry_once(tmp_path: Path) -> None:
    log_ = filled(tmp_path)
    reading = log_.after(0)
    first = next(reading)
    log_.archive(30, 500, now=NOW)
    log_.archive(60, 300, now=NOW)

    assert [first.cursor, *cursors(list(reading))] == list(range(1, 101))


def test_a_line_that_is_no_entry_moves_along_and_stays_on_disk(tmp_path: Path) -> None:
    log_ = filled(tmp_path, 2)
    with log(tmp_path).open("ab") as file:
        file.write(b"rubbish\n")
    log_.append([fact("three"), fact("four")], now=NOW)
    log_.archive(3, 0, now=NOW)

    assert b"rubbish\n" in (tmp_path / "memory/archive/history-1-3.jsonl").read_bytes()
    assert contents(list(log_.after(0))) == ["fact 1", "fact 2", "three", "four"]


def test_another_object_appends_behind_a_move(tmp_path: Path) -> None:
    one, other = filled(tmp_path), history(tmp_path)
    other.append([fact("101")], now=NOW)
    one.archive(50, 100, now=NOW)

    assert cursors(other.append([fact("102")], now=NOW)) == [102]
    assert cursors(list(one.after(98))) == [99, 100, 101, 102]


SESSIONS = ("a", "a~00000001", "a~00000002", "b", "c")
STEPS = st.lists(
    st.tuples(st.sampled_from(SESSIONS), st.integers(1, 3), st.sampled_from([None, None, 10, 35, 90])),
    min_size=1,
    max_size=25,
)


def spoken(session: str, start: int, count: int) -> NewEntry:
    """Make a summary of `count` messages of `session` from `start` on; two sessions begin with the same message."""
    ids = "".join(
        f"{'same' if session in 'bc' and not number else session[-4:]:x>4}{number:04}"
        for number in range(start, start + count)
    )
    return NewEntry(
        "summary", f"{session} from {start}", session, (start, start + count), 10, None, ids, f"{start + count:08}"
    )


@given(STEPS)
def test_what_is_known_after_moves_is_what_a_new_reading_finds(steps: list[tuple[str, int, int | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        grown = history(Path(folder))
        for session, count, budget in steps:
            entry = spoken(session, grown.position(session), count)
            grown.append([entry], now=NOW)
            if budget is not None:
                grown.archive(grown.last_cursor(), budget, now=NOW)
        again = history(Path(folder))
        rmtree(Path(folder) / ".dream")
        new = history(Path(folder))

        assert known(grown) == known(again) == known(new)
        for file in (Path(folder) / "memory").glob("archive/history-*.jsonl"):
            file.unlink()  # by a person: what was known of it goes too
        rmtree(Path(folder) / ".dream", ignore_errors=True)
        assert known(grown) == known(again) == known(new) == known(history(Path(folder)))


def known(log_: History) -> tuple[object, ...]:
    """Return all that a log knows without being read whole."""
    firsts = ["same0000", *(f"{session[-4:]:x>4}0000" for session in SESSIONS)]
    return (
        log_.size(),
        log_.positions(),
        log_.tails(SESSIONS),
        log_.last_cursor(),
        log_.holders(firsts),
        cursors(list(log_.after(3))),
    )
