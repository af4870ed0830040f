"""Start-up: whole processes, against a bare click program."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream.directory import Workspace
from tests.benchmarks.measure import Row, command, compiled, pairs

BARE = """import click
@click.group()
@click.version_option("1")
def cli(): "A bare click program."
@cli.command()
def one(): "One."
cli()
"""


ROUNDS = 15
COMMANDS = {
    ("run",): 1.5,
    ("nightly",): 2.0,
    ("status",): 2.0,
    ("log",): 2.0,
    ("review",): 2.0,
    ("note", "I like tea."): 2.5,
}
NAMES = {"run": "a run with nothing to do", "nightly": "a night with nothing to do"}


def rows(folder: Path) -> Iterator[Row]:
    """Measure in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bare.py").write_text(BARE, encoding="utf-8")
    workspace = Workspace.create(folder / "workspace", now=datetime(2026, 11, 21, tzinfo=UTC)).root
    environ = compiled(folder)
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
        name = NAMES.get(words[0], f"dream {words[0]}")
        yield Row(f"{name}, against dream --help", ours * 1e3, other * 1e3, "ms", ratio, aim)
    (workspace / "dream.toml").write_text(f'sources = ["{folder}/chats"]\n', encoding="utf-8")
    (folder / "chats").mkdir()
    talk = {"role": "user", "content": "I moved to Kyoto."}
    row = {"type": "user", "message": talk, "uuid": "u", "sessionId": "s", "timestamp": "2026-11-18T09:00:00Z"}
    (folder / "chats" / "a.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    os.utime(folder / "chats" / "a.jsonl", (0, 0))
    deed = command(*dream, "nightly", "-w", str(workspace), environ=environ)
    deed()
    ours, other, ratio = pairs(deed, shown, ROUNDS)
    yield Row("a night with sources and nothing to do, against dream --help", ours * 1e3, other * 1e3, "ms", ratio, 2.5)
