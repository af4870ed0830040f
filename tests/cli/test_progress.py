"""Long work says how far it is, how long it will take and whom it waits for; what it prints stays apart from that."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dream.cli import output
from dream.cli.output import Pace
from dream.reports import Step
from tests.cli.commands import command, dream, environment, on_a_terminal
from tests.provider import Provider, text

NOTES = ("I live in Kyoto", "I like tea", "My cat is called Momo")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def noted(fresh: Path) -> Path:
    """A workspace with three entries, each a dream of its own."""
    for note in NOTES:
        dream("note", note, "-w", fresh)
    (fresh / "dream.toml").write_text("batch_tokens = 5\n", encoding="utf-8")
    return fresh


def test_the_time_that_is_left_is_reckoned_from_the_work_that_is_done() -> None:
    clock = Clock()
    pace = Pace(Step("reading"), clock)
    pace.see(Step("reading 1 of 4: a", 0.0))
    assert pace.text() == "reading 1 of 4: a"
    clock.seconds = 20
    pace.see(Step("reading 2 of 4: b", 0.25))
    assert pace.text() == "reading 2 of 4: b · about 60 s left"
    clock.seconds = 1_000
    pace.see(Step("reading 3 of 4: c", 0.5))
    assert pace.text() == "reading 3 of 4: c · about 17 min left"


def test_a_model_that_is_waited_for_is_named_until_the_next_step() -> None:
    clock = Clock()
    pace = Pace(Step("dreaming entry 1 of 1"), clock)
    pace.see(Step("openai/m", waits=True))
    clock.seconds = 12
    assert pace.text() == "dreaming entry 1 of 1 · waiting for openai/m, 12 s"
    pace.see(Step("dreaming entry 2 of 2"))
    assert pace.text() == "dreaming entry 2 of 2"


def test_each_dream_is_a_line_and_its_findings_are_for_who_asks(noted: Path) -> None:
    done = dream("run", "--max-batches", 2, "-w", noted)

    lines = [line.partition("  ")[2] for line in done.out.splitlines()[:2]]
    assert lines == [f"entry {number}  1 finding → {file} +1 −0" for number, file in ((1, "USER.md"), (2, "USER.md"))]
    assert "[USER]" not in done.out
    assert "  + [" in dream("run", "--verbose", "-w", noted).out


def test_quiet_says_only_what_is_wrong(noted: Path, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": "I moved to Oslo."}]))
    for words in (["consolidate", tmp_path / "chat.json"], ["run"], ["run"], ["nightly"]):
        done = dream(*words, "--quiet", "-w", noted)
        assert (done.status, done.out, done.err) == (0, "", "")

    dream("note", "I moved to Rome", "-w", noted)
    failed = dream("run", "--quiet", "--model", "nobody/nothing", "-w", noted)
    assert failed.status == 1
    assert failed.err.startswith("dream: ")


@pytest.mark.long
def test_a_pipe_gets_each_dream_as_it_ends(noted: Path, provider: Provider) -> None:
    asked = 0

    def answer(body: object) -> object:
        nonlocal asked
        asked += 1
        return replace(text("[SKIP]"), seconds=0.0 if asked == 1 else 60.0)

    provider.script(answer)  # type: ignore[arg-type]
    line = command("run", "--model", "openai/m", "-w", noted)
    env = environment({"DREAM_API_BASE": provider.base, "DREAM_API_KEY": "x"})
    with subprocess.Popen(line, stdout=subprocess.PIPE, env=env, text=True) as process:
        assert process.stdout
        first = process.stdout.readline()
        process.kill()

    assert first == "no commit  entry 1  nothing to change\n"


@pytest.mark.slow
def test_a_terminal_sees_what_is_waited_for_and_keeps_none_of_it(noted: Path, provider: Provider) -> None:
    provider.script(replace(text("[SKIP]"), seconds=2.0))

    done = on_a_terminal(
        "run", "--max-batches", 1, "--model", "openai/m", "-w", noted, DREAM_API_BASE=provider.base, DREAM_API_KEY="x"
    )

    assert "dreaming entry 1 of 3 · waiting for openai/m, 1 s" in done.out
    shown = done.out.rpartition(output.ERASE)[2]
    assert "waiting" not in shown
