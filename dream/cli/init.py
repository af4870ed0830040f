"""`dream init`: make a workspace and its first commit."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand
from dream.settings import reaching
from dream.workspace.workspace import Workspace


@click.command("init", cls=DreamCommand)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@group.place
@group.as_json
def command(directory: Path | None, named: Path | None, as_json: bool) -> None:
    """Make a workspace, or adopt nanobot's, and its first commit.

    DIR is created if it does not exist; the default is DREAM_WORKSPACE, else ~/.dream/workspace.
    Existing files stay as they are. If DIR lies in another git repository, dream keeps its own git directory under
    .dream/ and leaves the other one alone.

    \b
    Examples:
      dream init                     in ~/.dream/workspace
      dream init ./memory            in a directory of your own
      dream init ~/.nanobot/workspace
    """
    place = directory or named or Workspace.default(os.environ)
    workspace = Workspace.create(place, now=group.now(), report=lambda told: output.problem(str(told)))
    if not workspace.is_trusted and (reached := reaching(workspace.root, environ={})):
        output.problem(f"The existing {', '.join(reached)} counts once you accept it: dream trust")
    if as_json:
        output.emit({"workspace": str(workspace.root), "commit": workspace.git.head()})
        return
    output.say(f"The workspace is {workspace.root}.", bold=True)
    output.say("Next: dream consolidate TRANSCRIPT, then dream run.")
    output.say(f"Model: {show.model_line(group.read_settings(workspace, using=()))}", fold=True)
