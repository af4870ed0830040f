"""Run the commands as a person or a program does: as processes."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """Run `dream` in a pipe; `program` is main, main_log or main_restore."""
    done = subprocess.run(
        command(*arguments, program=program),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environment(more),
        timeout=120,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def command(*arguments: object, program: str = "main") -> list[str]:
    """The command line of a process."""
    code = f"from dream.cli import {program}; {program}()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def on_a_terminal(*arguments: object, typed: str = "", program: str = "main", **more: str) -> Ended:
    """Run `dream` with a terminal on all three streams and type into it; all output is in `out`."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        command(*arguments, program=program),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment({"TERM": "xterm-256color", **more}),
        start_new_session=True,
    )
    os.close(follower)
    if typed:
        os.write(leader, typed.encode())
    pieces = []
    while select.select([leader], [], [], 60)[0]:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the last process has closed the terminal
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(leader)
    return Ended(process.wait(60), b"".join(pieces).decode("utf-8", "replace"), "")
