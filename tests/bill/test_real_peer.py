"""The real peer, where it is installed: `NANOBOT_PYTHON` names an interpreter that has it, else this one is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dream.models import MEMORY_FILES, Finding
from tests.benchmarks import bill, nanobot
from tests.benchmarks.nanobot import LAST, Missing, Nanobot
from tests.quality import datasets


@pytest.fixture
def real() -> Iterator[Nanobot]:
    try:
        peer = Nanobot(os.environ.get("NANOBOT_PYTHON", sys.executable))
    except Missing as missing:
        pytest.skip(str(missing))
    with peer:
        yield peer


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", ["/nowhere/python", sys.executable])
def test_a_peer_that_is_not_there_is_one_sentence_that_says_how_to_install_it(interpreter: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "log", "--quick", "--peer", interpreter],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONSAFEPATH": "", "PATH": "/nowhere"},
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"pip install {LAST}" in done.stderr
    assert interpreter in done.stderr


def test_an_edit_for_the_peer_names_a_text_that_stands_once(tmp_path: Path) -> None:
    for file in MEMORY_FILES:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("# Notes\n\n- Mei says - Likes tea\n- Likes tea\n- Has a cat\n", encoding="utf-8")
    wanted = {
        1: Finding("USER.md", "Likes tea", (1,)),
        2: Finding("SOUL.md", "Likes tea", (1,), remove=True),
        3: Finding("SOUL.md", "Has a cat", (1,), remove=True),
        4: Finding("memory/MEMORY.md", "The harbour is open on Sundays", (1,)),
    }

    made = nanobot.edits(wanted, tmp_path)

    assert made == [
        {
            "path": "SOUL.md",
            "old_text": "- Mei says - Likes tea\n- Likes tea\n",
            "new_text": "- Mei says - Likes tea\n",
        },
        {"path": "SOUL.md", "old_text": "- Has a cat\n", "new_text": ""},
        {
            "path": "memory/MEMORY.md",
            "old_text": "- Has a cat\n",
            "new_text": "- Has a cat\n- The harbour is open on Sundays\n",
        },
    ]


def test_the_real_store_reads_what_it_wrote(tmp_path: Path, real: Nanobot) -> None:
    assert real.append(tmp_path, "Moved to Tokyo", 120) > 0
    assert real.after(tmp_path, 0, 20) > 0
    assert real.after(tmp_path, 20, 100) > 0
    with pytest.raises(AssertionError):
        real.after(tmp_path, 21, 100)


def test_our_equivalent_of_the_peer_costs_no_more_than_the_real_one_and_hardly_less(
    tmp_path: Path, real: Nanobot
) -> None:
    if not real.two_phase:
        pytest.skip(f"nanobot-ai {real.version} has no dream in two phases")
    paid = bill.dreamt(datasets.generate("en", sittings=6), tmp_path / "ws", real)

    assert paid.nanobot is not None
    assert paid.peer <= paid.nanobot[0] <= 1.1 * paid.peer
    assert paid.nothing_new[1] <= paid.nanobot[1] <= 1.1 * paid.nothing_new[1]
    assert paid.ours <= bill.AIM * paid.nanobot[0]
