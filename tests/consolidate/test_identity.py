"""Each message is archived exactly once, whatever becomes of the files that hold it."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.consolidate.consolidator import Consolidator
from dream.errors import ModelRejected
from dream.history.history import History
from dream.models import Message
from dream.settings import Settings
from tests.consolidate.conftest import NOW, SAID, open_history
from tests.scripted import ScriptedModel

KEY = "nanobot:telegram:1"
SETTINGS = Settings(timezone="UTC")


def message(number: int) -> Message:
    role = "user" if number % 2 == 0 else "assistant"
    at = SAID + timedelta(minutes=number)
    return Message(role, f"«{number}» said", at, id=f"a-long-identity-{number}")


def messages(*numbers: int) -> list[Message]:
    return [message(number) for number in numbers]


def read(history: History, said: Iterable[Message], key: str = KEY) -> set[str]:
    """Consolidate as a new process would; return the keys that something was appended to."""
    model = ScriptedModel(ModelRejected("no"))
    done = Consolidator(history, model, SETTINGS).consolidate(key, said, now=NOW)
    return {entry.session or "" for entry in done.entries}


def archived(history: History) -> Counter[int]:
    text = "\n".join(entry.content for entry in history.after(0))
    return Counter(int(number) for number in re.findall(r"«(\d+)»", text))


def once(*numbers: int) -> Counter[int]:
    return Counter(numbers)


def test_a_file_that_was_started_anew_under_its_key_goes_on_behind_what_history_holds(history: History) -> None:
    read(history, messages(*range(6)))
    first = read(history, messages(10, 11))
    second = read(history, messages(10, 11, 12, 13, 14, 15, 16))
    assert first == second == {KEY}
    assert archived(history) == once(*range(6), *range(10, 17))
    assert history.position(KEY) == 13


def test_what_an_older_version_filed_under_a_key_of_its_own_is_not_archived_again(history: History) -> None:
    read(history, messages(*range(6)))
    read(history, messages(10, 11), f"{KEY}~abcd_-12")
    read(history, messages(10, 11, 12))
    assert archived(history) == once(*range(6), 10, 11, 12)


def test_two_files_with_one_key_both_go_on(history: History) -> None:
    trunk, fork = list(range(5)), [0, 1, 2, 20, 21]
    for more in range(3):
        assert read(history, messages(*trunk, *range(5, 6 + more))) == {KEY}
        assert read(history, messages(*fork, *range(22, 23 + more))) == {KEY}
    assert archived(history) == once(*range(8), *range(20, 25))


def test_a_session_that_was_cut_and_goes_on_loses_nothing(history: History) -> None:
    read(history, messages(*range(8)))
    assert read(history, messages(*range(4))) == set()
    read(history, messages(*range(4), 30, 31))
    read(history, messages(*range(4), 30, 31, 32, 33, 34, 35))
    assert archived(history) == once(*range(8), *range(30, 36))


def test_what_went_on_elsewhere_and_came_back_is_not_archived_twice(history: History) -> None:
    read(history, messages(*range(8)))
    read(history, messages(0, 1, 2, 40, 41))
    read(history, messages(*range(8), 40, 41, 42))
    assert archived(history) == once(*range(8), 40, 41, 42)


def test_a_fork_with_a_key_of_its_own_repeats_nothing_of_its_origin(history: History) -> None:
    read(history, messages(*range(6)))
    assert read(history, messages(*range(4), 50, 51), "claude-code:fork") == {"claude-code:fork"}
    read(history, messages(*range(4), 50, 51, 52), "claude-code:fork")
    assert archived(history) == once(*range(6), 50, 51, 52)
    assert history.position("claude-code:fork") == 7


def test_two_sessions_that_begin_alike_without_a_time_are_two(history: History) -> None:
    hello = Message("user", "«1» hello", id="~1234")
    read(history, [hello], "openai:a")
    read(history, [hello], "openai:b")
    assert archived(history) == Counter({1: 2})


def test_a_fork_that_begins_in_the_middle_of_its_origin_repeats_nothing_of_it(history: History) -> None:
    read(history, messages(*range(6)))
    assert read(history, messages(3, 4, 5, 50), "claude-code:fork") == {"claude-code:fork"}
    read(history, messages(2, 50, 60), "claude-code:fork-of-both")
    assert archived(history) == once(*range(6), 50, 60)
    assert history.position("claude-code:fork-of-both") == 3


@pytest.mark.parametrize("session", ["telegram:1", "telegram:2"])
def test_what_the_agent_has_summarised_itself_is_not_summarised_again(history: History, session: str) -> None:
    row = {"cursor": 1, "timestamp": "2026-04-03 00:02", "content": "- theirs", "session_key": session}
    history.path.write_text(json.dumps(row) + "\n")
    said = [replace(message(number), summarised=number < 4) for number in range(6)]
    read(history, said)
    assert archived(history) == (once(4, 5) if session == "telegram:1" else once(*range(6)))
    assert history.position(KEY) == 6
    read(history, [*said, message(6)])
    assert archived(history)[6] == 1


@pytest.mark.parametrize(("minute", "theirs"), [(2, 3), (9, 4)])
def test_what_it_summarised_without_saying_of_which_session_is_told_by_its_time(
    history: History, minute: int, theirs: int
) -> None:
    then = (SAID + timedelta(minutes=minute)).astimezone().strftime("%Y-%m-%d %H:%M")
    row = {"cursor": 1, "timestamp": then, "content": "- theirs"}
    history.path.write_text(json.dumps(row) + "\n")
    said = [replace(message(number), summarised=number < 4) for number in range(6)]
    read(history, said)
    assert archived(history) == once(*range(theirs, 6))
    assert history.position(KEY) == 6


def test_messages_that_are_alike_count_as_often_as_they_were_said(history: History) -> None:
    said = [Message("user", "«1» go on") for _ in range(4)]
    read(history, said[:2])
    read(history, said)
    read(history, [message(60), *said, *said[:1]])
    assert archived(history) == Counter({1: 5, 60: 1})


def test_an_iterator_that_can_be_read_once_will_do(history: History) -> None:
    read(history, messages(*range(6)))
    read(history, iter(messages(70, 71)))
    assert archived(history) == once(*range(6), 70, 71)


def test_entries_that_do_not_say_which_messages_they_stand_for_are_trusted_by_their_position(history: History) -> None:
    read(history, messages(*range(4)))
    path = history.path
    path.write_bytes(re.sub(rb',"(?:ids|prefix|checksum)":"[^"]*"', b"", path.read_bytes()))
    with open_history(path.parent.parent) as other:
        assert read(other, messages(80, 81, 82, 83, 84)) == {KEY}
        assert archived(other) == once(*range(4), 84)


def test_identities_outlive_the_move_to_the_archive_and_the_loss_of_the_cache(tmp_path: Path) -> None:
    with open_history(tmp_path) as history:
        read(history, messages(*range(6)))
        read(history, messages(90, 91))
        history.archive(history.last_cursor(), 1, now=NOW)
    (tmp_path / ".dream" / "index.sqlite").unlink(missing_ok=True)
    with open_history(tmp_path) as history:
        assert read(history, messages(*range(6))) == set()
        read(history, messages(90, 91, 92))
        assert archived(history) == once(*range(6), 90, 91, 92)


@dataclass
class World:
    """Files of one session key, and every message that was in one of them when it was read."""

    files: list[list[int]] = field(default_factory=lambda: [[]])
    given: int = 0
    seen: set[int] = field(default_factory=set)

    def new(self, count: int) -> list[int]:
        self.given += count
        return list(range(self.given - count, self.given))

    def act(self, what: str, file: int, place: int, count: int) -> None:
        """Do to a file what agents do."""
        rows = self.files[file % len(self.files)]
        at = place % (len(rows) + 1)
        if what == "append":
            rows += self.new(count)
        elif what == "cut":
            del rows[at:]
        elif what == "restart":
            rows[:] = self.new(count)
        elif what == "rewrite":
            rows[:at] = self.new(count)
        elif what == "rewind":
            rows[at:] = self.new(count)
        elif what == "drop":
            del rows[at : at + count]
        elif what == "fork":
            self.files.append([*rows[:at], *self.new(count)])
        elif what == "merge":
            other = self.files[place % len(self.files)]
            rows += [number for number in other if number not in rows]


ACTS = ("append", "append", "append", "cut", "restart", "rewrite", "rewind", "drop", "fork", "merge")
steps = st.tuples(st.sampled_from(ACTS), st.integers(0, 3), st.integers(0, 12), st.integers(0, 4), st.booleans())


@given(st.lists(steps, max_size=14))
def test_each_message_is_archived_exactly_once(acts: list[tuple[str, int, int, int, bool]]) -> None:
    world = World()
    with tempfile.TemporaryDirectory() as directory, open_history(Path(directory)) as history:
        for what, file, place, count, is_read in [*acts, ("append", 0, 0, 1, True)]:
            world.act(what, file, place, count)
            for rows in world.files if is_read else ():
                world.seen.update(rows)
                read(history, messages(*rows))
        assert archived(history) == Counter(world.seen)
        for rows in world.files:
            assert read(history, messages(*rows)) == set()
