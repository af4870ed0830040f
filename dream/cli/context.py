"""`dream context`: memory as an agent's system prompt takes it."""

from __future__ import annotations

from pathlib import Path

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand

TOKENS = 4_000  # a twentieth of a small window of today, and all of the three files for most people


@click.command("context", cls=DreamCommand)
@click.option("--tokens", type=click.IntRange(min=1), default=TOKENS, show_default=True, metavar="N", help="At most.")
@click.option("--session", metavar="KEY", help="Of what was not dreamt yet, only this session's.")
@group.workspace
@group.as_json
def command(tokens: int, session: str | None, directory: Path | None, as_json: bool) -> None:
    """Print memory for an agent's prompt: the three files, then what was not dreamt yet.

    The block is marked, so that it is never learnt again from a transcript that contains it. Prints nothing when memory
    is empty. Calls no model.

    \b
    Examples:
      dream context
      dream context --tokens 2000
      dream context --session nanobot:telegram:42 --json
    """
    block = group.open_workspace(directory).context(tokens, session=session)
    if as_json:
        output.emit({"context": block})
    elif block:
        output.say(block.rstrip("\n"))
