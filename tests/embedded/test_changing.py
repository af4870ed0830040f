"""Facts that change, and facts that stand beside others: invented, in four languages, told a week apart or in one talk.

changing/changed.txt and changing/beside.txt hold a case a line, under the language they are in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import takewhile
from pathlib import Path

import pytest

from tests.embedded.asking import dreamt, facts, said

SAID = date(2026, 3, 2)
CASES = Path(__file__).parent / "changing"
LANGUAGES = ("en", "de", "zh", "ja")
LEAST = 95  # per cent of a language's cases


@dataclass(frozen=True)
class Case:
    """What is said, what is said later, and what of both memory must hold or must not."""

    first: str
    then: str
    stands: tuple[str, ...]
    gone: str = ""

    def right(self, lines: list[str]) -> bool:
        """Say whether each of `stands` is in some line and no line without it tells what is gone."""
        there = all(any(key in line for line in lines for key in either.split("|")) for either in self.stands)
        told = [line for line in lines if not any(key in line for key in self.stands[0].split("|"))]
        return there and not (self.gone and any(self.gone in line for line in told))


def cases(name: str, language: str) -> list[Case]:
    """Read the cases of one language."""
    lines = (CASES / f"{name}.txt").read_text(encoding="utf-8").partition(f"## {language}\n")[2].splitlines()
    found = []
    for line in takewhile(lambda line: not line.startswith("#"), lines):
        first, then, one, other = line.split(" | ")
        found.append(Case(first, then, (one,), other) if name == "changed" else Case(first, then, (one, other)))
    return found


def remembered(case: Case, *, apart: bool) -> list[str]:
    """Return the lines of memory after both were said, in one talk or a week apart."""
    if not apart:
        return _lines(dreamt({}, _summary([case.first, case.then], SAID)))
    files = dreamt({}, _summary([case.first], SAID))
    return _lines(dreamt(files, _summary([case.then], SAID + timedelta(days=7))))


def _summary(texts: list[str], day: date) -> str:
    return "\n".join(f"- {line}" for line in said(*texts, day=day)) or "(nothing)"


def _lines(files: dict[str, str]) -> list[str]:
    return [line for text in files.values() for line in facts(text)]


def wrong(name: str, language: str, *, apart: bool) -> tuple[list[str], int]:
    """Return the cases that went wrong, with what memory holds then, and how many there are."""
    found = cases(name, language)
    bad = [
        f"{case.first} / {case.then} → {lines}"
        for case in found
        if not case.right(lines := remembered(case, apart=apart))
    ]
    return bad, len(found)


@pytest.mark.parametrize("apart", [True, False], ids=["a week apart", "in one talk"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["changed", "beside"])
def test_what_changed_is_current_and_what_did_not_stays(name: str, language: str, apart: bool) -> None:
    bad, whole = wrong(name, language, apart=apart)
    assert whole >= 8
    assert 100 * len(bad) <= (100 - LEAST) * whole, "\n".join(bad)
