"""Start-up: whole processes, against a bare click program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream.store.workspace import Workspace
from tests.benchmarks.measure import Row, command, pairs

BARE = """import click
@click.group()
@click.version_option("1")
def cli(): "A bare click program."
@cli.command()
def one(): "One."
cli()
"""


ROUNDS = 15
COMMANDS = {("run",): 1.5, ("status",): 2.0, ("log",): 2.0, ("review",): 2.0, ("note", "I like tea."): 2.5}


def rows(folder: Path) -> Iterator[Row]:
    """Measure in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bare.py").write_text(BARE, encoding="utf-8")
    workspace = Workspace.create(folder / "workspace", now=datetime(2026, 11, 21, tzinfo=UTC)).root
    # As where it is installed: compiled once, whatever this process was told.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    dream = (sys.executable, "-m", "dream")
    bare = command(sys.executable, str(folder / "bare.py"), "--help", environ=environ)
    shown = command(*dream, "--help", environ=environ)
    ours, other, ratio = pairs(shown, bare, ROUNDS)
    yield Row("dream --help, against a bare click program", ours * 1e3, other * 1e3, "ms", ratio, 1.5)
    command(*dream, "note", "I moved to Kyoto.", "-w", str(workspace), environ=environ)()
    command(*dream, "run", "-w", str(workspace), environ=environ)()
    for words, aim in COMMANDS.items():
        deed = command(*dream, *words, "-w", str(workspace), environ=environ)
        ours, other, ratio = pairs(deed, shown, ROUNDS)
        name = "a run with nothing to do" if words == ("run",) else f"dream {words[0]}"
        yield Row(f"{name}, against dream --help", ours * 1e3, other * 1e3, "ms", ratio, aim)
