"""What is gone from the log or changed in it is named, for as long as nobody has accepted it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dream import Dream, Workspace
from dream.errors import HistoryError
from dream.models import Diagnostic
from tests.store.helpers_history import NOW, fact, facts, history, log, row

Told = tuple[int, str, str | None, tuple[int, int] | None]
Damage = Callable[[random.Random, list[Path]], None]
DAMAGES = 220


def filled(directory: Path, seed: int = 0) -> Path:
    """Make a log of some archive files, with nanobot's rows in it, batches of several, and a cursor of the dreams."""
    number = random.Random(seed)
    directory.mkdir(exist_ok=True)
    log_, said = history(directory), 0
    for _ in range(number.randint(3, 9)):
        span = (said, said + 2)
        log_.append([fact(f"Eve said {number.random()} 東京", "s", span), *facts(number.randint(0, 4))], now=NOW)
        said += 2
        if number.random() < 0.4:
            with log(directory).open("ab") as file:
                cursor = log_.last_cursor() + 1
                file.write(row(cursor, f"nanobot's {number.random()}"))
            (directory / "memory/.cursor").write_text(str(cursor))
        if number.random() < 0.4:
            log_.archive(log_.last_cursor(), number.choice([1, 40]), now=NOW)
    log_.append(facts(1, "last"), now=NOW)
    (directory / "memory/.dream_cursor").write_text(f"{log_.last_cursor() - number.randint(0, 2)}\n")
    log_.close()
    return directory


def told(directory: Path) -> set[Told]:
    """Return what a reader finds in the log."""
    with suppress(HistoryError):
        return {(one.cursor, one.content, one.session, one.span) for one in history(directory).after(0)}
    return set()


def flaws(directory: Path) -> list[str]:
    """Return what is wrong with the log, as the doctor and `status` are told."""
    try:
        return [str(flaw) for flaw in history(directory).flaws()]
    except HistoryError as error:
        return [str(error)]


def cut_a_line(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[number.randrange(len(lines))]
    path.write_bytes(b"".join(lines))


def cut_some_lines(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    lines = path.read_bytes().splitlines(keepends=True)
    first = number.randrange(len(lines))
    path.write_bytes(b"".join(lines[:first] + lines[first + number.randint(1, 4) :]))


def cut_the_end(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: -number.randint(1, len(lines))]))


def cut_anywhere(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    data = path.read_bytes()
    path.write_bytes(data[: number.randrange(len(data))])


def empty(number: random.Random, paths: list[Path]) -> None:
    number.choice(paths).write_bytes(b"")


def remove(number: random.Random, paths: list[Path]) -> None:
    number.choice(paths).unlink()


def change_bytes(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    data = bytearray(path.read_bytes())
    start = number.randrange(len(data))
    for place in range(start, min(len(data), start + number.randint(1, 5))):
        data[place] = number.choice(b'abc019{}",:\\ \n\xff')
    path.write_bytes(data)


def flip_a_bit(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    data = bytearray(path.read_bytes())
    data[number.randrange(len(data))] ^= 1 << number.randrange(8)
    path.write_bytes(data)


def fill_with_nuls(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    data = bytearray(path.read_bytes())
    start = number.randrange(len(data))
    stop = min(len(data), start + number.choice([1, 4, 60, 512, 4096]))
    data[start:stop] = bytes(stop - start)
    path.write_bytes(data)


def take_bytes_out(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    data = path.read_bytes()
    start = number.randrange(len(data))
    path.write_bytes(data[:start] + data[start + number.choice([1, 7, 100, 700]) :])


def write_one_line_over_another(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number.randrange(len(lines))] = number.choice(lines)
    path.write_bytes(b"".join(lines))


def say_something_else(number: random.Random, paths: list[Path]) -> None:
    path = number.choice(paths)
    lines = path.read_bytes().splitlines(keepends=True)
    place = number.randrange(len(lines))
    lines[place] = json.dumps({**json.loads(lines[place]), "content": "Eve said nothing"}).encode() + b"\n"
    path.write_bytes(b"".join(lines))


KINDS: list[Damage] = [
    cut_a_line,
    cut_some_lines,
    cut_the_end,
    cut_anywhere,
    empty,
    remove,
    change_bytes,
    flip_a_bit,
    fill_with_nuls,
    take_bytes_out,
    write_one_line_over_another,
    say_something_else,
]


def files(directory: Path) -> list[Path]:
    return [
        path
        for path in [*sorted((directory / "memory/archive").glob("history-*")), log(directory)]
        if path.stat().st_size
    ]


def damaged(directory: Path, seed: int) -> tuple[set[Told], set[Told]]:
    """Do one random damage; return what stood in the log before, and what stands there now."""
    number = random.Random(f"damage {seed}")
    before = told(filled(directory, seed))
    if number.random() < 0.5:
        (directory / ".dream/index.sqlite").unlink(missing_ok=True)
    KINDS[seed % len(KINDS)](number, files(directory))
    return before, told(directory)


def nothing_gone_is_called_healthy(directory: Path, seed: int) -> bool:
    """Damage a log, go on, and mend it; return whether something was gone."""
    before, after = damaged(directory, seed)
    if gone := before - after:
        assert flaws(directory), f"{seed}: {gone}"
    # Going on neither hides the loss nor takes anything more.
    reports: list[Diagnostic] = []
    history(directory, reports=reports).append(facts(1, "next"), now=NOW)
    assert not gone or flaws(directory), f"{seed}: hidden by an append: {gone}"
    assert after - told(directory) == set()
    # What was named is mended, and stays so.
    history(directory).repair(now=NOW)
    assert flaws(directory) == [], seed
    history(directory).append(facts(2, "later"), now=NOW)
    assert flaws(directory) == [], seed
    return bool(gone)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_no_random_damage_is_called_healthy(tmp_path: Path, seed: int) -> None:
    nothing_gone_is_called_healthy(tmp_path, seed)


@pytest.mark.long
def test_of_many_random_damages_none_is_called_healthy(tmp_path: Path) -> None:
    gone = sum(nothing_gone_is_called_healthy(tmp_path / str(seed), seed) for seed in range(4 * DAMAGES))

    assert gone >= DAMAGES


def test_a_sound_log_is_healthy_with_rows_of_others_and_moves_between(tmp_path: Path) -> None:
    for seed in range(10):
        assert flaws(filled(tmp_path / str(seed), seed)) == []


def test_a_program_that_writes_the_rows_anew_changes_nothing_in_them(tmp_path: Path) -> None:
    filled(tmp_path)
    for path in files(tmp_path):  # as nanobot does when it drops the oldest
        rows = map(json.loads, path.read_bytes().splitlines())
        path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")
    before = told(tmp_path)

    assert flaws(tmp_path) == []
    history(tmp_path).append(facts(1), now=NOW)
    assert flaws(tmp_path) == []
    assert before < told(tmp_path)


def test_a_line_that_was_changed_is_not_believed_and_its_session_is_read_again_from_there(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append([fact("before", "s", (0, 4)), fact("The doctor is not Eve but Hans", "s", (4, 9))], now=NOW)
    log(tmp_path).write_bytes(log(tmp_path).read_bytes().replace(b"not Eve but Hans", b"Eve\0\0\0\0\0\0\0\0\0\0\0\0\0"))
    reports: list[Diagnostic] = []
    again = history(tmp_path, reports=reports)

    assert [one.content for one in again.after(0)] == ["before"]
    assert again.position("s") == 4
    assert [one.text for one in reports] == ["the line holds NUL bytes"]


def test_what_another_program_had_lost_before_is_not_named(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(row(501, "after its oldest were dropped") + row(503, "and another"))
    assert flaws(tmp_path) == [
        "memory/history.jsonl:1: the entries 1–500 are missing",
        "memory/history.jsonl:2: entry 502 is missing",
    ]

    history(tmp_path).accept_losses(now=NOW)

    assert flaws(tmp_path) == []
    log(tmp_path).write_bytes(row(501, "after its oldest were dropped"))
    assert flaws(tmp_path) == ["memory/history.jsonl: entry 503 is missing at its end"]


def test_a_history_begun_anew_repeats_no_cursor_that_was_dreamt_and_its_notes_are_dreamt(tmp_path: Path) -> None:
    memory = Dream(Workspace.create(tmp_path, now=NOW))
    memory.note("I like plums", now=NOW)
    memory.run(now=NOW)
    for name in (".cursor", ".dream_cursor", "history.jsonl"):
        (tmp_path / "memory" / name).unlink()
    workspace = Workspace.open(tmp_path)
    assert "missing at its end" in str(workspace.history.flaws())
    assert Dream(workspace).note("I live in Bergen", now=NOW).cursor == 2
    Dream(workspace).run(now=NOW)
    assert "Bergen" in workspace.read_file("USER.md")
