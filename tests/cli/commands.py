"""Run the commands as a person or a program does: as processes, forked where a fresh interpreter is of no matter."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forking import MODEL, Server

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's own environment, with this checkout first."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **(more or {})}


def dream(*arguments: object, program: str = "main", stdin: str = "", cwd: Path | None = None, **more: str) -> Ended:
    """Run `dream` in a pipe, in no project where `cwd` names none; `program` is main, main_log or main_restore."""
    cwd = cwd or Path(environment(more).get("HOME", ROOT))
    # What an interpreter begins with, and what comes before anything is loaded, has to be a process from its start.
    if "--detach" in arguments or any(name.startswith(("LC_", "PYTHON")) for name in more):
        line = command(*arguments, program=program)
        done = subprocess.run(
            line, input=stdin, capture_output=True, text=True, check=False, cwd=cwd, env=environment(more), timeout=120
        )
        return Ended(done.returncode, done.stdout, done.stderr)
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = (reader, out.fileno(), err.fileno())
        process = server(arguments, more).start(
            [*map(str, arguments)], environment(more), program=program, cwd=cwd, streams=streams
        )
        os.close(reader)
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "w", encoding="utf-8") as typed:
            typed.write(stdin)
        status = process.wait()[0]
        out.seek(0)
        err.seek(0)
        return Ended(status, out.read().decode(), err.read().decode())


def server(arguments: Sequence[object], more: Mapping[str, str]) -> Server:
    """Return the server to fork from: one that has LiteLLM loaded where a provider's model is named."""
    named = [*_after("--model", arguments), more.get("DREAM_MODEL", "")]
    return Server.running(kind=MODEL if any("/" in name for name in named) else "")


def _after(option: str, arguments: Sequence[object]) -> list[str]:
    return [str(arguments[place + 1]) for place, one in enumerate(arguments[:-1]) if one == option]


def command(*arguments: object, program: str = "main") -> list[str]:
    """The command line of a process."""
    code = f"from dream.cli import {program}; {program}()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def on_a_terminal(*arguments: object, typed: str = "", keys: str = "", program: str = "main", **more: str) -> Ended:
    """Run `dream` with a terminal on all three streams and type into it; all output is in `out`.

    `keys` are pressed each time when nothing more is shown: what is typed before a screen is there is lost.
    """
    leader, follower = pty.openpty()
    env = environment({"TERM": "xterm-256color", **more})
    streams = (follower, follower, follower)
    process = server(arguments, more).start([*map(str, arguments)], env, program=program, streams=streams)
    os.close(follower)
    if typed:
        os.write(leader, typed.encode())
    pieces = []
    waited = 0
    while waited < 60:
        if not select.select([leader], [], [], 1 if keys else 60)[0]:
            os.write(leader, keys.encode())
            waited += 1 if keys else 60
            continue
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the last process has closed the terminal
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(leader)
    return Ended(process.wait()[0], b"".join(pieces).decode("utf-8", "replace"), "")
