"""On a terminal there are colours and questions; in a pipe there are neither."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from pathlib import Path

from tests.cli.commands import dream, environment, on_a_terminal, server
from tests.provider import Provider, hang

ESCAPE = "\x1b["


def test_a_terminal_gets_colours_and_a_pipe_plain_text(dreamt: Path) -> None:
    sha = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    assert ESCAPE in on_a_terminal("log", sha, "-w", dreamt).out
    assert ESCAPE not in dream("log", sha, "-w", dreamt).out


def test_no_color_is_respected(dreamt: Path) -> None:
    assert ESCAPE not in on_a_terminal("log", "-w", dreamt, NO_COLOR="1").out


def test_restore_shows_the_diff_and_asks_and_no_means_no(dreamt: Path) -> None:
    newest = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    done = on_a_terminal("restore", newest, "-w", dreamt, typed="n\n")

    assert "Restore this?" in done.out
    assert "diff --git" in done.out
    assert done.status == 1
    assert "Nothing was changed." in done.out
    assert dream("log", "-w", dreamt, "--json").json[0]["sha"] == newest


def test_restore_asks_and_yes_means_yes(dreamt: Path) -> None:
    newest = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    done = on_a_terminal("restore", newest, "-w", dreamt, typed="y\n")

    assert done.status == 0, done.out
    assert dream("log", "-w", dreamt, "--json").json[0]["kind"] == "restore"


def test_leaving_a_question_says_so_in_a_line_of_its_own(dreamt: Path) -> None:
    newest = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    done = on_a_terminal("restore", newest, "-w", dreamt, typed="\x04")

    assert done.status == 130
    assert done.out.splitlines()[-1].startswith("dream: Stopped.")
    assert dream("log", "-w", dreamt, "--json").json[0]["sha"] == newest


def test_yes_does_not_ask(dreamt: Path) -> None:
    newest = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    assert "Restore this?" not in on_a_terminal("restore", newest, "--yes", "-w", dreamt).out


def test_what_memory_holds_cannot_steer_the_terminal(dreamt: Path) -> None:
    (dreamt / "USER.md").write_text("# User\n- \x1b]0;owned\x07 line\n", encoding="utf-8")
    dream("note", "I live in Kyoto", "-w", dreamt)
    dream("run", "-w", dreamt)

    shown = "".join(dream("log", one["sha"], "-w", dreamt).out for one in dream("log", "-w", dreamt, "--json").json)

    assert "\x1b" not in shown


def test_ctrl_c_ends_with_130_and_one_sentence(fresh: Path) -> None:
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(writer, "w") as typed:
        arguments = ["note", "-", "-w", str(fresh)]
        streams = (reader, out.fileno(), err.fileno())
        process = server(arguments, {}).start(arguments, environment(), streams=streams)
        typed.write("half")
        typed.flush()
        time.sleep(0.7)  # so that it reads; one that came before it does is an interrupt all the same
        os.kill(process.pid, signal.SIGINT)
        status = process.wait()[0]
        err.seek(0)
        told = err.read().decode()
    os.close(reader)

    assert status == 130
    assert told.strip().startswith("dream: Stopped.")


def test_ctrl_c_waits_for_no_call_that_is_under_way(fresh: Path, tmp_path: Path) -> None:
    talks = [tmp_path / f"{name}.json" for name in "abc"]
    for talk in talks:
        talk.write_text(json.dumps([{"role": "user", "content": f"I live in {talk.stem}."}]), encoding="utf-8")
    with Provider([hang()]) as provider:
        asking = {"DREAM_MODEL": "openai/scripted", "DREAM_API_BASE": provider.base, "DREAM_API_KEY": "none"}
        arguments = ["consolidate", *map(str, talks), "-w", str(fresh)]
        process = server(arguments, asking).start(arguments, environment(asking))
        until = time.monotonic() + 60
        while len(provider.requests) < len(talks) and time.monotonic() < until:
            time.sleep(0.05)
        begun_at = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        status, _, told = process.wait()

    assert time.monotonic() - begun_at < 100  # below the 120 seconds that a call may take
    assert status == 130
    assert told.strip().startswith("dream: Stopped.")
    assert not (fresh / "memory" / "history.jsonl").exists()
