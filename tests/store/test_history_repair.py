"""A damaged log is mended without loss."""

from __future__ import annotations

from pathlib import Path

import orjson

from dream.models import Diagnostic
from tests.store.helpers_history import NOW, contents, cursors, fact, facts, history, log, names, row


def test_a_sound_log_is_not_touched(tmp_path: Path) -> None:
    log_ = history(tmp_path)
    log_.append(facts(3), now=NOW)
    before, inode = log(tmp_path).read_bytes(), log(tmp_path).stat().st_ino

    assert log_.repair(now=NOW) == 0
    assert (log(tmp_path).read_bytes(), log(tmp_path).stat().st_ino) == (before, inode)


def test_what_is_no_entry_is_set_aside_and_what_fell_behind_is_read_again(tmp_path: Path) -> None:
    log(tmp_path).write_bytes(
        row(1, "a") + b"rubbish \xff\n" + row(10, "b") + row(3, "late", session_key="s") + b"null\n" + row(10, "b")
    )
    log_ = history(tmp_path)

    assert log_.repair(now=NOW) == 4

    reports: list[Diagnostic] = []
    again = history(tmp_path, reports=reports)
    assert [(one.cursor, one.content) for one in again.after(0)] == [(1, "a"), (10, "b"), (11, "late")]
    assert again.last(1)[0].session == "s"
    assert reports == []
    kept = [orjson.loads(line) for line in (tmp_path / "memory/archive/set-aside.jsonl").read_bytes().splitlines()]
    assert [line.get("text", line.get("base64")) for line in kept] == [
        "cnViYmlzaCD/",
        "null",
        row(10, "b").decode().rstrip(),
    ]
    assert cursors(log_.append(facts(1), now=NOW)) == [12]
    assert names(tmp_path / "memory") == [".cursor", "archive", "format", "history.jsonl"]


def test_what_was_appended_together_stays_when_the_last_of_it_is_set_aside(tmp_path: Path) -> None:
    history(tmp_path).append([fact("1"), fact("2")], now=NOW)
    data = log(tmp_path).read_bytes()
    log(tmp_path).write_bytes(data[:-20] + b"}\n")
    log_ = history(tmp_path)

    assert log_.repair(now=NOW) == 1
    log_.append(facts(1), now=NOW)

    assert contents(list(history(tmp_path).after(0))) == ["1", "fact 1"]
