"""Whole conversations, as a person has them with an agent: what stands in memory after them, read as that person would.

Each file of talks/ holds the sittings (`## day`), then the lines that memory must hold (`=== file`) and the words that
no line may have (`!!!`): jokes, moods, pasted output, values that were corrected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest

from tests.embedded.asking import dreamt, facts, summary

TALKS = sorted((Path(__file__).parent / "talks").glob("*.txt"))
_SAID = re.compile(r"(user|assistant|tool): (.*)")


@dataclass
class Talk:
    """The sittings with their days, and what is expected."""

    sittings: list[tuple[date, list[tuple[str, str]]]] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    never: list[str] = field(default_factory=list)


def read(path: Path) -> Talk:
    talk, file = Talk(), ""
    for line in path.read_text(encoding="utf-8").splitlines():
        said = _SAID.match(line)
        if line.startswith("## 2"):
            talk.sittings.append((date.fromisoformat(line[3:]), []))
        elif line.startswith("=== "):
            file = line[4:]
            talk.lines[file] = []
        elif line.startswith("!!! "):
            talk.never.append(line[4:])
        elif file and line:
            talk.lines[file].append(line.removeprefix("- "))
        elif said:
            talk.sittings[-1][1].append((said[1], said[2]))
        elif talk.sittings and not file:
            who, text = talk.sittings[-1][1][-1]
            talk.sittings[-1][1][-1] = (who, f"{text}\n{line}")
    return talk


def remembered(talk: Talk) -> dict[str, str]:
    """Return the files after each sitting was consolidated and dreamt in turn."""
    files: dict[str, str] = {}
    for day, said in talk.sittings:
        files = dreamt(files, "\n".join(f"- {line}" for line in summary(said, day)))
    return files


@pytest.mark.parametrize("path", TALKS, ids=lambda path: path.stem)
def test_a_conversation_leaves_the_lines_that_its_user_would_have_written(path: Path) -> None:
    talk = read(path)
    files = remembered(talk)
    for file, lines in talk.lines.items():
        assert [line for line in lines if line not in facts(files[file])] == []
    told = [line for text in files.values() for line in facts(text)]
    assert [line for line in told for word in talk.never if word in line] == []
    assert len(told) == len(set(told))


@pytest.mark.parametrize("path", TALKS, ids=lambda path: path.stem)
def test_no_more_than_a_few_lines_are_others(path: Path) -> None:
    talk = read(path)
    expected = {line for lines in talk.lines.values() for line in lines}
    told = [line for text in remembered(talk).values() for line in facts(text)]
    assert len([line for line in told if line not in expected]) <= 4
