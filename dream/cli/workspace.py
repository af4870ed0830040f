"""`dream init` and `trust`: a workspace that is made, and one that came from elsewhere."""

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
def init_command(directory: Path | None, named: Path | None, as_json: bool) -> None:
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


_MODEL = "sends what it reads of history and memory to this model's provider"
# What each thing that reaches beyond the workspace does, once it counts.
EFFECTS = {
    "model": _MODEL,
    "consolidator_model": _MODEL,
    "phase1_model": _MODEL,
    "phase2_model": _MODEL,
    "fallbacks": "sends the same to these models' providers when the first is unavailable",
    "api_base": "sends every prompt, and your API key with it, to this address",
    "api_key": "pays and is answered with this key instead of yours",
    "redact_patterns": "runs these expressions on every text; a bad one can take for ever",
    "prompts/": "tells the models what to do, in place of the shipped prompts",
    "sources": "reads these transcripts of yours every night",
    "on_change": "runs this command on your machine after each change of memory",
    "on_failure": "runs this command on your machine after a failure",
}
_SECRET = ("api_key",)


@click.command("trust", cls=DreamCommand)
@click.option("-y", "--yes", is_flag=True, help="Accept them without asking.")
@group.workspace
@group.as_json
def trust_command(yes: bool, directory: Path | None, as_json: bool) -> None:
    """Show what an untrusted workspace's settings would do, and accept it.

    A workspace that you make or adopt is trusted on this machine. In any other, such as a clone or a copy, settings
    that would send, start or read anything beyond it are ignored until you accept them here: the models, addresses,
    sources and commands in dream.toml, and the files in prompts/. From then on they count, later changes too.
    Without a terminal and without --yes, nothing is accepted.

    \b
    Examples:
      dream trust
      dream trust --yes -w ~/shared/memory
    """
    workspace = group.open_workspace(directory)
    before = workspace.is_trusted
    settings = _reaching(workspace)
    if not as_json:
        _show_reaching(workspace, settings, trusted=before)
    if not before and (yes or (not as_json and group.somebody_answers() and group.confirmed("Trust it?"))):
        workspace.trust()
    trusted = workspace.is_trusted
    if as_json:
        output.emit({"workspace": str(workspace.root), "trusted": trusted, "settings": settings})
    elif trusted != before:
        output.say("It is trusted on this machine from now on.", colour="green")
    elif not trusted:
        output.say("Nothing was accepted. To accept it: dream trust --yes")


def _reaching(workspace: Workspace) -> list[dict[str, object]]:
    """List what of the workspace's own files reaches beyond it; a key is not shown."""
    found = reaching(workspace.root, environ={})
    return [
        {
            "name": name,
            "value": "…" if name in _SECRET else list(value) if isinstance(value, tuple) else value,
            "effect": EFFECTS[name],
        }
        for name, value in found.items()
    ]


def _show_reaching(workspace: Workspace, settings: list[dict[str, object]], *, trusted: bool) -> None:
    if trusted:
        output.say(f"{workspace.root} is trusted on this machine.", bold=True)
    else:
        output.say(f"{workspace.root} is not trusted: it was not made or adopted by you on this machine.", bold=True)
    if not settings:
        output.say("Its own files name nothing that sends, starts or reads beyond it.")
        return
    output.say("Its own files:" if trusted else "Its own files would do this:")
    for one in settings:
        value = one["value"]
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        output.say(f"  {one['name']} = {shown}", bold=True)
        output.say(f"    {one['effect']}")
