"""`dream get`: open a citation."""

from __future__ import annotations

from pathlib import Path

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand
from dream.cli.search import show


@click.command("get", cls=DreamCommand)
@click.argument("citation")
@click.option(
    "--around", type=click.IntRange(min=0), default=0, metavar="N", help="Show N neighbours on each side too."
)
@group.workspace
@group.as_json
def command(citation: str, around: int, directory: Path | None, as_json: bool) -> None:
    """Open a citation: a line of memory, an entry of history, or a message.

    \b
    Examples:
      dream get USER.md:12
      dream get history:42
      dream get claude-code:6f1e#118 --around 3
    """
    found = group.open_workspace(directory).get(citation, around=around)
    if as_json:
        output.emit(found)
        return
    for hit in found:
        show(hit)
