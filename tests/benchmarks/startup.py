"""Start-up: whole processes, against a bare click program."""

from __future__ import annotations

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


def rows(folder: Path) -> Iterator[Row]:
    """Measure in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bare.py").write_text(BARE, encoding="utf-8")
    workspace = Workspace.create(folder / "workspace", now=datetime(2026, 11, 21, tzinfo=UTC)).root
    dream = (sys.executable, "-m", "dream")
    bare = command(sys.executable, str(folder / "bare.py"), "--help")
    shown = command(*dream, "--help")
    ours, other, ratio = pairs(shown, bare, 15)
    yield Row("dream --help, against a bare click program", ours * 1e3, other * 1e3, "ms", ratio, 1.5)
    for words in (("run",), ("status",), ("log",)):
        ours, other, ratio = pairs(command(*dream, *words, "-w", str(workspace)), shown, 15)
        name = "a run with nothing to do" if words == ("run",) else f"dream {words[0]}"
        yield Row(f"{name}, against dream --help", ours * 1e3, other * 1e3, "ms", ratio, 1.5)
