"""A person saves a memory file before, during and after a dream: their text is there afterwards, and theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dream.workspace import files
from tests.faults.support import TYPED, Checker, called, copy, git, memory
from tests.faults.test_crash import Count
from tests.faults.test_misbehaviour import EDIT, FACT, FOUND
from tests.provider import Body, Provider, Reply, text, tools

LINE = "- I play the cello, not the oboe\n"
Save = Callable[[Path, str], None]


def in_place(path: Path, words: str) -> None:
    path.write_text(words, encoding="utf-8")


def by_a_new_file(path: Path, words: str) -> None:
    fresh = path.with_name(f"{path.name}~")
    fresh.write_text(words, encoding="utf-8")
    fresh.replace(path)


def type_line(root: Path, file: str, save: Save) -> None:
    path = root / file
    save(path, path.read_text(encoding="utf-8") + LINE)


class AtTheKeyboard:
    """Saves once, at the `at`-th checkpoint; `reached` counts them all."""

    def __init__(self, root: Path, file: str, save: Save, at: int) -> None:
        self.reached = 0
        self._deed = lambda: type_line(root, file, save)
        self._at = at

    def __call__(self, _: str) -> None:
        self.reached += 1
        if self.reached == self._at:
            self._deed()


def check_theirs(root: Path, file: str, line: str = LINE) -> None:
    """See that the line stands, in commits of the person's only, and that taking the dreams back leaves it there."""
    assert line in memory(root)[file]
    authors = git(root, "log", "-S", line.strip(), "--format=%an %s", "--", file).splitlines()
    assert authors
    assert all(one.startswith("person hand: ") for one in authors), authors
    for sha in git(root, "log", "--grep=^Dream-Kind: dream$", "--format=%H").split()[:2]:
        assert called(root, "restore", sha, "--yes").status in (0, 3)
        assert line in memory(root)[file]


def save_at(pattern: Path, root: Path, monkeypatch: pytest.MonkeyPatch, file: str, save: Save, at: int) -> bool:
    """Dream with a person saving `file` at one checkpoint; tells whether the dream got that far."""
    copy(pattern, root)
    person = AtTheKeyboard(root, file, save, at)
    with monkeypatch.context() as seam:
        seam.setattr(files, "checkpoint", person)
        done = called(root, "run")
    assert done.status in (0, 3), done.err
    assert called(root, "run").status in (0, 3)
    if person.reached < at:
        return False
    if LINE not in git(root, "show", f"HEAD:{file}"):  # saved after all was done: the next command commits it
        called(root, "note", "something else")
        called(root, "run")
    Checker(root).check()
    check_theirs(root, file)
    return True


def save_everywhere(
    pattern: Path, root: Path, monkeypatch: pytest.MonkeyPatch, file: str, save: Save, first: int, stride: int
) -> int:
    tried = 0
    while save_at(pattern, root, monkeypatch, file, save, first + tried * stride):
        tried += 1
    return tried


@pytest.mark.slow
def test_a_save_between_two_steps(pattern: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert save_at(pattern, tmp_path / "w", monkeypatch, "USER.md", by_a_new_file, 32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "save", "first", "stride"), [("USER.md", by_a_new_file, 3, 29), ("memory/MEMORY.md", in_place, 9, 31)]
)
def test_a_save_between_some_steps(
    pattern: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, save: Save, first: int, stride: int
) -> None:
    assert save_everywhere(pattern, tmp_path / "w", monkeypatch, file, save, first, stride) >= 2


@pytest.mark.long
@pytest.mark.parametrize("save", [in_place, by_a_new_file])
@pytest.mark.parametrize("file", ["SOUL.md", "USER.md", "memory/MEMORY.md"])
def test_a_save_between_any_two_steps(
    pattern: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, save: Save, count: Count
) -> None:
    tried = save_everywhere(pattern, tmp_path / "w", monkeypatch, file, save, 1, 1)
    count("saves of a person between two steps of a dream", tried)
    assert tried > 30


@pytest.mark.slow
@pytest.mark.parametrize("phase", [1, 2])
def test_a_save_while_the_model_thinks(
    pattern: Path, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, phase: int
) -> None:
    root = copy(pattern, tmp_path / "w")
    for name, value in {"MODEL": "openai/scripted", "API_BASE": provider.base, "API_KEY": "k"}.items():
        monkeypatch.setenv(f"DREAM_{name}", value)
    typed = []

    def answer(body: Body) -> Reply:
        now = 2 if "tools" in body else 1
        if now == phase and not typed:
            typed.append(now)
            type_line(root, "USER.md", in_place)
        return tools(("edit_file", EDIT)) if now == 2 else text(FOUND)

    provider.script(answer)
    done = called(root, "run")
    assert done.status in (0, 3), done.err
    # Both put a line at the end of the file, so theirs stands and the dream's waits; elsewhere both would stand.
    assert FACT in memory(root)["USER.md"] + (root / "memory/.pending.jsonl").read_text(encoding="utf-8")
    check_theirs(root, "USER.md")
    check_theirs(root, "SOUL.md", TYPED)


def test_only_a_restore_that_names_it_takes_a_hand_edit_back(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    called(root, "run")
    theirs = git(root, "log", "-S", TYPED.strip(), "--format=%H", "--", "SOUL.md").split()[0]
    assert called(root, "restore", theirs, "--only", "--yes").status == 0
    assert TYPED not in memory(root)["SOUL.md"]
