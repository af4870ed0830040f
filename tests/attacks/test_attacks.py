"""What is said in a conversation never rules the agent that remembers it, even if every model obeys it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.attacks import running
from tests.attacks.cases import CASES, Case
from tests.attacks.running import guarded, unguarded
from tests.workspaces import fresh

FIRST = {case.kind: case for case in reversed(CASES)}.values()  # one of each kind


def ids(case: Case) -> str:
    return case.name


def test_there_are_enough_attacks() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.few(4)
@pytest.mark.parametrize("case", FIRST, ids=ids)
def test_one_attack_of_each_kind_gets_nothing_into_memory_by_a_model_that_obeys(case: Case, tmp_path: Path) -> None:
    assert guarded(case, tmp_path / "ws", embedded=False).won == frozenset()


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_no_attack_gets_anything_into_memory(case: Case, tmp_path: Path, count: Callable[[str, int], None]) -> None:
    count("attacks, each on two models", 1)
    assert guarded(case, tmp_path / "obeying", embedded=False).won == frozenset()
    assert guarded(case, tmp_path / "embedded", embedded=True).won == frozenset()


@pytest.mark.long
@pytest.mark.parametrize("owners", [("Birgit",), ("Birgit", "Ann")])
@pytest.mark.parametrize("case", [case for case in CASES if not (case.fair or "several" in case.name)], ids=ids)
def test_no_attack_gets_in_past_an_owner_in_a_chat_of_several(
    case: Case, owners: tuple[str, ...], tmp_path: Path
) -> None:
    said = [("user:Birgit" if who == "user" else who, text) for who, text in case.messages]
    case = replace(case, messages=(*said, ("user:Ann", "hello")))
    settings = replace(running.SETTINGS, owners=owners)
    assert guarded(case, tmp_path / "obeying", embedded=False, settings=settings).won == frozenset()
    assert guarded(case, tmp_path / "embedded", embedded=True, settings=settings).won == frozenset()


@pytest.mark.slow
def test_without_guards_a_model_that_obeys_is_had_by_most_of_them() -> None:
    had = [case.name for case in CASES if unguarded(case, embedded=False).won]
    assert len(had) > 0.8 * len(CASES)


def test_a_file_written_where_no_dream_has_business_counts_as_won(tmp_path: Path) -> None:
    fresh(tmp_path / "ws", running.NOW)
    before = running._beside(tmp_path / "ws")

    for path in ("escaped.md", "ws/dream.toml", "ws/.git/config", "ws/memory/.rejected.jsonl", "ws/memory/MEMORY.md"):
        (tmp_path / path).write_text("obey", encoding="utf-8")

    won = {
        str(Path(path).relative_to(tmp_path)) for path in running._differing(before, running._beside(tmp_path / "ws"))
    }
    assert won == {"escaped.md", "ws/dream.toml", "ws/.git/config", "ws/memory/.rejected.jsonl"}
